"""Recurrent networks: the cells, a layer over time, and the encoder that reads a sentence.

A cell is given the products of its inputs (made for all steps at once) and adds its own product with the state.
Inside, time comes first: (t, b, d), so that each step is one block of memory.
"""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import torch
from torch import Tensor, nn

from regard.errors import choose

State = tuple[Tensor, ...]
"""What a cell carries from step to step; the first tensor is what others see of it."""


class Cell(nn.Module):
    """The recurrent half of a network: the next state from the inputs' products and the last state."""

    gates: ClassVar[int]
    """The inputs' products are ``gates`` times as wide as the state."""
    parts: ClassVar[int]
    """How many tensors make up the state."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.dim = dim
        self.weight = nn.Parameter(torch.empty(self.gates * dim, dim))
        self.bias = nn.Parameter(torch.zeros(self.gates * dim))
        for block in self.weight.data.split(dim):
            nn.init.orthogonal_(block)

    def step(self, product: Tensor, state: State) -> State:
        """One step: product (..., gates * d), state of (..., d) each."""
        raise NotImplementedError

    def forward(self, products: Tensor, state: State, active: Tensor | None = None, *, reverse: bool = False) -> Tensor:
        """All steps: products (t, b, gates * d) to what the state shows after each, (t, b, d).

        Where ``active`` (t, b) is False a row's state stays as it was, so padding changes nothing in either direction.
        """
        raise NotImplementedError


class GRU(Cell):
    """Gated recurrent unit (Cho et al. 2014, sec. 2.3), the reset gate applied after the recurrent product.

    That order, as in cuDNN and torch, needs one product a step instead of two.
    """

    gates = 3
    parts = 1

    def step(self, product: Tensor, state: State) -> State:
        (previous,) = state
        return (_gru(product, nn.functional.linear(previous, self.weight, self.bias), previous)[0],)

    def forward(self, products: Tensor, state: State, active: Tensor | None = None, *, reverse: bool = False) -> Tensor:
        outputs: Tensor = _GRUOverTime.apply(products, state[0], self.weight, self.bias, active, reverse)
        return outputs


class LSTM(Cell):
    """Long short-term memory (Hochreiter and Schmidhuber 1997; forget gate: Gers et al. 2000, sec. 3)."""

    gates = 4
    parts = 2

    def step(self, product: Tensor, state: State) -> State:
        previous, cell = state
        return _lstm(product + nn.functional.linear(previous, self.weight, self.bias), cell)[:2]

    def forward(self, products: Tensor, state: State, active: Tensor | None = None, *, reverse: bool = False) -> Tensor:
        outputs: Tensor = _LSTMOverTime.apply(products, *state, self.weight, self.bias, active, reverse)
        return outputs


CELLS: dict[str, type[Cell]] = {"gru": GRU, "lstm": LSTM}


def _gru(product: Tensor, recurrent: Tensor, previous: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The next state, then reset gate, update gate and candidate."""
    d = previous.shape[-1]
    reset, update = torch.sigmoid(product[..., : 2 * d] + recurrent[..., : 2 * d]).split(d, -1)
    candidate = torch.tanh(product[..., 2 * d :] + reset * recurrent[..., 2 * d :])
    return torch.lerp(candidate, previous, update), reset, update, candidate


