"""What a model's forward gives the training loop."""

from __future__ import annotations

from typing import NamedTuple

from torch import Tensor


class Loss(NamedTuple):
    """Sums over the words of a batch; the loop divides by the words of all processes together.

    ``objective`` is what is differentiated (label smoothing and regularisers included), ``nll`` the plain negative
    log-likelihood in nats, which is what validation and perplexity report.
    """

    objective: Tensor
    nll: Tensor
    tokens: int | Tensor
