"""The best continuations of each sentence, over its hypotheses x words: what a beam search asks at every step.

torch's topk selects in every row by a partial sort; here most logits are compared once, with the least that counts.
"""

# mypy: disallow-untyped-calls=False, disallow-untyped-decorators=False

from __future__ import annotations

import numpy as np

from regard.kernels.compiling import inline, kernel
from regard.kernels.simd import BYTES, above, load, splat
from regard.kernels.threads import share

_CLOSE = 1e-6  # what may be lost when a float64 number is compared as float32


def top_k(rows: np.ndarray, offsets: np.ndarray, count: int, threads: int) -> tuple[np.ndarray, np.ndarray]:
    """The ``count`` largest of each sentence's numbers, largest first, and their places; (b, count) each.

    A sentence's numbers are w rows (b * w, width), to each of which its offset (b, w), of float64, is added; a place
    counts through them. Of equal numbers the first counts as larger, and what is not a number as the smallest. Rows
    may lie apart, but what is in one must lie together.
    """
    values, places = np.empty((len(offsets), count), np.float64), np.empty((len(offsets), count), np.int64)
    share(len(offsets), rows.size, threads, _sentences, (rows, offsets, values, places))
    return values, places


@kernel
def _sentences(rows, offsets, values, places, first, stop):  # type: ignore[no-untyped-def]
    lanes, width, (_, beam) = BYTES // rows.itemsize, rows.shape[1], offsets.shape
    step, whole = rows.strides[0] // rows.itemsize, width // lanes * lanes
    for sentence in range(first, stop):
        best, where = values[sentence], places[sentence]
        best[:], where[:] = -np.inf, np.arange(where.size)
        for hypothesis in range(beam):
            row, offset = sentence * beam + hypothesis, offsets[sentence, hypothesis]
            least = splat(_least(rows, best[-1] - offset))
            for start in range(0, whole, lanes):
                # Few come so far: the largest are soon found, and then a row is compared and passed by.
                if above(load(rows, row * step + start), least):
                    _insert(rows[row], offset, start, start + lanes, hypothesis * width, best, where)
                    least = splat(_least(rows, best[-1] - offset))
            _insert(rows[row], offset, whole, width, hypothesis * width, best, where)


@inline
def _least(rows, number):  # type: ignore[no-untyped-def]
    """``number`` or a little less, as the rows have theirs."""
    return rows.dtype.type(number - _CLOSE * abs(number) if np.isfinite(number) else number)


@inline
def _insert(row, offset, start, stop, place, best, where):  # type: ignore[no-untyped-def]
    """Put those of row[start:stop] among the largest that belong there."""
    for i in range(start, stop):
        x = row[i] + offset
        if x > best[-1]:
            rank = best.size - 1
            while rank and x > best[rank - 1]:
                best[rank], where[rank] = best[rank - 1], where[rank - 1]
                rank -= 1
            best[rank], where[rank] = x, place + i
