"""Whether a description of a call is true: a few rows of its weights, times the values, must give its output."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from regard.inspection.call import Call

ROWS = 3  # of each head: the first, the middle and the last
TOLERANCE = {torch.float64: 1e-6, torch.float32: 1e-4, torch.float16: 1e-2, torch.bfloat16: 6e-2}


@dataclass(frozen=True)
class Dense:
    """A call of which the weights themselves are kept: the model made them one by one."""

    table: Tensor
    """(b, h, q, k)"""


def agrees(call: Call | Dense, value: Tensor, context: Tensor) -> bool:
    """Whether these weights give this output: value (b, g, k, v), context (b, h, q, v)."""
    queries = context.shape[2]
    rows = torch.unique(torch.linspace(0, queries - 1, min(ROWS, queries)).long())
    if isinstance(call, Dense):
        if call.table.shape[:3] != context.shape[:3] or call.table.shape[3] > value.shape[2]:
            return False
        weights = call.table[:, :, rows].float()
    else:
        keys = call.key.shape[2]
        if call.lse is None or keys > value.shape[2] or call.query.shape[:3] != context.shape[:3]:
            return False
        batch, heads = call.query.shape[:2]
        columns = torch.arange(keys)
        each = [call.weights(b, h, rows, columns) for b in range(batch) for h in range(heads)]
        weights = torch.stack(each).view(batch, heads, len(rows), keys).float()
    value = value[:, :, : weights.shape[-1]].float()
    if len(value) != len(weights):
        value = value.expand(len(weights), *value.shape[1:])
    value = value.repeat_interleave(weights.shape[1] // value.shape[1], 1)
    expected, given = weights @ value, context[:, :, rows].float()
    blind = weights.sum(-1) == 0  # what a model makes of a row that sees nothing is no weighted mean
    tolerance = TOLERANCE.get(context.dtype, 6e-2) * max(1e-6, float(value.detach().abs().max()))
    return bool(((expected - given).abs().amax(-1) <= tolerance).logical_or(blind).all())
