"""What needs every weight of a map once: computed block by block, so that memory does not grow with q x k.

Large maps are reduced by the compiled kernel of ``kernels.streams`` (``kernels.dispatch`` decides), others by torch.
"""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from regard.inspection.call import Call
from regard.inspection.dense import DenseCall
from regard.inspection.streamed import reduced, streamed_masses, streams
from regard.kernels.streams import Reductions

AT_ONCE = 1 << 21  # weights that are held at a time: 8 MB
MOST_OF_A_ROW = 64  # strongest keys that the streaming kernel keeps of each row


def row_logsumexp(call: Call) -> Tensor:
    """(b, h, q): the logarithm of the sum of the exponentials of each row's scores, sink included; -inf for none."""
    batch, heads, queries, _ = call.sizes
    if streams(call):
        heads_of_each = [[reduced(call, b, h).lse for h in range(heads)] for b in range(batch)]
        return torch.stack([torch.stack(each) for each in heads_of_each])
    dtype = torch.float64 if call.query.dtype == torch.float64 else torch.float32
    found = torch.full((batch, heads, queries), -torch.inf, dtype=dtype, device=call.query.device)
    for b in range(batch):
        for rows, columns in call.blocks(b, AT_ONCE):
            for h in range(heads):
                if len(columns):
                    found[b, h, rows] = torch.logsumexp(call.scores(b, h, rows, columns), -1)
    if call.sinks is not None:
        found = torch.logaddexp(found, call.sinks.to(found)[None, :, None].expand_as(found))
    return found


def entropies(call: Call | DenseCall, batch: int, head: int) -> Tensor:
    """(q,) in nats: lse - sum of weight * score. Where scores are plain, one fused call with the keys for values."""
    if isinstance(call, Call) and _fits_fused(call, batch):
        assert call.lse is not None
        group = head * call.key.shape[1] // call.query.shape[1]
        context = fused(call, batch, head, call.key[batch, group])
        expected = (context.double() * call.query[batch, head].double()).sum(-1) * call.scale
        return (call.lse[batch, head].double() - expected).clamp_min(0).float()
    if streams(call):
        return _asked(reduced(call, batch, head, entropy=True).entropy)
    found = torch.zeros(call.sizes[2])
    for rows, columns in call.blocks(batch, AT_ONCE):
        weights = call.weights(batch, head, rows, columns)
        found[rows] = torch.special.entr(weights).sum(-1).float().cpu()
    return found


def masses(call: Call | DenseCall, batch: int, head: int, belongs: Tensor) -> Tensor:
    """(q, n): the weight of each row on each of n sets of keys, ``belongs`` (k, n) being 1 for those of a set."""
    if isinstance(call, Call) and _fits_fused(call, batch):
        width = call.query.shape[-1]
        parts = []
        for some in torch.split(belongs, width, -1):
            value = torch.zeros(len(belongs), width, dtype=torch.float32)
            value[:, : some.shape[1]] = some
            parts.append(fused(call, batch, head, value)[:, : some.shape[1]].float())
        return torch.cat(parts, -1)
    if streams(call) and (streamed := streamed_masses(call, batch, head, belongs)) is not None:
        return streamed
    found = torch.zeros(call.sizes[2], belongs.shape[1])
    for rows, columns in call.blocks(batch, AT_ONCE):
        found[rows] = call.weights(batch, head, rows, columns).float().cpu() @ belongs[columns].float()
    return found


def _fits_fused(call: Call, batch: int) -> bool:
    """Whether one mask-free call gives it: all keys, or causal from the first key on."""
    visible, queries, keys = call.visible, call.sizes[2], call.sizes[3]
    if not call.plain() or visible.dense is not None:
        return False
    b = batch if len(visible.start) > 1 else 0
    if int(visible.start[b].max()) > 0 or call.query.device.type != "cpu":
        return False
    ends = visible.end[b]
    return bool((ends == keys).all()) or (queries == keys and torch.equal(ends, torch.arange(1, keys + 1).to(ends)))


