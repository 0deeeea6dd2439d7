"""The streaming pass over one head's map beside torch's fused attention of the same head, and torch's own operations.

    python -m benchmarks.inspection.streams [--tokens 16384] [--threads 1] [--rounds 5] [--no-torch]

The pass gives entropy, what each key receives, the 8 strongest keys of each row and a picture of 512 x 512. Plain torch
takes the same from tiles of weights, as ``regard.kernels.streams_plain`` does. Rounds are interleaved, a ratio is
taken inside a round, and the median is shown with the smallest and largest. Processor time (of all threads) is what a
busy machine does not change; the clock's time is shown beside it.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F

from benchmarks.harness import megabytes, milliseconds, peak_bytes
from regard.kernels import dispatch
from regard.kernels.streams import map_reductions

FUSED, STREAM, TORCH = "torch fused forward", "regard streaming pass", "plain torch, tiles"
WIDTH = 64


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.inspection.streams", description=__doc__)
    parser.add_argument("--tokens", type=int, default=16384)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--causal", action="store_true", help="each token sees those up to itself")
    parser.add_argument("--no-torch", action="store_true", help="leave plain torch out, which takes longest")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    calls = contestants(options.tokens, options.causal)
    if options.no_torch:
        del calls[TORCH]
    for call in calls.values():
        call()  # compiles, or wakes what slept
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in calls}
    for _ in range(options.rounds):
        for name, call in calls.items():
            times[name].append(timed(call))
    print(f"{options.tokens} tokens, width {WIDTH}, threads {options.threads}, causal {options.causal}")
    print("| | processor time | times fused (spread) | clock | times fused (spread) | peak memory |")
    print("|---|---|---|---|---|---|")
    for name, call in calls.items():
        row = [name]
        for kind in range(2):
            taken = [pair[kind] for pair in times[name]]
            ratios = sorted(pair[kind] / fused[kind] for pair, fused in zip(times[name], times[FUSED], strict=True))
            row.append(milliseconds(statistics.median(taken)))
            row.append(f"{statistics.median(ratios):.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f})")
        print(f"| {' | '.join(row)} | {megabytes(peak_bytes(call))} |", flush=True)


def contestants(tokens: int, causal: bool) -> dict[str, Callable[[], Any]]:
    generator = torch.Generator().manual_seed(0)
    query, key, value = (torch.randn(tokens, WIDTH, generator=generator) for _ in range(3))
    cells = min(512, tokens)
    asked: dict[str, Any] = {"entropy": True, "received": True, "top": 8, "pool": (cells, cells)}
    if causal:
        asked["end"] = torch.arange(1, tokens + 1)

    def stream(path: dispatch.Path) -> Any:
        with dispatch.forced(path):
            return map_reductions(query, key, **asked)

    heads = [part[None, None] for part in (query, key, value)]
    return {
        FUSED: lambda: F.scaled_dot_product_attention(*heads, is_causal=causal),
        STREAM: lambda: stream("compiled"),
        TORCH: lambda: stream("plain"),
    }


def timed(call: Callable[[], Any]) -> tuple[float, float]:
    """Seconds of processors and of the clock."""
    processor, clock = time.process_time(), time.perf_counter()
    call()
    return time.process_time() - processor, time.perf_counter() - clock


if __name__ == "__main__":
    main()
