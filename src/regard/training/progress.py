"""Progress of a training on stderr: a bar in a terminal, plain lines elsewhere."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TaskID, TextColumn

from regard.training.task import Validation

_LINE_EVERY = 10.0  # seconds between plain lines
_BAR_EVERY = 0.2
_STDERR = 2  # its file descriptor


class Silent:
    """Says nothing: what every process but the first shows."""

    def begin(self, done: float) -> None:
        """Training starts, with this share of it done before."""

    def message(self, text: str) -> None:
        """A line for people."""

    def at_once(self, text: str) -> None:
        """A line from inside a signal handler, whatever was being written when the signal came."""

    def step(self, done: float, values: dict[str, Any]) -> None:
        """An update was made; ``done`` is the share of the training that is over."""

    def validation(self, update: int, validation: Validation, *, best: bool) -> None:
        """A validation was made."""

    def close(self) -> None:
        """No more to come."""


class Lines(Silent):
    """A line now and then."""

    def __init__(self, *, every: float = _LINE_EVERY) -> None:
        self._every = every
        self._shown = self._begun = time.monotonic()
        self._tokens = self._seconds = self._first = 0.0

    def begin(self, done: float) -> None:
        self._begun, self._first = time.monotonic(), done

    def message(self, text: str) -> None:
        sys.stderr.write(text + "\n")
        sys.stderr.flush()

    def at_once(self, text: str) -> None:
        with contextlib.suppress(OSError):  # a stream of Python's would refuse to be entered a second time
            os.write(_STDERR, f"\n{text}\n".encode())

    def step(self, done: float, values: dict[str, Any]) -> None:
        self._tokens += values["tokens"]
        self._seconds += values["seconds"]
        now = time.monotonic()
        if now - self._shown < self._every:
            return
        elapsed = now - self._begun
        left = elapsed * (1 - done) / (done - self._first) if done > self._first else 0.0
        self._show(done, _summary(values, self._tokens / max(self._seconds, 1e-9)), clock(left))
        self._shown, self._tokens, self._seconds = now, 0.0, 0.0

    def validation(self, update: int, validation: Validation, *, best: bool) -> None:
        metrics = ", ".join(f"{name} {value:.4g}" for name, value in validation.metrics.items())
        self.message(f"validation at update {update}: {metrics}{' (best so far)' if best else ''}")
        for sample in validation.samples:
            self.message("\n".join(f"  {name:>9}: {text}" for name, text in sample.items()))

    def _show(self, done: float, summary: str, left: str) -> None:
        self.message(f"{done:6.1%}  {summary}  {left} left")


class Bar(Lines):
    """A bar at the bottom of the terminal, messages above it."""

    def __init__(self) -> None:
        super().__init__(every=_BAR_EVERY)
        console = Console(stderr=True)
        columns = (BarColumn(bar_width=24), TextColumn("{task.percentage:>5.1f}%"), TextColumn("{task.description}"))
        self._bar = Progress(*columns, console=console, transient=True)
        self._task: TaskID | None = None

    def begin(self, done: float) -> None:
        super().begin(done)
        self._bar.start()
        self._task = self._bar.add_task("", total=1.0)
        self._bar.update(self._task, completed=done)

    def message(self, text: str) -> None:
        self._bar.console.print(text, markup=False, highlight=False, soft_wrap=True)

    def close(self) -> None:
        self._bar.stop()

    def _show(self, done: float, summary: str, left: str) -> None:
        if self._task is not None:
            self._bar.update(self._task, completed=done, description=escape(f"{summary}  {left} left"))


def progress(*, first: bool) -> Silent:
    """The kind that fits: silent but in the first process, a bar where stderr is a terminal."""
    if not first:
        return Silent()
    return Bar() if sys.stderr.isatty() else Lines()


def clock(seconds: float) -> str:
    """Seconds as hours, minutes and seconds.

    >>> clock(59), clock(61), clock(3700), clock(200000)
    ('59 s', '1:01', '1:01:40', '2 d 7:33:20')
    """
    whole = round(seconds)
    days, hours, minutes, rest = whole // 86400, whole // 3600 % 24, whole // 60 % 60, whole % 60
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{minutes}:{rest:02d}"
    return (f"{days} d " if days else "") + f"{hours}:{minutes:02d}:{rest:02d}"


def _summary(values: dict[str, Any], rate: float) -> str:
    return f"epoch {values['epoch']}  update {values['update']}  loss {values['loss']:.3f}  {rate:,.0f} tokens/s"