def fused(call: Call, batch: int, head: int, value: Tensor) -> Tensor:
    """(q, v): weights @ value by torch's fused kernel."""
    group = head * call.key.shape[1] // call.query.shape[1]
    causal = bool(call.visible.end[batch if len(call.visible.end) > 1 else 0][0] < call.sizes[3])
    query, key, value = (part[None, None].float() for part in (call.query[batch, head], call.key[batch, group], value))
    context = torch.nn.functional.scaled_dot_product_attention(query, key, value, is_causal=causal, scale=call.scale)
    return context[0, 0]


def received(call: Call | DenseCall, batch: int, head: int) -> Tensor:
    """(k,): the sum of each column, what all queries together gave to a key."""
    if streams(call):
        return _asked(reduced(call, batch, head, received=True).received)
    found = torch.zeros(call.sizes[3], dtype=torch.float64)
    for rows, columns in call.blocks(batch, AT_ONCE):
        if len(columns):
            found[columns] += call.weights(batch, head, rows, columns).sum(0).double().cpu()
    return found.float()


def strongest(call: Call | DenseCall, batch: int, head: int, count: int) -> tuple[Tensor, Tensor, Tensor]:
    """The ``count`` largest weights: their rows, columns and values, largest first; weights of 0 are left out."""
    if streams(call) and count <= MOST_OF_A_ROW:
        return _of_rows(reduced(call, batch, head, top=count), count)
    values, places = torch.empty(0), torch.empty(0, dtype=torch.long)
    keys = call.sizes[3]
    for rows, columns in call.blocks(batch, AT_ONCE):
        weights = call.weights(batch, head, rows, columns).float().cpu()
        best = torch.topk(weights.flatten(), min(count, weights.numel()))
        here = rows[best.indices // max(1, len(columns))] * keys + columns[best.indices % max(1, len(columns))]
        values, places = torch.cat([values, best.values]), torch.cat([places, here])
        best = torch.topk(values, min(count, len(values)))
        values, places = best.values, places[best.indices]
    places, values = places[values > 0], values[values > 0]
    return places // keys, places % keys, values


def _of_rows(found: Reductions, count: int) -> tuple[Tensor, Tensor, Tensor]:
    """The strongest of all from those of each row."""
    assert found.top is not None
    weights, keys = found.top
    best = torch.topk(weights.flatten(), min(count, weights.numel()))
    some = best.indices[best.values > 0]
    return some // weights.shape[1], keys.flatten()[some], best.values[best.values > 0]


def pooled(call: Call | DenseCall, batch: int, head: int, height: int, width: int, by: str) -> Tensor:
    """(height, width): the largest or the mean weight of each cell of an even grid over the map."""
    if streams(call):
        return _asked(reduced(call, batch, head, pool=(height, width), by=by).pooled)
    queries, keys = call.sizes[2:]
    of_row = torch.arange(queries) * height // queries
    of_column = torch.arange(keys) * width // keys
    found = torch.zeros(height, width)
    for rows, columns in call.blocks(batch, AT_ONCE):
        if not len(columns):
            continue
        weights = call.weights(batch, head, rows, columns).float().cpu()
        across = torch.zeros(len(rows), width)
        how = "amax" if by == "max" else "sum"
        across.scatter_reduce_(1, of_column[columns].expand(len(rows), -1), weights, how)
        found.scatter_reduce_(0, of_row[rows][:, None].expand(-1, width), across, how)
    if by == "mean":
        found /= torch.outer(torch.bincount(of_row, minlength=height), torch.bincount(of_column, minlength=width))
    return found


def _asked(found: Tensor | None) -> Tensor:
    assert found is not None  # what was asked of a reduction is there
    return found


def with_lse(call: Call) -> Call:
    """The call with its ``lse``, computed when the kernel that ran did not give it."""
    return call if call.lse is not None else replace(call, lse=row_logsumexp(call))
