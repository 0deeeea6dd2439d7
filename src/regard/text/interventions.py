"""What is done to a model's attention to see whether it mattered: weights made uniform or permuted, parts hidden.

Texts are given (forced decoding), so that what changes is how likely the model finds them, never the texts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

if TYPE_CHECKING:
    from regard.normalizers import Normalizer
    from regard.text.text_model import TextModel

NO_PART = -1
"""of positions that belong to no part: padding, and the end of a sentence"""
MOST_NUMBERS = 1 << 24
"""of the memories that are attended over at a time when parts are hidden: 64 MB of float32"""
MEMORY_WIDTH = 1 << 11
"""numbers that a memory holds for each position, about: annotations, or keys and values of all layers"""


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
def forced_hiding(model: TextModel, state: Any, target: Tensor, rows: Tensor, hidden: Tensor) -> Tensor:
    """The log-probabilities (n, q) of texts whose attention may not see what is hidden.

    ``state`` (of b inputs, before the first token), target (b, t); rows (n,): which of the b texts each one is, hidden
    (n, k). Hidden from the attention alone: an encoder has read every position before.
    """
    found = []
    for some in torch.split(torch.arange(len(rows)), _group_size(hidden.shape[1], target.shape[1])):
        several = state.keep(rows[some]).hide(hidden[some].to(target.device))
        found.append(model.force_from(several, target[rows[some]]).log_probs)
    return torch.cat(found)


@torch.no_grad()
def left_out(model: TextModel, state: Any, target: Tensor, part_of: Tensor) -> list[Tensor]:
    """What hiding each part costs each token: of each text the log-probabilities that are lost, (parts, q).

    ``state`` (of b inputs, before the first token), target (b, t), part_of (b, k).
    """
    parts = part_of.amax(1) + 1
    rows = torch.arange(len(parts)).repeat_interleave(parts)
    part = torch.cat([torch.arange(count) for count in parts.tolist()])
    without = forced_hiding(model, state, target, rows, part_of[rows] == part[:, None])
    costs = model.force_from(state, target).log_probs[rows] - without
    return [costs[rows == row] for row in range(len(parts))]


def _group_size(keys: int, queries: int) -> int:
    """How many texts are forced at a time: as many as memory allows."""
    return max(1, MOST_NUMBERS // (keys * (MEMORY_WIDTH + queries)))
