"""Additive scores for NumPy arrays: the CPU kernels without torch, forward only."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from regard.errors import DtypeError
from regard.kernels import dispatch
from regard.kernels.shapes import batch_shape

_LAYOUT: Any = ("C", "A", "W")  # writable too: for other arrays Numba would compile another kernel


def additive_scores_numpy(query: ArrayLike, key: ArrayLike, v: ArrayLike) -> NDArray[Any]:
    """How well each key answers each query: ``v . tanh(query + key)``, (..., q, d) (..., k, d) (d,) -> (..., q, k).

    Leading dimensions broadcast; float16 is computed in float32, whole numbers in float64.

    >>> additive_scores_numpy([[0.5, 2.0]], [[0.5, -1.0], [-0.5, -2.0]], [1.0, 10.0]).round(4)
    array([[8.3775, 0.    ]])
    """
    query, key, v = np.asarray(query), np.asarray(key), np.asarray(v)
    batch = batch_shape(query.shape, key.shape, v.shape)
    dtype = np.result_type(query, key, v)
    if dtype.kind not in "fiub":
        raise DtypeError(f"additive scores need real numbers, not {dtype}")
    wide = np.dtype(np.float32 if dtype in (np.float16, np.float32) else np.float64)
    query, key, v = _rows(query, batch, wide), _rows(key, batch, wide), np.require(v, wide, _LAYOUT)
    scores = _compiled(query, key, v) if dispatch.compiles() else _row_by_row(query, key, v)
    return scores.reshape(*batch, *scores.shape[1:]).astype(dtype if dtype.kind == "f" else wide, copy=False)


def _compiled(query: NDArray[Any], key: NDArray[Any], v: NDArray[Any]) -> NDArray[Any]:
    import numba

    from regard.kernels import additive_cpu

    scores, beyond = additive_cpu.scores(query, key, v, numba.get_num_threads())
    if beyond:
        most = additive_cpu.limit(v.dtype)
        for b, n in np.argwhere(~(abs(query).max(-1) <= most)):
            scores[b, n] = np.tanh(query[b, n] + key[b]) @ v
        for b, m in np.argwhere(~(abs(key).max(-1) <= most)):
            scores[b, :, m] = np.tanh(query[b] + key[b, m]) @ v
    return scores


def _row_by_row(query: NDArray[Any], key: NDArray[Any], v: NDArray[Any]) -> NDArray[Any]:
    """By NumPy alone, holding tanh for one query at a time."""
    scores = np.empty((*query.shape[:2], key.shape[1]), v.dtype)
    for b, n in np.ndindex(query.shape[:2]):
        scores[b, n] = np.tanh(query[b, n] + key[b]) @ v
    return scores


def _rows(array: NDArray[Any], batch: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray[Any]:
    """(..., n, d) as (rows of the batch, n, d)"""
    shape = (*batch, *array.shape[-2:])
    whole = array if array.shape == shape else np.broadcast_to(array, shape)
    return np.require(whole, dtype, _LAYOUT).reshape(math.prod(batch), *shape[-2:])
