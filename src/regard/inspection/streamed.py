"""Full passes over the map of one head by the compiled streaming kernel, for the calls that it takes."""

from __future__ import annotations

from typing import Any, TypeGuard

import torch
from torch import Tensor

from regard.inspection.call import Bias, Call, hide_edges
from regard.inspection.dense import DenseCall
from regard.kernels import dispatch
from regard.kernels.streams import Adjust, Reductions, map_reductions

MOST_RUNS = 64  # of keys, in all segments: each is a pass over its own columns


def streams(call: Call | DenseCall) -> TypeGuard[Call]:
    """Whether the compiled kernel reduces the maps of this call; what it does not take goes the plain way."""
    return (
        isinstance(call, Call)
        and torch.float64 not in (call.query.dtype, call.key.dtype)
        and 0 not in call.sizes
        and not dispatch.few_weights(call.query[0, 0], call.key[0, 0])
        and dispatch.runs_on(call.query.device)
    )


def reduced(call: Call, batch: int, head: int, **wanted: Any) -> Reductions:
    """What is ``wanted`` (see ``map_reductions``) of the map of one head, scored as the model scored it."""
    b = batch if len(call.visible.start) > 1 else 0
    wanted = {"start": call.visible.start[b], "end": call.visible.end[b], **wanted}
    if call.sinks is not None:
        wanted = {"sink": float(call.sinks[head].detach()), **wanted}
    bias = _one_dimensional(call, batch, head)
    group = head * call.key.shape[1] // call.query.shape[1]
    return map_reductions(
        call.query[batch, head],
        call.key[batch, group],
        scale=call.scale,
        softcap=call.softcap,
        bias=bias,
        adjust=_adjust(call, batch, head, call.bias if bias is None else None),
        **wanted,
    )


def streamed_masses(call: Call, batch: int, head: int, belongs: Tensor) -> Tensor | None:
    """(q, n), as ``passes.masses``; None where the sets fall into so many runs of keys that tiles are cheaper.

    The mass of a run is exp(log-sum-exp over the run - that over the row): each pass computes its own columns only.
    """
    runs = [_runs(some) for some in belongs.T]
    if call.lse is None or not bool(((belongs == 0) | (belongs == 1)).all()) or sum(map(len, runs)) > MOST_RUNS:
        return None
    b = batch if len(call.visible.start) > 1 else 0
    start, end, lse = call.visible.start[b], call.visible.end[b], call.lse[batch, head].float()
    whole = torch.where(lse.isfinite(), lse, torch.zeros_like(lse))
    found = torch.zeros(len(start), len(runs))
    for n, some in enumerate(runs):
        for first, last in some:
            part = reduced(call, batch, head, start=start.clamp(min=first), end=end.clamp(max=last), sink=None)
            found[:, n] += torch.exp(part.lse - whole)
    return found


def _runs(belongs: Tensor) -> list[tuple[int, int]]:
    """Runs of ones: the first key of each, and one past its last."""
    edges = torch.diff(belongs.bool().int(), prepend=torch.zeros(1).int(), append=torch.zeros(1).int())
    return list(zip((edges == 1).nonzero()[:, 0].tolist(), (edges == -1).nonzero()[:, 0].tolist(), strict=True))


def _one_dimensional(call: Call, batch: int, head: int) -> Tensor | None:
    """A bias of each distance or of each key, as the kernel takes it; None for others."""
    if call.bias is None:
        return None
    queries, keys = call.sizes[2:]
    table = call.bias.of_head(batch, head)
    if call.bias.queries is not None:
        return table if call.bias.queries == queries and len(table) == queries + keys - 1 else None
    return table[0] if table.shape == (1, keys) else None


def _adjust(call: Call, batch: int, head: int, bias: Bias | None) -> Adjust | None:
    """Biases of each pair, masks that are not runs, and hidden edges: a strip at a time."""
    dense = call.visible.dense
    if bias is None and dense is None and not call.hidden:
        return None

    def adjust(scores: Tensor, rows: slice, columns: slice) -> None:
        places = torch.arange(rows.start, rows.stop), torch.arange(columns.start, columns.stop)
        if bias is not None:
            scores += bias.tile(batch, head, *places)
        if dense is not None:
            scores.masked_fill_(~call.visible.tile(batch, head, *places), -torch.inf)
        for edges in call.hidden:
            hide_edges(scores, edges, head, *places)

    return adjust
