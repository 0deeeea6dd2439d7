"""The output layer: from features to words, and the loss of the right word."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from regard.kernels import dispatch
from regard.nn.mixed_precision import apply, current_products
from regard.shape_types import Float, Int

CHUNK = 2**22
"""Logits held at a time: 16 MB of float32. Fewer stay nearer in the cache, but then the products are less efficient."""


class Loss(NamedTuple):
    """Sums over the words of a batch; the loop divides by the words of all processes together.

    ``objective`` is what is differentiated (label smoothing and regularisers included), ``nll`` the plain negative
    log-likelihood in nats, which is what validation and perplexity report.
    """

    objective: Tensor
    nll: Tensor
    tokens: int | Tensor


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

    def forward(self, features: Float[Tensor, "*n d"]) -> Float[Tensor, "*n vocabulary"]:
        """Features (..., d) to unnormalised log-probabilities (..., vocabulary)."""
        return F.linear(features, self.weight, self.bias)

    @torch.no_grad()
    def normalized(self, features: Float[Tensor, "*n d"]) -> tuple[Float[Tensor, "*n vocabulary"], Float[Tensor, "*n"]]:
        """The same, and the log of the sum of e^score (...), which is to be taken off for log-probabilities."""
        features, width = features.to(self.weight.dtype), len(self.weight)
        held = _rows_of_logits(features.flatten(0, -2), width)
        with torch.autocast(features.device.type, enabled=False):
            torch.mm(features.flatten(0, -2), self.weight.t(), out=held[:, :width])
        few = dispatch.few_logits(held)
        log_sums = held[:, :width].add_(self.bias).logsumexp(1) if few else log_sum_exp(held, self.bias)[0]
        return held.view(*features.shape[:-1], -1)[..., :width], log_sums.view(features.shape[:-1])

    def loss(
        self, features: Float[Tensor, "n d"], target: Int[Tensor, " n"], *, label_smoothing: float = 0.0
    ) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
        """Features (n, d), target (n,): the objective and the negative log-likelihood, summed over the n words.

        The objective is the negative log-likelihood with ``label_smoothing`` of the probability spread evenly over the
        vocabulary (Szegedy et al. 2016, sec. 7); only it carries a gradient.
        """
        return cross_entropy(features, self.weight, self.bias, target, label_smoothing=label_smoothing)

    @torch.no_grad()
    def log_probs(self, features: Float[Tensor, "n d"], target: Int[Tensor, " n"]) -> Float[Tensor, " n"]:
        """Features (n, d), target (n,): the log-probability of each of the n words."""
        rows = max(1, CHUNK // len(self.weight))
        begins = range(0, len(target), rows)
        chunks = ((features[begin : begin + rows], target[begin : begin + rows]) for begin in begins)
        return torch.cat([-F.cross_entropy(self(chunk), right, reduction="none") for chunk, right in chunks])


def cross_entropy(
    features: Float[Tensor, "n d"],
    weight: Float[Tensor, "vocabulary d"],
    bias: Float[Tensor, " vocabulary"],
    target: Int[Tensor, " n"],
    *,
    label_smoothing: float = 0.0,
) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
    """``F.cross_entropy(features @ weight.T + bias, target)`` summed, without holding the logits of all rows.

    The gradients are made in the same pass, while a chunk's logits are in the cache. The second result is the same
    without label smoothing, and without a gradient.
    """
    objective, nll = apply(_CrossEntropy, features, weight, bias, target, label_smoothing, torch.is_grad_enabled())
    return objective, nll


class _CrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, features: Tensor, weight: Tensor, bias: Tensor, target: Tensor, smoothing: float, training: bool
    ) -> tuple[Tensor, Tensor]:
        rows, width = max(1, CHUNK // len(weight)), len(weight)
        buffer = _rows_of_logits(features[:rows], width)
        gradients = [torch.zeros_like(part) for part in (features, weight, bias)] if training else []
        nll, spread = [], []
        multiply = current_products()
        ready = multiply.ready(weight)
        for begin in range(0, len(features), rows):
            chunk, right = features[begin : begin + rows], target[begin : begin + rows]
            held = buffer[: len(chunk)]
            logits = multiply(chunk, ready.t(), out=held[:, :width])
            chosen = logits.gather(1, right[:, None])[:, 0] + bias[right]
            log_sums, means, by_bias = log_sum_exp(held, bias, right if training else None, smoothing)
            nll.append(log_sums - chosen)
            spread.append(log_sums - means)
            if training:
                # What were logits is now the gradient by them.
                by_logits = multiply.ready(logits)
                multiply(by_logits, ready, out=gradients[0][begin : begin + rows])
                multiply.add(gradients[1], by_logits.t(), chunk, out=gradients[1])
                gradients[2] += by_bias
        ctx.save_for_backward(*gradients)
        total = torch.cat(nll).sum()
        ctx.mark_non_differentiable(total)
        return (1 - smoothing) * total + smoothing * torch.cat(spread).sum(), total

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, by_objective: Tensor, _by_nll: Tensor) -> tuple[Tensor | None, ...]:
        by_features, by_weight, by_bias = (gradient * by_objective for gradient in ctx.saved_tensors)
        return by_features, by_weight, by_bias, None, None, None


def _rows_of_logits(like: Tensor, width: int) -> Tensor:
    """Memory for logits: rows padded to a multiple of the widest SIMD width: products and kernels are faster."""
    return like.new_empty(len(like), -(-width // 16) * 16)


def log_sum_exp(
    held: Float[Tensor, "n padded"],
    bias: Float[Tensor, " vocabulary"],
    right: Int[Tensor, " n"] | None = None,
    smoothing: float = 0.0,
) -> tuple[Float[Tensor, " n"], Float[Tensor, " n"], Tensor]:
    """Add the bias (width,) to rows (n, at least width): log(sum(e^logit)) and the mean logit of each, (n,).

    With ``right`` (n,), logits become the gradient of the cross-entropy with these words; their sum comes third.
    """
    if dispatch.takes(held, held.shape[-1]):
        from regard.kernels import cross_entropy as kernel

        threads = torch.get_num_threads()
        found = (
            kernel.log_sum_exp(held.numpy(), bias.numpy(), threads)
            if right is None
            else kernel.cross_entropy_gradient(held.numpy(), bias.numpy(), right.numpy(), smoothing, threads)
        )
        return torch.from_numpy(found.log_sum_exp), torch.from_numpy(found.means), torch.from_numpy(found.by_bias)
    width = len(bias)
    logits = held[:, :width].add_(bias)
    log_sums, means = logits.logsumexp(1), logits.mean(1)
    if right is not None:
        logits.sub_(log_sums[:, None]).exp_().sub_(smoothing / width)
        logits[torch.arange(len(logits), device=logits.device), right] -= 1 - smoothing
    return log_sums, means, logits.new_empty(0) if right is None else logits.sum(0)
