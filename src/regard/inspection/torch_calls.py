"""What torch itself is asked to attend: scaled_dot_product_attention, nn.MultiheadAttention, and softmax by hand.

A function mode sees each call of the watched models. Where torch's fast path would step aside for a mode, the
functions it calls are observed by their names instead.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.overrides import TorchFunctionMode

from regard.inspection import fast_path
from regard.inspection.sdpa import described, four_axes, heads_of, plain_sdpa, run_sdpa
from regard.inspection.watching import current, listeners_of, notify_call, notify_weights, running

plain_softmax = F.softmax
_SOFTMAX = {torch.softmax, F.softmax, Tensor.softmax, torch.special.softmax}
_PRODUCTS = {torch.matmul, Tensor.matmul, Tensor.__matmul__, torch.bmm, Tensor.bmm, torch.einsum}
# What is done to weights between the softmax and the values, and leaves them weights.
_KEEP = {
    F.dropout,
    torch.dropout,
    Tensor.to,
    Tensor.type,
    Tensor.type_as,
    Tensor.float,
    Tensor.half,
    Tensor.bfloat16,
    Tensor.view,
    Tensor.reshape,
    torch.reshape,
    Tensor.contiguous,
    Tensor.masked_fill,
    torch.masked_fill,
    Tensor.nan_to_num,
    torch.nan_to_num,
    Tensor.__getitem__,
    Tensor.clone,
    Tensor.transpose,
}


def install(stack: ExitStack) -> None:
    """Observe torch's calls until ``stack`` is closed."""
    stack.enter_context(AttentionMode())
    fast_path.install(stack, observed_sdpa, observed_softmax)


class AttentionMode(TorchFunctionMode):
    """Hands each attention call of a watched model to its listeners."""

    def __init__(self) -> None:
        super().__init__()
        self.weights: dict[int, tuple[weakref.ref[Tensor], torch.Size]] = {}

    def __torch_function__(
        self, func: Callable[..., Any], _types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        if func is plain_sdpa:
            return observed_sdpa(*args, **kwargs)
        if func in _SOFTMAX:
            return self._softmax(func, args, kwargs)
        if self.weights and func in _KEEP and args and self._known(args[0]):
            return self._keep(func(*args, **kwargs), self.weights[id(args[0])][1])
        if self.weights and func in _PRODUCTS:
            args = self._product(args)
        return func(*args, **kwargs)

    def _softmax(self, func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        output = func(*args, **kwargs)
        if current() is None or output.ndim < 3 or _axis(args, kwargs) not in (-1, output.ndim - 1):
            return output
        return self._keep(output, output.shape)

    def _keep(self, weights: Any, shape: torch.Size) -> Any:
        """Follow them to the values they weigh."""
        place = id(weights)
        self.weights[place] = weakref.ref(weights, lambda _: self.weights.pop(place, None)), shape
        return weights

    def _known(self, tensor: Any) -> bool:
        known = self.weights.get(id(tensor))
        return known is not None and known[0]() is tensor

    def _product(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """Weights times values: attention. The weights may come first, or anywhere in an einsum."""
        if isinstance(args[0], str) and len(args) == 2 and isinstance(args[1], list | tuple):
            args = (args[0], *args[1])
        for place, part in enumerate(args):
            if self._known(part) and (place == 0 or isinstance(args[0], str)):
                shape = self.weights.pop(id(part))[1]
                with torch._C.DisableTorchFunction():
                    observed = _observed_weights(part, shape)
                return (*args[:place], observed, *args[place + 1 :])
        return args


def _axis(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return kwargs.get("dim", args[1] if len(args) > 1 else None)


def _observed_weights(weights: Tensor, shape: torch.Size) -> Tensor:
    now, module = running(), current()
    if now.inner is not None:
        now.inner.append(weights if weights.ndim == 4 or weights.numel() != shape.numel() else weights.view(shape))
        return weights
    if module is None or not listeners_of(module):
        return weights
    seen = weights if weights.ndim == 4 or weights.numel() != shape.numel() else weights.view(shape)
    given = four_axes(seen, heads_of(module))
    changed = notify_weights(module, given)
    return weights if changed is given else changed.reshape(weights.shape)


def observed_sdpa(*args: Any, **kwargs: Any) -> Tensor:
    """F.scaled_dot_product_attention, observed."""
    now, module = running(), current()
    if now.inner is None and (module is None or not listeners_of(module)):
        return plain_sdpa(*args, **kwargs)
    with torch._C.DisableTorchFunction():
        asked = run_sdpa(*args, **kwargs)
        if now.inner is not None:
            now.inner.append(asked)
            return asked.output
        assert module is not None
        call, value, context = described(asked, module)
        changed = notify_call(module, call, value, context)
        return asked.output if changed is context else changed.reshape(asked.output.shape)


def observed_softmax(heads: int, scores: Tensor, **kwargs: Any) -> Tensor:
    """The softmax inside torch's own multi-head attention, of (b * h, q, k)."""
    weights: Tensor = plain_softmax(scores, **kwargs)
    module = current()
    if module is None or not listeners_of(module):
        return weights
    given = weights.view(-1, heads, *weights.shape[-2:])
    changed = notify_weights(module, given)
    return weights if changed is given else changed.reshape(weights.shape)


@contextmanager
def noted() -> Iterator[list[Any]]:
    """While an interface runs: the calls of torch inside it, for whoever describes the whole."""
    now = running()
    before, now.inner = now.inner, []
    try:
        yield now.inner
    finally:
        now.inner = before
