"""The sizes that additive scores take, for torch and NumPy alike."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from regard.errors import ShapeError

Shape = Sequence[int]


def batch_shape(query: Shape, key: Shape, v: Shape) -> tuple[int, ...]:
    """The leading sizes that query and key have together, or an error that says what does not fit."""
    shapes = f"query {tuple(query)}, key {tuple(key)}, v {tuple(v)}"
    if len(query) < 2 or len(key) < 2 or len(v) != 1:
        raise ShapeError(f"additive scores take query (..., q, d), key (..., k, d) and v (d,), not {shapes}")
    if not query[-1] == key[-1] == v[0]:
        raise ShapeError(
            f"query, key and v need the same last size, not {shapes}; project query and key to the width of v first"
        )
    if tuple(query[:-2]) == tuple(key[:-2]):
        return tuple(query[:-2])
    try:
        return np.broadcast_shapes(tuple(query[:-2]), tuple(key[:-2]))
    except ValueError:
        raise ShapeError(f"the leading sizes of query and key must be equal, or 1: {shapes}") from None
