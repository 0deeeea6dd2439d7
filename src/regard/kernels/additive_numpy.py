"""Additive scores for NumPy arrays: the CPU kernels without torch, forward only."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from regard.errors import DtypeError
from regard.kernels.shapes import batch_shape


def additive_scores_numpy(query: ArrayLike, key: ArrayLike, v: ArrayLike) -> NDArray[Any]:
    """How well each key answers each query: ``v . tanh(query + key)``, (..., q, d) (..., k, d) (d,) -> (..., q, k).

    Leading dimensions broadcast; float16 is computed in float32, whole numbers in float64.

    >>> additive_scores_numpy([[0.5, 2.0]], [[0.5, -1.0], [-0.5, -2.0]], [1.0, 10.0]).round(4)
    array([[8.3775, 0.    ]])
    """
    import numba

    from regard.kernels import additive_cpu

    query, key, v = np.asarray(query), np.asarray(key), np.asarray(v)
    batch = batch_shape(query.shape, key.shape, v.shape)
    dtype = np.result_type(query, key, v)
    if dtype.kind not in "fiub":
        raise DtypeError(f"additive scores need real numbers, not {dtype}")
    wide = np.dtype(np.float32 if dtype in (np.float16, np.float32) else np.float64)
    rows, columns, width = query.shape[-2], key.shape[-2], v.shape[0]
    query = np.ascontiguousarray(np.broadcast_to(query, (*batch, rows, width)), wide).reshape(-1, rows, width)
    key = np.ascontiguousarray(np.broadcast_to(key, (*batch, columns, width)), wide).reshape(-1, columns, width)
    v = np.ascontiguousarray(v, wide)
    scores, beyond = additive_cpu.scores(query, key, v, numba.get_num_threads())
    if beyond:
        most = additive_cpu.limit(wide)
        for b, n in np.argwhere(~(abs(query).max(-1) <= most)):
            scores[b, n] = np.tanh(query[b, n] + key[b]) @ v
        for b, m in np.argwhere(~(abs(key).max(-1) <= most)):
            scores[b, :, m] = np.tanh(query[b] + key[b, m]) @ v
    return scores.reshape(*batch, rows, columns).astype(dtype if dtype.kind == "f" else wide, copy=False)
