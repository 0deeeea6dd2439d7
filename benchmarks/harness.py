"""Race contestants in interleaved rounds, so that each meets the same machine; measure their peak memory and error.

A figure is a ratio inside one round (the contestant's seconds over regard's), and what is shown is the median over
the rounds with the smallest and largest.
"""

from __future__ import annotations

import ctypes
import gc
import re
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np

OURS = "regard"
WAKE_SECONDS = 0.05  # before each sample the contestant runs untimed for so long, at least one call
ENOUGH_SECONDS = 0.02  # a sample shorter than this is made of several calls
SETTLE_SECONDS = 0.1  # before each sample: a peer's threads go on spinning, and freeing memory, after it answered


class Contestant(Protocol):
    name: str

    def seconds(self) -> float:
        """How long one call takes now."""

    def peak(self) -> int:
        """Bytes that one call needs beyond what is there before it, its result among them."""

    def result(self) -> dict[str, np.ndarray]:
        """What it computes, by name, for the error."""


@dataclass
class Local:
    """A contestant in this process: ``call`` does the work and returns when it is done."""

    name: str
    call: Callable[[], Any]
    arrays: Callable[[Any], dict[str, np.ndarray]] = lambda _: {}
    repeat: int = 0

    def seconds(self) -> float:
        start = time.perf_counter()
        while time.perf_counter() - start < WAKE_SECONDS:
            self.call()  # compiles, or wakes threads and caches that slept
        if not self.repeat:
            start = time.perf_counter()
            self.call()
            self.repeat = max(1, round(ENOUGH_SECONDS / (time.perf_counter() - start)))
        start = time.perf_counter()
        for _ in range(self.repeat):
            self.call()
        return (time.perf_counter() - start) / self.repeat

    def peak(self) -> int:
        return peak_bytes(self.call)

    def result(self) -> dict[str, np.ndarray]:
        return self.arrays(self.call())


@dataclass
class Race:
    """The seconds of each contestant, round by round, and its peak memory and error where measured."""

    times: dict[str, list[float]]
    peaks: dict[str, int] = field(default_factory=dict)
    errors: dict[str, dict[str, float]] = field(default_factory=dict)

    def seconds(self, name: str = OURS) -> float:
        return statistics.median(self.times[name])

    def ratios(self, name: str, to: str = OURS) -> list[float]:
        return sorted(a / b for a, b in zip(self.times[name], self.times[to], strict=True))

    def ratio(self, name: str, to: str = OURS) -> float:
        return statistics.median(self.ratios(name, to))

    def best_peer(self) -> str:
        return min((name for name in self.times if name != OURS), key=self.seconds)


def race(
    contestants: Sequence[Contestant],
    rounds: int,
    *,
    reference: dict[str, np.ndarray] | None = None,
    memory: bool = True,
) -> Race:
    """Run all, one after the other, ``rounds`` times, starting with another one each time."""
    for one in contestants:
        one.seconds()
    outcome = Race({one.name: [] for one in contestants})
    for i in range(rounds):
        first = i % len(contestants)
        for one in (*contestants[first:], *contestants[:first]):
            time.sleep(SETTLE_SECONDS)
            outcome.times[one.name].append(one.seconds())
    for one in contestants:
        if memory:
            outcome.peaks[one.name] = one.peak()
        if reference:
            found = one.result()
            outcome.errors[one.name] = {
                name: float(np.sqrt(np.mean((found[name].astype(np.float64) - exact) ** 2)))
                for name, exact in reference.items()
            }
    return outcome


def peak_bytes(call: Callable[[], Any]) -> int:
    """What the process holds at most during the call, beyond what it held before (Linux)."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5")  # forget the peak so far
    before = _status("VmRSS")
    result = call()
    peak = _status("VmHWM")
    del result
    return max(0, peak - before)


def _status(field_name: str) -> int:
    match = re.search(rf"{field_name}:\s+(\d+) kB", Path("/proc/self/status").read_text())
    assert match
    return int(match[1]) * 1024


@dataclass
class Bar:
    """One figure that was asked for, and the one measured."""

    what: str
    asked: str
    measured: str
    met: bool


@dataclass
class Section:
    """What one piece reports."""

    title: str
    columns: list[str]
    rows: list[list[str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    bars: list[Bar] = field(default_factory=list)

    def add_race(self, label: str, outcome: Race) -> None:
        """A row for each contestant: time, ratio to regard, memory, errors."""
        for name in outcome.times:
            ratios = outcome.ratios(name)
            row = [label, name, milliseconds(outcome.seconds(name))]
            row.append(
                "1" if name == OURS else f"{statistics.median(ratios):.1f} ({ratios[0]:.1f} to {ratios[-1]:.1f})"
            )
            row.append(megabytes(outcome.peaks[name]) if name in outcome.peaks else "")
            row.append("  ".join(f"{e:.0e}" for e in outcome.errors.get(name, {}).values()))
            self.rows.append(row)
            label = ""


RACE_COLUMNS = ["", "contestant", "time", "times regard's (spread)", "peak memory", "error"]


def milliseconds(seconds: float) -> str:
    return f"{1e3 * seconds:.3g} ms" if seconds < 1 else f"{seconds:.2f} s"


def megabytes(size: float) -> str:
    return f"{size / 1e6:.0f} MB" if size < 1e9 else f"{size / 1e9:.1f} GB"
