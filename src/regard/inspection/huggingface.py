"""Hugging Face models: the attention interface's look-up gives a function that is observed while it runs.

No config is written, so there is none to restore. Each call is described from what the interface was given and from
what torch was asked inside it; the first description whose weights give the call's output is the one that is taken.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn

from regard.errors import InputError, RegardError
from regard.inspection import long_masks
from regard.inspection.call import Bias, Call
from regard.inspection.checking import Dense, agrees
from regard.inspection.fast_path import patch
from regard.inspection.passes import with_lse
from regard.inspection.sdpa import Asked, described, seen_and_added
from regard.inspection.torch_calls import noted
from regard.inspection.visibility import Visible, causal, from_function
from regard.inspection.watching import current, listeners_of, notify_call, notify_weights

ACTS_ON_CAUSAL = ("sdpa", "flash")  # implementations that hide the future without a mask


def install(stack: ExitStack) -> None:
    """Observe the interface until ``stack`` is closed; nothing to do before transformers is imported."""
    if "transformers" not in sys.modules:
        return
    from transformers.modeling_utils import AttentionInterface

    if not hasattr(AttentionInterface, "get_interface"):
        raise RegardError("this version of transformers is too old to be observed: pip install 'regard[inspect]'")
    plain = AttentionInterface.get_interface

    def get_interface(self: Any, implementation: str, default: Callable[..., Any]) -> Callable[..., Any]:
        return observed(plain(self, implementation, default), implementation)

    patch(stack, AttentionInterface, "get_interface", get_interface)
    long_masks.install(stack)


@dataclass(frozen=True)
class Ran:
    """One call through the interface: (b, h, n, d) each, and the notes of torch's calls inside it."""

    module: nn.Module
    implementation: str
    query: Tensor
    key: Tensor
    value: Tensor
    mask: Any
    options: dict[str, Any]
    output: Any
    inner: list[Any]

    @property
    def context(self) -> Tensor:
        """(b, h, q, v)"""
        output, batch, queries = self.output[0], self.query.shape[0], self.query.shape[2]
        if output.ndim != 4:
            output = output.reshape(batch, queries, self.query.shape[1], -1)
        return output.transpose(1, 2)  # type: ignore[no-any-return]


def observed(function: Callable[..., Any], implementation: str | None) -> Callable[..., Any]:
    """The same function; the listeners of the module that calls it are notified."""

    def attend(
        module: nn.Module,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        attention_mask: Any = None,
        *rest: Any,
        **options: Any,
    ) -> Any:
        caller = module if listeners_of(module) else current()
        if caller is None or not listeners_of(caller):
            return function(module, query, key, value, attention_mask, *rest, **options)
        with noted() as inner:
            run = long_masks.attend if isinstance(attention_mask, long_masks.LongMask) else function
            output = run(module, query, key, value, attention_mask, *rest, **options)
        name = implementation or "eager"
        return _notified(caller, Ran(module, name, query, key, value, attention_mask, options, output, inner))

    return attend


def _notified(caller: nn.Module, ran: Ran) -> Any:
    with torch._C.DisableTorchFunction():
        found = description(ran)
        before = ran.context
        if isinstance(found, Dense):
            weights = notify_weights(caller, found.table)
            context = before if weights is found.table else _mixed(weights, ran.value)
        else:
            context = notify_call(caller, found, ran.value, before)
        if context is before:
            return ran.output
        output = context.transpose(1, 2).to(ran.output[0].dtype).contiguous().reshape(ran.output[0].shape)
        return (output, *ran.output[1:])


def _mixed(weights: Tensor, value: Tensor) -> Tensor:
    times = weights.shape[1] // value.shape[1]
    return weights.to(value.dtype) @ value[:, :, : weights.shape[-1]].repeat_interleave(times, 1)


def description(ran: Ran) -> Call | Dense:
    """The first description that gives the output; an error that names the module where there is none."""
    drops = ran.module.training and float(ran.options.get("dropout") or 0.0) > 0
    for candidate in candidates(ran):
        found = candidate if isinstance(candidate, Dense) else with_lse(candidate)
        if drops or agrees(found, ran.value, ran.context):
            return found
    raise InputError(
        f"{type(ran.module).__name__} ran its attention by {ran.implementation!r} in a way that is not understood: "
        f"no weights of its queries {tuple(ran.query.shape)} and keys {tuple(ran.key.shape)} give its output. "
        "Record the other layers with layers=[...], or set attn_implementation='eager'."
    )


