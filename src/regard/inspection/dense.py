"""Calls of which the weights themselves were kept, with the same face as those that compute them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class DenseCall:
    """Weights (b, h, q, k) as the model made them."""

    table: Tensor

    @property
    def sizes(self) -> tuple[int, int, int, int]:
        b, h, q, k = self.table.shape
        return b, h, q, k

    def weights(self, batch: int, head: int, rows: Tensor, columns: Tensor) -> Tensor:
        """(rows, columns)"""
        return self.table[batch, head][rows][:, columns].float()

    def blocks(self, _batch: int, most: int) -> Iterator[tuple[Tensor, Tensor]]:
        """Rows and all columns, at most ``most`` weights at a time."""
        queries, keys = self.sizes[2:]
        for rows in torch.split(torch.arange(queries), max(1, most // max(1, keys))):
            yield rows, torch.arange(keys)
