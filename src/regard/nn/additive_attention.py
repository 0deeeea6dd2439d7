"""Additive attention for a decoder that attends to the same annotations at every step: same results, fused."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from regard.attention import Attended, attend
from regard.kernels import dispatch
from regard.kernels.additive import additive_gradients
from regard.nn.attention import Attention
from regard.nn.loop_gradients import Notes
from regard.nn.mixed_precision import apply
from regard.normalizers import NORMALIZERS
from regard.scores import SumOfTanh
from regard.shape_types import Bool, Float


class FusedAdditiveAttention:
    """The attention of one loop over time; the gradients by keys, v and annotations are made once, after its steps."""

    def __init__(
        self,
        attention: Attention,
        annotations: Float[Tensor, "b k v"],
        keys: Float[Tensor, "b k d"],
        visible: Bool[Tensor, "b 1 k"] | None,
    ) -> None:
        score = attention.score.comparison()
        assert isinstance(score, SumOfTanh)
        self.project, self.notes, self.visible = attention.score.query_series(), Notes(), visible
        self.keys, self.v, self.annotations = apply(
            _Hand, keys.contiguous(), score.v, annotations.contiguous(), self.notes
        )
        self.exps = self.keys.detach().mul(-2).exp_()

    @staticmethod
    def can_replace(attention: Attention, annotations: Tensor, keys: Tensor) -> bool:
        """Whether it gives the results of ``attention`` for these annotations and their projected keys."""
        score = attention.score.comparison()
        return (
            isinstance(score, SumOfTanh)
            and attention.normalize is NORMALIZERS["softmax"]
            and attention.window is None
            and dispatch.takes(score.v, annotations.shape[-1], keys.shape[-1])
            and _small(keys, score.v)
        )

    def __call__(self, query: Float[Tensor, "b 1 d_q"]) -> Attended:
        """One query of each sentence, (b, 1, query_dim)."""
        asked = self.project(query)
        context, weights, scores = apply(
            _AttendStep, asked[:, 0], self.exps, self.v, self.annotations, self.visible, self.notes
        )
        return Attended(
            context[:, None],
            weights=lambda: weights[:, None],
            scores=lambda: scores[:, None],
            steps=lambda: attend(
                asked, self.keys, self.annotations, score=SumOfTanh(self.v), visible=self.visible
            ).steps(),
        )


def _small(keys: Tensor, v: Tensor) -> bool:
    """Whether the kernels, in the precision of ``v``, take these keys."""
    from regard.kernels.additive_attention import largest_key

    most = largest_key(v.detach().numpy().dtype)
    low, high = keys.detach().aminmax() if keys.numel() else (0, 0)
    return bool(-most <= low and high <= most)


class _Hand(torch.autograd.Function):
    """Hands keys, v and annotations to the steps; autograd runs its backward after all of theirs."""

    @staticmethod
    def forward(ctx: Any, keys: Tensor, v: Tensor, annotations: Tensor, notes: Notes) -> tuple[Tensor, Tensor, Tensor]:
        ctx.notes = notes
        ctx.save_for_backward(keys, v)
        ctx.set_materialize_grads(False)
        return keys.view_as(keys), v.view_as(v), annotations.view_as(annotations)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, *_gradients: None) -> tuple[Tensor | None, ...]:
        weights, by_context, by_scores, queries = (torch.stack(parts, 1) for parts in ctx.notes.take())
        keys, v = ctx.saved_tensors
        of_keys, of_v, of_annotations, _ = ctx.needs_input_grad
        by_keys, by_v = additive_gradients(by_scores, queries, keys, v, False, of_keys, of_v)[1:]
        by_annotations = weights.mT @ by_context if of_annotations else None
        return by_keys if of_keys else None, by_v if of_v else None, by_annotations, None


class _AttendStep(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, query: Tensor, exps: Tensor, v: Tensor, annotations: Tensor, visible: Tensor | None, notes: Notes
    ) -> tuple[Tensor, Tensor, Tensor]:
        from regard.kernels.additive_attention import attend_step

        query = query.contiguous()
        context = annotations.new_empty(len(exps), annotations.shape[-1])
        scores, weights = (exps.new_empty(exps.shape[:2]) for _ in range(2))
        seen = np.empty((0, 0), np.bool_) if visible is None else visible[:, 0].contiguous().numpy()
        inputs = (part.numpy() for part in (query, exps, v, annotations))
        attend_step(*inputs, seen, scores.numpy(), weights.numpy(), context.numpy(), threads=torch.get_num_threads())
        ctx.save_for_backward(query, exps, v, annotations, weights)
        ctx.notes = notes
        ctx.set_materialize_grads(False)
        return context, weights, scores

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(
        ctx: Any, by_context: Tensor | None, by_weights: Tensor | None, by_scores: Tensor | None
    ) -> tuple[Tensor | None, ...]:
        from regard.kernels.additive_attention import attend_step_backward

        query, exps, v, annotations, weights = ctx.saved_tensors
        if by_context is None:
            by_context = annotations.new_zeros(len(exps), annotations.shape[-1])
        by_context, none = by_context.contiguous(), exps.new_empty(0, 0)
        others = (none if by is None else by.contiguous() for by in (by_weights, by_scores))
        by_query, by_score = torch.empty_like(query), torch.empty_like(weights)
        given = (by_context, *others, query, exps, v, annotations, weights, by_query, by_score)
        attend_step_backward(*(part.numpy() for part in given), threads=torch.get_num_threads())
        ctx.notes.add(weights, by_context, by_score, query)
        return by_query, None, None, None, None, None
