"""Learning from one's own texts: some are drawn, and those that score better than the others made more likely.

Rennie et al. 2017 call it self-critical training. They compare with the greedy text; here each draw is compared with
the mean of all draws for the same input, which need to be scored anyway.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

import torch
from torch import Tensor
from torch.nn import functional as F
from torch.nn.utils.rnn import pad_sequence

from regard.decoding import SearchState
from regard.marks import BOS, EOS, PAD
from regard.nn.loss import Loss

if TYPE_CHECKING:
    from regard.nn.writer import Writer

SHARPNESS = 2.0
"""By what logits are multiplied to draw from them, and to learn from that: what is drawn is then near what is found."""
MORE_WORDS = 8
"""how much longer than the texts of a batch those may become that are drawn for it"""


class Critic(Protocol):
    """Says how good drawn texts are."""

    count: int
    """how many are drawn for each input, 2 or more"""

    def scores(self, batch: Any, drawn: Sequence[Sequence[Sequence[int]]]) -> list[list[float]]:
        """How good each text ``drawn[i][j]`` for row i of the batch is; the more, the better."""


def self_critical_loss(model: Writer, batch: Any, critic: Critic) -> Loss:
    """The loss whose gradient makes drawn texts more likely by how much better than others they are."""
    device = batch.target.device
    longest = batch.target.shape[1] + MORE_WORDS
    longest = min(longest, model.longest or longest)
    model.eval()  # what is learned from must be as likely as when it was drawn: no dropout
    try:
        state = model.begin(batch)
        drawn = draw(model, state, len(batch), critic.count, longest)
        target = pad_sequence([torch.tensor([BOS, *ids]) for several in drawn for ids in several], batch_first=True)
        given, words = target.to(device)[:, :-1], target.to(device)[:, 1:]
        each_count_times = torch.arange(len(batch)).repeat_interleave(critic.count)
        features, _ = model.teach(given, state.keep(each_count_times))
    finally:
        model.train()
    text, place = (words != PAD).nonzero(as_tuple=True)
    # What is never drawn must have no share in what is learned: no text could teach better, and it would take all.
    never = torch.tensor(model.never, device=device)
    logits = SHARPNESS * model.output(features[text, place]).index_fill(-1, never, -torch.inf)
    nll = F.cross_entropy(logits, words[text, place], reduction="none")
    better = advantages(critic.scores(batch, drawn)).flatten().to(device)
    return Loss((better[text] * nll).sum(), nll.sum().detach(), len(nll))


def advantages(scores: Sequence[Sequence[float]]) -> Tensor:
    """By how much each text's score beats the mean of its input; (b, count).

    Scaled by what all of them spread, so that the step does not depend on how good the model already is.
    """
    found = torch.tensor(scores)
    better = found - found.mean(1, keepdim=True)
    return better / better.square().mean().sqrt().clamp(min=1e-3)


@torch.no_grad()
def draw(model: Writer, state: SearchState, inputs: int, count: int, longest: int) -> list[list[list[int]]]:
    """``count`` texts for each of the inputs whose ``state`` this is, word by word as the sharpened model says.

    Each with its end, unless it is the ``longest`` already.
    """
    state = state.reorder(torch.zeros(inputs, count, dtype=torch.int64))
    words, going = torch.full((inputs, count), BOS), torch.ones(inputs, count, dtype=torch.bool)
    written: list[Tensor] = []
    while going.any() and len(written) < longest:
        logits, _, state, _ = model.step(words, state)
        logits[..., list(model.never)] = -torch.inf
        words = _drawn((logits * SHARPNESS).softmax(-1)).cpu()
        written.append(words.where(going, PAD))
        going &= words != EOS
    return [[[word for word in one if word != PAD] for one in several] for several in torch.stack(written, -1).tolist()]


def _drawn(shares: Tensor) -> Tensor:
    """One place of the last axis for each row, as often as its share says.

    One random number a row: ``multinomial`` takes one a place, which is a quarter of the time of a training.
    """
    below = shares.cumsum(-1)
    place = torch.rand((*shares.shape[:-1], 1), device=shares.device) * below[..., -1:]
    return torch.searchsorted(below, place, right=True).squeeze(-1).clamp(max=shares.shape[-1] - 1)
