"""Attention rollout (Abnar and Zuidema 2020, sec. 3): what a token has taken from each input token, layer by layer."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from regard.inspection.call import Call
from regard.inspection.dense import DenseCall
from regard.inspection.passes import AT_ONCE


def rollout(layers: Sequence[Call | DenseCall], batch: int, rows: Tensor) -> Tensor:
    """(rows, k): rows of A_n ... A_2 A_1, A = (W + I) / 2 with W the mean over the heads of a layer, first layer first.

    Each row of W + I is divided by its sum, which is 2 except where a sink takes a share or a query sees nothing.
    Only rows that are passed on are computed, a block at a time: no map is held.
    """
    found = torch.zeros(len(rows), layers[-1].sizes[2], dtype=torch.float64)
    found[torch.arange(len(rows)), rows] = 1
    for call in reversed(layers):
        found = _passed_on(found, call, batch)
    return found.float()


def _passed_on(shares: Tensor, call: Call | DenseCall, batch: int) -> Tensor:
    """(n, k): shares (n, q) @ A."""
    heads = call.sizes[1]
    found = torch.zeros_like(shares)
    for some, columns in call.blocks(batch, AT_ONCE):
        if not bool(shares[:, some].any()):
            continue
        mean = torch.zeros(len(some), len(columns), dtype=torch.float64)
        for head in range(heads):
            mean += call.weights(batch, head, some, columns).cpu()
        mean /= heads
        given = shares[:, some] / (1 + mean.sum(-1))
        found[:, columns] += given @ mean
        found[:, some] += given
    return found
