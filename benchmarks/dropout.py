"""Dropout by 16 random bits a value against torch's, forward + backward, at the sizes of a small Transformer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from benchmarks.harness import OURS, RACE_COLUMNS, Bar, Local, Section, race
from regard.nn.dropout import Dropout

PEER, BY_HAND = "nn.Dropout", "bernoulli_ mask by hand"
SHAPES = {"hidden states": (64, 32, 256), "attention weights": (64, 4, 32, 32)}
SHARE = 0.1


def run(quick: bool) -> Section:
    section = Section(f"Dropout of {SHARE}, forward + backward", RACE_COLUMNS)
    for what, shape in SHAPES.items():
        shape = (4, *shape[1:]) if quick else shape
        inputs = torch.randn(shape, generator=torch.Generator().manual_seed(0), requires_grad=True)
        contestants = [
            Local(OURS, _call(Dropout(SHARE), inputs)),
            Local(PEER, _call(nn.Dropout(SHARE), inputs)),
            Local(BY_HAND, _call(_by_hand, inputs)),
        ]
        outcome = race(contestants, 3 if quick else 15)
        section.add_race(f"{what} {shape}", outcome)
        ratio = outcome.ratio(PEER)
        section.bars.append(
            Bar(f"dropout of {what} {shape}, times faster than {PEER}", "1", f"{ratio:.1f}", ratio >= 1)
        )
    return section


def _by_hand(inputs: Tensor) -> Tensor:
    return inputs * torch.empty_like(inputs).bernoulli_(1 - SHARE).div_(1 - SHARE)


def _call(layer: Callable[[Tensor], Tensor], inputs: Tensor) -> Callable[[], Any]:
    return lambda: torch.autograd.grad(layer(inputs).sum(), inputs)
