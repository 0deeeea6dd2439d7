"""Layers used at every step of a loop, whose weights get their gradient in one product after it.

Autograd would add up a full-sized gradient of the weights at every step. Here each step's backward only notes what
the sum needs. ``_Hand`` hands the weights to the steps: autograd runs its backward once all of theirs have run.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from regard.nn.mixed_precision import Products, apply, current_products
from regard.shape_types import Float


class Notes:
    """What the backward pass of each step leaves for the end, such as the gradient by its product and its input.

    A backward pass that does not get to the end leaves its notes behind; the next one starts afresh.
    The steps also find here how to multiply, and the weight ready for it.
    """

    products: Products
    ready: Tensor

    def __init__(self) -> None:
        self._pass, self._taken = -1, list[tuple[Tensor, ...]]()

    def add(self, *step: Tensor) -> None:
        if self._pass != (current := _current_pass()):
            self._pass, self._taken = current, []
        self._taken.append(step)

    def take(self) -> list[tuple[Tensor, ...]]:
        """The first things that the steps of this pass left, then the second, and so on; they are forgotten."""
        taken, self._taken = self._taken, []
        return list(zip(*taken, strict=True))


def _current_pass() -> int:
    """A number for the backward pass that is running."""
    return int(torch._C._current_graph_task_id())


class _Hand(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, weight: Tensor, bias: Tensor, notes: Notes) -> tuple[Tensor, Tensor]:
        ctx.notes = notes
        notes.products = current_products()
        notes.ready = notes.products.ready(weight.detach())
        ctx.set_materialize_grads(False)
        return weight.view_as(weight), bias.view_as(bias)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, _by_weight: None, _by_bias: None) -> tuple[Tensor, Tensor | None, None]:
        by_product, inputs = map(torch.cat, ctx.notes.take())
        by_weight = ctx.notes.products(by_product.t(), inputs)
        return by_weight, by_product.sum(0) if ctx.needs_input_grad[1] else None, None


def hand_to_steps(weight: Tensor, bias: Tensor | None, notes: Notes) -> tuple[Tensor, Tensor]:
    """Weight and bias for functions that add to ``notes`` in their backward, and give no gradient for the two."""
    none = weight.new_zeros(()) if bias is None else bias
    handed: tuple[Tensor, Tensor] = apply(_Hand, weight, none, notes)
    return handed


class DeferredLinear:
    """A linear layer for the steps of one loop.

    >>> layer = torch.nn.Linear(2, 3)
    >>> step = DeferredLinear(layer.weight, layer.bias)
    >>> sum(step(x).sum() for x in torch.ones(5, 4, 2)).backward()
    >>> bool((layer.weight.grad == 20).all())
    True
    """

    def __init__(self, weight: Tensor, bias: Tensor | None = None) -> None:
        self.notes = Notes()
        self.weight, self.bias = hand_to_steps(weight, bias, self.notes)

    def __call__(self, inputs: Float[Tensor, "*n d"]) -> Float[Tensor, "*n e"]:
        product: Tensor = apply(_Linear, inputs, self.weight, self.bias, self.notes)
        return product


class _Linear(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, inputs: Tensor, weight: Tensor, bias: Tensor, notes: Notes) -> Tensor:
        rows = inputs.reshape(-1, inputs.shape[-1])
        ctx.notes, multiply, matrix = notes, notes.products, notes.ready.t()
        ctx.save_for_backward(rows, weight)
        product = multiply.add(bias, rows, matrix) if bias.ndim else multiply(rows, matrix)
        return product.view(*inputs.shape[:-1], len(weight))

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, by_product: Tensor) -> tuple[Tensor | None, None, None, None]:
        inputs, weight = ctx.saved_tensors
        rows = by_product.reshape(-1, len(weight))
        if ctx.needs_input_grad[1]:
            ctx.notes.add(rows, inputs)
        if not ctx.needs_input_grad[0]:
            return None, None, None, None
        by_inputs = ctx.notes.products(rows, ctx.notes.ready)
        return by_inputs.view(*by_product.shape[:-1], weight.shape[1]), None, None, None
