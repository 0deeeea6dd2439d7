"""What a GRU or LSTM does between its matrix products, by plain torch.

``regard.kernels.recurrent`` has functions of the same names, arguments and results for the CPU. Results are written
into the tensors given last. Where ``active`` (n,) is not empty, rows in which it is False keep their state, and their
step has no gradient. Rows are (n, width).
"""

from __future__ import annotations

import torch
from torch import Tensor


def gru_step(product: Tensor, recurrent: Tensor, last: Tensor) -> tuple[Tensor, ...]:
    """The next state (..., d); then reset gate, update gate, candidate, and the recurrent part of the candidate."""
    d = last.shape[-1]
    reset, update = torch.sigmoid(product[..., : 2 * d] + recurrent[..., : 2 * d]).chunk(2, -1)
    inner = recurrent[..., 2 * d :]
    candidate = torch.tanh(product[..., 2 * d :] + reset * inner)
    return torch.lerp(candidate, last, update), reset, update, candidate, inner


def gru_forward(product: Tensor, recurrent: Tensor, last: Tensor, active: Tensor, new: Tensor, tape: Tensor) -> None:
    fresh, *gates = gru_step(product, recurrent, last)
    tape.copy_(torch.cat(gates, -1))
    new.copy_(torch.where(active[:, None], fresh, last) if len(active) else fresh)


def gru_backward(
    by_new: Tensor,
    last: Tensor,
    active: Tensor,
    tape: Tensor,
    by_product: Tensor,
    by_recurrent: Tensor,
    by_last: Tensor,
) -> None:
    reset, update, candidate, inner = tape.chunk(4, -1)
    by_fresh = by_new * active[:, None] if len(active) else by_new
    by_candidate = by_fresh * (1 - update) * (1 - candidate * candidate)
    by_reset = by_candidate * inner * reset * (1 - reset)
    by_update = by_fresh * (last - candidate) * update * (1 - update)
    by_product.copy_(torch.cat([by_reset, by_update, by_candidate], -1))
    by_recurrent.copy_(torch.cat([by_reset, by_update, by_candidate * reset], -1))
    by_last.copy_(by_new - by_fresh * (1 - update))


def lstm_step(product: Tensor, recurrent: Tensor, last: Tensor, last_cell: Tensor) -> tuple[Tensor, ...]:
    """The next state and cell (..., d); then input, forget and output gate, candidate, and what the cell shows."""
    d = last.shape[-1]
    inner = product + recurrent
    write, keep, show = torch.sigmoid(inner[..., : 3 * d]).chunk(3, -1)
    candidate = torch.tanh(inner[..., 3 * d :])
    cell = keep * last_cell + write * candidate
    shown = torch.tanh(cell)
    return show * shown, cell, write, keep, show, candidate, shown


def lstm_forward(
    product: Tensor,
    recurrent: Tensor,
    last: Tensor,
    last_cell: Tensor,
    active: Tensor,
    new: Tensor,
    new_cell: Tensor,
    tape: Tensor,
) -> None:
    fresh, cell, *gates = lstm_step(product, recurrent, last, last_cell)
    tape.copy_(torch.cat(gates, -1))
    new.copy_(torch.where(active[:, None], fresh, last) if len(active) else fresh)
    new_cell.copy_(torch.where(active[:, None], cell, last_cell) if len(active) else cell)


def lstm_backward(
    by_new: Tensor,
    by_cell: Tensor,
    last: Tensor,  # noqa: ARG001 - the GRU's needs it
    last_cell: Tensor,
    active: Tensor,
    tape: Tensor,
    by_product: Tensor,
    by_recurrent: Tensor,
    by_last: Tensor,
    by_last_cell: Tensor,
) -> None:
    write, keep, show, candidate, shown = tape.chunk(5, -1)
    by_fresh, by_inside = (by * active[:, None] if len(active) else by for by in (by_new, by_cell))
    by_inner = by_inside + by_fresh * show * (1 - shown * shown)
    by_gates = (
        by_inner * candidate * write * (1 - write),
        by_inner * last_cell * keep * (1 - keep),
        by_fresh * shown * show * (1 - show),
        by_inner * write * (1 - candidate * candidate),
    )
    by_product.copy_(torch.cat(by_gates, -1))
    by_recurrent.copy_(by_product)
    by_last.copy_(by_new - by_fresh)
    by_last_cell.copy_(by_inner * keep + (by_cell - by_inside))
