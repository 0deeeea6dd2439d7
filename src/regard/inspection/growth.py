"""One map of many calls: a decoder that keeps its keys asks a few queries at a time.

Dynamic caches join new keys to the old ones, static ones write them in place, sliding ones drop the oldest: in each
the keys before the new ones end with the last that was kept, and only the new rows are kept again.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import torch
from torch import Tensor

from regard.inspection.call import Bias, Call
from regard.inspection.visibility import Visible

Order = Tensor | None
"""which item of the batch before each one goes on; None: its own"""


@dataclass
class Piece:
    """What one pass of the model added."""

    number: int
    """of the pass"""
    call: Call
    """its queries and only its new keys; what is visible counts from the first key of all"""


@dataclass
class Growing:
    """The calls of one module that belong together."""

    pieces: list[Piece] = field(default_factory=list)
    rows: int = 0
    keys: int = 0
    new: slice = field(default_factory=lambda: slice(0))
    """the keys that the last call added, by their places in it"""

    def add(self, number: int, call: Call, order: Order, *, generating: bool) -> str | None:
        """Take the call in where it goes on from the ones before, and say how; None where it stands for itself."""
        call = _trimmed(call)
        kind = "first" if not self.pieces else self._goes_on(call, order, generating)
        if kind is None:
            return None
        queries, keys = call.sizes[2:]
        if kind == "again":  # generation without a cache computes everything anew
            self.pieces, self.rows, self.keys = [], 0, 0
        if kind in ("first", "again"):
            new, offset, total = call.key, 0, keys
        elif kind == "rows":
            new, offset, total = call.key[:, :, :0], 0, keys
        else:
            new, offset, total = call.key[:, :, keys - queries :], self.keys + queries - keys, self.keys + queries
        visible = call.visible.shifted(offset, total)
        bias = call.bias if offset == 0 else _shifted(call.bias, offset, queries, keys)
        self.new = slice(keys - new.shape[2], keys)
        self.pieces.append(Piece(number, replace(call, key=new.clone(), visible=visible, bias=bias)))
        self.rows, self.keys = self.rows + queries, total
        return kind

    def _goes_on(self, call: Call, order: Order, generating: bool) -> str | None:
        queries, keys = call.sizes[2:]
        before = self.pieces[-1].call
        if before.query.shape[:2] != call.query.shape[:2]:
            return None
        if (
            keys > queries
            and keys - queries <= self.keys
            and self._ends_with(call.key[:, :, keys - queries - 1], order)
        ):
            return "grows"
        if keys == self.keys and generating and self._ends_with(call.key[:, :, -1], order):
            return "rows"
        return "again" if queries == keys > self.rows and generating else None

    def _ends_with(self, key: Tensor, order: Order) -> bool:
        last = next(piece.call.key for piece in reversed(self.pieces) if piece.call.key.shape[2])[:, :, -1]
        return torch.equal(key, last if order is None else last[order])

    def whole(self, paths: dict[int, Tensor] | None) -> Call:
        """All of it as one call; ``paths`` says for each pass which items of the batch lead to those to be kept."""
        pieces = self.pieces
        if paths is not None:
            pieces = [
                Piece(piece.number, _picked(piece.call, paths[piece.number]))
                for piece in pieces
                if piece.number in paths
            ]
        calls = [piece.call for piece in pieces]
        if len(calls) == 1:
            return calls[0]
        keys = sum(call.key.shape[2] for call in calls)
        rows = sum(call.query.shape[2] for call in calls)
        lses = [call.lse for call in calls if call.lse is not None]
        norms = [call.norms for call in calls if call.norms is not None]
        return replace(
            calls[0],
            query=torch.cat([call.query for call in calls], 2),
            key=torch.cat([call.key for call in calls], 2),
            lse=torch.cat(lses, 2),
            visible=_joined([call.visible for call in calls], keys),
            bias=_joined_bias(calls, rows, keys),
            norms=torch.cat(norms, 2) if len(norms) == len(calls) else None,
        )


def _trimmed(call: Call) -> Call:
    """Without the places of a static cache that nothing was written to."""
    queries, keys, seen = *call.sizes[2:], call.visible.seen_keys()
    if not queries <= seen < keys:
        return call
    bias = call.bias
    if bias is not None:
        table = bias.table[..., : bias.table.shape[-1] - keys + seen] if bias.queries else bias.table[..., :seen]
        bias = replace(bias, table=table)
    return replace(call, key=call.key[:, :, :seen], visible=call.visible.cut(seen), bias=bias)


def _shifted(bias: Bias | None, offset: int, queries: int, keys: int) -> Bias | None:
    if bias is None:
        return None
    return Bias(torch.nn.functional.pad(_table(bias, queries, keys), (offset, 0)))


def _table(bias: Bias, queries: int, keys: int) -> Tensor:
    """(b or 1, h or 1, q, k)"""
    if bias.queries is None:
        return bias.table.expand(*bias.table.shape[:2], queries, keys)
    places = torch.arange(keys)[None] - torch.arange(queries)[:, None] + bias.queries - 1
    return bias.table[..., places]


def _picked(call: Call, batch: Tensor) -> Call:
    return replace(
        call,
        query=call.query[batch],
        key=call.key[batch],
        lse=None if call.lse is None else call.lse[batch],
        visible=call.visible.picked(batch),
        bias=None if call.bias is None else call.bias.picked(batch),
        norms=None if call.norms is None else call.norms[batch],
    )


def _joined(parts: list[Visible], keys: int) -> Visible:
    batch = max(len(part.start) for part in parts)
    start, end = (torch.cat([getattr(part, side).expand(batch, -1) for part in parts], 1) for side in ("start", "end"))
    if all(part.dense is None for part in parts):
        return Visible(keys, start, end)
    shape = [max(1 if part.dense is None else part.dense.shape[axis] for part in parts) for axis in (0, 1)]
    dense = []
    for part in parts:
        own = torch.ones(1, 1, part.queries, part.keys, dtype=torch.bool) if part.dense is None else part.dense
        dense.append(torch.nn.functional.pad(own, (0, keys - own.shape[-1])).expand(*shape, -1, -1))
    return Visible(keys, start, end, torch.cat(dense, 2))


def _joined_bias(calls: list[Call], rows: int, keys: int) -> Bias | None:
    biases = [call.bias for call in calls]
    if all(bias is None for bias in biases):
        return None
    tables = []
    for call, bias in zip(calls, biases, strict=True):
        queries, own = call.query.shape[2], call.visible.keys
        table = torch.zeros(1, 1, queries, own) if bias is None else _table(bias, queries, own)
        tables.append(torch.nn.functional.pad(table, (0, keys - own)))
    shape = [max(table.shape[axis] for table in tables) for axis in (0, 1)]
    whole = torch.cat([table.expand(*shape, -1, -1) for table in tables], 2)
    assert whole.shape[-2] == rows
    return Bias.of(whole)


@dataclass
class GrowingDense:
    """The same where only the weights are known."""

    pieces: list[tuple[int, Tensor]] = field(default_factory=list)
    rows: int = 0
    keys: int = 0

    def add(self, number: int, weights: Tensor, *, generating: bool) -> str | None:
        """Take the weights (b, h, q, k) in where they go on from the ones before, else None."""
        queries, keys = weights.shape[2:]
        kind = "first" if not self.pieces else self._goes_on(weights, number, generating)
        if kind is None:
            return None
        if kind == "again":
            self.pieces, self.rows = [], 0
        self.pieces.append((number, weights))
        self.rows, self.keys = self.rows + queries, keys
        return kind

    def _goes_on(self, weights: Tensor, number: int, generating: bool) -> str | None:
        queries, keys = weights.shape[2:]
        last, before = self.pieces[-1]
        if before.shape[:2] != weights.shape[:2]:
            return None
        if last == number:  # a loop over time asks once a step
            return "rows" if queries == 1 == before.shape[2] and keys == self.keys else None
        if keys == self.keys + queries:
            return "grows"
        if generating and keys == self.keys:
            return "rows"
        return "again" if generating and queries == keys > self.rows else None

    def whole(self, paths: dict[int, Tensor] | None) -> Tensor:
        """All of it as one table (b, h, q, k)."""
        parts = [
            weights if paths is None else weights[paths[number]]
            for number, weights in self.pieces
            if paths is None or number in paths
        ]
        keys = max(part.shape[-1] for part in parts)
        return torch.cat([torch.nn.functional.pad(part, (0, keys - part.shape[-1])) for part in parts], 2)
