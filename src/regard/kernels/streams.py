"""What is known of a head's whole map, in one pass over it: no map of queries x keys exists, only a strip of rows.

Each row's log-sum-exp and entropy, its strongest keys, what each key receives, and the map pooled to a picture.
A strip of scores is one matrix product; the CPU reduces it with the kernels of ``streams_cpu``, while it is in the
cache, and other devices, dtypes and small maps with torch (``streams_plain``): the same numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol

import torch
from torch import Tensor

from regard.errors import DtypeError, InputError, ShapeError
from regard.kernels import dispatch

_FEWEST_ROWS, _MOST_ROWS = 8, 256
_CONVERTED = 1 << 20  # numbers of keys that are widened to float32 at a time
_LARGEST = 1e30  # scores up to here neither overflow nor come from numbers that are not finite

Adjust = Callable[[Tensor, slice, slice], None]
"""Changes scores (rows, columns) in place, given which they are; several threads may call it."""


class Top(NamedTuple):
    """The strongest keys of each row, strongest first."""

    weights: Tensor
    """(q, t), 0 where a row sees fewer"""
    keys: Tensor
    """(q, t), -1 where a row sees fewer"""


@dataclass(frozen=True)
class Reductions:
    """What was asked of a map; None for what was not."""

    lse: Tensor
    """(q,): the logarithm of the sum of a row's exponentials, the sink's included; -inf for a row that sees nothing"""
    entropy: Tensor | None = None
    """(q,) in nats, - sum w log w over the keys"""
    received: Tensor | None = None
    """(k,): the sum of each column"""
    top: Top | None = None
    pooled: Tensor | None = None
    """(height, width)"""


@dataclass(frozen=True)
class Wanted:
    """What is asked, checked."""

    entropy: bool
    received: bool
    top: int
    pool: tuple[int, int] | None
    by: Literal["max", "mean"]


@dataclass(frozen=True)
class Head:
    """How a head scores: softcap(scale q_i . k_j) + bias(i, j) for start[i] <= j < end[i]; inputs checked."""

    query: Tensor
    key: Tensor
    scale: float
    start: Tensor
    """(q,) int64, on the CPU, as ``end``; 0 <= start <= end <= k"""
    end: Tensor
    softcap: float | None
    bias: Tensor | None
    """1-D, of the dtype and device of the scores"""
    bias_at: tuple[int, int]
    """bias(i, j) stands at bias_at[0] + bias_at[1] i + j"""
    sink: float
    """-inf for none"""

    @property
    def sizes(self) -> tuple[int, int]:
        """q, k"""
        return len(self.query), len(self.key)

    def span(self, first: int, last: int) -> tuple[int, int]:
        """The smallest run of keys that holds all that these rows see."""
        start, end = self.start[first:last], self.end[first:last]
        some = end > start
        return (int(start[some].min()), int(end[some].max())) if bool(some.any()) else (0, 0)


class Reducer(Protocol):
    """Takes the strips of a map one after the other."""

    def strip(self, rows: int, width: int) -> Tensor:
        """Room for scores (rows, width)."""

    def change(self, scores: Tensor, first: int, low: int) -> None:
        """Apply softcap and bias. The scores are those of rows from ``first`` on and of keys from ``low`` on."""

    def take(self, scores: Tensor, first: int, low: int) -> None:
        """Reduce the scores, which may be overwritten; -inf weighs nothing."""


@torch.no_grad()
def map_reductions(
    query: Tensor,
    key: Tensor,
    *,
    scale: float | None = None,
    start: Tensor | None = None,
    end: Tensor | None = None,
    softcap: float | None = None,
    bias: Tensor | None = None,
    sink: float | None = None,
    adjust: Adjust | None = None,
    entropy: bool = False,
    received: bool = False,
    top: int = 0,
    pool: tuple[int, int] | None = None,
    by: Literal["max", "mean"] = "max",
) -> Reductions:
    """Reduce the map of one head, softmax(softcap(scale query . key) + bias) of query (q, d) and key (k, d).

    Row i sees the keys from ``start[i]`` up to, not including, ``end[i]``, (q,) each: causal and sliding masks,
    padding, packed sequences; all keys when None. ``scale`` is d ** -0.5 when None. ``softcap``: scores become
    softcap * tanh(score / softcap). ``bias`` (k,) is one of each key, (q, k) one of each pair, and (q + k - 1,) one of
    each distance j - i, from 1 - q on. ``sink`` is a score of no key that takes its share of each row. What these
    cannot say, ``adjust(scores, rows, columns)`` does in place: it adds to scores (rows, columns), or sets them to
    -inf. Several threads may call it at once.

    Computed in float32, in float64 for float64; memory grows with q + k. ``top`` keys are kept of each row. ``pool``
    is (height, width): row i belongs to cell i * height // q, key j to cell j * width // k.

    >>> import torch
    >>> query, key = torch.zeros(3, 2), torch.zeros(4, 2)
    >>> found = map_reductions(query, key, end=torch.tensor([1, 2, 4]), received=True, pool=(1, 2), by="mean")
    >>> found.received
    tensor([1.7500, 0.7500, 0.2500, 0.2500])
    >>> found.pooled
    tensor([[0.4167, 0.0833]])
    """
    head = _head(query, key, scale, start, end, softcap, bias, sink)
    wanted = _wanted(head, entropy, received, top, pool, by)
    few, device = dispatch.few_weights(query, key), query.device
    if few or not dispatch.runs_on(device) or not _tame(head):
        from regard.kernels import streams_plain

        return streams_plain.reductions(head, wanted, adjust)
    from regard.kernels import streams_cpu

    return streams_cpu.reductions(head, wanted, adjust)


def rows_of_a_strip(keys: int, scores: int) -> int:
    """How many rows make a strip of about that many scores."""
    return min(_MOST_ROWS, max(_FEWEST_ROWS, scores // max(1, keys)))


def reduce_strips(head: Head, reducer: Reducer, adjust: Adjust | None, rows: range) -> None:
    """Give ``reducer`` the scores of ``rows``, a step of the range at a time."""
    for first in rows:
        last = min(first + rows.step, rows.stop)
        low, high = head.span(first, last)
        if high > low:
            scores = reducer.strip(last - first, high - low)
            _products(head, first, low, scores)
            if head.softcap is not None or head.bias is not None:
                reducer.change(scores, first, low)
            if adjust is not None:
                adjust(scores, slice(first, last), slice(low, high))
            reducer.take(scores, first, low)


def _products(head: Head, first: int, low: int, out: Tensor) -> None:
    count, width = out.shape
    rows = head.query[first : first + count].to(out.dtype) * head.scale
    step = width if head.key.dtype == out.dtype else max(1, _CONVERTED // head.key.shape[1])
    with torch.autocast(out.device.type, enabled=False):
        for left in range(0, width, step):
            part = out[:, left : left + step]
            torch.mm(rows, head.key[low + left : low + left + part.shape[1]].to(out.dtype).T, out=part)


def _tame(head: Head) -> bool:
    """Whether all scores are finite for sure: the kernels do not look for what is not."""
    if torch.float64 in (head.query.dtype, head.key.dtype) or 0 in head.sizes:
        return False
    largest = float(head.query.abs().amax()) * float(head.key.abs().amax())
    added = 0.0 if head.bias is None else float(head.bias.amax())
    width = head.query.shape[1]
    return largest * width * abs(head.scale) < _LARGEST and added < _LARGEST and head.sink < _LARGEST


def _head(
    query: Tensor,
    key: Tensor,
    scale: float | None,
    start: Tensor | None,
    end: Tensor | None,
    softcap: float | None,
    bias: Tensor | None,
    sink: float | None,
) -> Head:
    _check(query, key)
    queries, keys = len(query), len(key)
    first, last = _run(start, 0, queries, "start"), _run(end, keys, queries, "end")
    first, last = first.clamp(0, keys), last.clamp(0, keys)
    if softcap is not None and not 0 < softcap < math.inf:
        raise InputError(f"softcap must be a positive number, or None for none; it is {softcap!r}")
    added, at = _bias(bias, query, key)
    return Head(
        query.detach(),
        key.detach(),
        query.shape[1] ** -0.5 if scale is None else float(scale),
        first,
        torch.maximum(first, last),
        softcap,
        added,
        at,
        -math.inf if sink is None else float(sink),
    )


def _check(query: Tensor, key: Tensor) -> None:
    for name, tensor in (("query", query), ("key", key)):
        if not isinstance(tensor, Tensor):
            raise DtypeError(f"{name} must be a torch tensor, not {type(tensor).__name__}")
        if not tensor.dtype.is_floating_point:
            raise DtypeError(f"{name} must be of floating-point numbers, not {tensor.dtype}; convert it with .float()")
    if query.ndim != 2 or key.ndim != 2 or query.shape[1] != key.shape[1] or not query.shape[1]:
        raise ShapeError(
            "the map of one head needs query (q, d) and key (k, d) of one width d; they are "
            f"query {tuple(query.shape)}, key {tuple(key.shape)}"
        )
    if query.device != key.device:
        raise InputError(f"query and key must be on one device; they are on {query.device} and {key.device}")


def _run(bound: Tensor | None, otherwise: int, queries: int, name: str) -> Tensor:
    if bound is None:
        return torch.full((queries,), otherwise)
    if bound.shape != (queries,):
        raise ShapeError(f"{name} needs a key for each of the {queries} queries; its shape is {tuple(bound.shape)}")
    if bound.dtype.is_floating_point or bound.dtype == torch.bool:
        raise DtypeError(f"{name} must be whole numbers, not {bound.dtype}")
    return bound.detach().to("cpu", torch.int64)


def _bias(bias: Tensor | None, query: Tensor, key: Tensor) -> tuple[Tensor | None, tuple[int, int]]:
    queries, keys = len(query), len(key)
    if bias is None:
        return None, (0, 0)
    places = {(queries, keys): (0, keys), (queries + keys - 1,): (queries - 1, -1), (keys,): (0, 0)}
    if tuple(bias.shape) not in places:
        raise ShapeError(
            f"bias is of each key ({keys},), of each distance ({queries + keys - 1},) or of each pair "
            f"({queries}, {keys}); its shape is {tuple(bias.shape)}"
        )
    dtype = torch.promote_types(torch.promote_types(query.dtype, key.dtype), torch.float32)
    return bias.detach().to(query.device, dtype).contiguous().view(-1), places[tuple(bias.shape)]


def _wanted(
    head: Head, entropy: bool, received: bool, top: int, pool: tuple[int, int] | None, by: Literal["max", "mean"]
) -> Wanted:
    queries, keys = head.sizes
    if top < 0:
        raise InputError(f"top is how many keys of each row are kept, 0 for none; it is {top}")
    if by not in ("max", "mean"):
        raise InputError(f"weights are pooled by 'max' or 'mean', not by {by!r}")
    if pool is not None and not (1 <= pool[0] <= queries and 1 <= pool[1] <= keys):
        raise ShapeError(
            f"a map of {queries} x {keys} is pooled to at most as many cells, and at least 1 x 1; pool is "
            f"{pool[0]} x {pool[1]}"
        )
    return Wanted(entropy, received, top, pool, by)
