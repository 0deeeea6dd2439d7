"""What a GRU or LSTM does between its matrix products, each step in one pass over memory.

torch's GRU and LSTM take whole sequences, but a context enters a decoder at every step; torch's cells for that are
not fused on the CPU.

Rows (n, ...) are contiguous; the width d of the state must be a multiple of the SIMD width. Forward passes write a tape
of what the backward pass needs. A row that is not active keeps its state, and its step has no gradient.
"""

# mypy: disallow-untyped-calls=False, disallow-untyped-decorators=False, disallow-untyped-defs=False

from __future__ import annotations

from regard.kernels.compiling import inline, kernel
from regard.kernels.simd import BYTES, exp, lesser, load, quotient, splat, store

FAR = 40.0
"""tanh(x) and sigmoid(2x) are 1 to the last digit from here on, and their exponentials still normal numbers."""


@inline
def tanh(x, one, far):
    """tanh of each lane, as 1 - 2 / (1 + e^2x); ``one`` and ``far`` are splat(1) and splat(FAR). NaN stays NaN."""
    zero = one - one
    x = zero - lesser(far, zero - lesser(far, x))
    return one - quotient(one + one, one + exp(x + x))


@inline
def sigmoid(x, one, far):
    """1 / (1 + e^-x) of each lane. NaN stays NaN."""
    zero = one - one
    x = lesser(far + far, zero - lesser(far + far, x))
    return quotient(one, one + exp(x))


@kernel
def gru_forward(product, recurrent, previous, active, out, tape):
    """The next state; tape (n, 4 d): reset, update, candidate, recurrent part of the candidate."""
    n, d = previous.shape
    lanes = BYTES // previous.itemsize
    x, h, last = product.reshape(-1), recurrent.reshape(-1), previous.reshape(-1)
    new, kept = out.reshape(-1), tape.reshape(-1)
    one, far = splat(previous.dtype.type(1)), splat(previous.dtype.type(FAR))
    for row in range(n):
        if active.size and not active[row]:
            new[row * d : (row + 1) * d] = last[row * d : (row + 1) * d]
            kept[row * 4 * d : (row + 1) * 4 * d] = 0
            continue
        for j in range(0, d, lanes):
            at, save = row * 3 * d + j, row * 4 * d + j
            reset = sigmoid(load(x, at) + load(h, at), one, far)
            update = sigmoid(load(x, at + d) + load(h, at + d), one, far)
            inner = load(h, at + 2 * d)
            candidate = tanh(load(x, at + 2 * d) + reset * inner, one, far)
            store(new, row * d + j, candidate + update * (load(last, row * d + j) - candidate))
            store(kept, save, reset)
            store(kept, save + d, update)
            store(kept, save + 2 * d, candidate)
            store(kept, save + 3 * d, inner)


@kernel
def gru_backward(by_new, previous, active, tape, by_product, by_recurrent, by_previous):
    """Gradients by both products (n, 3 d), and by the last state where it does not pass through its product."""
    n, d = previous.shape
    lanes = BYTES // previous.itemsize
    g_new, last, kept = by_new.reshape(-1), previous.reshape(-1), tape.reshape(-1)
    g_x, g_h, g_last = by_product.reshape(-1), by_recurrent.reshape(-1), by_previous.reshape(-1)
    one = splat(previous.dtype.type(1))
    for row in range(n):
        if active.size and not active[row]:
            g_last[row * d : (row + 1) * d] = g_new[row * d : (row + 1) * d]
            g_x[row * 3 * d : (row + 1) * 3 * d] = 0
            g_h[row * 3 * d : (row + 1) * 3 * d] = 0
            continue
        for j in range(0, d, lanes):
            at, save = row * 3 * d + j, row * 4 * d + j
            reset, update, candidate = load(kept, save), load(kept, save + d), load(kept, save + 2 * d)
            by_state = load(g_new, row * d + j)
            by_candidate = by_state * (one - update) * (one - candidate * candidate)
            by_reset = by_candidate * load(kept, save + 3 * d) * reset * (one - reset)
            by_update = by_state * (load(last, row * d + j) - candidate) * update * (one - update)
            store(g_x, at, by_reset)
            store(g_h, at, by_reset)
            store(g_x, at + d, by_update)
            store(g_h, at + d, by_update)
            store(g_x, at + 2 * d, by_candidate)
            store(g_h, at + 2 * d, by_candidate * reset)
            store(g_last, row * d + j, by_state * update)


