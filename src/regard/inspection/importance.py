"""Which heads a loss rests on: by the gradient of a gate at each (Michel et al. 2019, sec. 4.1), and by ablation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, overload

import torch
from torch import Tensor, nn

from regard.errors import InputError
from regard.inspection.call import Call
from regard.inspection.hide import hide
from regard.inspection.watching import Listener, watch


@dataclass(frozen=True)
class HeadImportance:
    """One head."""

    layer: str
    head: int
    score: float
    """how much the loss changes with the head's gate, to first order: the mean of |dL/dgate| over the batch"""
    ablation: float | None
    """how much the loss rises when the head is hidden by zero; None for the heads that were not tried"""


class Importance(Sequence[HeadImportance]):
    """All heads of a model, the most important first."""

    def __init__(self, loss: float, heads: Sequence[HeadImportance]) -> None:
        self.loss, self._heads = loss, list(heads)

    @overload
    def __getitem__(self, place: int) -> HeadImportance: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[HeadImportance]: ...
    def __getitem__(self, place: int | slice) -> HeadImportance | Sequence[HeadImportance]:
        return self._heads[place]

    def __len__(self) -> int:
        return len(self._heads)

    def __iter__(self) -> Iterator[HeadImportance]:
        return iter(self._heads)

    def to_json(self) -> dict[str, Any]:
        return {"loss": self.loss, "heads": [vars(head) for head in self]}

    def show(self) -> None:
        """Print the first heads in the terminal."""
        from rich.console import Console

        from regard.show.inspection import print_importance

        print_importance(self, Console())


class Gates(Listener):
    """A factor of 1 at every head, whose gradient says what the head is worth."""

    edits = True

    def __init__(self, model: nn.Module) -> None:
        super().__init__(model)
        self.gates: list[tuple[str, Tensor]] = []

    def on_attention(self, name: str, call: Call, value: Tensor, context: Tensor) -> tuple[Call, Tensor]:  # noqa: ARG002
        return call, context * self._gate(name, context)

    def on_weights(self, name: str, weights: Tensor) -> Tensor:
        return weights * self._gate(name, weights)

    def _gate(self, name: str, like: Tensor) -> Tensor:
        gate = torch.ones(*like.shape[:2], 1, 1, dtype=like.dtype, device=like.device, requires_grad=True)
        self.gates.append((name, gate))
        return gate


def importance(model: nn.Module, loss: Callable[[], Tensor], *, ablate: int = 10) -> Importance:
    """One backward pass for all heads; ``ablate`` of them are also left out one by one."""
    from regard.inspection.recorder import install, run_uncompiled

    gates = Gates(model)
    with torch.enable_grad(), run_uncompiled(model), watch(gates, install):
        found = loss()
        _check(found, gates)
        by_gate = torch.autograd.grad(found, [gate for _, gate in gates.gates], allow_unused=True)
    scores: dict[tuple[str, int], float] = {}
    for (name, _), gradient in zip(gates.gates, by_gate, strict=True):
        for head, score in enumerate([] if gradient is None else gradient.abs().float().mean((0, 2, 3)).tolist()):
            scores[name, head] = scores.get((name, head), 0.0) + score
    ranked = sorted(scores, key=lambda place: -scores[place])
    base = float(found.detach())
    worth = {place: _without(model, loss, *place) - base for place in ranked[:ablate]}
    return Importance(base, [HeadImportance(*place, scores[place], worth.get(place)) for place in ranked])


def _without(model: nn.Module, loss: Callable[[], Tensor], layer: str, head: int) -> float:
    with torch.no_grad(), hide(model, layer=layer, head=head):
        return float(loss())


def _check(found: Any, gates: Gates) -> None:
    if not isinstance(found, Tensor) or found.numel() != 1:
        raise InputError(
            "loss must run the model and give one number, as lambda: model(**inputs, labels=ids).loss; "
            f"it gave {type(found).__name__}{tuple(found.shape) if isinstance(found, Tensor) else ''}"
        )
    if not gates.gates:
        raise InputError("loss ran no attention of the recorded model")
    if not found.requires_grad:
        raise InputError("the loss has no gradient: do not run the model under torch.no_grad() or inference_mode()")
