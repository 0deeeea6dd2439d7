"""Logits to the loss of the right word and its gradient, in the cache: one exponential a logit."""

# mypy: disallow-untyped-calls=False, disallow-untyped-decorators=False

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit

from regard.kernels.lanes import BYTES, exp, lesser, load, splat, store
from regard.kernels.threads import share

_compile: Any = njit(nogil=True, cache=True, error_model="numpy")

_LOWEST = {np.dtype(np.float32): -80.0, np.dtype(np.float64): -700.0}  # e to it is 0 beside the largest, and normal
_COST = 8  # operations a logit, for the decision how many threads to use


def losses(
    logits: np.ndarray, width: int, right: np.ndarray, smoothing: float, gradient: bool, threads: int
) -> tuple[np.ndarray, np.ndarray]:
    """For each row of ``logits`` (n, width and room up to whole lanes): -log p of the right word, and the mean of -log p over all words.

    With ``gradient`` the logits become the gradient of (1 - smoothing) * the first + smoothing * the second.
    """
    n, dtype = len(logits), logits.dtype
    nll, spread = np.empty(n, dtype), np.empty(n, dtype)
    numbers = np.array([_LOWEST[dtype], smoothing], dtype)
    share(n, n * width * _COST, threads, _rows, (logits, width, right, numbers, gradient, nll, spread))
    return nll, spread


@_compile
def _rows(logits, width, right, numbers, gradient, nll, spread, first, stop):  # type: ignore[no-untyped-def]
    lanes, stride = BYTES // logits.itemsize, logits.shape[1]
    flat, some = logits.reshape(-1), np.empty(BYTES // logits.itemsize, logits.dtype)
    zero = splat(logits.dtype.type(0))
    lowest, smoothing = splat(numbers[0]), numbers[1]
    for row in range(first, stop):
        at = row * stride
        flat[at + width : at + stride] = flat[at]  # what fills the row up must not be the largest
        largest, total = load(flat, at), zero
        for j in range(at, at + stride, lanes):
            x = load(flat, j)
            largest, total = zero - lesser(zero - largest, zero - x), total + x
        store(some, 0, largest)
        top = some.max()
        store(some, 0, total)
        mean = (some.sum() - flat[at] * (stride - width)) / width
        chosen = flat[at + right[row]]
        filling = math.exp(max(flat[at] - top, numbers[0])) * (stride - width)
        shift, sums = splat(top), zero
        for j in range(at, at + stride, lanes):
            e = exp(zero - lesser(zero - (load(flat, j) - shift), zero - lowest))
            sums = sums + e
            if gradient:
                store(flat, j, e)
        store(some, 0, sums)
        among = some.sum() - filling
        log_total = top + math.log(among)
        # mean * 0 is NaN when any logit was not finite, which the largest and the exponentials might hide.
        nll[row], spread[row] = log_total - chosen + mean * 0, log_total - mean
        if gradient:
            scale, less = splat(logits.dtype.type(1 / among)), splat(logits.dtype.type(smoothing / width))
            for j in range(at, at + stride, lanes):
                store(flat, j, load(flat, j) * scale - less)
            flat[at + right[row]] -= 1 - smoothing
