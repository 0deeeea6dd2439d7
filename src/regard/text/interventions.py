"""What is done to a model's attention to see whether it mattered: weights made uniform or permuted, parts hidden.

Texts are given (forced decoding), so that what changes is how likely the model finds them, never the texts.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

if TYPE_CHECKING:
    from regard.normalizers import Normalizer
    from regard.text.text_model import TextModel

NO_PART = -1
"""of positions that belong to no part: padding, and the end of a sentence"""
MOST_NUMBERS = 1 << 24
"""of the memories that are attended over at a time when parts are left out one by one: 64 MB of float32"""


def uniform(scores: Tensor) -> Tensor:
    """The same weight for every visible key (Wiegreffe and Pinter 2019, sec. 3.2).

    >>> uniform(torch.tensor([[3.0, 0.0, -torch.inf]]))
    tensor([[0.5000, 0.5000, 0.0000]])
    """
    visible = (scores > -torch.inf).to(scores.dtype)
    return visible / visible.sum(-1, keepdim=True).clamp(min=1)


class Permuted:
    """The weights of ``normalize``, dealt out anew among the visible keys of a row (Jain and Wallace 2019, sec. 4.2.1).

    >>> permuted = Permuted(lambda scores: scores.softmax(-1), torch.Generator().manual_seed(0))
    >>> permuted(torch.tensor([[0.0, 1.0, 2.0, -torch.inf]])).sort().values
    tensor([[0.0000, 0.0900, 0.2447, 0.6652]])
    """

    def __init__(self, normalize: Normalizer, generator: torch.Generator) -> None:
        self._normalize, self._generator = normalize, generator

    def __call__(self, scores: Tensor) -> Tensor:
        weights: Tensor = self._normalize(scores)
        hidden = (scores == -torch.inf).to(torch.float32)
        drawn = torch.rand(scores.shape, generator=self._generator).to(scores.device)
        shuffled, in_place = (2 * hidden + drawn).argsort(dim=-1), hidden.argsort(dim=-1, stable=True)
        return torch.zeros_like(weights).scatter(-1, in_place, weights.gather(-1, shuffled))


def weights_of_parts(weights: Tensor, part_of: Tensor, parts: int) -> Tensor:
    """Weights (b, q, k) summed over the positions of each part: (b, q, parts); part_of (b, k), NO_PART left out."""
    places = part_of.masked_fill(part_of == NO_PART, parts)[:, None].expand_as(weights)
    return weights.new_zeros(*weights.shape[:-1], parts + 1).scatter_add(-1, places, weights)[..., :-1]


def hidden_positions(hidden_parts: Tensor, part_of: Tensor) -> Tensor:
    """Which positions (b, k) are those of the hidden parts (b, parts)."""
    spread = torch.cat([hidden_parts, hidden_parts.new_zeros(len(hidden_parts), 1)], 1)  # for NO_PART, which is last
    return spread.gather(1, part_of.masked_fill(part_of == NO_PART, hidden_parts.shape[1]))


@torch.no_grad()
def left_out(model: TextModel, state: Any, target: Tensor, part_of: Tensor, parts: int) -> Tensor:
    """What hiding each part costs each token of one text: the log-probability that it loses, (parts, q).

    ``state`` (of one input, before the first word), target (1, t), part_of (1, k). Hidden from the attention alone: an
    encoder has read every part before.
    """
    as_it_is = model.force_from(state, target).log_probs
    costs = []
    for some in _groups(parts, part_of.shape[1] * target.shape[1]):
        several = state.keep(torch.zeros(len(some), dtype=torch.int64))
        hidden = part_of.expand(len(some), -1) == some[:, None].to(part_of.device)
        forced = model.force_from(several.hide(hidden), target.expand(len(some), -1))
        costs.append(as_it_is - forced.log_probs)
    return torch.cat(costs)


def _groups(parts: int, cost: int) -> Iterator[Tensor]:
    """The numbers of the parts, as many at a time as memory allows."""
    size = max(1, MOST_NUMBERS // max(1, 512 * cost))
    return (torch.arange(start, min(start + size, parts)) for start in range(0, parts, size))
