"""The output layer: from features to words, and the loss of the right word."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from regard.nn.kernels import has_kernels

CHUNK = 2**20
"""Logits held at a time: 4 MB of float32 stay in the cache from the product that makes them to the two that use them."""


class Output(nn.Module):
    """Scores for every word of the vocabulary, and their cross-entropy.

    ``weight`` may be given: the embedding's own matrix, when the two are tied (Press and Wolf 2017).

    >>> output = Output(8, 100)
    >>> output(torch.zeros(2, 5, 8)).shape
    torch.Size([2, 5, 100])
    >>> objective, nll = output.loss(torch.zeros(7, 8), torch.arange(7))
    >>> bool(nll.isclose(objective))
    True
    """

    def __init__(self, dim: int, vocabulary: int, *, weight: nn.Parameter | None = None) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(vocabulary, dim)) if weight is None else weight
        self.bias = nn.Parameter(torch.zeros(vocabulary))
        if weight is None:
            nn.init.normal_(self.weight, std=dim**-0.5)

    def forward(self, features: Tensor) -> Tensor:
        """Features (..., d) to unnormalised log-probabilities (..., vocabulary)."""
        return F.linear(features, self.weight, self.bias)

    def loss(self, features: Tensor, target: Tensor, *, label_smoothing: float = 0.0) -> tuple[Tensor, Tensor]:
        """Features (n, d), target (n,): the objective and the negative log-likelihood, summed over the n words.

        The objective is the negative log-likelihood with ``label_smoothing`` of the probability spread evenly over the
        vocabulary (Szegedy et al. 2016, sec. 7); only it carries a gradient.
        """
        return cross_entropy(features, self.weight, self.bias, target, label_smoothing=label_smoothing)

    @torch.no_grad()
    def log_probs(self, features: Tensor, target: Tensor) -> Tensor:
        """Features (n, d), target (n,): the log-probability of each of the n words."""
        rows = max(1, CHUNK // len(self.weight))
        chunks = zip(features.split(rows), target.split(rows), strict=True)
        return torch.cat([-F.cross_entropy(self(chunk), right, reduction="none") for chunk, right in chunks])


def cross_entropy(
    features: Tensor, weight: Tensor, bias: Tensor, target: Tensor, *, label_smoothing: float = 0.0
) -> tuple[Tensor, Tensor]:
    """``F.cross_entropy(features @ weight.T + bias, target)`` summed, without holding the logits of all rows.

    The gradients are made in the same pass, while a chunk's logits are in the cache.
    """
    objective, nll = _CrossEntropy.apply(features, weight, bias, target, label_smoothing, torch.is_grad_enabled())
    return objective, nll


def _kernel_losses(
    held: Tensor, width: int, right: Tensor, smoothing: float, gradient: bool
) -> tuple[Tensor, Tensor]:
    from regard.kernels import cross_entropy as kernel

    nll, spread = kernel.losses(held.numpy(), width, right.numpy(), smoothing, gradient, torch.get_num_threads())
    return torch.from_numpy(nll), torch.from_numpy(spread)


def _torch_losses(
    held: Tensor, width: int, right: Tensor, smoothing: float, gradient: bool
) -> tuple[Tensor, Tensor]:
    """-log p of the right words (n,), and the mean of -log p over all; with ``gradient``, logits become gradients."""
    logits = held[:, :width]
    total = logits.logsumexp(1)
    nll, spread = total - logits.gather(1, right[:, None])[:, 0], total - logits.mean(1)
    if gradient:
        # The gradient by the logits is the softmax less the target distribution.
        logits.sub_(total[:, None]).exp_().sub_(smoothing / width)
        logits[torch.arange(len(logits), device=logits.device), right] -= 1 - smoothing
    return nll, spread


class _CrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, features: Tensor, weight: Tensor, bias: Tensor, target: Tensor, smoothing: float, training: bool
    ) -> tuple[Tensor, Tensor]:
        rows, width = max(1, CHUNK // len(weight)), len(weight)
        losses = _kernel_losses if has_kernels(features) else _torch_losses
        # Rows of logits have room up to whole lanes of the processor.
        buffer = features.new_empty(min(rows, len(features)), -(-width // 8) * 8)
        gradients = [torch.empty_like(part) for part in (features, weight, bias)] if training else []
        nll, spread = [], []
        for begin in range(0, len(features), rows):
            chunk, right = features[begin : begin + rows], target[begin : begin + rows]
            held = buffer[: len(chunk)]
            logits = torch.addmm(bias, chunk, weight.t(), out=held[:, :width])
            one, other = losses(held, width, right, smoothing, training)
            nll.append(one)
            spread.append(other)
            if training:
                # What were logits is now the gradient by them.
                torch.mm(logits, weight, out=gradients[0][begin : begin + rows])
                torch.addmm(gradients[1], logits.t(), chunk, beta=1 if begin else 0, out=gradients[1])
                gradients[2] = logits.sum(0) + (gradients[2] if begin else 0)
        ctx.save_for_backward(*gradients)
        total = torch.cat(nll).sum()
        ctx.mark_non_differentiable(total)
        return (1 - smoothing) * total + smoothing * torch.cat(spread).sum(), total

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, by_objective: Tensor, _by_nll: Tensor) -> tuple[Tensor | None, ...]:
        by_features, by_weight, by_bias = (gradient * by_objective for gradient in ctx.saved_tensors)
        return by_features, by_weight, by_bias, None, None, None
