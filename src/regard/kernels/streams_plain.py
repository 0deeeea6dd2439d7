"""The strips of ``streams`` reduced by torch's own operations: any device, float32 and float64, small maps."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from regard.kernels.streams import Adjust, Head, Reductions, Top, Wanted, reduce_strips, rows_of_a_strip

_STRIP = 1 << 20  # scores of a strip, about; a few times as many numbers are held


def reductions(head: Head, wanted: Wanted, adjust: Adjust | None) -> Reductions:
    """What is wanted of the map of a head."""
    queries, keys = head.sizes
    plain = _Plain(head, wanted)
    reduce_strips(head, plain, adjust, range(0, queries, rows_of_a_strip(keys, _STRIP)))
    return plain.result()


class _Plain:
    """Reduces the strips of a map where they are."""

    def __init__(self, head: Head, wanted: Wanted) -> None:
        self.head, self.wanted = head, wanted
        queries, keys = head.sizes
        device = head.query.device
        dtype = torch.promote_types(torch.promote_types(head.query.dtype, head.key.dtype), torch.float32)
        self.made: dict[str, Any] = {"dtype": dtype, "device": device}
        # Apple's GPUs know no float64
        sums: dict[str, Any] = {"dtype": dtype if device.type == "mps" else torch.float64, "device": device}
        self.lse = torch.full((queries,), head.sink, **self.made)
        self.entropy = torch.zeros(queries, **self.made)
        self.weights = torch.zeros(queries, wanted.top, **self.made)
        self.places = torch.full((queries, wanted.top), -1, device=device)
        self.received = torch.zeros(keys, **sums)
        height, width = wanted.pool or (1, 1)
        self.row_cells = torch.arange(queries, device=device) * height // max(1, queries)
        self.column_cells = torch.arange(keys, device=device) * width // max(1, keys)
        self.pooled = torch.zeros(height, width, **(self.made if wanted.by == "max" else sums))

    def strip(self, rows: int, width: int) -> Tensor:
        return torch.empty(rows, width, **self.made)

    def change(self, scores: Tensor, first: int, low: int) -> None:
        if self.head.softcap is not None:
            scores.div_(self.head.softcap).tanh_().mul_(self.head.softcap)
        if self.head.bias is not None:
            (rows, width), (start, step) = scores.shape, self.head.bias_at
            row = torch.arange(first, first + rows, device=scores.device)[:, None]
            scores += self.head.bias[start + step * row + torch.arange(low, low + width, device=scores.device)]

    def take(self, scores: Tensor, first: int, low: int) -> None:
        last, right = first + len(scores), low + scores.shape[1]
        keys = torch.arange(low, right, device=scores.device)
        start, end = (bound[first:last, None].to(scores.device) for bound in (self.head.start, self.head.end))
        scores.masked_fill_((keys < start) | (keys >= end), -torch.inf)
        self._keep_strongest(scores, slice(first, last), low)
        lse = torch.logaddexp(torch.logsumexp(scores, -1), scores.new_tensor(self.head.sink))
        self.lse[first:last] = lse
        weights = scores.sub_(lse.masked_fill(lse == -torch.inf, 0)[:, None]).exp_()
        if self.wanted.entropy:
            self.entropy[first:last] = torch.special.entr(weights).sum(-1)
        if self.wanted.received:
            self.received[low:right] += weights.sum(0)
        if self.wanted.pool is not None:
            self._pool(weights, self.row_cells[first:last], self.column_cells[low:right])

    def _keep_strongest(self, scores: Tensor, rows: slice, low: int) -> None:
        """The scores for now: ``result`` gives their weights, when all of their rows are known."""
        count = min(self.wanted.top, scores.shape[1])
        if count:
            found = torch.topk(scores, count)
            some = found.values > -torch.inf
            self.weights[rows, :count] = found.values
            self.places[rows, :count] = torch.where(some, found.indices + low, -1)

    def _pool(self, weights: Tensor, row_cells: Tensor, column_cells: Tensor) -> None:
        """Into the columns of cells first, then into their rows."""
        how = "amax" if self.wanted.by == "max" else "sum"
        across = weights.new_zeros(len(weights), self.pooled.shape[1], dtype=self.pooled.dtype)
        across.scatter_reduce_(1, column_cells.expand(len(weights), -1), weights.to(across.dtype), how)
        self.pooled.scatter_reduce_(0, row_cells[:, None].expand(-1, across.shape[1]), across, how)

    def result(self) -> Reductions:
        wanted, pooled = self.wanted, self.pooled
        if wanted.by == "mean" and wanted.pool is not None:
            rows, columns = (
                torch.bincount(cells, minlength=size)
                for cells, size in zip((self.row_cells, self.column_cells), wanted.pool, strict=True)
            )
            pooled = pooled / torch.outer(rows, columns)
        dtype = self.made["dtype"]
        strongest = torch.where(self.places < 0, 0, torch.exp(self.weights - self.lse[:, None]))
        return Reductions(
            self.lse,
            self.entropy if wanted.entropy else None,
            self.received.to(dtype) if wanted.received else None,
            Top(strongest, self.places) if wanted.top else None,
            pooled.to(dtype) if wanted.pool is not None else None,
        )
