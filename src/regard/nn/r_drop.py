"""R-Drop (Liang et al. 2021): dropout makes two passes over the same words differ, and training makes them agree."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from regard.nn.functions import apply
from regard.nn.output import CHUNK, Output


def agreeing_cross_entropy(
    output: Output, first: Tensor, second: Tensor, target: Tensor, *, weight: float, label_smoothing: float = 0.0
) -> tuple[Tensor, Tensor]:
    """Features (n, d) of two passes, target (n,): the objective and the negative log-likelihood, summed over n words.

    Both are means of the two passes. The objective has ``weight`` / 2 times the mean of the two divergences of one
    pass from the other, which makes it half of the paper's, with ``weight`` its alpha. Only it carries a gradient.
    """
    objective, nll = apply(
        _Agreeing, first, second, output.weight, output.bias, target, label_smoothing, weight, torch.is_grad_enabled()
    )
    return objective, nll


class _Agreeing(torch.autograd.Function):
    """Like the cross-entropy of one pass, it makes its gradients while a chunk's logits are in the cache."""

    @staticmethod
    def forward(
        ctx: Any,
        first: Tensor,
        second: Tensor,
        weight: Tensor,
        bias: Tensor,
        target: Tensor,
        smoothing: float,
        agreement: float,
        training: bool,
    ) -> tuple[Tensor, Tensor]:
        rows = max(1, CHUNK // (2 * len(weight)))
        by_features = [torch.empty_like(first), torch.empty_like(second)]
        by_weight, by_bias = torch.zeros_like(weight), torch.zeros_like(bias)
        objective, nll = first.new_zeros(()), first.new_zeros(())
        for begin in range(0, len(target), rows):
            chunks, right = [part[begin : begin + rows] for part in (first, second)], target[begin : begin + rows, None]
            log_probs = [torch.addmm(bias, chunk, weight.t()).log_softmax(1) for chunk in chunks]
            probs = [each.exp() for each in log_probs]
            apart = log_probs[0] - log_probs[1]
            divergences = [torch.linalg.vecdot(probs[0], apart), -torch.linalg.vecdot(probs[1], apart)]
            likelihood = -sum(each.gather(1, right).sum() for each in log_probs) / 2
            spread = -sum(each.mean(1).sum() for each in log_probs) / 2
            nll += likelihood
            objective += (1 - smoothing) * likelihood + smoothing * spread + agreement / 4 * sum(divergences).sum()
            if training:
                between = (probs[0] - probs[1]).mul_(agreement / 4)
                for i, sign in enumerate((1, -1)):
                    by_logits = apart.mul(sign).sub_(divergences[i][:, None]).mul_(agreement / 4).add_(0.5)
                    by_logits.mul_(probs[i]).add_(between, alpha=sign).sub_(smoothing / len(weight) / 2)
                    by_logits.scatter_add_(1, right, by_logits.new_full(right.shape, -(1 - smoothing) / 2))
                    torch.mm(by_logits, weight, out=by_features[i][begin : begin + rows])
                    by_weight.addmm_(by_logits.t(), chunks[i])
                    by_bias += by_logits.sum(0)
        ctx.save_for_backward(*by_features, by_weight, by_bias)
        ctx.mark_non_differentiable(nll)
        return objective, nll

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, by_objective: Tensor, _by_nll: Tensor) -> tuple[Tensor | None, ...]:
        return *(gradient * by_objective for gradient in ctx.saved_tensors), None, None, None, None
