"""hide(): the model as it would be if a head were not there, or if some queries could not see some keys."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Literal

import torch
from torch import Tensor, nn

from regard.errors import InputError
from regard.inspection.call import Call, Edges
from regard.inspection.names import Layer, checked_layers, checked_numbers, is_meant, no_such_layer
from regard.inspection.passes import AT_ONCE
from regard.inspection.watching import Listener, checked_model, watch


@contextmanager
def hide(
    model: Any,
    *,
    layer: Layer | Sequence[Layer],
    head: int | Iterable[int] | None = None,
    queries: int | Iterable[int] | None = None,
    keys: int | Iterable[int] | None = None,
    by: Literal["zero", "mean"] = "zero",
) -> Iterator[None]:
    """Run ``model`` inside the block without some of its attention; its other heads run as they always do.

    layer      the number of a layer or the name of a module, or several
    head       numbers; all heads of the layer when None
    queries    with one of them, only the edges between these queries and these keys (places from 0, None for all)
    keys       are hidden: the rest of each row sums to 1 again
    by         whole heads give zero, or the mean of what they give to all queries of an item

    >>> import torch
    >>> layer = torch.nn.MultiheadAttention(8, 2, batch_first=True)
    >>> inputs = torch.rand(1, 3, 8)
    >>> with regard.hide(layer, layer="", head=[0, 1]):
    ...     context, _ = layer(inputs, inputs, inputs)
    >>> bool((context == layer.out_proj.bias).all())
    True
    """
    from regard.inspection.recorder import install, run_uncompiled

    found = checked_model(model)
    if by not in ("zero", "mean"):
        raise InputError(f"a head is hidden by 'zero' or by its 'mean', not by {by!r}")
    layers = checked_layers(layer) or []
    chosen = tuple(
        checked_numbers(what, numbers) for what, numbers in (("heads", head), ("queries", queries), ("keys", keys))
    )
    hider = Hider(found, layers, *chosen, by=by)
    with run_uncompiled(found), watch(hider, install):
        yield
    hider.check()


class Hider(Listener):
    """Takes heads or edges out of what a model goes on with."""

    edits = True

    def __init__(
        self,
        model: nn.Module,
        layers: list[Layer],
        heads: list[int] | None,
        queries: list[int] | None,
        keys: list[int] | None,
        *,
        by: str,
    ) -> None:
        super().__init__(model)
        self.layers, self.heads, self.queries, self.keys, self.by = layers, heads, queries, keys, by
        self.ran: list[str] = []
        self.met: dict[Layer, str] = {}

    def on_attention(self, name: str, call: Call, value: Tensor, context: Tensor) -> tuple[Call, Tensor]:
        heads = self._meant(name, call.query.shape[1])
        if heads is None:
            return call, context
        if self.queries is None and self.keys is None:
            changed = context.clone()
            changed[:, heads] = 0.0 if self.by == "zero" else context[:, heads].mean(2, keepdim=True)
            return call, changed
        hidden = replace(call, hidden=(*call.hidden, self._edges(heads)), lse=None)
        return hidden, _without_edges(hidden, value, context, heads, self.queries)

    def on_weights(self, name: str, weights: Tensor) -> Tensor:
        heads = self._meant(name, weights.shape[1])
        if heads is None:
            return weights
        changed = weights.clone()
        if self.queries is None and self.keys is None:
            changed[:, heads] = 0.0 if self.by == "zero" else weights[:, heads].mean(2, keepdim=True)
            return changed
        row, column = _marks(self.queries, weights.shape[2]), _marks(self.keys, weights.shape[3])
        left = weights[:, heads].masked_fill((row[:, None] & column[None]).to(weights.device), 0)
        changed[:, heads] = left / left.sum(-1, keepdim=True).clamp_min(torch.finfo(left.dtype).tiny)
        return changed

    def _edges(self, heads: list[int]) -> Edges:
        queries, keys = (None if some is None else torch.tensor(some) for some in (self.queries, self.keys))
        return torch.tensor(heads), queries, keys

    def _meant(self, name: str, heads: int) -> list[int] | None:
        self.ran.append(name)
        layer = next((layer for layer in self.layers if is_meant(name, layer)), None)
        if layer is None:
            return None
        if isinstance(layer, int) and self.met.setdefault(layer, name) != name:
            raise InputError(
                f"layer {layer} is both {self.met[layer]!r} and {name!r}: say which by its name, as layer={name!r}"
            )
        self.met[layer] = name
        chosen = list(range(heads)) if self.heads is None else self.heads
        if max(chosen) >= heads:
            raise InputError(f"there is no head {max(chosen)} in {name}: it has {heads}, numbered from 0")
        return chosen

    def check(self) -> None:
        """Refuse to have hidden nothing."""
        missed = [layer for layer in self.layers if layer not in self.met]
        if missed and self.ran:
            raise no_such_layer(missed, self.ran)
        if missed:
            raise InputError("the model did not run inside the block, or ran without attention: nothing was hidden")


def _without_edges(call: Call, value: Tensor, context: Tensor, heads: list[int], queries: list[int] | None) -> Tensor:
    """The context of these heads computed anew where edges are hidden."""
    changed = context.clone()
    keys = call.key.shape[2]
    rows = torch.arange(context.shape[2]) if queries is None else torch.tensor(queries)
    rows = rows[rows < context.shape[2]]
    for b in range(len(context)):
        for head in heads:
            group = head * value.shape[1] // context.shape[1]
            for some in torch.split(rows, max(1, AT_ONCE // max(1, keys))):
                scores = call.scores(b, head, some, torch.arange(keys))
                if call.sinks is not None:
                    sink = call.sinks[head].to(scores).expand(len(some), 1)
                    scores = torch.cat([scores, sink], -1)
                weights = torch.softmax(scores, -1).nan_to_num(0.0)[:, :keys]  # a row that sees nothing is zero
                changed[b, head, some] = (weights.to(value.dtype) @ value[b, group, :keys]).to(changed.dtype)
    return changed


def _marks(places: list[int] | None, size: int) -> Tensor:
    marks = torch.full((size,), places is None)
    if places is not None:
        marks[[place for place in places if place < size]] = True
    return marks
