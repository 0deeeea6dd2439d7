"""The few largest of many: what a beam search asks of every hypothesis at every word."""

# mypy: disallow-untyped-calls=False, disallow-untyped-decorators=False

from __future__ import annotations

import numpy as np

from regard.kernels.compiling import inline, kernel
from regard.kernels.lanes import BYTES, above, load, splat
from regard.kernels.threads import share


def largest(rows: np.ndarray, count: int, threads: int) -> tuple[np.ndarray, np.ndarray]:
    """The ``count`` largest numbers of each row (n, width) and their places, largest first; (n, count) each.

    Of equal numbers the first counts as larger, and what is not a number as the smallest. Rows may lie apart, but what
    is in one must lie together.
    """
    values, places = np.empty((len(rows), count), rows.dtype), np.empty((len(rows), count), np.int64)
    share(len(rows), rows.size, threads, _rows, (rows, values, places))
    return values, places


@kernel
def _rows(rows, values, places, first, stop):  # type: ignore[no-untyped-def]
    lanes, width = BYTES // rows.itemsize, rows.shape[1]
    step, whole = rows.strides[0] // rows.itemsize, width // lanes * lanes
    for row in range(first, stop):
        best, where = values[row], places[row]
        best[:], where[:] = -np.inf, np.arange(where.size)
        for start in range(0, whole, lanes):
            # Few come so far: the largest of a row are soon found, and then it is compared and passed by.
            if above(load(rows, row * step + start), splat(best[-1])):
                _insert(rows[row], start, start + lanes, best, where)
        _insert(rows[row], whole, width, best, where)


@inline
def _insert(row, start, stop, best, where):  # type: ignore[no-untyped-def]
    """Put those of row[start:stop] among the largest that belong there."""
    for i in range(start, stop):
        x = row[i]
        if x > best[-1]:
            place = best.size - 1
            while place and x > best[place - 1]:
                best[place], where[place] = best[place - 1], where[place - 1]
                place -= 1
            best[place], where[place] = x, i