def _lstm(product: Tensor, cell: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:
    """The next state and cell, then input, forget and output gate and candidate."""
    d = cell.shape[-1]
    write, keep, show = torch.sigmoid(product[..., : 3 * d]).split(d, -1)
    candidate = torch.tanh(product[..., 3 * d :])
    cell = keep * cell + write * candidate
    return show * torch.tanh(cell), cell, write, keep, show, candidate


def _order(steps: int, reverse: bool) -> range:
    return range(steps - 1, -1, -1) if reverse else range(steps)


class _GRUOverTime(torch.autograd.Function):
    """The loop over time, with the gradient of the recurrent matrix left for one product after the loop."""

    @staticmethod
    def forward(
        ctx: Any,
        products: Tensor,
        start: Tensor,
        weight: Tensor,
        bias: Tensor,
        active: Tensor | None,
        reverse: bool,
    ) -> Tensor:
        t, b, _ = products.shape
        d = start.shape[-1]
        outputs = products.new_empty(t, b, d)
        tape = products.new_empty(4, t, b, d)
        state = start
        for i in _order(t, reverse):
            recurrent = torch.addmm(bias, state, weight.t())
            new, *gates = _gru(products[i], recurrent, state)
            for kept, gate in zip(tape, (*gates, recurrent[:, 2 * d :]), strict=True):
                kept[i] = gate
            state = new if active is None else torch.where(active[i, :, None], new, state)
            outputs[i] = state
        ctx.save_for_backward(start, weight, active, outputs, tape)
        ctx.reverse = reverse
        return outputs

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, by_outputs: Tensor) -> tuple[Tensor | None, ...]:
        start, weight, active, outputs, tape = ctx.saved_tensors
        t, b, d = outputs.shape
        order = _order(t, ctx.reverse)
        previous = torch.cat([outputs[1:], start[None]] if ctx.reverse else [start[None], outputs[:-1]])
        by_products = outputs.new_empty(t, b, 3 * d)
        by_recurrent = outputs.new_empty(t, b, 3 * d)
        by_state = torch.zeros_like(start)
        for i in reversed(order):
            reset, update, candidate, recurrent = tape[:, i]
            by_state = by_state + by_outputs[i]
            by_new = by_state if active is None else by_state * active[i, :, None]
            by_candidate = by_new * (1 - update) * (1 - candidate * candidate)
            by_products[i, :, :d] = by_candidate * recurrent * reset * (1 - reset)
            by_products[i, :, d : 2 * d] = by_new * (previous[i] - candidate) * update * (1 - update)
            by_products[i, :, 2 * d :] = by_candidate
            by_recurrent[i, :, : 2 * d] = by_products[i, :, : 2 * d]
            by_recurrent[i, :, 2 * d :] = by_candidate * reset
            through = by_new * update if active is None else by_state - by_new * (1 - update)
            by_state = torch.addmm(through, by_recurrent[i], weight)
        by_weight = by_recurrent.flatten(0, 1).t() @ previous.flatten(0, 1)
        return by_products, by_state, by_weight, by_recurrent.sum((0, 1)), None, None


class _LSTMOverTime(torch.autograd.Function):
    """As for the GRU; the cell's gradient runs beside the state's."""

    @staticmethod
    def forward(
        ctx: Any,
        products: Tensor,
        start: Tensor,
        start_cell: Tensor,
        weight: Tensor,
        bias: Tensor,
        active: Tensor | None,
        reverse: bool,
    ) -> Tensor:
        t, b, _ = products.shape
        outputs = products.new_empty(t, b, start.shape[-1])
        tape = products.new_empty(5, *outputs.shape)
        state, cell = start, start_cell
        for i in _order(t, reverse):
            new, new_cell, *gates = _lstm(products[i] + torch.addmm(bias, state, weight.t()), cell)
            if active is not None:
                new = torch.where(active[i, :, None], new, state)
                new_cell = torch.where(active[i, :, None], new_cell, cell)
            state, cell = new, new_cell
            for kept, gate in zip(tape, (*gates, cell), strict=True):
                kept[i] = gate
            outputs[i] = state
        ctx.save_for_backward(start, start_cell, weight, active, outputs, tape)
        ctx.reverse = reverse
        return outputs

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, by_outputs: Tensor) -> tuple[Tensor | None, ...]:
        start, start_cell, weight, active, outputs, tape = ctx.saved_tensors
        t, b, d = outputs.shape
        order = _order(t, ctx.reverse)
        cells = tape[4]
        by_products = outputs.new_empty(t, b, 4 * d)
        by_state, by_cell = torch.zeros_like(start), torch.zeros_like(start)
        for i in reversed(order):
            write, keep, show, candidate, cell = tape[:, i]
            before = i + (1 if ctx.reverse else -1)
            last_cell = cells[before] if before in order else start_cell
            by_state = by_state + by_outputs[i]
            mask = None if active is None else active[i, :, None]
            by_new = by_state if mask is None else by_state * mask
            shown = torch.tanh(cell)
            by_inner = (by_cell if mask is None else by_cell * mask) + by_new * show * (1 - shown * shown)
            by_gates = by_products[i]
            by_gates[:, :d] = by_inner * candidate * write * (1 - write)
            by_gates[:, d : 2 * d] = by_inner * last_cell * keep * (1 - keep)
            by_gates[:, 2 * d : 3 * d] = by_new * shown * show * (1 - show)
            by_gates[:, 3 * d :] = by_inner * write * (1 - candidate * candidate)
            by_cell = by_inner * keep if mask is None else by_inner * keep + by_cell * ~mask
            by_state = by_gates @ weight if mask is None else torch.addmm(by_state - by_new, by_gates, weight)
        previous = torch.cat([outputs[1:], start[None]] if ctx.reverse else [start[None], outputs[:-1]])
        by_weight = by_products.flatten(0, 1).t() @ previous.flatten(0, 1)
        return by_products, by_state, by_cell, by_weight, by_products.sum((0, 1)), None, None


