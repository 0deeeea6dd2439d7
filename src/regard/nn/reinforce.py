"""Hard attention learned by trying: look at one place, and make places that did well more likely.

Xu et al. 2015, section 4.1. The alternative, `straight_through`, is beside the attention layer.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from regard.normalizers import NORMALIZERS, Sampled
from regard.shape_types import Bool, Float


class Drawn:
    """Scores (b, q, k) to one place of each row, drawn by its softmax share; no gradient passes through the draw.

    Rows of the batch where ``expected`` (b,) is True look at every place by its share instead, with the gradient of
    that: the paper does so for half of the images to quieten the estimate (end of sec. 4.1).
    """

    def __init__(self, generator: torch.Generator, expected: Bool[Tensor, " b"]) -> None:
        self.draw, self.expected = Sampled(generator), expected[:, None, None]

    def __call__(self, scores: Float[Tensor, "b q k"]) -> Float[Tensor, "b q k"]:
        soft: Tensor = NORMALIZERS["softmax"](scores)
        drawn: Tensor = self.draw(scores.detach())
        return torch.where(self.expected, soft, drawn)


class Reinforce(nn.Module):
    """The part of the objective that teaches where to look (Xu et al. 2015, eq. 11 to 13).

    A place is made more likely by how much better than the ``baseline`` the words went that were written from there
    on. Earlier words do not depend on it, so leaving them out changes no expectation, only the noise. The baseline is
    a moving average of the log-probability of a word, times the words that are left.
    """

    baseline: Tensor

    def __init__(self, *, weight: float, entropy: float, start: float, momentum: float = 0.9) -> None:
        super().__init__()
        self.weight, self.entropy, self.momentum = weight, entropy, momentum
        self.register_buffer("baseline", torch.tensor(start))

    def forward(
        self,
        scores: Float[Tensor, "b q k"],
        weights: Float[Tensor, "b q k"],
        log_probs: Float[Tensor, "b q"],
        drawn: Bool[Tensor, " b"],
        written: Bool[Tensor, "b q"],
    ) -> Float[Tensor, ""]:
        """What is to be added to the objective, summed over the words.

        scores and weights (b, q, k), log_probs (b, q) of the words; True in ``drawn`` (b,) where places were drawn,
        in ``written`` (b, q) where there is a word.
        """
        log_shares = torch.log_softmax(scores, -1)
        chosen = (log_shares * weights.detach()).sum(-1)
        better = _from_here_on(log_probs) - self.baseline * _from_here_on(written.to(log_probs.dtype))
        counts = written & drawn[:, None]
        entropy = -(log_shares.exp() * log_shares).sum(-1)
        tried = (better.detach() * chosen)[counts].sum()
        if self.training:
            self._remember(log_probs, counts)
        return -self.weight * tried - self.entropy * entropy[written].sum()

    @torch.no_grad()
    def _remember(self, log_probs: Tensor, counts: Tensor) -> None:
        if counts.any():
            self.baseline.lerp_(log_probs[counts].mean().to(self.baseline), 1 - self.momentum)


def _from_here_on(values: Float[Tensor, "b q"]) -> Float[Tensor, "b q"]:
    """(b, q): the sum of each and all that follow it."""
    return values.flip(1).cumsum(1).flip(1)
