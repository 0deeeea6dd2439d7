"""Masks of long texts that are never made: a mask without storage is handed out, and rows are attended in parts.

Below ``LONGEST_DENSE`` entries transformers makes the mask that it always makes, and nothing here runs.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_map

from regard.inspection.fast_path import patch
from regard.inspection.sdpa import Asked, run_sdpa
from regard.inspection.visibility import Visible, from_function
from regard.inspection.watching import current, listeners_of, running

LONGEST_DENSE = 1 << 26  # entries of a mask: 64 MB
ROWS = 512  # that are attended together


class LongMask(Tensor):
    """A mask (b, 1, q, k) without storage. An operation that touches it gets the dense one."""

    visible: Visible
    dense: Callable[[], Tensor]

    @staticmethod
    def __new__(cls, visible: Visible, batch: int, dense: Callable[[], Tensor], device: Any) -> LongMask:
        shape = (batch, 1, visible.queries, visible.keys)
        made = torch.Tensor._make_wrapper_subclass(cls, shape, dtype=torch.bool, device=device)
        made.visible, made.dense = visible, dense
        return made

    @classmethod
    def __torch_dispatch__(  # type: ignore[override]
        cls, func: Any, _types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        def touched(part: Any) -> Any:
            return part.dense() if isinstance(part, LongMask) else part

        return func(*tree_map(touched, args), **tree_map(touched, kwargs or {}))

    def __repr__(self, **_: Any) -> str:  # type: ignore[override]
        return f"LongMask({tuple(self.shape)})"


def install(stack: ExitStack) -> None:
    """Give masks without storage to watched models until ``stack`` is closed."""
    from transformers import masking_utils
    from transformers.masking_utils import AttentionMaskInterface

    plain: Any = AttentionMaskInterface.__getitem__

    def look_up(self: Any, implementation: str) -> Any:
        function = plain(self, implementation)
        return _long(function, masking_utils) if function is masking_utils.sdpa_mask else function

    patch(stack, AttentionMaskInterface, "__getitem__", look_up)


def _long(function: Callable[..., Any], masking: Any) -> Callable[..., Any]:
    def mask(**given: Any) -> Any:
        batch, queries, keys = given["batch_size"], given["q_length"], given["kv_length"]
        if batch * queries * keys <= LONGEST_DENSE or not listeners_of(current()) or given.get("use_vmap"):
            return function(**given)
        padding = masking.prepare_padding_mask(given.get("attention_mask"), keys, given["kv_offset"])
        places = int(given["q_offset"]), int(given["kv_offset"])
        local = given.get("local_size")
        if given.get("allow_is_causal_skip", True) and masking._ignore_causal_mask_sdpa(
            padding, queries, keys, *places, local
        ):
            return None
        if given.get("allow_is_bidirectional_skip") and masking._ignore_bidirectional_mask_sdpa(padding, keys, local):
            return None
        runs = runs_of(given["mask_function"], padding, (batch, queries, keys), places)
        return LongMask(runs, batch, lambda: function(**given), given.get("device", "cpu"))

    return mask


def runs_of(
    function: Callable[..., Any], padding: Tensor | None, sizes: tuple[int, int, int], offsets: tuple[int, int]
) -> Visible:
    """What a mask function lets each query see, without asking it of every pair where its kind is known."""
    batch, queries, keys = sizes
    rows = torch.arange(queries)[None] + offsets[0]
    found = _known(function, rows)
    if found is not None and padding is not None:
        found = _within_words(found, padding)
    if found is None:
        head = torch.zeros((), dtype=torch.long)

        def allowed(b: Tensor, i: Tensor, j: Tensor) -> Tensor:
            i, j = i + offsets[0], j + offsets[1]
            seen: Tensor = function(b, head, i, j)
            return seen if padding is None else seen & padding[b, j]

        return from_function(allowed, batch, queries, keys)
    start, end = ((part - offsets[1]).clamp(0, keys).to(torch.int32) for part in found)
    return Visible(keys, start, torch.maximum(start, end))


_FAR = 1 << 30


def _known(function: Callable[..., Any], rows: Tensor) -> tuple[Tensor, Tensor] | None:
    """First and one past the last key of each row (b or 1, q), for transformers' own mask functions."""
    name, held = function.__qualname__, inspect.getclosurevars(function).nonlocals
    if name == "causal_mask_function":
        return torch.zeros_like(rows), rows + 1
    if name == "bidirectional_mask_function":
        return torch.zeros_like(rows), torch.full_like(rows, _FAR)
    if name.startswith("sliding_window_overlay"):
        return rows - held["sliding_window"] + 1, torch.full_like(rows, _FAR)
    if name.startswith("sliding_window_bidirectional_overlay"):
        return rows - held["sliding_window"], rows + held["sliding_window"] + 1
    if name.startswith("chunked_overlay"):
        padded = held["left_padding"].cpu()[:, None]
        start = (rows - padded) // held["chunk_size"] * held["chunk_size"] + padded
        return start, start + held["chunk_size"]
    if name.startswith("and_masks"):
        parts = [_known(part, rows) for part in held["mask_functions"]]
        if all(part is not None for part in parts):
            starts, ends = zip(*(part for part in parts if part is not None), strict=True)
            return _reduce(torch.maximum, starts), _reduce(torch.minimum, ends)
    return None


