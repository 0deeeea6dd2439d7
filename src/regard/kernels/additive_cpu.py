"""Additive scores on the CPU: a few multiplications and half a division for each (query, key, column), no tanh.

With p = e^{2(q + k)} = E_q E_k, where E_q = e^{2q} and E_k = e^{2k} are computed once a row:

    tanh(q + k) = (p - 1) / (p + 1) = 1 - 2 / (p + 1).

The first form keeps score = sum_d v_d tanh(q_d + k_d) from becoming the small difference of two large sums, as
sum_d v_d - 2 sum_d v_d / (p + 1) would be. Nothing of size queries x keys x width exists: the backward pass computes
t = tanh again, from a = e^{2q} and c = e^{-2k}: t = (a - c) / (a + c), which no a and c can make overflow.
SIMD vectors run along the width.

A row beyond ``limit`` (or with a NaN) would overflow; the kernels report that they met one, and what they return for
pairs with such a row is finite but meaningless: the caller computes those pairs another way.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from regard.kernels.compiling import inline, kernel
from regard.kernels.simd import (
    BYTES,
    exp,
    greater,
    lesser,
    load,
    outside,
    quotient,
    splat,
    spread,
    store,
    store_sums,
)
from regard.kernels.threads import share

_LIMIT = {np.dtype(np.float32): 43.0, np.dtype(np.float64): 350.0}  # e^{2 limit} and e^{-2 limit} are normal numbers
_HUGE = {np.dtype(np.float32): 1e9, np.dtype(np.float64): 1e18}  # (_HUGE - 1) / (_HUGE + 1) is 1, its square finite
_TILE_BYTES = 16384  # half of a usual first-level cache: the keys that stay there while all queries pass
_KEYS_AT_ONCE = 64  # backward: keys whose sums stay in the first-level cache while all queries pass
_EXP = 5  # how many times the work of one (query, key, column) an exponential takes


def limit(dtype: np.dtype[Any]) -> float:
    """The largest |query| and |key| that the kernels compute exactly."""
    return _LIMIT[dtype]


def scores(query: np.ndarray, key: np.ndarray, v: np.ndarray, threads: int) -> tuple[np.ndarray, bool]:
    """Scores (b, q, k) of contiguous query (b, q, d), key (b, k, d) and v (d,), all of one dtype.

    The second result says that some row is beyond ``limit``: the scores of its pairs are not to be used.
    """
    (b, q, d), k = query.shape, key.shape[1]
    out = np.empty((b, q, k), query.dtype)
    numbers = np.array([_LIMIT[query.dtype], _HUGE[query.dtype]], query.dtype)
    tile = int(min(max(_TILE_BYTES // (max(d, 1) * query.itemsize) // 4 * 4, 4), 64))
    rows = (query.reshape(b * q, d), key.reshape(b * k, d))
    work = b * d * (q * k + _EXP * (q + k))
    beyond = share(b * -(-k // tile), work, threads, _forward, (*rows, v, out.reshape(-1), b, tile, numbers))
    return out, any(beyond)


def gradients(
    grad: np.ndarray,
    strides: tuple[int, ...],
    query: np.ndarray,
    key: np.ndarray,
    v: np.ndarray,
    wanted: tuple[bool, bool, bool],
    threads: int,
) -> tuple[tuple[np.ndarray | None, np.ndarray | None, np.ndarray | None], bool]:
    """Gradients of query, key and v, None where not wanted; and whether some row is beyond ``limit``.

    ``grad`` is the memory that the gradient of the scores lies in, 1-D, with its three ``strides`` in elements.
    """
    (b, q, d), k, dtype = query.shape, key.shape[1], query.dtype
    # One block for both: the C library, given two back, would return them to the system, to be asked for again.
    block = np.empty((b * (q * wanted[0] + k * wanted[1]), d), dtype)
    grad_query = block[: b * q] if wanted[0] else None
    grad_key = block[len(block) - b * k :] if wanted[1] else None
    grad_v = np.zeros((b, d), dtype) if wanted[2] else None
    numbers = np.array([_LIMIT[dtype]], dtype)
    lanes = BYTES // dtype.itemsize
    rows = (query.reshape(b * q, d), key.reshape(b * k, d))
    args = (grad, strides, *rows, v, grad_query, grad_key, grad_v, b, numbers)
    work = b * d * (2 * q * k + _EXP * (q + k))
    beyond = share(b * -(-d // lanes), work, threads, _backward, args)
    return (
        None if grad_query is None else grad_query.reshape(query.shape),
        None if grad_key is None else grad_key.reshape(key.shape),
        None if grad_v is None else grad_v.sum(0, dtype=np.float64).astype(dtype),
    ), any(beyond)


@kernel
def _exponentials(times, rows, first, count, left, width, numbers, out, row_step, vector_step):  # type: ignore[no-untyped-def]
    """e^{times x} for x in rows[first : first + count, left : left + width], 1 for columns that are not there.

    The vector ``j`` of row ``i`` goes to ``out[i * row_step + j * vector_step]``. Returns whether a number was beyond
    the limit (such a number is brought back to it), and the largest result.
    """
    lanes = BYTES // rows.itemsize
    flat = rows.reshape(-1)
    last = np.zeros(width, rows.dtype)
    present = min(width, rows.shape[1] - left)
    factor, top, zero = splat(rows.dtype.type(times)), splat(numbers[0]), splat(rows.dtype.type(0))
    most, beyond = zero, False
    for i in range(count):
        source, start = flat, (first + i) * rows.shape[1] + left
        if present < width:
            for j in range(present):
                last[j] = flat[start + j]
            source, start = last, 0
        for j in range(width // lanes):
            x = load(source, start + j * lanes)
            if outside(x, top):
                beyond = True
                x = zero - lesser(zero - lesser(x, top), top)
            e = exp(factor * x)
            most = greater(most, e)
            store(out, i * row_step + j * vector_step, e)
    each = np.empty(lanes, rows.dtype)
    store(each, 0, most)
    return beyond, each.max()


@inline
def _less_and_more(a, b, one, huge):  # type: ignore[no-untyped-def]
    """p - 1 and p + 1 of p = a b, but at most ``huge``; None where no p is beyond it."""
    p = a * b if huge is None else lesser(a * b, splat(huge))
    return p - one, p + one


@inline
def tanh_and_slope(a, c, one):  # type: ignore[no-untyped-def]
    """t = (a - c) / (a + c) and (1 - t t) / 4, from s = (1 - |t|) / 2 and so without the rounding of t."""
    r = quotient(one, a + c)
    s = lesser(a, c) * r
    return (a - c) * r, s - s * s


@inline
def _pair(a, b, v, c, d, w, one, huge):  # type: ignore[no-untyped-def]
    """v tanh + w tanh by one division, v m / x + w n / y = (v m y + w n x) / (x y)."""
    m, x = _less_and_more(a, b, one, huge)
    n, y = _less_and_more(c, d, one, huge)
    return quotient(v * m * y + w * n * x, x * y)


@inline
def _four_keys(query, n, key, m, row, weight, line, huge):  # type: ignore[no-untyped-def]
    """line[m : m + 4] = the scores of query ``n`` and those keys; the columns of a key are ``row`` apart."""
    lanes, number, width = BYTES // weight.itemsize, weight.dtype.type, weight.size
    one, s0 = splat(number(1)), splat(number(0))
    s1 = s2 = s3 = s0
    for j in range(0, width, 2 * lanes):
        a, c = load(query, n * width + j), load(query, n * width + j + lanes)
        v, w = load(weight, j), load(weight, j + lanes)
        k0 = j // lanes * row + m * lanes
        k1, k2, k3 = k0 + lanes, k0 + 2 * lanes, k0 + 3 * lanes
        s0 = s0 + _pair(a, load(key, k0), v, c, load(key, k0 + row), w, one, huge)
        s1 = s1 + _pair(a, load(key, k1), v, c, load(key, k1 + row), w, one, huge)
        s2 = s2 + _pair(a, load(key, k2), v, c, load(key, k2 + row), w, one, huge)
        s3 = s3 + _pair(a, load(key, k3), v, c, load(key, k3 + row), w, one, huge)
    store_sums(line, m, s0, s1, s2, s3)


@kernel
def _forward(query, key, v, out, batch, tile, numbers, first, stop):  # type: ignore[no-untyped-def]
    """The scores of units [first, stop); a unit is one batch entry's next ``tile`` keys with all of its queries."""
    lanes = BYTES // v.itemsize
    n_queries, n_keys = query.shape[0] // batch, key.shape[0] // batch
    tiles = -(-n_keys // tile)
    width, row = -(-v.size // (2 * lanes)) * 2 * lanes, tile * lanes
    weight = np.zeros(width, v.dtype)
    weight[: v.size] = v
    e_query, e_key = np.empty(n_queries * width, v.dtype), np.ones(tile * width, v.dtype)
    line = np.empty(tile, v.dtype)
    beyond, current, top_query = False, -1, numbers[1]
    for unit in range(first, stop):
        b, m0 = unit // tiles, unit % tiles * tile
        if b != current:
            far, top_query = _exponentials(2, query, b * n_queries, n_queries, 0, width, numbers, e_query, width, lanes)
            beyond, current = beyond or far, b
        present = min(tile, n_keys - m0)
        far, top_key = _exponentials(2, key, b * n_keys + m0, present, 0, width, numbers, e_key, lanes, row)
        beyond = beyond or far
        small = top_query * top_key <= numbers[1]
        for n in range(n_queries):
            for m in range(0, present, 4):
                if small:
                    _four_keys(e_query, n, e_key, m, row, weight, line, None)
                else:
                    _four_keys(e_query, n, e_key, m, row, weight, line, numbers[1])
            at = (b * n_queries + n) * n_keys + m0
            for m in range(present):
                out[at + m] = line[m]
    return beyond


@kernel
def _backward(grad, strides, query, key, v, grad_query, grad_key, grad_v, batch, numbers, first, stop):  # type: ignore[no-untyped-def]
    """The gradients of units [first, stop); a unit is one batch entry and the next vector's worth of d."""
    lanes = BYTES // v.itemsize
    n_queries, n_keys = query.shape[0] // batch, key.shape[0] // batch
    blocks, groups = -(-v.size // lanes), -(-n_queries // 4)
    query_step, key_step = groups * 4 * lanes, n_keys * lanes
    most = min(blocks, stop - first)
    # Each vector's worth of d lies together, so that it stays in the cache; its sums take its place.
    of_query, of_key = np.ones(most * query_step, v.dtype), np.empty(most * key_step, v.dtype)
    sum_query, sum_key = np.empty(2 * query_step, v.dtype), np.empty(2 * key_step, v.dtype)
    part_key = np.zeros(key_step, v.dtype)
    sum_v = np.empty(lanes, np.float64)
    beyond, unit = False, first
    while unit < stop:
        b, left = unit // blocks, unit % blocks
        count = min(blocks - left, stop - unit)
        columns, width = left * lanes, count * lanes
        of_b = (query, b * n_queries, n_queries), (key, b * n_keys, n_keys)
        far, _ = _exponentials(2, *of_b[0], columns, width, numbers, of_query, lanes, query_step)
        too_far, _ = _exponentials(-2, *of_b[1], columns, width, numbers, of_key, lanes, key_step)
        beyond = beyond or far or too_far
        rows = b * strides[0], strides[1], strides[2]
        last = _last_group(grad, rows, n_queries, n_keys)
        for j in range(count):
            at = j * query_step, j * key_step
            _vector(grad, rows, last, of_query, of_key, at, sum_query, sum_key, part_key, sum_v)
            if grad_v is not None:
                for d in range(min(lanes, v.size - (left + j) * lanes)):
                    grad_v[b, (left + j) * lanes + d] = sum_v[d]
        if grad_query is not None:
            _write(grad_query, b * n_queries, n_queries, columns, v, of_query, count, query_step)
        if grad_key is not None:
            _write(grad_key, b * n_keys, n_keys, columns, v, of_key, count, key_step)
        unit += count
    return beyond


@kernel
def _last_group(grad, rows, n_queries, n_keys):  # type: ignore[no-untyped-def]
    """The gradients of the last one to four queries, zeros for those that the group lacks."""
    out = np.zeros((4, n_keys), grad.dtype)
    for n in range((n_queries - 1) // 4 * 4, n_queries):
        for m in range(n_keys):
            out[n % 4, m] = grad[rows[0] + n * rows[1] + m * rows[2]]
    return out.reshape(-1)


@kernel
def _vector(grad, rows, last, of_query, of_key, at, sum_query, sum_key, part_key, sum_v):  # type: ignore[no-untyped-def]
    """All queries with all keys for one vector's worth of d; e^{2q}, e^{-2k} give way to sums over keys, queries."""
    lanes = BYTES // part_key.itemsize
    n_keys, groups = part_key.size // lanes, sum_query.size // (8 * lanes)
    zero, part_v = splat(part_key.dtype.type(0)), np.empty(lanes, part_key.dtype)
    sum_query[:], sum_key[:], sum_v[:] = 0, 0, 0
    # Long sums are made of short ones, and these are added with what rounding takes from them.
    short = max(4, int(math.sqrt(groups)))
    for m0 in range(0, n_keys, _KEYS_AT_ONCE):
        m1 = min(m0 + _KEYS_AT_ONCE, n_keys)
        for group in range(groups):
            start = group * 4 * lanes
            args = (of_query, at[0] + start, of_key, at[1], part_key, sum_query, start, m0, m1)
            if group < groups - 1:
                store(part_v, 0, _four_queries(grad, rows[0] + group * 4 * rows[1], rows[1], rows[2], *args))
            else:
                store(part_v, 0, _four_queries(last, 0, n_keys, 1, *args))
            for i in range(lanes):
                sum_v[i] += part_v[i]
            if group % short == short - 1 or group == groups - 1:
                for m in range(m0 * lanes, m1 * lanes, lanes):
                    _add(sum_key, m, load(part_key, m))
                    store(part_key, m, zero)
    for sums, out, start in ((sum_query, of_query, at[0]), (sum_key, of_key, at[1])):
        half = sums.size // 2
        for i in range(0, half, lanes):
            store(out, start + i, load(sums, i) + load(sums, half + i))


@inline
def _add(sums, at, x):  # type: ignore[no-untyped-def]
    """Add to a sum in the first half of ``sums``, and what rounding took from it to the second (Kahan 1965)."""
    old = load(sums, at)
    new = old + x
    store(sums, at, new)
    lost = at + sums.size // 2
    store(sums, lost, load(sums, lost) + (x - (new - old)))


@inline
def _four_queries(grad, start, row, column, of_query, query_at, of_key, key_at, part_key, sum_query, at, m0, m1):  # type: ignore[no-untyped-def]
    """Four queries with keys [m0, m1): adds g (1 - t t) / 4 for each query and key, returns the sum of g t."""
    number, lanes = sum_query.dtype.type, BYTES // sum_query.itemsize
    one, zero = splat(number(1)), splat(number(0))
    a0, a1 = load(of_query, query_at), load(of_query, query_at + lanes)
    a2, a3 = load(of_query, query_at + 2 * lanes), load(of_query, query_at + 3 * lanes)
    r0, r1, r2, r3 = start, start + row, start + 2 * row, start + 3 * row
    total = zero
    for middle in range(m0, m1, 16):
        sum0 = sum1 = sum2 = sum3 = sum_v = zero
        for m in range(middle, min(middle + 16, m1)):
            e, c = load(of_key, key_at + m * lanes), m * column
            g0, g1, g2, g3 = spread(grad, r0 + c), spread(grad, r1 + c), spread(grad, r2 + c), spread(grad, r3 + c)
            (t0, w0), (t1, w1) = tanh_and_slope(a0, e, one), tanh_and_slope(a1, e, one)
            (t2, w2), (t3, w3) = tanh_and_slope(a2, e, one), tanh_and_slope(a3, e, one)
            sum0, sum1, sum2, sum3 = sum0 + g0 * w0, sum1 + g1 * w1, sum2 + g2 * w2, sum3 + g3 * w3
            sum_v = sum_v + ((g0 * t0 + g1 * t1) + (g2 * t2 + g3 * t3))
            of_all = (g0 * w0 + g1 * w1) + (g2 * w2 + g3 * w3)
            store(part_key, m * lanes, load(part_key, m * lanes) + of_all)
        _add(sum_query, at, sum0)
        _add(sum_query, at + lanes, sum1)
        _add(sum_query, at + 2 * lanes, sum2)
        _add(sum_query, at + 3 * lanes, sum3)
        total = total + sum_v
    return total


@kernel
def _write(out, first, count, left, v, sums, vectors, vector_step):  # type: ignore[no-untyped-def]
    """out[first : first + count, left:] = 4 * v[left:] * sums, as many columns as there are."""
    lanes = BYTES // v.itemsize
    flat, width = out.reshape(-1), out.shape[1]
    whole, four = min(vectors, (width - left) // lanes), splat(v.dtype.type(4))
    for i in range(count):
        start = (first + i) * width + left
        for j in range(whole):
            w = load(v, left + j * lanes)
            store(flat, start + j * lanes, four * w * load(sums, i * lanes + j * vector_step))
        for j in range(whole, vectors):
            for d in range(width - left - j * lanes):
                flat[start + j * lanes + d] = 4 * v[left + j * lanes + d] * sums[i * lanes + j * vector_step + d]
