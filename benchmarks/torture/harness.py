"""Strike an attack case by case, each reproducible by its number; count the outcomes; resume where it was stopped.

An attack is a module with

``NAME``, ``WHAT``           what it is called, and what it does, as the table says it
``FULL``, ``SHORT``          how many cases
``ISOLATED``                 strike in a child process of at most 4 GB, which may die without harm
``prepare(workspace)``       what all cases share; made anew when resumed
``strike(context, number)``  one case: returns its outcome in a few words, or {outcome: count}; raises :class:`Wrong`
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import resource
import select
import shutil
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

MEMORY = 4 << 30  # bytes that a case may take beyond what its process has
CPU_SECONDS = 10.0  # of the processor, for one case
WALL_SECONDS = 900.0  # of the clock, on a machine that does other things
BATCH = 200  # cases of one child process
SAVE_SECONDS = 10.0


class Wrong(Exception):  # noqa: N818 - it is what the attack looks for
    """What must not happen has happened."""


class Missing(Exception):  # noqa: N818 - it is no failure
    """What an attack needs is not on this machine; the text says what."""


@dataclass
class Record:
    """How far an attack is, and what came of it."""

    struck: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    seconds: float = 0.0
    date: str = ""

    @classmethod
    def load(cls, path: Path) -> Record:
        if not path.exists():
            return cls()
        values = json.loads(path.read_text())
        return cls(**{**values, "outcomes": Counter(values["outcomes"])})

    def save(self, path: Path) -> None:
        self.date = time.strftime("%Y-%m-%d")
        partial = path.with_suffix(".new")
        partial.write_text(json.dumps(vars(self), indent=1))
        partial.replace(path)

    def add(self, number: int, outcome: Any) -> None:
        self.struck = number + 1
        if isinstance(outcome, str):
            self.outcomes[outcome] += 1
        else:
            self.outcomes.update(outcome)

    def add_wrong(self, number: int, why: str) -> None:
        self.struck = number + 1
        self.outcomes["WRONG"] += 1
        self.wrong.append(f"case {number}: {why}"[:2000])
        sys.stderr.write(f"  WRONG, case {number}: {why[:600]}\n")


def run(attack: ModuleType, folder: Path, wanted: int, deadline: float) -> Record:
    """Strike cases up to ``wanted``, or until ``deadline``; those of earlier calls are not struck again."""
    path, workspace = folder / f"{attack.NAME}.json", folder / attack.NAME
    record = Record.load(path)
    if record.struck >= wanted or time.monotonic() > deadline:
        return record
    shutil.rmtree(workspace, ignore_errors=True)
    workspace.mkdir(parents=True)
    begun, before = time.monotonic(), record.seconds
    try:
        context = attack.prepare(workspace)
    except Missing as what:
        sys.stderr.write(f"{attack.NAME}: not struck, {what}\n")
        return record
    try:
        while record.struck < wanted and time.monotonic() < deadline:
            numbers = range(record.struck, min(wanted, record.struck + BATCH))
            _strike(attack, context, numbers, record, path, deadline)
            record.seconds = round(before + time.monotonic() - begun, 1)
            record.save(path)
            sys.stderr.write(f"{attack.NAME}: {record.struck:,} of {wanted:,} cases, {dict(record.outcomes)}\n")
    finally:
        if hasattr(attack, "close"):
            attack.close(context)
        record.save(path)
        shutil.rmtree(workspace, ignore_errors=True)
    return record


def dice(attack: ModuleType | str, number: int) -> random.Random:
    """The random numbers of a case: the same each time."""
    return random.Random(f"{attack if isinstance(attack, str) else attack.NAME}/{number}")


def _strike(attack: ModuleType, context: Any, numbers: range, record: Record, path: Path, deadline: float) -> None:
    saved = time.monotonic()
    results = _isolated(attack, context, numbers) if attack.ISOLATED else _directly(attack, context, numbers)
    with contextlib.closing(results):
        for result in results:
            if "wrong" in result:
                record.add_wrong(result["number"], result["wrong"])
            else:
                record.add(result["number"], result["outcome"])
            if time.monotonic() > deadline:
                return
            if time.monotonic() - saved > SAVE_SECONDS:
                record.save(path)
                saved = time.monotonic()


def _one(attack: ModuleType, context: Any, number: int) -> dict[str, Any]:
    try:
        return {"number": number, "outcome": attack.strike(context, number)}
    except Wrong as error:
        return {"number": number, "wrong": str(error)}
    except Exception:
        return {"number": number, "wrong": f"a traceback: {traceback.format_exc()[-1500:]}"}


def _directly(attack: ModuleType, context: Any, numbers: range) -> Iterator[dict[str, Any]]:
    for number in numbers:
        yield _one(attack, context, number)


def _isolated(attack: ModuleType, context: Any, numbers: range) -> Iterator[dict[str, Any]]:
    """Results of a child process; where it dies or hangs, that is the case's result, and another goes on."""
    rest = list(numbers)
    while rest:
        reading, writing = os.pipe()
        child = os.fork()
        if not child:
            os.close(reading)
            _child(attack, context, rest, writing)
        os.close(writing)
        try:
            yield from _collect(child, reading, rest)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            os.close(reading)


def _child(attack: ModuleType, context: Any, numbers: list[int], pipe: int) -> None:
    """Strike in this process, write a line a case, and end without coming back."""
    try:
        now = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (now + MEMORY, now + MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        null = os.open(os.devnull, os.O_RDWR)
        os.dup2(null, 1)
        os.dup2(null, 2)
        for number in numbers:
            os.write(pipe, json.dumps(_one(attack, context, number)).encode()[:60_000] + b"\n")
    finally:
        os._exit(0)


def _collect(child: int, reading: int, rest: list[int]) -> Iterator[dict[str, Any]]:
    """Lines of the child until all of ``rest`` are there, or it died or hangs; what is done is taken off ``rest``."""
    buffer = b""
    begun, cpu = time.monotonic(), _cpu_seconds(child)
    while rest:
        ready, _, _ = select.select([reading], [], [], 0.5)
        if ready:
            part = os.read(reading, 1 << 16)
            if not part:
                yield {"number": rest.pop(0), "wrong": "the process died"}
                return
            *lines, buffer = (buffer + part).split(b"\n")
            for line in lines:
                rest.pop(0)
                yield json.loads(line)
            begun, cpu = time.monotonic(), _cpu_seconds(child)
        elif _cpu_seconds(child) - cpu > CPU_SECONDS or time.monotonic() - begun > WALL_SECONDS:
            used = f"{_cpu_seconds(child) - cpu:.0f} s of the processor, {time.monotonic() - begun:.0f} s of the clock"
            yield {"number": rest.pop(0), "wrong": f"no answer within {used}"}
            return


def _cpu_seconds(process: int) -> float:
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
