"""Sliding windows: each query looks at the keys at most ``width`` places away, at a cost linear in the length.

A block of queries is scored against the stretch of keys that its windows cover together; what lies inside the stretch
but outside a query's own window is masked. All blocks but the first and last few have the same mask, and their
stretches are overlapping views of the keys, so nothing is copied and no map of queries x keys exists.
The backward pass computes each group of blocks again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from regard.errors import DtypeError, InputError, RegardError, ShapeError, choose
from regard.masks import check_width

_BLOCKS = (32, 64)  # queries scored together, for narrow windows and for wide ones: the fastest of 16 to 256
_WIDE = 64
_CHUNK = 1 << 23  # about how many numbers are held at a time


def window_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    width: int,
    causal: bool = False,
    score: str = "scaled_dot",
    v: Tensor | None = None,
    lengths: Tensor | None = None,
    stay: bool = False,
) -> Tensor:
    """The context of attention inside a window: (..., q, d) (..., k, d) (..., k, e) -> (..., q, e).

    Query i sees key j where |i - j| <= ``width``, with ``causal`` only j <= i: the mask ``masks.window``. ``score``
    is "dot", "scaled_dot", or "additive" with its ``v`` (d,), query and key being projected already.
    ``lengths``, of the leading sizes or of the first few of them, hides the keys from there on. With ``stay`` the
    queries after the last key look around that one. A query that sees nothing gets zeros.
    Has first-order gradients; time and memory grow with q * width.

    >>> import torch
    >>> value = torch.tensor([[1.0], [2.0], [4.0], [8.0]])
    >>> window_attention(torch.zeros(4, 1), torch.zeros(4, 1), value, width=1, causal=True).mT
    tensor([[1.0000, 1.5000, 3.0000, 6.0000]])
    """
    plan = _plan(query, key, value, width=width, causal=causal, score=score, v=v, lengths=lengths, stay=stay)
    rows = [_rows(x) for x in (query, key, value)]
    context: Tensor = _WindowAttention.apply(*rows, v, plan)  # type: ignore[no-untyped-call]
    return context.reshape(*query.shape[:-1], value.shape[-1])


def window_weights(
    query: Tensor,
    key: Tensor,
    *,
    width: int,
    causal: bool = False,
    score: str = "scaled_dot",
    v: Tensor | None = None,
    lengths: Tensor | None = None,
) -> Tensor:
    """The weights of ``window_attention``, (..., q, 2 width + 1), with ``causal`` (..., q, width + 1).

    Entry j of query i is the weight of key i - width + j, 0 where there is no such key.

    >>> import torch
    >>> window_weights(torch.zeros(3, 1), torch.zeros(3, 1), width=1)
    tensor([[0.0000, 0.5000, 0.5000],
            [0.3333, 0.3333, 0.3333],
            [0.5000, 0.5000, 0.0000]])
    """
    plan = _plan(query, key, key, width=width, causal=causal, score=score, v=v, lengths=lengths)
    query_rows, key_rows = _rows(query), _rows(key)
    band = 1 + plan.before + plan.after
    out = query.new_zeros(query_rows.shape[0], query.shape[-2], band)
    for piece in plan.pieces(_CHUNK):
        weights = plan.weights(piece, piece.queries(query_rows), piece.keys(key_rows), v)
        # In a block, the window of each query starts one column after that of the query before it. The first block
        # may lack columns on the left, as there are no keys before the first.
        missing = piece.first_key - (piece.first_query - plan.before)
        wide = F.pad(weights, (missing, band))
        r, blocks, q, w = wide.shape
        cut = wide.as_strided((r, blocks, q, band), (blocks * q * w, q * w, w + 1, 1))
        out[piece.rows, piece.first_query : piece.first_query + blocks * q] = cut.reshape(r, blocks * q, band)
    farther = width - plan.before  # where no key is
    out = F.pad(out, (farther, 0 if causal else farther))
    return out.reshape(*query.shape[:-1], out.shape[-1])


def _rows(tensor: Tensor) -> Tensor:
    """(..., n, d) -> (rows, n, d)"""
    return tensor.reshape(tensor.shape[:-2].numel(), *tensor.shape[-2:]).contiguous()


@dataclass(frozen=True)
class _Piece:
    """Neighbouring blocks of equal shape: ``rows`` of the batch, ``blocks`` blocks of ``size`` queries.

    Each block sees ``span`` keys, the first of which moves on by ``size`` from block to block; ``hidden`` (size, span)
    is -inf where a query of the block may not look.
    """

    rows: Tensor | slice
    first_query: int
    first_key: int
    blocks: int
    size: int
    span: int
    hidden: Tensor

    def queries(self, rows: Tensor) -> Tensor:
        """(r, q, d) -> (r, blocks, size, d)"""
        part = rows[self.rows, self.first_query : self.first_query + self.blocks * self.size]
        return part.reshape(part.shape[0], self.blocks, self.size, -1)

    def keys(self, rows: Tensor) -> Tensor:
        """(r, k, d) -> (r, blocks, span, d), overlapping views"""
        part = rows[self.rows, self.first_key : self.first_key + (self.blocks - 1) * self.size + self.span]
        return part.unfold(1, self.span, self.size).mT

    def write_queries(self, rows: Tensor, part: Tensor) -> None:
        """The reverse of ``queries``; no two pieces have a query in common."""
        rows[self.rows, self.first_query : self.first_query + self.blocks * self.size] = part.flatten(1, 2)

    def add_to_keys(self, rows: Tensor, part: Tensor) -> None:
        """The reverse of ``keys``: each key gets the sum over the blocks that saw it."""
        stop = self.first_key + (self.blocks - 1) * self.size + self.span
        whole = rows[self.rows, self.first_key : stop]  # a copy where the rows are picked one by one
        for start in range(0, self.span, self.size):
            # ``size`` keys of each block, from ``start`` on: those of different blocks do not overlap
            width = min(self.size, self.span - start)
            stretch = whole[:, start : start + (self.blocks - 1) * self.size + width]
            stretch.unfold(1, width, self.size).mT.add_(part[:, :, start : start + width])
        if not isinstance(self.rows, slice):
            rows[self.rows, self.first_key : stop] = whole


@dataclass(frozen=True)
class _Plan:
    """What a call asks for, its inputs checked, and how it is cut into pieces."""

    queries: int
    before: int
    after: int
    block: int  # how many queries are scored together
    lengths: Tensor  # (rows,), on the CPU: how many keys each row of the batch may see
    scale: float | None  # of dot products; None for additive scores
    like: Tensor  # an empty tensor of the dtype and device of the numbers
    depth: int  # the width of keys or values, the larger
    same_width: bool
    stay: bool  # whether queries after the last key look around it

    def pieces(self, most: float) -> Iterator[_Piece]:
        """Cut so that about ``most`` numbers are held for a piece: its maps, or what its blocks see in common."""
        lengths, places = torch.unique(self.lengths, return_inverse=True)
        for i, length in enumerate(lengths.tolist()):
            rows = slice(None) if len(lengths) == 1 else (places == i).nonzero()[:, 0]
            count = len(self.lengths) if isinstance(rows, slice) else len(rows)
            yield from self._pieces(rows, length, most / max(count, 1))

    def _pieces(self, rows: Tensor | slice, length: int, most: float) -> Iterator[_Piece]:
        after_last = 0 if self.stay else self.before
        end = min(self.queries, length + after_last) if length else 0  # queries from there on see no new keys
        first, span = min(self.before, end), self.block + self.before + self.after
        # whole blocks whose stretch lies between the first and the last key
        inside = max(0, min(end, length - self.after) - first) // self.block
        yield from self._edge(rows, 0, first, length, most)
        at_once = int(max(1, min(inside, most // (span * max(self.block, self.depth)))))
        hidden = self._hidden(self.block, span, self.before) if inside else self.like
        for done in range(0, inside, at_once):
            blocks = min(at_once, inside - done)
            start = first + done * self.block
            yield _Piece(rows, start, start - self.before, blocks, self.block, span, hidden)
        yield from self._edge(rows, first + inside * self.block, end, length, most)
        if self.stay and length:
            yield from self._staying(rows, end, length, most)

    def _staying(self, rows: Tensor | slice, first: int, length: int, most: float) -> Iterator[_Piece]:
        """The queries after the last key: all see what its own window holds."""
        left = max(0, length - 1 - self.before)
        size = int(max(1, min(self.queries - first, most // (length - left))))
        for start in range(first, self.queries, size):
            stop = min(start + size, self.queries)
            seen = self.like.new_zeros(stop - start, length - left)
            yield _Piece(rows, start, left, 1, stop - start, length - left, seen)

    def _edge(self, rows: Tensor | slice, first: int, end: int, length: int, most: float) -> Iterator[_Piece]:
        """Queries whose windows reach beyond the first or last key, as single blocks."""
        size = int(max(1, min(end - first, most // (end - first + self.before + self.after + 1))))
        for start in range(first, end, size):
            stop = min(start + size, end)
            left, right = max(0, start - self.before), min(length, stop + self.after)
            hidden = self._hidden(stop - start, right - left, start - left)
            yield _Piece(rows, start, left, 1, stop - start, right - left, hidden)

    def _hidden(self, size: int, span: int, offset: int) -> Tensor:
        """(size, span): 0 where query i of a block may see key j, i + offset being its own place, else -inf."""
        distance = torch.arange(span)[None, :] - torch.arange(size)[:, None] - offset
        seen = (distance >= -self.before) & (distance <= self.after)
        return torch.zeros(size, span).masked_fill_(~seen, -torch.inf).to(self.like)

    @property
    def fused(self) -> bool:
        """Whether torch's fused kernel serves: dot products, and values as wide as the keys."""
        return self.scale is not None and self.same_width

    def context(self, piece: _Piece, query: Tensor, key: Tensor, value: Tensor, v: Tensor | None) -> Tensor:
        with _one_dtype(query):
            if self.scale is None:
                return self.weights(piece, query, key, v) @ value
            return F.scaled_dot_product_attention(query, key, value, attn_mask=piece.hidden, scale=self.scale)

    def weights(self, piece: _Piece, query: Tensor, key: Tensor, v: Tensor | None) -> Tensor:
        with _one_dtype(query):
            if self.scale is None:
                assert v is not None
                from regard.kernels.additive import additive_scores

                return (additive_scores(query, key, v) + piece.hidden).softmax(-1)
            return (query @ key.mT * self.scale + piece.hidden).softmax(-1)


