"""attend() for its context alone, against the fused kernel that it calls: what the package adds must be small."""

from __future__ import annotations

import torch
import torch.nn.functional as F

import regard
from benchmarks.harness import OURS, RACE_COLUMNS, Bar, Local, Section, race

SHAPES = [(8, 8, 512, 64), (32, 8, 128, 64)]
SDPA = "SDPA"


def run(quick: bool) -> Section:
    section = Section("attend(), scaled_dot, context only", RACE_COLUMNS)
    for shape in SHAPES[-1:] if quick else SHAPES:
        generator = torch.Generator().manual_seed(0)
        query, key, value = (torch.randn(shape, generator=generator) for _ in range(3))
        contestants = [
            Local(OURS, lambda q=query, k=key, v=value: regard.attend(q, k, v).context),
            Local(SDPA, lambda q=query, k=key, v=value: F.scaled_dot_product_attention(q, k, v)),
        ]
        outcome = race(contestants, 3 if quick else 101)  # a few per cent are asked for, and rounds differ by more
        section.add_race(f"(b, h, n, d) = {shape}", outcome)
        over = 1 / outcome.ratio(SDPA) - 1
        section.bars.append(Bar(f"attend {shape}, time over calling SDPA", "at most 5 %", f"{over:.1%}", over <= 0.05))
    return section
