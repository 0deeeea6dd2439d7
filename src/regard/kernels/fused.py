"""Context without the map: torch's fused scaled-dot-product attention, with regard's meaning of masks."""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from regard.arrays import widened
from regard.errors import InputError

_HALVES = (torch.float16, torch.bfloat16)


def fused_context(
    query: Tensor, key: Tensor, value: Tensor, scale: float, visible: Tensor | None, bias: Tensor | None
) -> Tensor:
    """softmax(scale * q·k + bias, over the visible keys) @ value: (..., q, d), …, (..., k, v) -> (..., q, v)."""
    if query.device.type == "cpu" and (query.dtype in _HALVES or torch.is_autocast_enabled("cpu")):
        # On the CPU torch's gradients of half precision take many times as long for short sentences.
        with torch.autocast("cpu", enabled=False):
            wide = widened(query), widened(key), widened(value)
            return fused_context(*wide, scale, visible, bias).to(query.dtype)
    shapes = [tensor.shape[:-2] for tensor in (query, key, value, visible, bias) if tensor is not None]
    batch: torch.Size = torch.broadcast_shapes(*shapes)  # type: ignore[no-untyped-call]
    context: Tensor = F.scaled_dot_product_attention(
        _four_axes(query, batch),
        _four_axes(key, batch),
        _four_axes(value, batch),
        attn_mask=_mask(visible, bias, batch, query.dtype),
        scale=scale,
    )
    if visible is not None:
        seen = visible.any(-1, keepdim=True)  # a query that may look nowhere gets zeros
        context = context.reshape(*batch, *context.shape[-2:]).masked_fill(~seen, 0)
    return context.reshape(*batch, *context.shape[-2:])


def masks_by_adding(query: Tensor, key: Tensor, value: Tensor) -> bool:
    """Whether -inf added to a score hides its key: keys and values are finite, and no q·k can overflow.

    (inf - inf would be NaN, for a hidden key too. \\|q·k\\| is at most the product of the norms, and a norm is finite
    only if all entries are.) One pass over each tensor, and one answer that the device is waited for. False under vmap,
    where values are not known.
    """
    wide = torch.promote_types(query.dtype, torch.float32)
    with torch.no_grad():
        query_norm, key_norm = (torch.linalg.vector_norm(x, dtype=wide) for x in (query, key))
        safe = query_norm * key_norm < torch.finfo(wide).max
        if value is not key:
            safe = safe & value.sum(dtype=wide).isfinite()
    try:
        return bool(safe)
    except RuntimeError:  # vmap
        return False


def unchanged(**given: Tensor | None) -> Callable[[], None]:
    """A check, to be called later, that none of the tensors was written over since now."""
    tensors = {name: tensor for name, tensor in given.items() if tensor is not None}
    if any(tensor.is_inference() for tensor in tensors.values()):
        return lambda: None  # torch keeps no version of tensors made in inference mode
    versions = {name: tensor._version for name, tensor in tensors.items()}

    def check() -> None:
        for name, tensor in tensors.items():
            if tensor._version != versions[name]:
                raise InputError(
                    f"{name} was changed in place after attend(), so the weights it had can no longer be computed: "
                    "read .weights before changing it, or change a copy"
                )

    return check


def _four_axes(tensor: Tensor, batch: torch.Size) -> Tensor:
    """(..., n, d) as (b, h, n, d): the form the fused kernels take."""
    tensor = tensor.expand(*batch, *tensor.shape[-2:])
    if len(batch) == 2:
        return tensor
    return tensor.reshape(batch.numel(), 1, *tensor.shape[-2:])


def _mask(visible: Tensor | None, bias: Tensor | None, batch: torch.Size, dtype: torch.dtype) -> Tensor | None:
    if visible is None and bias is None:
        return None
    if bias is None:
        mask = visible
    elif visible is None:
        mask = bias.to(dtype)
    else:
        mask = bias.to(dtype).masked_fill(~visible, -torch.inf)
    assert mask is not None
    while mask.ndim < 2:
        mask = mask[None]
    if len(batch) != 2 or mask.ndim > 4:
        mask = mask.expand(*batch, *mask.shape[-2:]).reshape(batch.numel(), 1, *mask.shape[-2:])
    return mask
