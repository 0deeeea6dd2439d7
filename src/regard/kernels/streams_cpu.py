"""The kernels of ``streams``: from a strip of scores, some rows with all keys they see, to what is kept of it.

A strip passes three times, and stays in the cache meanwhile: the largest score of each row, and of each block of it;
the exponentials, which take the place of the scores, with their sum; and, columns at a time, the sums and the largest
weights down the rows. Only the matrix product before it and the exponential cost more than reading.

A strip is flat: row r starts at ``r * stride``, and may be read one vector beyond its last score.
"""

# mypy: disallow-untyped-calls=False, disallow-untyped-decorators=False

from __future__ import annotations

import math
from threading import Lock
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from regard.kernels.compiling import inline, kernel
from regard.kernels.simd import (
    BYTES,
    above,
    exp,
    greater,
    kept,
    largest,
    lesser,
    load,
    quotient,
    splat,
    store,
    store_sums,
)
from regard.kernels.streams import Adjust, Head, Reductions, Top, Wanted, reduce_strips, rows_of_a_strip
from regard.kernels.threads import share

LANES = BYTES // 4
_BLOCK = 128  # scores whose largest is kept: few blocks hold the strongest keys, and only those are searched
_SHORT = 1024  # numbers that are summed in float32; such sums are added in float64
_LEAST = np.float32(-87)  # e to that is the smallest normal number, nearly
_FLAT = np.float32(20)  # tanh of x / 2 is 1 from there on
_AT_ONCE = 512  # columns, about, whose sums stay in the first-level cache while the rows pass
_STRIP = 1 << 22  # scores of a strip, at most: 16 MB
_SCORES = 1 << 24  # scores of the strips of all threads together, at most
_FEWEST = 8  # rows of a strip: with very many keys fewer threads work, so that memory stays bounded
_STEPS = 8  # how many times the work of a comparison a weight takes: see ``threads.ENOUGH``


