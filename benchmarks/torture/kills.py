"""kill -9 at random moments of a training, many of them inside writes; every run must end as if nothing had been."""

from __future__ import annotations

import contextlib
import io
import json
import os
import shutil
import signal
import statistics
import time
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import safetensors.torch

import regard
from benchmarks.torture.harness import Wrong, dice
from benchmarks.torture.runs import KINDS, differences, settings, write_data
from regard.training import checkpoint, weights

NAME = "kills"
WHAT = (
    "kill -9 at random moments, a third of them or more inside writes: RNN, Transformer, bfloat16, accumulation, "
    "captioner, self-critical; every run bit-equal to the uninterrupted one, nothing left behind"
)
FULL, SHORT = 125, 6  # runs of 8 kills each
ISOLATED = False
KILLS = 8  # of a run
LIVES = 40  # at most, of a run

_STEPS = ("fsync", "replace", "rename", "link")  # of the os module: what a write is made of


class Reference(NamedTuple):
    """An uninterrupted run, how long it takes, and of how many steps its writes are made."""

    run: Path
    seconds: float
    steps: int


class Context(NamedTuple):
    folder: Path
    references: dict[str, Reference]


def prepare(workspace: Path) -> Context:
    write_data(workspace)
    return Context(workspace, {})


def _reference(context: Context, kind: str) -> Reference:
    """The uninterrupted run of a kind; it compiles what is compiled, which the children inherit."""
    if kind not in context.references:
        steps: list[str] = []
        run = context.folder / f"whole-{kind}"
        with _counted(steps.append), contextlib.redirect_stderr(io.StringIO()):
            regard.train(settings(context.folder, kind, run))
        updates = [
            json.loads(line) for line in (run / "log.jsonl").read_text().splitlines() if '"learning_rate"' in line
        ]
        # The first update compiles, and about as much time as for the updates goes to writing and validating.
        seconds = 2 * len(updates) * statistics.median(update["seconds"] for update in updates)
        context.references[kind] = Reference(run, seconds, len(steps))
    return context.references[kind]


def strike(context: Context, number: int) -> Counter[str]:
    """One run, killed until it has had its kills, then left to end."""
    draw = dice(NAME, number)
    kind = list(KINDS)[number % len(KINDS)]
    reference = _reference(context, kind)
    run = context.folder / f"run-{number}"
    outcomes: Counter[str] = Counter()
    for _ in range(LIVES):
        kills = outcomes["kills inside writes"] + outcomes["kills elsewhere"]
        inside = draw.random() < 0.4
        if kills >= KILLS:
            died = _life(context, kind, run, {})
        elif inside:
            died = _life(
                context, kind, run, {"step": draw.randint(1, max(2, reference.steps // 6)), "half": draw.random() < 0.3}
            )
        else:
            died = _life(context, kind, run, {"after": draw.random() * reference.seconds})
        if not died:
            break
        outcomes["kills inside writes" if inside else "kills elsewhere"] += 1
    else:
        raise Wrong(f"{kind}: not finished after {LIVES} lives")
    if found := differences(run, reference.run):
        raise Wrong(f"{kind}: after {dict(outcomes)}, not as the uninterrupted run in {found}")
    shutil.rmtree(run)
    outcomes["runs bit-equal, nothing left behind"] += 1
    return outcomes


def _life(context: Context, kind: str, run: Path, death: dict[str, Any]) -> bool:
    """Train in a child process to the end or its death; whether it died."""
    log = context.folder / "stderr.txt"
    child = os.fork()
    if not child:
        _child(context, kind, run, death, log)
    if "after" in death:
        time.sleep(death["after"])
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL:
        return True
    if status:
        raise Wrong(f"{kind}: the training ended with {status}: {log.read_text()[-800:]}")
    return False


def _child(context: Context, kind: str, run: Path, death: dict[str, Any], log: Path) -> None:
    status = 1
    try:
        descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(descriptor, 2)
        if "step" in death:
            left = [death["step"]]
            _counted(lambda name: _die(name, left, half=death["half"])).__enter__()
        resume = (run / "run.json").exists()
        regard.train(settings(context.folder, kind, run), resume=resume)
        status = 0
    except BaseException as error:
        os.write(2, repr(error).encode())
    finally:
        os._exit(status)


def _die(name: str, left: list[int], *, half: bool) -> None:
    left[0] -= 1
    if left[0] <= 0 and (name == "half") == half:
        os.kill(os.getpid(), signal.SIGKILL)


class _counted:  # noqa: N801 - a context manager, used as a function
    """Tell ``step`` of every fsync, rename and link before it is done, and of weights of which half is written."""

    def __init__(self, step: Any) -> None:
        self.step = step

    def __enter__(self) -> None:
        self.before = {name: getattr(os, name) for name in _STEPS}
        for name, function in self.before.items():
            setattr(os, name, self._traced(name, function))
        self.save_file = weights.save_file
        weights.save_file = self._half  # type: ignore[attr-defined]

    def __exit__(self, *_: object) -> None:
        for name, function in self.before.items():
            setattr(os, name, function)
        weights.save_file = self.save_file  # type: ignore[attr-defined]

    def _traced(self, name: str, function: Any) -> Any:
        def traced(*arguments: Any, **options: Any) -> Any:
            self.step(name)
            return function(*arguments, **options)

        return traced

    def _half(self, tensors: Any, path: Path, metadata: Any = None) -> None:
        whole = safetensors.torch.save(tensors, metadata)
        path.write_bytes(whole[: len(whole) // 2])
        self.step("half")
        self.save_file(tensors, path, metadata=metadata)


assert checkpoint.save_weights is weights.save_weights  # what is counted is what checkpoints are written by
