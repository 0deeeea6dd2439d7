"""The sizes that additive scores take, for torch and NumPy alike."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

import numpy as np

from regard.errors import ShapeError

Shape = Sequence[int]


def batch_shape(query: Shape, key: Shape, v: Shape) -> tuple[int, ...]:
    """The leading sizes that query and key have together, or an error that says what does not fit."""
    if len(query) < 2 or len(key) < 2 or len(v) != 1:
        _refuse("additive scores take query (..., q, d), key (..., k, d) and v (d,)", query, key, v)
    if not query[-1] == key[-1] == v[0]:
        _refuse(
            "query, key and v need the same last size (project query and key to the width of v first)", query, key, v
        )
    if tuple(query[:-2]) == tuple(key[:-2]):
        return tuple(query[:-2])
    try:
        return np.broadcast_shapes(tuple(query[:-2]), tuple(key[:-2]))
    except ValueError:
        _refuse("the leading sizes of query and key must be equal, or 1", query, key, v)


def _refuse(rule: str, query: Shape, key: Shape, v: Shape) -> NoReturn:
    raise ShapeError(f"{rule}, not query {tuple(query)}, key {tuple(key)}, v {tuple(v)}") from None