def reductions(head: Head, wanted: Wanted, adjust: Adjust | None) -> Reductions:
    """What is wanted of the map of a head; each thread takes strips of its own, from the matrix product on."""
    queries, keys = head.sizes
    threads = max(1, min(torch.get_num_threads(), _SCORES // (_FEWEST * keys)))
    step = rows_of_a_strip(keys, min(_STRIP, _SCORES // threads))
    kept_rows = Rows(head, wanted)
    columns = Columns(head, wanted)

    def strips(first: int, stop: int) -> None:
        rows = range(first * step, min(stop * step, queries), step)
        part = _Part(head, kept_rows, columns, rows)
        reduce_strips(head, part, adjust, rows)
        columns.add(part.found, rows)

    share(-(-queries // step), queries * keys * _STEPS, threads, strips, ())
    return Reductions(
        torch.from_numpy(kept_rows.lse),
        torch.from_numpy(kept_rows.entropy) if wanted.entropy else None,
        None if columns.found.received is None else torch.from_numpy(columns.found.received).float(),
        kept_rows.strongest(wanted.top) if wanted.top else None,
        columns.pooled(),
    )


class Rows:
    """What is kept of each row; each thread writes those of its strips."""

    def __init__(self, head: Head, wanted: Wanted) -> None:
        queries, keys = head.sizes
        self.sink = float(np.float32(head.sink))
        self.lse, self.entropy = np.full(queries, self.sink, np.float32), np.zeros(queries, np.float32)
        self.weights = np.zeros((queries, min(wanted.top, keys)), np.float32)
        self.places = np.full(self.weights.shape, -1)

    def part(self, first: int, last: int) -> list[np.ndarray]:
        return [part[first:last] for part in (self.lse, self.entropy, self.weights, self.places)]

    def strongest(self, top: int) -> Top:
        """Of each row, with room for keys that do not exist."""
        missing = ((0, 0), (0, top - self.weights.shape[1]))
        places = np.pad(self.places, missing, constant_values=-1)
        return Top(torch.from_numpy(np.pad(self.weights, missing)), torch.from_numpy(places))


class Found(NamedTuple):
    """Sums and largest weights of columns; None for what is not wanted."""

    received: np.ndarray | None
    """(k,) float64"""
    sums: np.ndarray | None
    """(height, width) of cells, float64"""
    peaks: np.ndarray | None
    """(height, width): the largest weight of each cell, float32"""


class Columns:
    """What is kept of the columns: the sum of what the threads found."""

    def __init__(self, head: Head, wanted: Wanted) -> None:
        self.queries, self.keys = head.sizes
        self.wanted, self.lock = wanted, Lock()
        self.height, self.width = wanted.pool or (1, -(-self.keys // _AT_ONCE))
        self.edges = -(-np.arange(self.width + 1) * self.keys // self.width)
        """the first key of each column of cells, and the number of keys"""
        self.found = self.empty(range(self.queries))

    def cells(self, rows: range) -> slice:
        """The rows of cells to which ``rows`` belong."""
        return slice(rows.start * self.height // self.queries, (rows.stop - 1) * self.height // self.queries + 1)

    def empty(self, rows: range) -> Found:
        """Nothing yet, of some rows."""
        wanted, cells = self.wanted, self.cells(rows)
        shape, pool = (cells.stop - cells.start, self.width), wanted.pool is not None
        return Found(
            np.zeros(self.keys) if wanted.received else None,
            np.zeros(shape) if pool and wanted.by == "mean" else None,
            np.zeros(shape, np.float32) if pool and wanted.by == "max" else None,
        )

    def add(self, found: Found, rows: range) -> None:
        """What was found of some rows."""
        cells = self.cells(rows)
        with self.lock:
            if self.found.received is not None:
                self.found.received[:] += found.received
            if self.found.sums is not None:
                self.found.sums[cells] += found.sums
            if self.found.peaks is not None and found.peaks is not None:
                np.maximum(self.found.peaks[cells], found.peaks, out=self.found.peaks[cells])

    def pooled(self) -> Tensor | None:
        if self.found.sums is None:
            return None if self.found.peaks is None else torch.from_numpy(self.found.peaks)
        rows = np.diff(-(-np.arange(self.height + 1) * self.queries // self.height))
        return torch.from_numpy(self.found.sums / np.outer(rows, np.diff(self.edges))).float()


class _Part:
    """The strips of one thread."""

    def __init__(self, head: Head, kept_rows: Rows, columns: Columns, rows: range) -> None:
        self.head, self.rows, self.columns = head, kept_rows, columns
        self.found, self.first_cell = columns.empty(rows), columns.cells(rows).start
        # One vector more than a row holds, so that a row may be read beyond its end, and not a multiple of 4096 bytes.
        self.stride = -(-columns.keys // LANES) * LANES + LANES
        self.buffer = torch.empty(min(rows.step, rows.stop - rows.start), self.stride)
        self.flat = self.buffer.numpy().reshape(-1)
        self.inverse = np.zeros(len(self.buffer), np.float32)
        self.bias = np.empty(0, np.float32) if head.bias is None else head.bias.numpy()

    def strip(self, rows: int, width: int) -> Tensor:
        return self.buffer[:rows, :width]

    def change(self, scores: Tensor, first: int, low: int) -> None:
        (rows, width), (start, step) = scores.shape, self.head.bias_at
        softcap = np.float32(self.head.softcap or 0)
        _change(self.flat, self.stride, rows, width, softcap, self.bias, start + step * first + low, step)

    def take(self, scores: Tensor, first: int, low: int) -> None:
        width, last = scores.shape[1], first + len(scores)
        seen = [(bound[first:last] - low).clamp(0, width).numpy() for bound in (self.head.start, self.head.end)]
        _rows(self.flat, self.stride, width, *seen, low, self.rows.sink, *self.rows.part(first, last), self.inverse)
        if any(part is not None for part in self.found):
            columns = self.columns
            cells = np.arange(first, last) * columns.height // columns.queries - self.first_cell
            bounds = np.flatnonzero(np.diff(cells, prepend=-1, append=-1))
            at_once = max(1, _AT_ONCE * columns.width // columns.keys)
            span = low, low + width
            _columns(self.flat, self.stride, self.inverse, bounds, cells, columns.edges, at_once, span, *self.found)


@kernel
def _change(strip, stride, rows, width, softcap, bias, start, step):  # type: ignore[no-untyped-def]
    """softcap * tanh(score / softcap) unless it is 0; + bias[start + row * step + column] unless there is none."""
    one, limit, zero = splat(np.float32(1)), splat(_FLAT), splat(np.float32(0))
    cap, double = splat(softcap), splat(np.float32(2) / softcap)
    for row in range(rows):
        if softcap > 0:
            for i in range(row * stride, row * stride + width, LANES):
                x = lesser(load(strip, i) * double, limit)
                e = exp(greater(x, zero - limit))
                store(strip, i, cap * quotient(e - one, e + one))
        if bias.size:
            for j in range(width):
                strip[row * stride + j] += bias[start + row * step + j]


@kernel
def _rows(strip, stride, width, starts, ends, low, sink, lse, entropy, weights, places, inverse):  # type: ignore[no-untyped-def]
    """The numbers of each row; exponentials take the place of its scores, 1 / their sum goes to ``inverse``."""
    inverse[:] = 0
    maxima, top = np.empty(-(-width // _BLOCK) + 1, np.float32), weights.shape[1]
    best, where = np.empty(top, np.float32), np.empty(top, np.int64)
    for row in range(starts.size):
        at, a, b = row * stride, starts[row], ends[row]
        if a >= b:
            a = b = 0
        left, right = at + a // LANES * LANES, at + -(-b // LANES) * LANES
        strip[at:left], strip[right : at + width] = 0, 0
        strip[left : at + a], strip[at + b : right] = -np.inf, -np.inf
        most = _largest(strip, left, right, maxima)
        if most == -np.inf:
            strip[left:right] = 0
            continue
        if top:
            _strongest(strip, left, right, maxima, best, where)
        ground = max(most, sink)
        total, spread = _exponentials(strip, left, right, np.float32(ground))
        whole = total + math.exp(sink - ground)
        share_of_keys, logarithm = total / whole, math.log(whole)
        lse[row], inverse[row] = ground + logarithm, 1 / whole
        entropy[row] = max(0.0, logarithm * share_of_keys - spread / whole)
        for i in range(top):
            if best[i] > -np.inf:
                weights[row, i] = math.exp(best[i] - ground) / whole
                places[row, i] = low + left - at + where[i]


@inline
def _largest(strip, left, right, maxima):  # type: ignore[no-untyped-def]
    """The largest of all, and in ``maxima`` that of each block."""
    most = np.float32(-np.inf)
    for block in range(-(-(right - left) // _BLOCK)):
        start = left + block * _BLOCK
        lanes = load(strip, start)
        for i in range(start + LANES, min(start + _BLOCK, right), LANES):
            lanes = greater(load(strip, i), lanes)
        maxima[block] = largest(lanes)
        most = max(most, maxima[block])
    return most


@inline
def _strongest(strip, left, right, maxima, best, where):  # type: ignore[no-untyped-def]
    """The largest scores and their places after ``left``. As many blocks as there are largest ones hold them all."""
    blocks = -(-(right - left) // _BLOCK)
    best[:] = -np.inf
    for block in range(blocks):
        _insert(maxima[block], block, best, where)
    least = best[-1]
    best[:] = -np.inf
    for block in range(blocks):
        if maxima[block] >= least and maxima[block] > best[-1]:
            start = left + block * _BLOCK
            for i in range(start, min(start + _BLOCK, right), LANES):
                if above(load(strip, i), splat(best[-1])):
                    for j in range(i, i + LANES):
                        _insert(strip[j], j - left, best, where)


@inline
def _insert(x, place, best, where):  # type: ignore[no-untyped-def]
    """Of equal numbers the first comes first."""
    if x > best[-1]:
        rank = best.size - 1
        while rank and x > best[rank - 1]:
            best[rank], where[rank] = best[rank - 1], where[rank - 1]
            rank -= 1
        best[rank], where[rank] = x, place


@inline
def _exponentials(strip, left, right, ground):  # type: ignore[no-untyped-def]
    """e = exp(score - ground) in place of each score; the sum of e, and that of e * (score - ground)."""
    least, base, zero = splat(_LEAST), splat(ground), splat(np.float32(0))
    four, total, spread = np.empty(4, np.float32), 0.0, 0.0
    for start in range(left, right, _SHORT):
        sums = products = zero
        for i in range(start, min(start + _SHORT, right), LANES):
            x = load(strip, i) - base
            y = greater(x, least)
            e = kept(exp(y), x, least)
            store(strip, i, e)
            sums, products = sums + e, products + e * y
        store_sums(four, 0, sums, products, zero, zero)
        total += four[0]
        spread += four[1]
    return total, spread


@kernel
def _columns(strip, stride, inverse, bounds, cells, edges, at_once, span, received, sums, peaks):  # type: ignore[no-untyped-def]
    """Add the strip's rows, ``bounds`` parting those of different cells; its columns are the keys of ``span``.

    ``at_once`` columns of cells are taken together.
    """
    low, high = span
    for cell in range(0, edges.size - 1, at_once):
        after = min(cell + at_once, edges.size - 1)
        left, right = max(edges[cell], low), min(edges[after], high)
        if left >= right:
            continue
        size = -(-(right - left) // LANES) * LANES
        total, most = np.empty(size, np.float32), np.empty(size, np.float32)
        for group in range(bounds.size - 1):
            row = bounds[group]
            total[:], most[:] = 0, 0
            for r in range(row, bounds[group + 1], 4):
                _four_rows(strip, stride, left - low, inverse, r, bounds[group + 1], total, most, received, sums, peaks)
            if received is not None:
                for i in range(right - left):
                    received[left + i] += total[i]
            for c in range(cell, after):
                start, stop = max(edges[c], left) - left, min(edges[c + 1], right) - left
                if sums is not None:
                    for i in range(start, stop):
                        sums[cells[row], c] += total[i]
                if peaks is not None:
                    for i in range(start, stop):
                        peaks[cells[row], c] = max(peaks[cells[row], c], most[i])


@inline
def _four_rows(strip, stride, left, inverse, row, end, total, most, received, sums, peaks):  # type: ignore[no-untyped-def]
    """Up to four rows from ``row`` on, before ``end``; of those that are missing, the last comes again, times 0."""
    r1, r2, r3 = min(row + 1, end - 1), min(row + 2, end - 1), min(row + 3, end - 1)
    nothing = np.float32(0)
    w0 = splat(inverse[row])
    w1 = splat(inverse[r1] if row + 1 < end else nothing)
    w2 = splat(inverse[r2] if row + 2 < end else nothing)
    w3 = splat(inverse[r3] if row + 3 < end else nothing)
    p0, p1, p2, p3 = row * stride + left, r1 * stride + left, r2 * stride + left, r3 * stride + left
    for i in range(0, total.size, LANES):
        x0, x1 = load(strip, p0 + i) * w0, load(strip, p1 + i) * w1
        x2, x3 = load(strip, p2 + i) * w2, load(strip, p3 + i) * w3
        if received is not None or sums is not None:
            store(total, i, load(total, i) + ((x0 + x1) + (x2 + x3)))
        if peaks is not None:
            store(most, i, greater(load(most, i), greater(greater(x0, x1), greater(x2, x3))))
