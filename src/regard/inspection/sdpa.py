"""Scaled-dot-product attention as torch runs it, with the log-sum-exp of each row that its kernel computes anyway."""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from regard.inspection.call import Bias, Call
from regard.inspection.visibility import Visible, causal, everything, from_mask

FLASH = 1  # of torch's SDPBackend
plain_sdpa = F.scaled_dot_product_attention


@dataclass(frozen=True)
class Asked:
    """One call of F.scaled_dot_product_attention, with what it gave."""

    query: Tensor
    key: Tensor
    value: Tensor
    mask: Tensor | None
    causal: bool
    scale: float
    output: Tensor
    lse: Tensor | None
    """None where the kernel that ran does not give it"""


def run_sdpa(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Asked:
    """The same kernel on the same numbers as F.scaled_dot_product_attention, so that the output is bit-equal."""
    factor = query.shape[-1] ** -0.5 if scale is None else float(scale)
    found: tuple[Tensor, Tensor | None] | None = _with_lse(
        query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa
    )
    if found is None:
        output = plain_sdpa(query, key, value, attn_mask, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa)
        found = output, None
    return Asked(query, key, value, attn_mask, is_causal, factor, *found)


def _with_lse(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    dropout: float,
    is_causal: bool,
    scale: float | None,
    grouped: bool,
) -> tuple[Tensor, Tensor] | None:
    if query.device.type != "cpu" or query.ndim != 4 or dropout or torch.is_autocast_enabled("cpu"):
        return None
    if mask is not None and (mask.ndim not in (2, 4) or mask.requires_grad or type(mask) is not Tensor):
        return None
    choice = torch._fused_sdp_choice(query, key, value, mask, dropout, is_causal, scale=scale, enable_gqa=grouped)
    if choice != FLASH:
        return None
    if grouped and key.shape[-3] != query.shape[-3]:
        times = query.shape[-3] // key.shape[-3]
        key, value = key.repeat_interleave(times, -3), value.repeat_interleave(times, -3)
    if mask is not None and mask.dtype == torch.bool:
        mask = torch.zeros(mask.shape, dtype=query.dtype).masked_fill_(~mask, -torch.inf)
    output, lse = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(
        query, key, value, 0.0, is_causal, attn_mask=mask, scale=scale
    )
    return output, lse


def described(asked: Asked, module: nn.Module | None) -> tuple[Call, Tensor, Tensor]:
    """The call, its value and its context with batch and heads as axes of their own: (b, h, n, d)."""
    heads = heads_of(module)
    query, key, value, output = (four_axes(part, heads) for part in (asked.query, asked.key, asked.value, asked.output))
    lse = None if asked.lse is None else asked.lse.detach().reshape(query.shape[:3])
    visible, bias = seen_and_added(asked.mask, query.shape[2], key.shape[2], heads, causal_too=asked.causal)
    return Call(query, key, asked.scale, visible, bias=bias, lse=lse), value, output


def four_axes(tensor: Tensor, heads: int | None) -> Tensor:
    """(..., n, d) as (b, h, n, d); of (b * h, n, d) by the module's number of heads."""
    if tensor.ndim == 4:
        return tensor
    if tensor.ndim == 3 and heads and tensor.shape[0] % heads == 0:
        return tensor.view(-1, heads, *tensor.shape[1:])
    return tensor.reshape(-1, 1, *tensor.shape[-2:])


def heads_of(module: nn.Module | None) -> int | None:
    """How many heads a module says that it has."""
    for name in ("num_heads", "num_attention_heads", "n_heads", "n_head", "heads"):
        found = getattr(module, name, None)
        if isinstance(found, int) and not isinstance(found, bool):
            return found
    return None


_known: dict[int, tuple[weakref.ref[Tensor], int, Any]] = {}


def seen_and_added(
    mask: Tensor | None, queries: int, keys: int, heads: int | None = None, *, causal_too: bool = False
) -> tuple[Visible, Bias | None]:
    """A mask (True where a query may look, or added to the scores) as what is visible and what is added.

    The layers of a model mostly share one mask: it is read once.
    """
    if mask is None:
        return (causal if causal_too else everything)(queries, keys), None
    runs = getattr(mask, "visible", None)  # a mask that was never made dense
    if isinstance(runs, Visible):
        return runs, None
    known = _known.get(id(mask))
    version = 0 if mask.is_inference() else mask._version
    if known is not None and known[0]() is mask and known[1] == version:
        return known[2]  # type: ignore[no-any-return]
    found = _read(mask.detach(), queries, keys, heads)
    place = id(mask)
    _known[place] = weakref.ref(mask, lambda _: _known.pop(place, None)), version, found
    return found


def _read(mask: Tensor, queries: int, keys: int, heads: int | None) -> tuple[Visible, Bias | None]:
    mask = four_axes(mask[None] if mask.ndim == 1 else mask, heads) if mask.ndim != 2 else mask[None, None]
    mask = mask.expand(*mask.shape[:2], queries, mask.shape[-1])[..., :keys]
    if mask.dtype == torch.bool:
        return from_mask(mask), None
    hides = mask <= torch.finfo(mask.dtype).min / 2
    added = mask.masked_fill(hides, 0)
    if not bool(hides.any()):
        return everything(queries, keys), Bias.of(mask) if bool(added.any()) else None
    return from_mask(~hides), Bias.of(added) if bool(added.any()) else None
