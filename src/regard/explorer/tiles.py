"""Parts of huge maps: tiles pooled to a few cells, profiles of a row or a column, thumbnails of all heads.

Each part is computed from `AttentionMap.weights` block by block, so that memory does not grow with the map.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor

from regard.errors import InputError
from regard.explorer.limits import TILE_CELLS, TILE_WEIGHTS
from regard.inspection.attention_map import AttentionMap

AT_ONCE = 1 << 21  # weights that are held at a time: 8 MB
STRONGEST = 8  # places of a profile that are named

Span = tuple[int, int]
"""first and one past the last"""
Pooling = Literal["max", "mean"]


def tile(
    heads: Sequence[AttentionMap], rows: Span, columns: Span, cell: Span, by: Pooling, *, sampled: bool = False
) -> Tensor:
    """(height, width): the mean map of ``heads``, pooled in cells of ``cell`` rows x columns, the last ones smaller.

    ``sampled`` takes only the middle row of each cell, with all its columns.
    """
    _inside(heads[0], rows, columns)
    height, width = (-(-(last - first) // size) for (first, last), size in zip((rows, columns), cell, strict=True))
    if max(height, width) > TILE_CELLS:
        raise InputError(f"a tile has at most {TILE_CELLS} x {TILE_CELLS} cells; this one has {height} x {width}")
    cost = len(heads) * (columns[1] - columns[0]) * (height if sampled else rows[1] - rows[0])
    if cost > TILE_WEIGHTS:
        raise InputError(
            f"this tile takes {cost} weights, and at most {TILE_WEIGHTS} are computed for one: ask for fewer rows, "
            "or for sampled rows"
        )
    chosen = torch.arange(*rows)
    if sampled:
        chosen = (torch.arange(height) * cell[0] + cell[0] // 2).clamp_max(rows[1] - rows[0] - 1) + rows[0]
    across = torch.cat([_pooled_columns(heads, some, columns, cell[1], by) for some in _groups(chosen, _step(columns))])
    return across if sampled else _pooled(across.mT, cell[0], by).mT


def _groups(rows: Tensor, size: int) -> list[Tensor]:
    return [rows[start : start + size] for start in range(0, len(rows), size)]


def _step(columns: Span) -> int:
    return max(1, AT_ONCE // (columns[1] - columns[0]))


def _pooled_columns(heads: Sequence[AttentionMap], rows: Tensor, columns: Span, cell: int, by: Pooling) -> Tensor:
    return _pooled(mean_weights(heads, rows, slice(*columns)), cell, by)


def mean_weights(heads: Sequence[AttentionMap], rows: Tensor | int | None, columns: slice | int | None) -> Tensor:
    """(rows, columns): the mean over the heads."""
    found = heads[0].weights(rows, columns).float()
    for head in heads[1:]:
        found = found + head.weights(rows, columns)
    return found / len(heads) if len(heads) > 1 else found


def _pooled(table: Tensor, cell: int, by: Pooling) -> Tensor:
    """(n, ceil(m / cell)): each run of ``cell`` columns as its largest or its mean."""
    if cell == 1:
        return table
    size = table.shape[1]
    width = -(-size // cell)
    padded = torch.nn.functional.pad(table, (0, width * cell - size)).reshape(len(table), width, cell)
    if by == "max":
        return padded.amax(-1)  # weights are never below the 0 of the padding
    counts = (size - torch.arange(width) * cell).clamp_max(cell)
    return padded.sum(-1) / counts


def profile(heads: Sequence[AttentionMap], axis: str, place: int, span: Span, bins: int) -> dict[str, object]:
    """A row (where a query looked) or a column (who looked at a key) between two places, and its strongest places.

    ``cell`` places are one value, their largest; the strongest ones and ``total`` are of the whole row or column.
    """
    queries, keys = heads[0].shape
    rows, columns = ((place, place + 1), span) if axis == "row" else (span, (place, place + 1))
    _inside(heads[0], rows, columns)
    weights = mean_weights(heads, place, None)[0] if axis == "row" else mean_weights(heads, None, place)[:, 0]
    cell = 1
    while -(-(span[1] - span[0]) // cell) > bins:
        cell *= 2
    best = torch.topk(weights, min(STRONGEST, keys if axis == "row" else queries))
    return {
        "cell": cell,
        "values": _pooled(weights[None, slice(*span)], cell, "max")[0].tolist(),
        "strongest": [list(pair) for pair in zip(best.indices.tolist(), best.values.tolist(), strict=True)],
        "total": float(weights.double().sum()),
    }


def thumbnails(found: AttentionMap, batch: int, size: int) -> tuple[Tensor, bool]:
    """(h, height, width) of at most ``size`` cells to a side, and whether they are of sampled rows."""
    queries, keys = found.shape[2:]
    cell = (-(-queries // size), -(-keys // size))
    sampled = queries * keys > AT_ONCE
    parts = [tile([found[batch, head]], (0, queries), (0, keys), cell, "max", sampled=sampled) for head in found.heads]
    return torch.stack(parts), sampled


def _inside(head: AttentionMap, rows: Span, columns: Span) -> None:
    for what, (first, last), size in zip(("rows", "columns"), (rows, columns), head.shape, strict=True):
        if not 0 <= first < last <= size:
            raise InputError(f"{what} {first} to {last} are not in the map, which has {what} 0 to {size}")
