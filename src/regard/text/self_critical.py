"""Self-critical training (Rennie et al. 2017): REINFORCE on sampled texts, with a baseline from the model itself.

Their baseline is the score of the greedy text; here it is the mean score of all samples for the same input, which need
to be scored anyway.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

import torch
from torch import Tensor
from torch.nn import functional as F
from torch.nn.utils.rnn import pad_sequence

from regard.decoding import SearchState
from regard.nn.output import Loss
from regard.text.special_tokens import BOS, EOS, PAD

if TYPE_CHECKING:
    from regard.text.text_model import TextModel

SHARPNESS = 2.0
"""Inverse temperature of sampling, in the loss too: samples are then near what a search finds."""
MORE_TOKENS = 8
"""how many tokens longer than the targets of a batch its samples may be"""


class Critic(Protocol):
    """Scores sampled texts."""

    count: int
    """samples for each input, 2 or more"""

    def scores(self, batch: Any, drawn: Sequence[Sequence[Sequence[int]]]) -> list[list[float]]:
        """The reward of each text ``drawn[i][j]`` for row i of the batch; higher is better."""


def self_critical_loss(model: TextModel, batch: Any, critic: Critic) -> Loss:
    """The policy-gradient loss: the negative log-likelihood of each sample times its advantage."""
    device = batch.target.device
    longest = batch.target.shape[1] + MORE_TOKENS
    longest = min(longest, model.longest or longest)
    model.eval()  # the samples must have the probabilities they were sampled with: no dropout
    try:
        state = model.encode(batch)
        drawn = draw(model, state, len(batch), critic.count, longest)
        target = pad_sequence([torch.tensor([BOS, *ids]) for several in drawn for ids in several], batch_first=True)
        given, tokens = target.to(device)[:, :-1], target.to(device)[:, 1:]
        each_count_times = torch.arange(len(batch)).repeat_interleave(critic.count)
        features, _ = model.teacher_forced(given, state.keep(each_count_times))
    finally:
        model.train()
    text, place = (tokens != PAD).nonzero(as_tuple=True)
    # Tokens that are never sampled must have no probability here either: no sample could correct it, and it would grow.
    forbidden = torch.tensor(model.forbidden, device=device)
    logits = SHARPNESS * model.output(features[text, place]).index_fill(-1, forbidden, -torch.inf)
    nll = F.cross_entropy(logits, tokens[text, place], reduction="none")
    better = advantages(critic.scores(batch, drawn)).flatten().to(device)
    return Loss((better[text] * nll).sum(), nll.sum().detach(), len(nll))


def advantages(scores: Sequence[Sequence[float]]) -> Tensor:
    """Each text's score minus the mean of its input's; (b, count).

    Divided by their standard deviation, so that the step does not depend on how good the model already is.
    """
    found = torch.tensor(scores)
    better = found - found.mean(1, keepdim=True)
    return better / better.square().mean().sqrt().clamp(min=1e-3)


@torch.no_grad()
def draw(model: TextModel, state: SearchState, inputs: int, count: int, longest: int) -> list[list[list[int]]]:
    """``count`` samples for each of the inputs whose ``state`` this is, from the sharpened distribution.

    Each with its EOS, unless it is the ``longest`` already.
    """
    state = state.reorder(torch.zeros(inputs, count, dtype=torch.int64))
    tokens, going = torch.full((inputs, count), BOS), torch.ones(inputs, count, dtype=torch.bool)
    written: list[Tensor] = []
    while going.any() and len(written) < longest:
        logits, _, state, *_ = model.step(tokens, state)
        logits[..., list(model.forbidden)] = -torch.inf
        tokens = _sampled((logits * SHARPNESS).softmax(-1)).cpu()
        written.append(tokens.where(going, PAD))
        going &= tokens != EOS
    return [[[word for word in one if word != PAD] for one in several] for several in torch.stack(written, -1).tolist()]


def _sampled(probabilities: Tensor) -> Tensor:
    """A sample from each row's distribution over the last axis.

    One random number a row: ``multinomial`` takes one an entry, which is a quarter of the time of a training.
    """
    below = probabilities.cumsum(-1)
    place = torch.rand((*probabilities.shape[:-1], 1), device=probabilities.device) * below[..., -1:]
    return torch.searchsorted(below, place, right=True).squeeze(-1).clamp(max=probabilities.shape[-1] - 1)