def _one_dtype(like: Tensor) -> torch.autocast:
    """Without autocast: all blocks are written into one tensor, and the backward pass computes them again."""
    return torch.autocast(like.device.type, enabled=False)


class _WindowAttention(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, query: Tensor, key: Tensor, value: Tensor, v: Tensor | None, plan: _Plan) -> Tensor:
        ctx.save_for_backward(query, key, value, v)
        ctx.plan = plan
        context = query.new_zeros(*query.shape[:2], value.shape[-1])
        for piece in plan.pieces(torch.inf if plan.fused else _CHUNK):  # the fused kernel holds no map
            part = plan.context(piece, piece.queries(query), piece.keys(key), piece.keys(value), v)
            piece.write_queries(context, part)
        return context

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        if torch.is_grad_enabled():
            raise RegardError(
                "window_attention has first-order gradients only, and a gradient of its gradient was asked for; use "
                "attend(..., visible=masks.window(...)) where higher orders are needed"
            )
        query, key, value, v = ctx.saved_tensors
        wanted = ctx.needs_input_grad[:4]
        grads = [torch.zeros_like(x) if w else None for x, w in zip((query, key, value, v), wanted, strict=True)]
        for piece in ctx.plan.pieces(_CHUNK):
            parts = [piece.queries(query), piece.keys(key), piece.keys(value), v]
            leaves = [x if x is None else x.detach().requires_grad_(w) for x, w in zip(parts, wanted, strict=True)]
            with torch.enable_grad():
                context = ctx.plan.context(piece, *leaves)
            needed = [x for x, w in zip(leaves, wanted, strict=True) if w and x is not None]
            found = iter(torch.autograd.grad(context, needed, piece.queries(grad)))
            for i, put in enumerate((piece.write_queries, piece.add_to_keys, piece.add_to_keys)):
                if grads[i] is not None:
                    put(grads[i], next(found))
            if grads[3] is not None:
                grads[3] += next(found)
        return *grads, None