@kernel
def lstm_forward(product, recurrent, previous, cell, active, out, out_cell, tape):
    """The next state and cell; tape (n, 5 d): input, forget and output gate, candidate, tanh of the cell."""
    n, d = cell.shape
    lanes = BYTES // cell.itemsize
    x, h, last, kept = product.reshape(-1), recurrent.reshape(-1), cell.reshape(-1), tape.reshape(-1)
    new, new_cell = out.reshape(-1), out_cell.reshape(-1)
    one, far = splat(cell.dtype.type(1)), splat(cell.dtype.type(FAR))
    for row in range(n):
        if active.size and not active[row]:
            new[row * d : (row + 1) * d] = previous[row]
            new_cell[row * d : (row + 1) * d] = cell[row]
            kept[row * 5 * d : (row + 1) * 5 * d] = 0
            continue
        for j in range(0, d, lanes):
            at, save = row * 4 * d + j, row * 5 * d + j
            write = sigmoid(load(x, at) + load(h, at), one, far)
            keep = sigmoid(load(x, at + d) + load(h, at + d), one, far)
            show = sigmoid(load(x, at + 2 * d) + load(h, at + 2 * d), one, far)
            candidate = tanh(load(x, at + 3 * d) + load(h, at + 3 * d), one, far)
            inner = keep * load(last, row * d + j) + write * candidate
            shown = tanh(inner, one, far)
            store(new, row * d + j, show * shown)
            store(new_cell, row * d + j, inner)
            store(kept, save, write)
            store(kept, save + d, keep)
            store(kept, save + 2 * d, show)
            store(kept, save + 3 * d, candidate)
            store(kept, save + 4 * d, shown)


@kernel
def lstm_backward(by_new, by_cell, _previous, cell, active, tape, by_product, by_recurrent, by_previous, by_last_cell):
    """Gradients by both products (n, 4 d), which are the same, and by the last state and cell."""
    n, d = cell.shape
    lanes = BYTES // cell.itemsize
    g_new, g_cell, last, kept = by_new.reshape(-1), by_cell.reshape(-1), cell.reshape(-1), tape.reshape(-1)
    g_x, g_last, g_last_cell = by_product.reshape(-1), by_previous.reshape(-1), by_last_cell.reshape(-1)
    one = splat(cell.dtype.type(1))
    zero = one - one
    for row in range(n):
        if active.size and not active[row]:
            g_last[row * d : (row + 1) * d] = g_new[row * d : (row + 1) * d]
            g_last_cell[row * d : (row + 1) * d] = g_cell[row * d : (row + 1) * d]
            g_x[row * 4 * d : (row + 1) * 4 * d] = 0
            continue
        for j in range(0, d, lanes):
            at, save, here = row * 4 * d + j, row * 5 * d + j, row * d + j
            write, keep, show = load(kept, save), load(kept, save + d), load(kept, save + 2 * d)
            candidate, shown = load(kept, save + 3 * d), load(kept, save + 4 * d)
            by_state = load(g_new, here)
            by_inner = load(g_cell, here) + by_state * show * (one - shown * shown)
            store(g_x, at, by_inner * candidate * write * (one - write))
            store(g_x, at + d, by_inner * load(last, here) * keep * (one - keep))
            store(g_x, at + 2 * d, by_state * shown * show * (one - show))
            store(g_x, at + 3 * d, by_inner * write * (one - candidate * candidate))
            store(g_last, here, zero)
            store(g_last_cell, here, by_inner * keep)
    by_recurrent[:] = by_product
