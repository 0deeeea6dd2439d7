"""The picture: time and peak memory as the length grows, additive scores and windows."""

from __future__ import annotations

from pathlib import Path

import torch
import torch.nn.functional as F
from matplotlib.figure import Figure

from benchmarks import peers, windows
from benchmarks.additive import EAGER
from benchmarks.harness import OURS, Contestant, Local, Section, race
from regard import masks
from regard.kernels import additive_scores

PICTURE = Path(__file__).parent / "growth.png"
WIDTH = 128
LARGEST = 3e8  # numbers in a tensor of queries x keys x width, above which a peer that builds it is left out

Points = dict[str, list[tuple[int, float, float]]]


def run(quick: bool) -> Section:
    section = Section("As the length grows", ["", "length", "contestant", "time", "peak memory"])
    rounds = 2 if quick else 3
    additive = _additive([64, 128] if quick else [128, 256, 512, 1024, 2048, 4096], rounds)
    window = _windows([512, 1024] if quick else [1024, 2048, 4096, 8192, 16384], rounds)
    for title, points in (("additive", additive), ("window", window)):
        for name, line in points.items():
            section.rows += [[title, f"{n}", name, f"{1e3 * s:.1f} ms", f"{p / 1e6:.0f} MB"] for n, s, p in line]
    figure = _draw({f"Additive scores, width {WIDTH}": additive, "Windows of 257 keys, 8 heads of 64": window})
    if not quick:
        figure.savefig(PICTURE, dpi=120)
        section.notes.append(f"![time and memory as the length grows]({PICTURE.name})")
    return section


def _measure(points: Points, length: int, contestants: list[Contestant], rounds: int) -> None:
    outcome = race(contestants, rounds)
    for name in outcome.times:
        points.setdefault(name, []).append((length, outcome.seconds(name), outcome.peaks[name]))


def _additive(lengths: list[int], rounds: int) -> Points:
    points: Points = {}
    for n in lengths:
        arrays = peers.inputs((1, n, n, WIDTH))
        contestants: list[Contestant] = [Local(OURS, peers.with_torch(additive_scores, arrays, True))]
        if n * n * WIDTH <= LARGEST:
            contestants += [
                Local(EAGER, peers.with_torch(peers.torch_tanh, arrays, True)),
                Local("JAX jit", peers.with_jax(peers.jax_tanh, arrays, True)),
            ]
        _measure(points, n, contestants, rounds)
    return points


def _windows(lengths: list[int], rounds: int) -> Points:
    points: Points = {}
    for n in lengths:
        tensors = windows.inputs(n, gradients=True)
        grad = torch.ones_like(tensors[0])
        contestants: list[Contestant] = [Local(OURS, windows.both(n, 128, False))]
        if n <= 4096:
            visible = torch.from_numpy(masks.window(n, 128))

            def dense(tensors=tensors, visible=visible, grad=grad) -> object:  # type: ignore[no-untyped-def]
                return torch.autograd.grad(F.scaled_dot_product_attention(*tensors, attn_mask=visible), tensors, grad)

            contestants.append(Local(windows.SDPA, dense))
        _measure(points, n, contestants, rounds)
    return points


def _draw(panels: dict[str, Points]) -> Figure:
    figure = Figure(figsize=(9, 7), layout="constrained")
    axes = figure.subplots(2, 2)
    for row, (title, points) in zip(axes, panels.items(), strict=True):
        for axis, column, label, scale in zip(
            row, (1, 2), ("forward + backward, ms", "peak memory, MB"), (1e3, 1e-6), strict=True
        ):
            for name, line in points.items():
                style = {"linewidth": 2.5} if name == OURS else {"linestyle": "--"}
                axis.plot(
                    [p[0] for p in line], [max(p[column] * scale, 1e-3) for p in line], marker="o", label=name, **style
                )
            axis.set(yscale="log", title=title, xlabel="length (queries = keys)", ylabel=label)
            axis.set_xscale("log", base=2)
            axis.grid(alpha=0.3)
            axis.legend()
    return figure
