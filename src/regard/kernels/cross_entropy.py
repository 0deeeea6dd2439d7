"""Log-sum-exp over a vocabulary, and the gradient of the cross-entropy: one exponential a logit, in place.

torch's keeps the log-probabilities of all logits for its backward pass; here the gradient takes their place.
"""

# mypy: disallow-untyped-calls=False, disallow-untyped-decorators=False

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from regard.kernels.compiling import kernel
from regard.kernels.simd import BYTES, exp, greater, load, splat, store
from regard.kernels.threads import share

_LOWEST = {np.dtype(np.float32): -80.0, np.dtype(np.float64): -700.0}  # e to it is 0 beside the largest, and normal
_STEPS = 6  # of about 0.15 ns, a logit


class RowSums(NamedTuple):
    """Of rows of logits; not finite where a logit was not."""

    log_sum_exp: np.ndarray
    """(n,)"""
    means: np.ndarray
    """(n,): of the logits"""
    by_bias: np.ndarray
    """(width,): the sum of the rows' gradients, where these were asked for"""


def log_sum_exp(logits: np.ndarray, bias: np.ndarray, threads: int) -> RowSums:
    """Of rows (n, width of ``bias`` padded to a multiple of the SIMD width), to which ``bias`` is added first.

    The padding is overwritten.
    """
    return _run(logits, bias, np.empty(0, np.int64), 0.0, threads)


def cross_entropy_gradient(
    logits: np.ndarray, bias: np.ndarray, right: np.ndarray, smoothing: float, threads: int
) -> RowSums:
    """The same, and the logits become the gradient of the cross-entropy with the words ``right`` (n,).

    That is the softmax less the target distribution, which has ``smoothing`` spread over all words.
    """
    return _run(logits, bias, right, smoothing, threads)


def _run(logits: np.ndarray, bias: np.ndarray, right: np.ndarray, smoothing: float, threads: int) -> RowSums:
    (n, stride), width, dtype = logits.shape, len(bias), logits.dtype
    log_sums, means = np.empty(n, dtype), np.empty(n, dtype)
    numbers = np.array([_LOWEST[dtype], smoothing], dtype)
    padded = np.concatenate([bias, np.full(stride - width, bias[0])])
    sums = share(n, n * width * _STEPS, threads, _rows, (logits, padded, width, right, numbers, log_sums, means))
    by_bias = np.sum(sums, axis=0) if sums else np.zeros(stride if len(right) else 0)
    return RowSums(log_sums, means, by_bias[:width].astype(dtype))


@kernel
def _rows(logits, bias, width, right, numbers, log_sums, means, first, stop):  # type: ignore[no-untyped-def]
    """Returns the sum of these rows' gradients, where they are made."""
    lanes, stride, lowest, smoothing = BYTES // logits.itemsize, logits.shape[1], splat(numbers[0]), numbers[1]
    flat, some = logits.reshape(-1), np.empty(BYTES // logits.itemsize, logits.dtype)
    zero, size = splat(logits.dtype.type(0)), stride if right.size else 0
    by_bias, part = np.zeros(size, np.float64), np.zeros(size, logits.dtype)
    for row in range(first, stop):
        at = row * stride
        flat[at + width : at + stride] = flat[at]  # copies, which no largest can be among; their share is taken off
        largest, total = load(flat, at) + load(bias, 0), zero
        for j in range(0, stride, lanes):
            x = load(flat, at + j) + load(bias, j)
            store(flat, at + j, x)
            largest, total = greater(x, largest), total + x
        store(some, 0, largest)
        top = some.max()
        store(some, 0, total)
        means[row] = (some.sum() - flat[at] * (stride - width)) / width
        copies, shift, sums = math.exp(max(flat[at] - top, numbers[0])) * (stride - width), splat(top), zero
        for j in range(at, at + stride, lanes):
            e = exp(greater(load(flat, j) - shift, lowest))
            sums = sums + e
            if right.size:
                store(flat, j, e)
        store(some, 0, sums)
        among = some.sum() - copies
        # 0 * mean is NaN when any logit was not finite, which the largest and the exponentials might hide.
        log_sums[row] = top + math.log(among) + 0 * means[row]
        if right.size:
            scale, less = splat(logits.dtype.type(1 / among)), splat(logits.dtype.type(smoothing / width))
            for j in range(0, stride, lanes):
                gradient = load(flat, at + j) * scale - less
                store(flat, at + j, gradient)
                store(part, j, load(part, j) + gradient)
            flat[at + right[row]] -= 1 - smoothing
            part[right[row]] -= 1 - smoothing
            if (row - first) % 64 == 63 or row == stop - 1:  # long sums are made of short ones
                by_bias += part
                part[:] = 0
    return by_bias
