"""Recurrent cells: one step, a series of steps that others come between, and a layer over all of time.

A cell is given the products of its inputs (made for all steps at once) and adds its own product with the state.
Time comes first: (t, b, d), so that each step is one block of memory.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from regard.kernels import dispatch
from regard.nn import cell_steps
from regard.nn.loop_gradients import Notes, hand_to_steps
from regard.nn.mixed_precision import apply, current_products
from regard.shape_types import Bool, Float

State = tuple[Tensor, ...]
"""What a cell carries from step to step; the first tensor is what others see of it."""


class Cell(nn.Module):
    """The recurrent half of a network: the next state from the inputs' products and the last state."""

    name: ClassVar[str]
    gates: ClassVar[int]
    """The inputs' products are ``gates`` times as wide as the state."""
    parts: ClassVar[int]
    """How many tensors make up the state."""
    tape: ClassVar[int]
    """How many values of the state's width a step's backward pass needs."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.dim = dim
        self.weight = nn.Parameter(torch.empty(self.gates * dim, dim))
        self.bias = nn.Parameter(torch.zeros(self.gates * dim))
        for gate in range(self.gates):
            nn.init.orthogonal_(self.weight.data[gate * dim : (gate + 1) * dim])

    def step(self, product: Float[Tensor, "*n gates_d"], state: State) -> State:
        """One step: product (..., gates * d), state of (..., d) each."""
        if not dispatch.few_gates_of_a_step(product) and dispatch.takes(self.weight, self.dim):
            return self.series()(product, state)
        between = getattr(cell_steps, f"{self.name}_step")
        recurrent = F.linear(state[0], self.weight, self.bias)
        # Autocast halves what comes out of products; the state stays whole, as in the kernels.
        whole = (part.to(self.weight.dtype) for part in (product, recurrent, *state))
        new: State = between(*whole)[: self.parts]
        return new

    def series(self) -> Callable[[Tensor, State], State]:
        """``step`` for the steps of one loop, whose gradients are to be had: faster backward."""
        notes = Notes()
        weight, bias = hand_to_steps(self.weight, self.bias, notes)

        def step(product: Tensor, state: State) -> State:
            new: State = apply(_Step, type(self), product, weight, bias, notes, *state)
            return new

        return step

    def forward(
        self,
        products: Float[Tensor, "t b gates_d"],
        state: State,
        active: Bool[Tensor, "t b"] | None = None,
        *,
        reverse: bool = False,
    ) -> Float[Tensor, "t b d"]:
        """All steps: products (t, b, gates * d) to what the state shows after each, (t, b, d).

        Where ``active`` (t, b) is False a row's state stays as it was, so padding changes nothing in either direction.
        """
        few = dispatch.few_gates_over_time(products)  # asked here: inside a function of autograd's no gradient is on
        outputs: Tensor = apply(_OverTime, type(self), products, self.weight, self.bias, active, reverse, few, *state)
        return outputs


class GRU(Cell):
    """Gated recurrent unit (Cho et al. 2014, sec. 2.3), the reset gate applied after the recurrent product.

    That order, as in cuDNN and torch, needs one product a step instead of two.
    """

    name = "gru"
    gates = 3
    parts = 1
    tape = 4


class LSTM(Cell):
    """Long short-term memory (Hochreiter and Schmidhuber 1997; forget gate: Gers et al. 2000, sec. 3)."""

    name = "lstm"
    gates = 4
    parts = 2
    tape = 5

    def __init__(self, dim: int) -> None:
        super().__init__(dim)
        nn.init.ones_(self.bias.data[dim : 2 * dim])  # remember at first (Jozefowicz et al. 2015, sec. 5)


CELLS: dict[str, type[Cell]] = {kind.name: kind for kind in (GRU, LSTM)}


class _Way(NamedTuple):
    """How the work between the products is done: by the kernels on arrays, or by torch on tensors."""

    forward: Callable[..., None]
    backward: Callable[..., None]
    held: Callable[[Tensor], Any]
    """A tensor as the two take it."""


def _way(kind: type[Cell], like: Tensor, width: int, *, few: bool = False) -> _Way:
    if few or not dispatch.takes(like, width):
        return _Way(*_functions(cell_steps, kind), lambda tensor: tensor)
    from regard.kernels import recurrent

    return _Way(*_functions(recurrent, kind), Tensor.numpy)


def _functions(module: Any, kind: type[Cell]) -> tuple[Callable[..., None], Callable[..., None]]:
    return getattr(module, f"{kind.name}_forward"), getattr(module, f"{kind.name}_backward")


class _Step(torch.autograd.Function):
    """One step of a series; the gradient of the recurrent matrix is left for the end of the series."""

    @staticmethod
    def forward(
        ctx: Any, kind: type[Cell], product: Tensor, weight: Tensor, bias: Tensor, notes: Notes, *state: Tensor
    ) -> State:
        shape, d = state[0].shape, state[0].shape[-1]
        rows = tuple(part.reshape(-1, d).contiguous() for part in state)
        new = tuple(torch.empty_like(part) for part in rows)
        tape = product.new_empty(len(rows[0]), kind.tape * d)
        recurrent = notes.products.add(bias, rows[0], notes.ready.t())
        way = _way(kind, weight, d)
        product = product.reshape(-1, len(weight)).contiguous()
        given = (product, recurrent, *rows, product.new_empty(0, dtype=torch.bool), *new, tape)
        way.forward(*map(way.held, given))
        ctx.way, ctx.notes, ctx.shape = way, notes, shape
        ctx.save_for_backward(weight, tape, *rows)
        ctx.set_materialize_grads(False)
        return tuple(part.view(shape) for part in new)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, *by_new: Tensor | None) -> tuple[Any, ...]:
        weight, tape, *last = ctx.saved_tensors
        rows = last[0].shape
        by_next = (tape.new_zeros(rows) if by is None else by.reshape(rows).contiguous() for by in by_new)
        by_product, by_recurrent = (tape.new_empty(len(tape), len(weight)) for _ in range(2))
        by_last = [torch.empty_like(part) for part in last]
        given = (*by_next, *last, tape.new_empty(0, dtype=torch.bool), tape, by_product, by_recurrent, *by_last)
        ctx.way.backward(*map(ctx.way.held, given))
        ctx.notes.add(by_recurrent, last[0])
        ctx.notes.products.add(by_last[0], by_recurrent, ctx.notes.ready, out=by_last[0])
        by_state = (part.view(ctx.shape) for part in by_last)
        return None, by_product.view(*ctx.shape[:-1], -1), None, None, None, *by_state


class _OverTime(torch.autograd.Function):
    """The loop over time; the gradient of the recurrent matrix is one product after it."""

    @staticmethod
    def forward(
        ctx: Any,
        kind: type[Cell],
        products: Tensor,
        weight: Tensor,
        bias: Tensor,
        active: Tensor | None,
        reverse: bool,
        few: bool,
        *start: Tensor,
    ) -> Tensor:
        (t, b, _), d = products.shape, start[0].shape[-1]
        # Place 0 of the states is the start; where time runs backwards, the last place is.
        states = tuple(products.new_empty(t + 1, b, d) for _ in start)
        for part, first in zip(states, start, strict=True):
            part[t if reverse else 0] = first
        tape, recurrent = products.new_empty(t, b, kind.tape * d), products.new_empty(b, len(weight))
        active = torch.empty(t, 0, dtype=torch.bool, device=products.device) if active is None else active.contiguous()
        way = _way(kind, weight, d, few=few)
        held = way.held
        xs, hs, acts, tapes, parts = (
            held(products.contiguous()),
            held(recurrent),
            held(active),
            held(tape),
            [held(part) for part in states],
        )
        ctx.products = current_products()
        ready = ctx.products.ready(weight)
        for i in reversed(range(t)) if reverse else range(t):
            last, new = (i + 1, i) if reverse else (i, i + 1)
            ctx.products.add(bias, states[0][last], ready.t(), out=recurrent)
            way.forward(xs[i], hs, *(part[last] for part in parts), acts[i], *(part[new] for part in parts), tapes[i])
        ctx.way, ctx.reverse = way, reverse
        ctx.save_for_backward(weight, active, tape, *states)
        return states[0][:-1] if reverse else states[0][1:]

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, by_outputs: Tensor) -> tuple[Any, ...]:
        weight, active, tape, *states = ctx.saved_tensors
        (t, b, _), reverse, held = tape.shape, ctx.reverse, ctx.way.held
        by_products, by_recurrents = (tape.new_empty(t, b, len(weight)) for _ in range(2))
        by_next, by_last = ([torch.zeros_like(part[0]) for part in states] for _ in range(2))
        acts, tapes, gxs, ghs = (held(part) for part in (active, tape, by_products, by_recurrents))
        parts, ready = [held(part) for part in states], ctx.products.ready(weight)
        for i in range(t) if reverse else reversed(range(t)):
            last = i + 1 if reverse else i
            by_next[0].add_(by_outputs[i])
            before = (part[last] for part in parts)
            ctx.way.backward(*map(held, by_next), *before, acts[i], tapes[i], gxs[i], ghs[i], *map(held, by_last))
            ctx.products.add(by_last[0], by_recurrents[i], ready, out=by_last[0])
            by_next, by_last = by_last, by_next
        previous = states[0][1:] if reverse else states[0][:-1]
        flat = by_recurrents.flatten(0, 1)
        by_weight = ctx.products(flat.t(), previous.flatten(0, 1))
        return None, by_products, by_weight, flat.sum(0), None, None, None, *by_next
