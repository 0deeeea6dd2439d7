"""MultiHeadAttention against torch's layer with the same weights, as trained (no weights asked for)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from benchmarks.harness import OURS, RACE_COLUMNS, Local, Section, race
from regard.nn import MultiHeadAttention

PEER = "nn.MultiheadAttention"


def run(quick: bool) -> Section:
    section = Section("Multi-head self-attention, 8 heads", RACE_COLUMNS)
    for shape in [(4, 32, 64)] if quick else [(32, 128, 512), (4, 1024, 512)]:
        torch.manual_seed(0)
        theirs = nn.MultiheadAttention(shape[-1], 8, batch_first=True)
        ours = MultiHeadAttention.from_torch(theirs)
        x = torch.randn(shape, generator=torch.Generator().manual_seed(0))
        for backward in (False, True):
            contestants = [
                Local(OURS, _call(lambda x, layer=ours: layer(x).context, ours, x, backward)),
                Local(PEER, _call(lambda x, layer=theirs: layer(x, x, x, need_weights=False)[0], theirs, x, backward)),
            ]
            outcome = race(contestants, 3 if quick else 21)
            section.add_race(f"{'forward + backward' if backward else 'forward'} (b, n, dim) = {shape}", outcome)
    return section


def _call(layer: Callable[[Tensor], Tensor], module: nn.Module, x: Tensor, backward: bool) -> Callable[[], Any]:
    weights = list(module.parameters())

    def forward_only() -> Tensor:
        with torch.no_grad():
            return layer(x)

    return (lambda: torch.autograd.grad(layer(x).sum(), weights)) if backward else forward_only