def _reduce(how: Callable[[Tensor, Tensor], Tensor], parts: tuple[Tensor, ...]) -> Tensor:
    found = parts[0]
    for part in parts[1:]:
        found = how(found, part)
    return found


def _within_words(found: tuple[Tensor, Tensor], padding: Tensor) -> tuple[Tensor, Tensor] | None:
    """Also inside the words of a padding mask (b, k), where they follow each other."""
    words = padding.cpu().bool()
    counts, first = words.sum(-1), words.to(torch.uint8).argmax(-1)
    last = words.shape[1] - words.flip(-1).to(torch.uint8).argmax(-1)
    if not torch.equal(last - first, counts):
        return None
    return torch.maximum(found[0], first[:, None]), torch.minimum(found[1], last[:, None])


def attend(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: LongMask,
    dropout: float = 0.0,
    scaling: float | None = None,
    position_bias: Tensor | None = None,
    **_options: Any,
) -> tuple[Tensor, None]:
    """What transformers' sdpa gives, a few rows at a time with the keys that they see."""
    from transformers.integrations.sdpa_attention import sdpa_attention_forward

    if position_bias is not None:
        return sdpa_attention_forward(
            module, query, key, value, attention_mask, dropout=dropout, scaling=scaling, position_bias=position_bias
        )
    outputs, sums = [], []
    with torch._C.DisableTorchFunction():
        for b in range(len(query)):
            one = query[b : b + 1], key[b : b + 1], value[b : b + 1]
            parts = [
                _rows(*one, attention_mask, (b, first), dropout, scaling) for first in range(0, query.shape[2], ROWS)
            ]
            outputs.append(torch.cat([part.output for part in parts], 2))
            sums.append([part.lse for part in parts])
    output = torch.cat(outputs)
    whole = all(lse is not None for some in sums for lse in some)
    lse = torch.cat([torch.cat(some, 2) for some in sums]) if whole else None  # type: ignore[arg-type]
    scale = query.shape[-1] ** -0.5 if scaling is None else scaling
    noted = running().inner
    if noted is not None:
        noted.append(Asked(query, key, value, None, False, scale, output, lse))
    return output.transpose(1, 2).contiguous(), None


def _rows(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: LongMask,
    place: tuple[int, int],
    dropout: float,
    scaling: float | None,
) -> Asked:
    (b, first), times = place, query.shape[1] // key.shape[1]
    last = min(first + ROWS, query.shape[2])
    low, high = mask.visible.span(b, first, last)
    high = max(high, low + 1)
    seen = mask.visible.tile(b, 0, torch.arange(first, last), torch.arange(low, high))
    keys, values = (part[:, :, low:high].repeat_interleave(times, 1) for part in (key, value))
    return run_sdpa(query[:, :, first:last], keys, values, seen[None, None].to(query.device), dropout, scale=scaling)
