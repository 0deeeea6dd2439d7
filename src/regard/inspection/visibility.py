"""Where each query may look, as two numbers a row wherever the mask is made of runs of keys."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from torch import Tensor

ROWS_AT_ONCE = 1 << 24  # entries of a mask that are evaluated together


@dataclass(frozen=True)
class Visible:
    """Row i sees keys ``start[i] <= j < end[i]``, and of those only where ``dense`` is True when there is one.

    Causal, sliding, chunked and packed masks and padding are runs: O(q) numbers instead of q x k.
    """

    keys: int
    start: Tensor
    """(b or 1, q)"""
    end: Tensor
    """(b or 1, q)"""
    dense: Tensor | None = None
    """(b or 1, h or 1, q, k) bool, for the masks that are not runs"""

    @property
    def queries(self) -> int:
        return self.start.shape[1]

    def tile(self, batch: int, head: int, rows: Tensor, columns: Tensor) -> Tensor:
        """(rows, columns) bool."""
        b = batch if len(self.start) > 1 else 0
        start, end = self.start[b][rows], self.end[b][rows]
        seen = (columns >= start[:, None]) & (columns < end[:, None])
        if self.dense is None:
            return seen
        mask = self.dense[batch if len(self.dense) > 1 else 0, head if self.dense.shape[1] > 1 else 0]
        return seen & mask[rows][:, columns]

    def pairs(self, batch: int, head: int, rows: Tensor, columns: Tensor) -> Tensor:
        """(n,) bool, of pairs of a row and a column."""
        b = batch if len(self.start) > 1 else 0
        seen = (columns >= self.start[b][rows]) & (columns < self.end[b][rows])
        if self.dense is None:
            return seen
        mask = self.dense[batch if len(self.dense) > 1 else 0, head if self.dense.shape[1] > 1 else 0]
        return seen & mask[rows, columns]

    def span(self, batch: int, first: int, last: int) -> tuple[int, int]:
        """The smallest run of keys that holds all that rows ``first`` to ``last`` see."""
        b = batch if len(self.start) > 1 else 0
        start, end = self.start[b, first:last], self.end[b, first:last]
        low, high = int(start.min()), int(end.max())
        return (low, high) if high > low else (0, 0)

    def seen_keys(self) -> int:
        """Keys up to the last that any query sees."""
        return int(self.end.max()) if self.end.numel() else 0

    def cut(self, keys: int) -> Visible:
        """The same without the keys from ``keys`` on, which no query sees."""
        dense = None if self.dense is None else self.dense[..., :keys]
        return replace(self, keys=keys, dense=dense)

    def shifted(self, by: int, keys: int) -> Visible:
        """For keys whose first stands at place ``by`` of ``keys``."""
        dense = None if self.dense is None else torch.nn.functional.pad(self.dense, (by, keys - by - self.keys))
        return Visible(keys, self.start + by, self.end + by, dense)

    def picked(self, batch: Tensor) -> Visible:
        """For these items of the batch."""
        start, end = (part[batch] if len(part) > 1 else part for part in (self.start, self.end))
        dense = self.dense if self.dense is None or len(self.dense) == 1 else self.dense[batch]
        return Visible(self.keys, start, end, dense)


def everything(queries: int, keys: int) -> Visible:
    """No mask."""
    return Visible(keys, torch.zeros(1, queries, dtype=torch.int32), torch.full((1, queries), keys, dtype=torch.int32))


def causal(queries: int, keys: int, offset: int = 0) -> Visible:
    """Row i sees the keys up to i + offset, as torch's ``is_causal`` (offset 0)."""
    end = (torch.arange(1, queries + 1, dtype=torch.int32) + offset).clamp(0, keys)[None]
    return Visible(keys, torch.zeros_like(end), end)


def from_mask(mask: Tensor) -> Visible:
    """From a boolean mask (b, h, q, k), True where a query may look."""
    keys = mask.shape[-1]
    if mask.shape[1] == 1:
        runs = [_runs(row) for row in torch.split(mask[:, 0], _rows_at_once(mask[:, 0]), dim=1)]
        if all(run is not None for run in runs):
            start, end = (torch.cat(part, 1) for part in zip(*runs, strict=True))
            return Visible(keys, start, end)
    whole = everything(mask.shape[-2], keys)
    return replace(whole, dense=mask.detach().cpu().clone())


def from_function(allowed: Callable[[Tensor, Tensor, Tensor], Tensor], batch: int, queries: int, keys: int) -> Visible:
    """From ``allowed(batch, query, key)``, evaluated a few rows at a time; dense only where it is not made of runs."""
    columns, items = torch.arange(keys)[None, None], torch.arange(batch)[:, None, None]
    parts = []
    step = max(1, ROWS_AT_ONCE // max(1, batch * keys))
    for first in range(0, queries, step):
        rows = torch.arange(first, min(first + step, queries))[None, :, None]
        mask = allowed(items, rows, columns).expand(batch, rows.shape[1], keys)
        run = _runs(mask)
        if run is None:
            return from_mask(_whole(allowed, batch, queries, keys))
        parts.append(run)
    start, end = (torch.cat(part, 1) for part in zip(*parts, strict=True))
    return Visible(keys, start, end)


def _whole(allowed: Callable[[Tensor, Tensor, Tensor], Tensor], batch: int, queries: int, keys: int) -> Tensor:
    places = torch.arange(batch)[:, None, None], torch.arange(queries)[None, :, None], torch.arange(keys)[None, None]
    return allowed(*places).expand(batch, queries, keys)[:, None]


def _rows_at_once(mask: Tensor) -> int:
    return max(1, ROWS_AT_ONCE // max(1, mask.shape[0] * mask.shape[-1]))


def _runs(mask: Tensor) -> tuple[Tensor, Tensor] | None:
    """First and one past the last True of each row (b, q, k), where all between are True."""
    counts = mask.sum(-1, dtype=torch.int32)
    start = mask.to(torch.uint8).argmax(-1).to(torch.int32)
    end = (mask.shape[-1] - mask.flip(-1).to(torch.uint8).argmax(-1)).to(torch.int32)
    end = torch.where(counts > 0, end, start)
    if not torch.equal(end - start, counts):
        return None
    return start.cpu(), end.cpu()