class Encoded(NamedTuple):
    """A sentence as the encoder leaves it."""

    annotations: Tensor
    """(b, k, directions * d): what each word is, in its surroundings."""
    summary: Tensor
    """(b, directions * d): the last state of each direction, in which the whole sentence has been read."""


class Encoder(nn.Module):
    """Reads a sentence word by word, in one or two directions (Bahdanau et al. 2015, sec. 3.2).

    >>> encoder = Encoder(5, 7, cell="lstm", layers=2)
    >>> encoded = encoder(torch.zeros(3, 4, 5), torch.tensor([4, 2, 1]))
    >>> encoded.annotations.shape, encoded.summary.shape
    (torch.Size([3, 4, 14]), torch.Size([3, 14]))
    """

    def __init__(
        self,
        embedding_dim: int,
        hidden_dim: int,
        *,
        cell: str = "gru",
        layers: int = 1,
        bidirectional: bool = True,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        kind = choose("cell", cell, CELLS)
        self.directions = 2 if bidirectional else 1
        self.annotation_dim = self.directions * hidden_dim
        self.dropout = nn.Dropout(dropout)
        self.inputs, self.cells = nn.ModuleList(), nn.ModuleList()
        for layer in range(layers):
            width = self.annotation_dim if layer else embedding_dim
            self.inputs.append(nn.Linear(width, self.directions * kind.gates * hidden_dim))
            self.cells.append(nn.ModuleList(kind(hidden_dim) for _ in range(self.directions)))

    def forward(self, embedded: Tensor, lengths: Tensor) -> Encoded:
        """Embedded words (b, k, e) and the number of them in each sentence (b,)."""
        time = torch.arange(embedded.shape[1], device=embedded.device)
        active = None if bool((lengths == embedded.shape[1]).all()) else time[:, None] < lengths
        hidden = embedded.transpose(0, 1)
        for layer, (inputs, cells) in enumerate(zip(self.inputs, self.cells, strict=True)):
            products = inputs(self.dropout(hidden) if layer else hidden).chunk(self.directions, -1)
            runs = [
                _run(cell, product, active, reverse=direction == 1)
                for direction, (cell, product) in enumerate(zip(cells, products, strict=True))
            ]
            hidden = torch.cat(runs, -1)
        summary = torch.cat([run[0 if direction else -1] for direction, run in enumerate(runs)], -1)
        return Encoded(hidden.transpose(0, 1), summary)


def _run(cell: Any, products: Tensor, active: Tensor | None, *, reverse: bool) -> Tensor:
    state = (products.new_zeros(products.shape[1], cell.dim),) * cell.parts
    outputs: Tensor = cell(products, state, active, reverse=reverse)
    return outputs