_SCORES = {"dot": 0.0, "scaled_dot": -0.5, "additive": None}  # d to that power scales the dot product


def _plan(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    width: int,
    causal: bool,
    score: str,
    v: Tensor | None,
    lengths: Tensor | None,
    stay: bool = False,
) -> _Plan:
    power = choose("window score", score, _SCORES)
    _check(query, key, value, v, score)
    batch, k = query.shape[:-2], key.shape[-2]
    width = min(check_width(width), max(query.shape[-2], k, 1))  # there is no key farther away
    return _Plan(
        queries=query.shape[-2],
        before=width,
        after=0 if causal else width,
        block=_BLOCKS[width >= _WIDE],
        lengths=_row_lengths(lengths, batch, k),
        scale=None if power is None else query.shape[-1] ** power,
        like=query.new_empty(0),
        depth=max(query.shape[-1], value.shape[-1]),
        same_width=query.shape[-1] == value.shape[-1],
        stay=stay,
    )


def _check(query: Tensor, key: Tensor, value: Tensor, v: Tensor | None, score: str) -> None:
    for name, tensor in {"query": query, "key": key, "value": value, "v": v}.items():
        if not isinstance(tensor, Tensor) and not (tensor is None and name == "v"):
            raise DtypeError(
                f"{name} must be a torch tensor, not {type(tensor).__name__}; other arrays go to regard.attend_local"
            )
    shapes = f"query {tuple(query.shape)}, key {tuple(key.shape)}, value {tuple(value.shape)}"
    if min(query.ndim, key.ndim, value.ndim) < 2 or query.shape[-1] != key.shape[-1]:
        raise ShapeError(f"a window takes query (..., q, d), key (..., k, d) and value (..., k, e), not {shapes}")
    if query.shape[-1] == 0:
        raise ShapeError(f"each query and key needs at least one number, not {shapes}")
    if not query.shape[:-2] == key.shape[:-2] == value.shape[:-2] or key.shape[-2] != value.shape[-2]:
        raise ShapeError(f"query, key and value need the same leading sizes, and each key one value, not {shapes}")
    if not query.is_floating_point() or not query.dtype == key.dtype == value.dtype:
        raise DtypeError(
            "query, key and value need one floating-point dtype, "
            f"not {query.dtype}, {key.dtype} and {value.dtype}; convert them with .float()"
        )
    if (v is None) == (score == "additive"):
        came = "is missing" if v is None else "was given"
        raise InputError(f"v (d,) belongs to additive scores and to no others: score is {score!r} and v {came}")


def _row_lengths(lengths: Tensor | None, batch: torch.Size, keys: int) -> Tensor:
    """(rows,): the length of each row of the flattened batch."""
    if lengths is None:
        return torch.full((batch.numel(),), keys)
    lengths = torch.as_tensor(lengths).cpu()
    if lengths.is_floating_point() or lengths.dtype == torch.bool:
        raise DtypeError(f"lengths must be whole numbers, not {lengths.dtype}")
    if tuple(lengths.shape) != tuple(batch[: lengths.ndim]):
        raise ShapeError(
            f"lengths {tuple(lengths.shape)} must have the leading sizes {tuple(batch)}, or the first of them"
        )
    if lengths.numel() and not 0 <= int(lengths.min()) <= int(lengths.max()) <= keys:
        raise InputError(f"lengths must be from 0 to the number of keys, {keys}; they are {lengths.tolist()}")
    return lengths.reshape((*lengths.shape, *[1] * (len(batch) - lengths.ndim))).expand(batch).reshape(-1)