def candidates(ran: Ran) -> Iterator[Call | Dense]:
    """Descriptions, from the smallest to keep to the largest."""
    asked = [note for note in ran.inner if isinstance(note, Asked)]
    made = [note for note in ran.inner if isinstance(note, Tensor)]
    query, key = _same_batch(ran.query, ran.key)
    options, bias = ran.options, ran.options.get("position_bias")
    if len(asked) == 1 and query.ndim == 4:
        (one,) = asked
        key = key[:, :, : one.key.shape[-2]]
        lse = None if one.lse is None or one.lse.numel() != query[..., 0].numel() else one.lse.reshape(query.shape[:3])
        call = _call(ran, query, key, one.scale, bias, causal_too=one.causal or _is_causal(ran))
        yield replace(call, lse=None if lse is None else lse.detach())
        yield described(one, ran.module)[0]
    elif query.ndim == 4:
        scale = options.get("scaling") or getattr(ran.module, "scaling", None) or query.shape[-1] ** -0.5
        scale = float(scale) if not isinstance(scale, Tensor) or scale.numel() == 1 else query.shape[-1] ** -0.5
        hides = any(name in ran.implementation for name in ACTS_ON_CAUSAL)
        call = _call(ran, query, key, scale, bias, causal_too=hides and _is_causal(ran))
        yield call
        sinks = options.get("s_aux", getattr(ran.module, "sinks", None))
        if isinstance(sinks, Tensor):
            yield replace(call, sinks=sinks.detach().flatten())
    yield from (Dense(weights) for weights in reversed(made) if weights.ndim == 4)
    if len(ran.output) > 1 and isinstance(ran.output[1], Tensor) and ran.output[1].ndim == 4:
        yield Dense(ran.output[1])


def _same_batch(query: Tensor, key: Tensor) -> tuple[Tensor, Tensor]:
    most = max(len(query), len(key))
    return query.expand(most, *query.shape[1:]), key.expand(most, *key.shape[1:])


def _is_causal(ran: Ran) -> bool:
    option = ran.options.get("is_causal")
    acts = getattr(ran.module, "is_causal", True) if option is None else option
    return bool(acts) and ran.query.shape[2] > 1 and ran.mask is None


def _call(ran: Ran, query: Tensor, key: Tensor, scale: float, bias: Any, *, causal_too: bool) -> Call:
    queries, keys = query.shape[2], key.shape[2]
    visible, added = _seen(ran, queries, keys, causal_too)
    if isinstance(bias, Tensor):
        added = Bias.of(bias[..., :keys] if added is None else bias[..., :keys] + added.table)
    softcap = ran.options.get("softcap")
    return Call(query, key, scale, visible, softcap=None if softcap is None else float(softcap), bias=added)


def _seen(ran: Ran, queries: int, keys: int, causal_too: bool) -> tuple[Visible, Bias | None]:
    packed = ran.options.get("cu_seq_lens_q")
    if isinstance(packed, Tensor) and "flash" in ran.implementation:
        return _packed(packed, queries, causal_too, ran.options.get("sliding_window")), None
    if hasattr(ran.mask, "mask_mod"):  # flex attention's
        head = torch.zeros((), dtype=torch.long)
        return from_function(lambda b, i, j: ran.mask.mask_mod(b, head, i, j), len(ran.query), queries, keys), None
    if isinstance(ran.mask, Tensor) and ran.mask.ndim == 2:  # flash attention's: which keys are words
        return seen_and_added(ran.mask.bool()[:, None, None], queries, keys)
    return seen_and_added(ran.mask if isinstance(ran.mask, Tensor) else None, queries, keys, causal_too=causal_too)


def _packed(ends: Tensor, queries: int, causal_too: bool, window: int | None) -> Visible:
    """Sequences one after the other in a row, none of which sees another."""
    places = torch.arange(queries, dtype=torch.int32)
    which = torch.bucketize(places, ends.cpu()[1:], right=True)
    start, end = ends.cpu()[which].to(torch.int32), ends.cpu()[which + 1].to(torch.int32)
    end = causal(queries, queries).end[0] if causal_too else end
    start = torch.maximum(start, places - window + 1) if window else start
    return Visible(queries, start[None], end[None])
