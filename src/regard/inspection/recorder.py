"""record(): every attention call of a model, kept as queries, keys and the log-sum-exp of each row."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from regard.attention import Attended
from regard.errors import InputError
from regard.inspection import generation, huggingface, own_models, torch_calls
from regard.inspection.call import Call
from regard.inspection.checking import Dense
from regard.inspection.generation import Fed
from regard.inspection.growth import Growing, GrowingDense
from regard.inspection.names import Layer, checked_layers, checked_numbers, is_meant, no_such_layer
from regard.inspection.passes import with_lse
from regard.inspection.projections import Projections
from regard.inspection.recorded import Recorded
from regard.inspection.store import Store
from regard.inspection.watching import Listener, all_listeners, checked_model, listeners_of, running, watch

_ATTENTION = re.compile("Attention|Attn")
# Parts of attention that attend to nothing themselves, and attention that has no softmax and so no weights.
_WITHOUT_WEIGHTS = re.compile("Output|Norm|Mask|Embed|Bias|Rotary|Linear|Lightning|Delta|Dropout|Projection|Gate")


@contextmanager
def record(
    model: Any,
    *,
    layers: Layer | Sequence[Layer] | None = None,
    heads: int | Iterable[int] | None = None,
    store: str | os.PathLike[str] | Store | None = None,
    values: bool = False,
) -> Iterator[Recorded]:
    """Record the attention of all that ``model`` runs inside the block, while its own kernels run.

    model    a torch or Hugging Face model, a Translator or a Captioner
    layers   numbers or module names; all when None
    heads    numbers; all when None
    store    a directory to keep the maps in, memory-mapped, for another process to open
    values   also keep what each value weighs in the output, for weights(by="norms"): a number a key and head

    >>> import torch
    >>> layer = torch.nn.MultiheadAttention(8, 2, batch_first=True)
    >>> inputs = torch.ones(1, 3, 8)
    >>> with regard.record(layer) as recorded:
    ...     context, _ = layer(inputs, inputs, inputs)
    >>> recorded[""][0, 1].weights().shape
    torch.Size([3, 3])
    """
    found = checked_model(model)
    kept = None if store is None else store if isinstance(store, Store) else Store(store)
    recorder = Recorder(found, checked_layers(layers), checked_numbers("heads", heads), values=values)
    recorded = Recorded(found)
    with run_uncompiled(found), watch(recorder, install):
        yield recorded
    recorder.check()
    recorder.hand_over(recorded)
    if kept is not None:
        kept.write(recorded)


def install(stack: ExitStack) -> None:
    """Every way by which attention calls are observed."""
    torch_calls.install(stack)
    huggingface.install(stack)
    own_models.install(stack)
    generation.install(stack, lambda model: all_listeners() if model is None else listeners_of(model))


@contextmanager
def run_uncompiled(model: nn.Module) -> Iterator[None]:
    """A compiled model makes no calls that could be observed: it runs uncompiled meanwhile."""
    compiled = any(
        getattr(module, "_compiled_call_impl", None) is not None or hasattr(module, "_orig_mod")
        for module in model.modules()
    )
    if not compiled or "torch._dynamo" not in sys.modules:
        yield
        return
    with torch.compiler.set_stance("force_eager"):
        yield


class Recorder(Listener):
    """Keeps the calls of the chosen layers and heads."""

    def __init__(
        self, model: nn.Module, layers: list[Layer] | None, heads: list[int] | None, *, values: bool = False
    ) -> None:
        super().__init__(model)
        self.projections = Projections(model, heads) if values else None
        self.layers, self.heads = layers, heads
        self.fed, self.passes = Fed(), 0
        self.counts: dict[str, int] = {}
        self.latest: dict[tuple[str, int], str] = {}
        self.maps: dict[str, Growing | GrowingDense] = {}
        self.observed: set[str] = set()
        self.calls = 0
        self.before: dict[str, int] = {}
        """how many calls had been observed when a module began"""
        self.entered_attention: dict[str, str] = {}
        self.ran = False
        self.whole = True
        """whether this pass is one of the whole model; parts may be run one by one, in a loop"""

    def on_enter(self, module: nn.Module) -> None:
        name = self.names[id(module)]
        if len(running().modules) == 1:
            self.passes, self.counts, self.whole = self.passes + 1, {}, module is self.model
        self.ran = True
        self.before[name] = self.calls
        kind = type(module).__name__
        if _ATTENTION.search(kind) and not _WITHOUT_WEIGHTS.search(kind):
            self.entered_attention[name] = kind

    def on_leave(self, module: nn.Module, inputs: dict[str, Any]) -> None:
        output, name = inputs.get("__output__"), self.names[id(module)]
        if self.projections is not None:
            self.projections.ran(module, inputs)
        if isinstance(output, Attended) and self.calls == self.before.pop(name, -1):
            weights = output.weights  # of a kernel or a score of this package's own
            self.on_weights(name, weights if weights.ndim == 4 else weights[:, None])
        if module is self.model or (not running().modules and hasattr(module, "main_input_name")):
            self.fed.feed(self.passes, inputs, whole=module is self.model)

    def on_attention(self, name: str, call: Call, value: Tensor, context: Tensor) -> tuple[Call, Tensor]:
        if (number := self._number(name, loop=self._loops(name, call))) is None:
            return call, context
        with torch.no_grad():
            kept = _kept(with_lse(call), self._chosen(call.query.shape[1]))
        order = self.fed.orders.get(self.passes)
        known = self.maps.get(self.latest.get((name, number), ""))
        generating = self.fed.generating or self._loops(name, call)
        if not isinstance(known, Growing) or known.add(self.passes, kept, order, generating=generating) is None:
            known = self.maps[self._new(name, number)] = Growing()
            known.add(self.passes, kept, None, generating=False)
        if self.projections is not None:
            self.projections.expect(name, known, value, context)
        return call, context

    def _loops(self, name: str, call: Call) -> bool:
        """Whether a loop over time asks again, once a step, in this pass."""
        known = self.maps.get(self.latest.get((name, self.counts.get(name, 0)), ""))
        return (
            isinstance(known, Growing)
            and call.query.shape[2] == 1
            and known.pieces[-1].number == self.passes
            and known.pieces[-1].call.query.shape[2] == 1
            and known.keys == call.key.shape[2] > 1
        )

    def on_weights(self, name: str, weights: Tensor) -> Tensor:
        if (number := self._number(name, loop=weights.shape[2] == 1)) is None:
            return weights
        chosen = self._chosen(weights.shape[1])
        table = weights.detach() if chosen is None else weights.detach()[:, chosen]
        table = table.to("cpu", copy=True)
        known = self.maps.get(self.latest.get((name, number), ""))
        if (
            not isinstance(known, GrowingDense)
            or known.add(self.passes, table, generating=self.fed.generating or not self.whole) is None
        ):
            known = self.maps[self._new(name, number)] = GrowingDense()
            known.add(self.passes, table, generating=False)
        return weights

    def _number(self, name: str, *, loop: bool = False) -> int | None:
        """Of the call among those of its module in this pass; None for what shall not be kept."""
        self.observed.add(name)
        self.calls += 1
        if self.layers is not None and not any(is_meant(name, layer) for layer in self.layers):
            return None
        if not loop:
            self.counts[name] = self.counts.get(name, 0) + 1
        return max(1, self.counts.get(name, 1))

    def _new(self, name: str, number: int) -> str:
        shown, count = name, 1
        while shown in self.maps:
            count += 1
            shown = f"{name}#{count}"
        self.latest[name, number] = shown
        return shown

    def _chosen(self, heads: int) -> list[int] | None:
        if self.heads is not None and max(self.heads) >= heads:
            raise InputError(f"there is no head {max(self.heads)}: this attention has {heads} heads, numbered from 0")
        return self.heads

    def on_reordered(self, order: Tensor) -> None:
        self.fed.orders[self.passes + 1] = order.detach().cpu()

    def on_generating(self, begins: bool) -> None:
        self.fed.generating = begins

    def on_generated(self, sequences: Tensor, inputs: int) -> None:
        self.fed.chosen, self.fed.inputs = sequences.detach().cpu(), inputs

    def check(self) -> None:
        """Refuse a record with gaps."""
        if not self.ran:
            raise InputError("the model did not run inside the block: call it there, model(...) or model.generate(...)")
        missed = [name for name in self.entered_attention if self._unobserved(name)]
        if missed:
            name = missed[0]
            raise InputError(
                f"{name} ({self.entered_attention[name]}) ran and its attention was not observed"
                f"{f', nor that of {len(missed) - 1} more' if len(missed) > 1 else ''}: it neither asks "
                "scaled_dot_product_attention nor takes a softmax over keys. Record the others with layers=[...]."
            )
        if not self.observed:
            raise InputError(f"{type(self.model).__name__} ran without attention: there is nothing to record")
        if not self.maps:
            raise no_such_layer(self.layers or [], sorted(self.observed))

    def _unobserved(self, name: str) -> bool:
        if self.layers is not None and not any(is_meant(name, layer) for layer in self.layers):
            return False
        return not any(
            known == name or known.startswith(f"{name}.") or name.startswith(f"{known}.") for known in self.observed
        )

    def hand_over(self, recorded: Recorded) -> None:
        paths = self.fed.paths()
        for name, growing in self.maps.items():
            own = paths if paths is not None and any(_number(piece) in paths for piece in growing.pieces) else None
            if isinstance(growing, Growing) and own is not None and len(growing.pieces) == 1:
                own = None if len(growing.pieces[0].call.query) != self._fed_batch() else own
            if own is not None and not set(own) & {_number(piece) for piece in growing.pieces}:
                raise InputError("a beam search without a cache cannot be followed: generate with use_cache=True")
            whole = growing.whole(own)
            number = _number(growing.pieces[0]) if self.layers is None and self.heads is None else None
            recorded.add(name, Dense(whole) if isinstance(whole, Tensor) else whole, self.heads, number=number)
        recorded.ids, recorded.source_ids = self.fed.labels(paths), self.fed.source_labels()

    def _fed_batch(self) -> int:
        return max((len(tokens) for tokens in self.fed.tokens.values()), default=0)


def _number(piece: Any) -> int:
    return int(piece[0] if isinstance(piece, tuple) else piece.number)


def _kept(call: Call, heads: list[int] | None) -> Call:
    """A copy of its own, as static caches write over their keys; of the chosen heads only."""
    query, key, lse, sinks, bias = call.query, call.key, call.lse, call.sinks, call.bias
    visible = call.visible
    if heads is not None:
        groups = [head * key.shape[1] // query.shape[1] for head in heads]
        query, key, lse = query[:, heads], key[:, groups], None if lse is None else lse[:, heads]
        sinks = None if sinks is None else sinks[heads]
        if bias is not None and bias.table.shape[1] > 1:
            bias = replace(bias, table=bias.table[:, heads])
        if visible.dense is not None and visible.dense.shape[1] > 1:
            visible = replace(visible, dense=visible.dense[:, heads])
    return replace(
        call,
        query=_copy(query),
        key=_copy(key),
        lse=None if lse is None else lse.detach().cpu(),
        sinks=None if sinks is None else _copy(sinks),
        bias=None if bias is None else replace(bias, table=bias.table.detach().cpu()),
        visible=visible,
    )


def _copy(tensor: Tensor) -> Tensor:
    return tensor.detach().to("cpu", copy=True, memory_format=torch.contiguous_format)
