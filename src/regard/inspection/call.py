"""One call of attention: queries, keys, and how the model scored them. Any weight follows from it alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from regard.inspection.visibility import Visible

Edges = tuple[Tensor | None, Tensor | None, Tensor | None]
"""heads, queries and keys between which nothing is seen; None for all"""


@dataclass(frozen=True)
class Bias:
    """What is added to the scores: a table, or only a number for each distance j - i (T5, ALiBi)."""

    table: Tensor
    """(b or 1, h or 1, q or 1, k); by distance (b or 1, h or 1, q + k - 1), from 1 - q to k - 1"""
    queries: int | None = None
    """of a bias by distance"""

    @classmethod
    def of(cls, added: Tensor) -> Bias:
        """The smallest form that gives the same numbers."""
        added = added.detach()
        queries, keys = added.shape[-2:]
        if queries == 1 or keys == 1 or not torch.equal(added[..., 1:, 1:], added[..., :-1, :-1]):
            return cls(added)
        return cls(torch.cat([added[..., :, 0].flip(-1), added[..., 0, 1:]], -1).clone(), queries)

    def of_head(self, batch: int, head: int) -> Tensor:
        """The part of the table for one head."""
        table = self.table[batch if len(self.table) > 1 else 0]
        return table[head if len(table) > 1 else 0]

    def tile(self, batch: int, head: int, rows: Tensor, columns: Tensor) -> Tensor:
        table = self.of_head(batch, head)
        if self.queries is not None:
            return table[columns[None] - rows[:, None] + self.queries - 1]
        return table[rows if len(table) > 1 else torch.zeros_like(rows)][:, columns]

    def pairs(self, batch: int, head: int, rows: Tensor, columns: Tensor) -> Tensor:
        table = self.of_head(batch, head)
        if self.queries is not None:
            return table[columns - rows + self.queries - 1]
        return table[rows if len(table) > 1 else torch.zeros_like(rows), columns]

    def picked(self, batch: Tensor) -> Bias:
        return self if len(self.table) == 1 else replace(self, table=self.table[batch])


@dataclass(frozen=True)
class Call:
    """score(i, j) = softcap(scale q_i . k_j) + bias(i, j) where visible; weight(i, j) = exp(score(i, j) - lse(i))."""

    query: Tensor
    """(b, h, q, d)"""
    key: Tensor
    """(b, g, k, d): h / g heads share a key"""
    scale: float
    visible: Visible
    softcap: float | None = None
    """scores become softcap tanh(score / softcap) (Gemma 2)"""
    bias: Bias | None = None
    sinks: Tensor | None = None
    """(h,): a score of no key that takes its share of the softmax (gpt-oss)"""
    lse: Tensor | None = None
    """(b, h, q): the logarithm of the sum of all exponentials of a row, the sink's included"""
    hidden: tuple[Edges, ...] = ()
    norms: Tensor | None = None
    """(b, h, k): the length of what each value adds to the layer's output, when it was asked for"""

    @property
    def sizes(self) -> tuple[int, int, int, int]:
        """b, h, q, k"""
        return (*self.query.shape[:3], self.key.shape[2])

    def scores(self, batch: int, head: int, rows: Tensor, columns: Tensor) -> Tensor:
        """(rows, columns) in float32 (float64 for a model of float64), -inf where the query may not look."""
        group = head * self.key.shape[1] // self.query.shape[1]
        asked, keys = _wide(self.query[batch, head, rows]), _wide(_rows(self.key[batch, group], columns))
        scores = (asked * self.scale) @ keys.mT
        if self.softcap is not None:
            scores = self.softcap * torch.tanh(scores / self.softcap)
        if self.bias is not None:
            scores = scores + _wide(self.bias.tile(batch, head, rows, columns))
        scores = scores.masked_fill_(~self.visible.tile(batch, head, rows, columns).to(scores.device), -torch.inf)
        for edges in self.hidden:
            hide_edges(scores, edges, head, rows, columns)
        return scores

    def weights(self, batch: int, head: int, rows: Tensor, columns: Tensor) -> Tensor:
        """(rows, columns); a row that sees nothing is zero."""
        assert self.lse is not None
        lse = self.lse[batch, head, rows].to(self.query.device)
        scores = self.scores(batch, head, rows, columns)
        return torch.exp_(scores.sub_(torch.where(lse.isfinite(), lse, torch.zeros_like(lse))[:, None]))

    def pairs(self, batch: int, head: int, rows: Tensor, columns: Tensor, products: Tensor) -> Tensor:
        """(n,): the weights of pairs of a row and a column, from their scaled products."""
        assert self.lse is not None
        scores = products if self.softcap is None else self.softcap * torch.tanh(products / self.softcap)
        if self.bias is not None:
            scores = scores + self.bias.pairs(batch, head, rows, columns)
        scores = scores.masked_fill(~self.visible.pairs(batch, head, rows, columns), -torch.inf)
        for heads, queries, keys in self.hidden:
            if heads is None or head in heads:
                row = torch.ones_like(rows).bool() if queries is None else torch.isin(rows, queries)
                column = torch.ones_like(columns).bool() if keys is None else torch.isin(columns, keys)
                scores = scores.masked_fill(row & column, -torch.inf)
        lse = self.lse[batch, head, rows]
        return torch.exp(scores - torch.where(lse.isfinite(), lse, torch.zeros_like(lse)))

    def plain(self) -> bool:
        """Whether the scores are scaled products and the mask alone, as fused kernels know them."""
        return self.softcap is None and self.bias is None and self.sinks is None and not self.hidden

    def blocks(self, batch: int, most: int) -> Iterator[tuple[Tensor, Tensor]]:
        """Rows and the run of columns that they see, at most ``most`` weights at a time."""
        queries, keys = self.query.shape[2], self.key.shape[2]
        step = max(1, most // max(1, keys))
        for first in range(0, queries, step):
            last = min(first + step, queries)
            yield torch.arange(first, last), torch.arange(*self.visible.span(batch, first, last))


def hide_edges(scores: Tensor, edges: Edges, head: int, rows: Tensor, columns: Tensor) -> None:
    """Set the scores (rows, columns) of the hidden edges of a head to -inf."""
    heads, queries, keys = edges
    if heads is not None and head not in heads:
        return
    row = torch.ones(len(rows), dtype=torch.bool) if queries is None else torch.isin(rows, queries)
    column = torch.ones(len(columns), dtype=torch.bool) if keys is None else torch.isin(columns, keys)
    scores.masked_fill_((row[:, None] & column[None]).to(scores.device), -torch.inf)


def _rows(table: Tensor, places: Tensor) -> Tensor:
    """Those rows, without a copy when they follow each other."""
    if len(places) and int(places[-1]) - int(places[0]) + 1 == len(places) and bool((places.diff() == 1).all()):
        return table[int(places[0]) : int(places[-1]) + 1]
    return table[places]


def _wide(tensor: Tensor) -> Tensor:
    return tensor if tensor.dtype == torch.float64 else tensor.float()
