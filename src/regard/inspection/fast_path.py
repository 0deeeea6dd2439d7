"""torch's own multi-head attention: the functions that nn.MultiheadAttention and nn.TransformerEncoderLayer call."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from regard.inspection.call import Call
from regard.inspection.sdpa import seen_and_added
from regard.inspection.visibility import Visible, everything
from regard.inspection.watching import current, listeners_of, notify_call

_native, _layer, _slow = (
    torch._native_multi_head_attention,
    torch._transformer_encoder_layer_fwd,
    F.multi_head_attention_forward,
)
KEYS_ONLY, ROWS_ONLY = 1, 0  # kinds of masks of the fast path; True where a key is hidden


def install(stack: ExitStack, observed_sdpa: Callable[..., Tensor], observed_softmax: Callable[..., Tensor]) -> None:
    """Stand in for these functions, and for what the slow one calls while it runs, until ``stack`` is closed."""

    def slow(*args: Any, **kwargs: Any) -> Any:
        if not listeners_of(current()):
            return _slow(*args, **kwargs)
        heads = args[4] if len(args) > 4 else kwargs["num_heads"]
        with ExitStack() as inside, torch._C.DisableTorchFunction():
            patch(inside, F, "scaled_dot_product_attention", observed_sdpa)
            patch(inside, F, "softmax", partial(observed_softmax, heads))
            return _slow(*args, **kwargs)

    patch(stack, torch, "_native_multi_head_attention", _observed_native)
    patch(stack, torch, "_transformer_encoder_layer_fwd", _observed_layer)
    patch(stack, F, "multi_head_attention_forward", slow)


def patch(stack: ExitStack, owner: Any, name: str, replacement: Any) -> None:
    """Put ``replacement`` in place of an attribute until ``stack`` is closed."""
    if name in vars(owner):
        stack.callback(setattr, owner, name, vars(owner)[name])
    else:  # inherited: the owner gets it back from its base
        stack.callback(delattr, owner, name)
    setattr(owner, name, replacement)


def _observed_native(query: Tensor, key: Tensor, value: Tensor, dim: int, heads: int, *rest: Any) -> Any:
    output = _native(query, key, value, dim, heads, *rest)
    weight, bias, _, _, mask = rest[:5]
    kind = rest[7] if len(rest) > 7 else None
    _notify(query, heads, weight, bias, mask, kind)
    return output


def _observed_layer(src: Tensor, dim: int, heads: int, weight: Tensor, bias: Tensor, *rest: Any) -> Any:
    output = _layer(src, dim, heads, weight, bias, *rest)
    norm_first, eps, norm_weight, norm_bias = rest[3:7]
    mask, kind = rest[13:15]
    inputs = _padded(src)[0]
    if norm_first:
        inputs = F.layer_norm(inputs, (dim,), norm_weight, norm_bias, eps)
    _notify(src, heads, weight, bias, mask, kind, inputs)
    return output


def _notify(
    given: Tensor, heads: int, weight: Tensor, bias: Tensor, mask: Tensor | None, kind: int | None, inputs: Any = None
) -> None:
    module = current()
    if module is None or not listeners_of(module):
        return
    attention = getattr(module, "self_attn", module)
    inputs, lengths = (_padded(given)[0] if inputs is None else inputs), _padded(given)[1]
    query, key, value = (
        part.reshape(*part.shape[:-1], heads, -1).transpose(1, 2)
        for part in F.linear(inputs, weight, bias).chunk(3, -1)
    )
    call = Call(query, key, query.shape[-1] ** -0.5, _visible(mask, kind, query.shape[2], lengths))
    notify_call(attention, call, value, torch.empty(0))


def _padded(given: Tensor) -> tuple[Tensor, Tensor | None]:
    """The rows of a nested tensor with zeros after them, and how many there are of each."""
    if not given.is_nested:
        return given, None
    lengths = torch.tensor([len(part) for part in given.unbind()])
    return given.to_padded_tensor(0.0), lengths


def _visible(mask: Tensor | None, kind: int | None, queries: int, lengths: Tensor | None) -> Visible:
    if lengths is not None:
        own = torch.arange(queries)[None] < lengths[:, None]  # padded rows are none, and see nothing
        end = torch.where(own, lengths[:, None], 0).to(torch.int32)
        return Visible(queries, torch.zeros_like(end), end)
    if mask is None:
        return everything(queries, queries)
    if kind == KEYS_ONLY:
        mask = mask[:, None, None]
    return seen_and_added(~mask.to(torch.bool), queries, queries)[0]
