"""Additive scores for torch tensors, v . tanh(query + key) for each query and key, differentiable.

Bahdanau, Cho and Bengio 2015, appendix A.1.2: a = v^T tanh(W s + U h); here query = W s and key = U h.

The CPU takes the kernels of ``additive_cpu``. Other devices, and rows so large that e^{2 query} would overflow, take
tanh itself, a chunk at a time. Nothing of size queries x keys x width is held but for a step of a few sentences.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

from regard.errors import DtypeError, RegardError
from regard.kernels import dispatch
from regard.kernels.shapes import batch_shape

_CHUNK = 1 << 22  # how many numbers the chunked path holds at a time
_Chunk = tuple[slice, slice, slice]


def additive_scores(query: Tensor, key: Tensor, v: Tensor) -> Tensor:
    """How well each key answers each query: ``v . tanh(query + key)``, (..., q, d) (..., k, d) (d,) -> (..., q, k).

    Leading dimensions broadcast. Exact for numbers up to 40, finite and of the right sign for all finite ones;
    float16 and bfloat16 are computed in float32. Has first-order gradients, and works under ``torch.compile``.

    >>> import torch
    >>> query, key = torch.tensor([[0.5, 2.0]]), torch.tensor([[0.5, -1.0], [-0.5, -2.0]])
    >>> additive_scores(query, key, torch.tensor([1.0, 10.0]))
    tensor([[8.3775, 0.0000]])
    """
    for name, tensor in (("query", query), ("key", key), ("v", v)):
        if not isinstance(tensor, Tensor):
            raise DtypeError(
                f"{name} must be a torch tensor, not {type(tensor).__name__}; NumPy arrays go to additive_scores_numpy"
            )
    batch = batch_shape(query.shape, key.shape, v.shape)
    dtype = torch.promote_types(torch.promote_types(query.dtype, key.dtype), v.dtype)
    if not dtype.is_floating_point:
        raise DtypeError(f"additive scores need real floating-point numbers, not {dtype}; convert them with .float()")
    shape = (*batch, query.shape[-2], key.shape[-2])
    if dispatch.few_pairs_of_a_step(query, key, v):
        return (query.unsqueeze(-2) + key.unsqueeze(-3)).tanh_() @ v
    if query.ndim != 3 or query.shape[:-2] != key.shape[:-2]:
        if math.prod(key.shape[:-2]) == 1:  # the same keys for every query: one batch entry, no copies
            query, key = query.flatten(0, -2)[None], key.reshape(1, *key.shape[-2:])
        else:
            query = query.expand(*batch, -1, -1).reshape(math.prod(batch), *query.shape[-2:])
            key = key.expand(*batch, -1, -1).reshape(math.prod(batch), *key.shape[-2:])
    # torch.compile needs the registered op; called directly, an autograd function costs a quarter of its time
    apply: Any = _scores_op if torch.compiler.is_compiling() else _AdditiveScores.apply
    scores: Tensor = apply(query.to(dtype), key.to(dtype), v.to(dtype))
    return scores if scores.shape == shape else scores.reshape(shape)


def _scores(query: Tensor, key: Tensor, v: Tensor) -> Tensor:
    if not dispatch.runs_on(query.device):
        return chunked_scores(query, key, v)
    from regard.kernels import additive_cpu

    dtype, wide = query.dtype, _wide(query.dtype)
    query, key, v = (x.to(wide).contiguous() for x in (query, key, v))
    numbers, beyond = additive_cpu.scores(query.numpy(), key.numpy(), v.numpy(), torch.get_num_threads())
    scores = torch.from_numpy(numbers)
    if beyond:
        for b, rows, columns in _large_rows(query, key):
            scores[b, rows] = chunked_scores(query[b : b + 1, rows], key[b : b + 1], v)[0]
            scores[b, :, columns] = chunked_scores(query[b : b + 1], key[b : b + 1, columns], v)[0]
    return scores.to(dtype)


def additive_gradients(
    grad: Tensor, query: Tensor, key: Tensor, v: Tensor, of_query: bool, of_key: bool, of_v: bool
) -> tuple[Tensor, Tensor, Tensor]:
    """Gradients of query, key and v; one that is not wanted comes back empty."""
    wanted = of_query, of_key, of_v
    if not dispatch.runs_on(query.device):
        return chunked_gradients(grad, query, key, v, wanted)
    dtype, wide = query.dtype, _wide(query.dtype)
    grad, query, key, v = grad.to(wide), *(x.to(wide).contiguous() for x in (query, key, v))
    grads, beyond = _cpu_gradients(grad, query, key, v, wanted)
    if beyond:
        grads = _gradients_around_large_rows(grad, query, key, v, wanted)
    return grads[0].to(dtype), grads[1].to(dtype), grads[2].to(dtype)


_scores_op = torch.library.custom_op("regard::additive_scores", _scores, mutates_args=())
_gradients_op = torch.library.custom_op("regard::additive_scores_backward", additive_gradients, mutates_args=())


@_scores_op.register_fake
def _(query: Tensor, key: Tensor, _v: Tensor) -> Tensor:
    return query.new_empty(query.shape[0], query.shape[1], key.shape[1])


@_gradients_op.register_fake
def _(
    _grad: Tensor, query: Tensor, key: Tensor, v: Tensor, of_query: bool, of_key: bool, of_v: bool
) -> tuple[Tensor, Tensor, Tensor]:
    grads = [torch.empty_like(x) if w else x.new_empty(0) for x, w in ((query, of_query), (key, of_key), (v, of_v))]
    return grads[0], grads[1], grads[2]


class _AdditiveScores(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, query: Tensor, key: Tensor, v: Tensor) -> Tensor:
        ctx.save_for_backward(query, key, v)
        return _scores(query, key, v)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        # where a gradient of the gradient may be asked for, the op is there to refuse it
        return _wanted_gradients(_gradients_op if torch.is_grad_enabled() else additive_gradients, ctx, grad)


def _wanted_gradients(gradients: Any, ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
    wanted = ctx.needs_input_grad
    return tuple(g if w else None for g, w in zip(gradients(grad, *ctx.saved_tensors, *wanted), wanted, strict=True))


def _no_second_order(_ctx: Any, *_grads: Tensor) -> Any:
    raise RegardError(
        "additive scores have first-order gradients only, and a gradient of their gradient was asked for; "
        "write torch.tanh(query.unsqueeze(-2) + key.unsqueeze(-3)) @ v where higher orders are needed"
    )


_scores_op.register_autograd(
    lambda ctx, grad: _wanted_gradients(_gradients_op, ctx, grad),
    setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs),  # noqa: ARG005
)
_gradients_op.register_autograd(_no_second_order)


def _wide(dtype: torch.dtype) -> torch.dtype:
    return torch.float64 if dtype == torch.float64 else torch.float32


def _cpu_gradients(
    grad: Tensor, query: Tensor, key: Tensor, v: Tensor, wanted: tuple[bool, bool, bool]
) -> tuple[tuple[Tensor, ...], bool]:
    from regard.kernels import additive_cpu

    strides = grad.stride()
    # All the memory that grad lies in: the gradient of a sum is one number seen from everywhere, so no copy is made.
    size = 1 + sum((n - 1) * stride for n, stride in zip(grad.shape, strides, strict=True)) if grad.numel() else 0
    flat = grad.as_strided((size,), (1,))
    numbers, beyond = additive_cpu.gradients(
        flat.numpy(), strides, query.numpy(), key.numpy(), v.numpy(), wanted, torch.get_num_threads()
    )
    return tuple(torch.empty(0) if x is None else torch.from_numpy(x) for x in numbers), beyond


def _large_rows(query: Tensor, key: Tensor) -> Iterator[tuple[int, Tensor, Tensor]]:
    """The queries and keys of each batch entry that the kernels leave out, for entries that have some."""
    from regard.kernels import additive_cpu

    most = additive_cpu.limit(query.numpy().dtype)
    large_query = ~(query.abs().amax(-1) <= most)  # not ">", so that NaN counts
    large_key = ~(key.abs().amax(-1) <= most)
    for b in (large_query.any(1) | large_key.any(1)).nonzero()[:, 0].tolist():
        yield b, large_query[b].nonzero()[:, 0], large_key[b].nonzero()[:, 0]


def _gradients_around_large_rows(
    grad: Tensor, query: Tensor, key: Tensor, v: Tensor, wanted: tuple[bool, bool, bool]
) -> tuple[Tensor, ...]:
    rest = grad.clone()
    for b, rows, columns in _large_rows(query, key):
        rest[b, rows] = 0
        rest[b, :, columns] = 0
    grads, _ = _cpu_gradients(rest, query, key, v, wanted)
    for b, rows, columns in _large_rows(query, key):
        others = grad[b : b + 1].clone()
        others[0, rows] = 0
        every = torch.arange(query.shape[1]), torch.arange(key.shape[1])
        for n, m, g in ((rows, every[1], grad[b : b + 1, rows]), (every[0], columns, others[:, :, columns])):
            more = chunked_gradients(g, query[b : b + 1, n], key[b : b + 1, m], v, wanted)
            if wanted[0]:
                grads[0][b].index_add_(0, n, more[0][0])
            if wanted[1]:
                grads[1][b].index_add_(0, m, more[1][0])
            if wanted[2]:
                grads[2].add_(more[2])
    return grads


def _chunks(shape: Sequence[int], d: int) -> Iterator[_Chunk]:
    """Slices of batch, queries and keys that hold few enough numbers, and cover all."""
    b, q, k = shape
    keys = max(1, min(k, _CHUNK // max(d, 1)))
    queries = max(1, min(q, _CHUNK // max(d * keys, 1)))
    entries = max(1, min(b, _CHUNK // max(d * keys * queries, 1)))
    for i in range(0, b, entries):
        for n in range(0, q, queries):
            for m in range(0, k, keys):
                yield slice(i, i + entries), slice(n, n + queries), slice(m, m + keys)


def chunked_scores(query: Tensor, key: Tensor, v: Tensor) -> Tensor:
    """The scores by tanh itself, on any device, for any numbers."""
    wide = _wide(query.dtype)
    scores = query.new_empty(*query.shape[:2], key.shape[1])
    for i, n, m in _chunks(scores.shape, v.shape[0]):
        inner = query[i, n, None].to(wide) + key[i, None, m].to(wide)
        scores[i, n, m] = (inner.tanh_() @ v.to(wide)).to(scores.dtype)
    return scores


def chunked_gradients(
    grad: Tensor, query: Tensor, key: Tensor, v: Tensor, wanted: tuple[bool, bool, bool]
) -> tuple[Tensor, Tensor, Tensor]:
    """The gradients by tanh itself; one that is not wanted comes back empty."""
    wide = _wide(query.dtype)
    grads = [x.new_zeros(x.shape if w else 0, dtype=wide) for x, w in zip((query, key, v), wanted, strict=True)]
    for i, n, m in _chunks(grad.shape, v.shape[0]):
        t = (query[i, n, None].to(wide) + key[i, None, m].to(wide)).tanh_()
        g = grad[i, n, m].to(wide)
        if wanted[2]:
            grads[2] += torch.einsum("bqk,bqkd->d", g, t)
        if wanted[0] or wanted[1]:
            slope = t.square_().neg_().add_(1)
        if wanted[0]:
            grads[0][i, n] += torch.einsum("bqk,bqkd->bqd", g, slope) * v
        if wanted[1]:
            grads[1][i, m] += torch.einsum("bqk,bqkd->bkd", g, slope) * v
    return grads[0].to(query.dtype), grads[1].to(query.dtype), grads[2].to(query.dtype)
