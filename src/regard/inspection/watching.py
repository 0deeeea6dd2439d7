"""Who is notified of an attention call, and by which name: the running modules, and the listeners of a model.

Nothing is attached to the model: the hooks are torch's global ones, and they act on watched models only.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook

from regard.errors import InputError
from regard.inspection.call import Call

MODULE_OF_TORCH = "torch.nn."


class Listener:
    """Is notified of every attention call of a model; one that ``edits`` says what the model continues with."""

    edits = False

    def __init__(self, model: nn.Module) -> None:
        self.model = model
        everything = reversed(list(model.named_modules(remove_duplicate=False)))
        self.names = {id(module): _name(name) for name, module in everything}

    def on_attention(self, name: str, call: Call, value: Tensor, context: Tensor) -> tuple[Call, Tensor]:  # noqa: ARG002
        """A call that can be described: value (b, g, k, v), context (b, h, q, v). What it becomes."""
        return call, context

    def on_weights(self, name: str, weights: Tensor) -> Tensor:  # noqa: ARG002
        """A call of which only the weights (b, h, q, k) are known. What they become."""
        return weights

    def on_enter(self, module: nn.Module) -> None:
        """A module of the model begins."""

    def on_leave(self, module: nn.Module, inputs: dict[str, Any]) -> None:
        """A module of the model has ended; ``inputs`` are its keyword arguments."""

    def on_generating(self, begins: bool) -> None:
        """The model's generate() begins or ends."""

    def on_generated(self, sequences: Tensor, inputs: int) -> None:
        """What generate() gave back for so many inputs."""

    def on_reordered(self, order: Tensor) -> None:
        """A search keeps these items of the batch for its next step."""


@dataclass
class Running:
    """The modules of watched models that are running in this thread, outermost first."""

    modules: list[nn.Module] = field(default_factory=list)
    guards: list[AbstractContextManager[Any] | None] = field(default_factory=list)
    inner: list[Any] | None = None
    """where calls are noted that belong to a larger one, such as an interface's; None outside of those"""


class _Threads(threading.local):
    def __init__(self) -> None:
        self.running = Running()


_threads = _Threads()
_listeners: list[Listener] = []
_installed = ExitStack()


def running() -> Running:
    return _threads.running


def listeners_of(module: nn.Module | None) -> list[Listener]:
    """Those that edit first, so that the others see what the model continues with."""
    listeners = [listener for listener in _listeners if id(module) in listener.names]
    return sorted(listeners, key=lambda listener: not listener.edits)


def all_listeners() -> list[Listener]:
    return list(_listeners)


def current() -> nn.Module | None:
    """The innermost module that runs."""
    modules = running().modules
    return modules[-1] if modules else None


@contextmanager
def inside(module: nn.Module) -> Iterator[None]:
    """While a method of a module runs that is not its forward."""
    _enter(module, ())
    try:
        yield
    finally:
        _leave(module, (), {}, None)


def notify_call(module: nn.Module, call: Call, value: Tensor, context: Tensor) -> Tensor:
    """Hand a call to the listeners; the context that the model continues with."""
    for listener in listeners_of(module):
        call, context = listener.on_attention(listener.names[id(module)], call, value, context)
    return context


def notify_weights(module: nn.Module, weights: Tensor) -> Tensor:
    """Hand weights to the listeners; those that the model continues with."""
    for listener in listeners_of(module):
        weights = listener.on_weights(listener.names[id(module)], weights)
    return weights


@contextmanager
def watch(listener: Listener, install: Callable[[ExitStack], None]) -> Iterator[None]:
    """``listener`` observes its model inside the block. The first one installs the hooks, the last one removes them."""
    if not _listeners:
        with ExitStack() as stack:
            stack.callback(register_module_forward_pre_hook(_enter).remove)
            stack.callback(register_module_forward_hook(_leave, with_kwargs=True, always_call=True).remove)
            install(stack)
            _installed.push(stack.pop_all())
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)
        if not _listeners:
            for guard in filter(None, reversed(running().guards)):
                guard.__exit__(None, None, None)
            _threads.running = Running()
            _installed.close()


def checked_model(model: Any) -> nn.Module:
    """The module to watch, of a model or of an object that holds one as ``.model`` (a Translator)."""
    found = model if isinstance(model, nn.Module) else getattr(model, "model", None)
    if not isinstance(found, nn.Module):
        raise InputError(f"a torch model is needed (an nn.Module, a Translator or a Captioner); {_kind(model)} came")
    meta = next((name for name, tensor in found.named_parameters() if tensor.device.type == "meta"), None)
    if meta is not None:
        raise InputError(
            f"the model is on the meta device (its parameter {meta!r} holds no numbers), so nothing can run: "
            "load its weights, or move it with to_empty() and fill it"
        )
    return found


def _name(name: str) -> str:
    """As the module is called before it is compiled."""
    return name.replace("_orig_mod.", "").removesuffix("_orig_mod")


def _kind(model: Any) -> str:
    return type(model).__name__


def _enter(module: nn.Module, _inputs: Any) -> None:
    listeners = listeners_of(module)
    if not listeners:
        return
    now = running()
    now.modules.append(module)
    now.guards.append(None)
    if _takes_fast_path(module) and not any(listener.edits for listener in listeners):
        # A function mode switches torch's fast path off: it steps aside, and torch_calls.py observes it by its name.
        guard = torch._C.DisableTorchFunction()
        guard.__enter__()
        now.guards[-1] = guard
    for listener in listeners:
        listener.on_enter(module)


def _leave(module: nn.Module, inputs: Any, *rest: Any) -> None:
    """``rest`` is (named inputs, output), or None alone where the module ends by an exception."""
    now = running()
    if not any(known is module for known in now.modules):
        return
    named, output = rest if len(rest) == 2 else ({}, None)
    while now.modules:
        last, guard = now.modules.pop(), now.guards.pop()
        if guard is not None:
            guard.__exit__(None, None, None)
        if last is module:
            break
    for listener in listeners_of(module):
        listener.on_leave(module, {**_by_name(module, inputs), **named, "__output__": output})


def _by_name(module: nn.Module, inputs: Any) -> dict[str, Any]:
    """Positional inputs under the name of a model's main one; only the first is of use."""
    main = getattr(module, "main_input_name", "input_ids")
    return {main: inputs[0]} if isinstance(inputs, tuple) and inputs else {}


def _takes_fast_path(module: nn.Module) -> bool:
    kinds = (nn.TransformerEncoder, nn.TransformerEncoderLayer, nn.MultiheadAttention)
    return isinstance(module, kinds) and all(
        type(part).__module__.startswith(MODULE_OF_TORCH) for part in module.modules()
    )
