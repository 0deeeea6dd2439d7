"""One step of additive attention: scores, softmax and context of one query a sentence, in one pass; and its gradient.

For a decoder that attends to the same annotations at every step. The keys come as e^{-2 key}, computed once for all
steps, so that a step has an exponential for each number of its query and none for the keys (see ``additive_cpu``).
The backward pass of a step gives what the step before it waits for; the gradients by keys and v are those of all
steps' scores at once. Nothing of size keys x width is held from one step to the next.
"""

# mypy: disallow-untyped-calls=False, disallow-untyped-decorators=False

from __future__ import annotations

import math
from typing import Any

import numpy as np

from regard.kernels.additive_cpu import limit, tanh_and_slope
from regard.kernels.compiling import inline, kernel
from regard.kernels.simd import BYTES, exp, lesser, load, splat, store
from regard.kernels.threads import share


def largest_key(dtype: np.dtype[Any]) -> float:
    """The largest |key| that the kernels take: any query is then small enough, or so large that its tanh is 1."""
    return limit(dtype) - 20


def attend_step(*arrays: np.ndarray, threads: int) -> None:
    """Fill in scores, weights and context.

    The arrays: query (b, d), e^{-2 key} (b, k, d), v (d,), annotations (b, k, a), visible (b, k) or (0, 0) for all;
    then scores (b, k), weights (b, k) and context (b, a) to write into. d and a must be multiples of the SIMD width.
    """
    query, keys, _, annotations, *_ = arrays
    share(len(keys), 3 * keys.size + annotations.size, threads, _forward, (limit(query.dtype), *arrays))


def attend_step_backward(*arrays: np.ndarray, threads: int) -> None:
    """Fill in the gradients by the query and by the scores.

    The arrays: by_context (b, a), by_weights (b, k) or (0, 0), by_scores (b, k) or (0, 0), query, e^{-2 key}, v,
    annotations, weights; then by_query (b, d) and by_score (b, k) to write into.
    """
    keys, annotations = arrays[4], arrays[6]
    share(len(keys), 4 * keys.size + annotations.size, threads, _backward, (limit(keys.dtype), *arrays))


@inline
def _exponentials(query, start, out, far):  # type: ignore[no-untyped-def]
    """out = e^{2 query}, from query[start] on, brought back to ``far`` where it is beyond. NaN stays NaN."""
    most, lanes = splat(out.dtype.type(far)), BYTES // out.itemsize
    zero = most - most
    for j in range(0, out.size, lanes):
        x = zero - lesser(most, zero - lesser(most, load(query, start + j)))
        store(out, j, exp(x + x))


@kernel
def _forward(far, query, keys, v, annotations, visible, scores, weights, context, first, stop):  # type: ignore[no-untyped-def]
    (_, k, d), a = keys.shape, annotations.shape[2]
    lanes = BYTES // v.itemsize
    q, key, note, out = query.reshape(-1), keys.reshape(-1), annotations.reshape(-1), context.reshape(-1)
    one, some, asked = splat(v.dtype.type(1)), np.empty(lanes, v.dtype), np.empty(d, v.dtype)
    zero = one - one
    for b in range(first, stop):
        _exponentials(q, b * d, asked, far)
        top = v.dtype.type(-np.inf)
        for m in range(k):
            total, at = zero, (b * k + m) * d
            for j in range(0, d, lanes):
                total = total + load(v, j) * tanh_and_slope(load(asked, j), load(key, at + j), one)[0]
            store(some, 0, total)
            scores[b, m] = some.sum()
            if not visible.size or visible[b, m]:
                top = max(top, scores[b, m])
        share_of_all = v.dtype.type(0)
        for m in range(k):
            seen = not visible.size or visible[b, m]
            weights[b, m] = math.exp(scores[b, m] - top) if seen else 0
            share_of_all += weights[b, m]
        for m in range(k):
            if weights[b, m] != 0:  # a hidden key weighs 0 beside a NaN too
                weights[b, m] /= share_of_all
        for j in range(0, a, lanes):
            mix = zero
            for m in range(k):
                if weights[b, m] != 0:  # 0 * NaN is NaN
                    mix = mix + splat(weights[b, m]) * load(note, (b * k + m) * a + j)
            store(out, b * a + j, mix)


@kernel
def _backward(  # type: ignore[no-untyped-def]
    far, by_context, by_weights, by_scores, query, keys, v, annotations, weights, by_query, by_score, first, stop
):
    (_, k, d), a = keys.shape, annotations.shape[2]
    lanes = BYTES // v.itemsize
    q, key, note = query.reshape(-1), keys.reshape(-1), annotations.reshape(-1)
    g_context, g_query = by_context.reshape(-1), by_query.reshape(-1)
    one, four, some = splat(v.dtype.type(1)), splat(v.dtype.type(4)), np.empty(lanes, v.dtype)
    zero, asked, by_weight = one - one, np.empty(d, v.dtype), np.empty(k, v.dtype)
    for b in range(first, stop):
        _exponentials(q, b * d, asked, far)
        mean = v.dtype.type(0)
        for m in range(k):
            total, at = zero, (b * k + m) * a
            for j in range(0, a, lanes):
                total = total + load(note, at + j) * load(g_context, b * a + j)
            store(some, 0, total)
            by_weight[m] = some.sum() if weights[b, m] != 0 else 0  # whatever a hidden annotation holds
            by_weight[m] += by_weights[b, m] if by_weights.size else 0
            mean += weights[b, m] * by_weight[m]
        for m in range(k):
            by_score[b, m] = weights[b, m] * (by_weight[m] - mean) + (by_scores[b, m] if by_scores.size else 0)
        for j in range(0, d, lanes):
            total, e = zero, load(asked, j)
            for m in range(k):
                if by_score[b, m] != 0:
                    total = total + splat(by_score[b, m]) * tanh_and_slope(e, load(key, (b * k + m) * d + j), one)[1]
            store(g_query, b * d + j, four * load(v, j) * total)
