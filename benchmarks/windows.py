"""Sliding windows: 256 keys for each of 8192 queries, 8 heads of width 64; and how time grows with the length."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

from benchmarks.harness import OURS, RACE_COLUMNS, Bar, Contestant, Local, Section, megabytes, milliseconds, race
from benchmarks.worker import elsewhere
from regard import masks
from regard.kernels import window_attention

HEADS, WIDTH = 8, 64
SDPA, FLEX = "SDPA with a mask", "flex_attention compiled"
KINDS = {"causal, 256 keys": (255, True), "centred, 128 keys to each side": (128, False)}


def inputs(length: int, *, gradients: bool = False) -> list[Tensor]:
    generator = torch.Generator().manual_seed(0)
    shape = (1, HEADS, length, WIDTH)
    return [torch.randn(shape, generator=generator).requires_grad_(gradients) for _ in range(3)]


def run(quick: bool) -> Section:
    section = Section("Sliding windows", RACE_COLUMNS)
    length, rounds = (1024, 2) if quick else (8192, 5)
    for kind in KINDS:
        _against_peers(section, kind, length, rounds)
    section.notes.append("The mask of SDPA and the block mask of flex_attention are made before, and not counted.")
    section.notes.append("flex_attention has no backward pass on the CPU, so regard's is measured for itself.")
    _growth(section, (512, 1024) if quick else (4096, 8192, 16384), rounds)
    return section


def _against_peers(section: Section, kind: str, length: int, rounds: int) -> None:
    width, causal = KINDS[kind]
    query, key, value = inputs(length)
    visible = torch.from_numpy(masks.window(length, width, causal=causal))
    contestants: list[Contestant] = [
        Local(OURS, lambda: window_attention(query, key, value, width=width, causal=causal), _context),
        Local(SDPA, lambda: F.scaled_dot_product_attention(query, key, value, attn_mask=visible), _context),
        Local(FLEX, _flex(query, key, value, width, causal), _context),
    ]
    outcome = race(contestants, rounds, reference=elsewhere(_exact, query, key, value, visible))
    section.add_race(f"forward, {kind}", outcome)
    for peer, asked in ((SDPA, 10.0), (FLEX, 1.0)):
        ratio = outcome.ratio(peer)
        what = f"window of {length}, {kind}, times faster than {peer}"
        section.bars.append(Bar(what, f"{asked:.0f}", f"{ratio:.1f}", ratio >= asked))


def _growth(section: Section, lengths: tuple[int, ...], rounds: int) -> None:
    """Forward + backward at doubled lengths, all in the same rounds."""
    width, causal = KINDS["centred, 128 keys to each side"]
    names = {n: f"{OURS}, {n}" for n in lengths}
    outcome = race([Local(name, both(n, width, causal)) for n, name in names.items()], rounds)
    for n, name in names.items():
        ratios = outcome.ratios(name, names[lengths[0]])
        times = f"{statistics.median(ratios):.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f}) of {lengths[0]}"
        peak = megabytes(outcome.peaks[name])
        section.rows.append(
            [f"forward + backward, {n} queries", OURS, milliseconds(outcome.seconds(name)), times, peak, ""]
        )
    for short, long in itertools.pairwise(lengths):
        times = outcome.ratio(names[long], names[short])
        what = f"window, forward + backward: time of {long} queries over that of {short}"
        section.bars.append(Bar(what, "2, within 25 %", f"{times:.2f}", 1.5 <= times <= 2.5))


def both(length: int, width: int, causal: bool) -> Callable[[], Any]:
    tensors = inputs(length, gradients=True)
    grad = torch.ones(1, HEADS, length, WIDTH)
    return lambda: torch.autograd.grad(window_attention(*tensors, width=width, causal=causal), tensors, grad)


def _flex(query: Tensor, key: Tensor, value: Tensor, width: int, causal: bool) -> Callable[[], Any]:
    def inside(_b: Tensor, _h: Tensor, q: Tensor, k: Tensor) -> Tensor:
        near = (q - k).abs() <= width
        return near & (k <= q) if causal else near

    torch.compiler.reset()
    block_mask = create_block_mask(inside, None, None, query.shape[-2], key.shape[-2], device="cpu")
    compiled = torch.compile(flex_attention)
    return lambda: compiled(query, key, value, block_mask=block_mask)


def _context(found: Tensor) -> dict[str, np.ndarray]:
    return {"context": found[:, :1].numpy()}


def _exact(query: Tensor, key: Tensor, value: Tensor, visible: Tensor) -> dict[str, np.ndarray]:
    """The first head in float64."""
    first = [x[:, :1].double() for x in (query, key, value)]
    return {"context": F.scaled_dot_product_attention(*first, attn_mask=visible).numpy()}
