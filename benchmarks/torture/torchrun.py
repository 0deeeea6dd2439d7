"""torchrun with two processes: one of them killed, or both; started again by torchrun, or resumed by hand."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.torture.harness import Wrong, dice
from benchmarks.torture.runs import differences, settings, write_data
from regard.training.config import load_config
from regard.training.toml import render

NAME = "torchrun"
WHAT = "torchrun with 2 processes: one killed and started again by --max-restarts, or both killed and resumed"
FULL, SHORT = 25, 1  # runs of two kills each
ISOLATED = False
KILLS = 2
PATIENCE = 600.0


class Context(NamedTuple):
    folder: Path
    whole: Path


def prepare(workspace: Path) -> Context:
    write_data(workspace)
    whole = workspace / "whole"
    _finish(_start(workspace, whole))
    return Context(workspace, whole)


def strike(context: Context, number: int) -> Counter[str]:
    draw = dice(NAME, number)
    run = context.folder / f"run-{number}"
    outcomes: Counter[str] = Counter()
    for _ in range(KILLS):
        agent = _start(context.folder, run)
        if not _reached(run, draw.randint(1, 12), agent):
            break
        time.sleep(draw.random() * 0.3)
        both = draw.random() < 0.5
        workers = _children(agent.pid)
        for worker in workers if both else draw.sample(workers, min(1, len(workers))):
            with contextlib.suppress(ProcessLookupError):
                os.kill(worker, signal.SIGKILL)
        outcomes["both killed" if both else "one killed"] += 1
        if draw.random() < 0.5:  # and torchrun too: somebody resumes by hand
            agent.kill()
            for worker in workers:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(worker, signal.SIGKILL)
            agent.wait()
            outcomes["torchrun killed too"] += 1
        else:
            _finish(agent)
            break
    else:
        _finish(_start(context.folder, run))
    if not _finished(run):
        _finish(_start(context.folder, run))
    if found := differences(run, context.whole):
        raise Wrong(f"after {dict(outcomes)}, not as the uninterrupted run in {found}")
    shutil.rmtree(run)
    outcomes["runs bit-equal, nothing left behind"] += 1
    return outcomes


def _start(folder: Path, run: Path) -> subprocess.Popen[Any]:
    values = settings(folder, "rnn", run)
    path = folder / "run.toml"
    path.write_text(render(load_config(values)))
    command = [
        sys.executable,
        "-m",
        "torch.distributed.run",
        "--standalone",
        "--nproc-per-node",
        "2",
        "--max-restarts",
        "3",
    ]
    command += ["--monitor-interval", "0.5", "-m", "regard", "train", str(path)]
    command += ["--resume"] if (run / "run.json").exists() else []
    environment = {**os.environ, "TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1"}
    with (folder / "stderr.txt").open("wb") as log:
        return subprocess.Popen(command, stdout=log, stderr=log, env=environment)


def _finish(agent: subprocess.Popen[Any]) -> None:
    if code := agent.wait(PATIENCE):
        raise Wrong(f"torchrun ended with {code}")


def _reached(run: Path, update: int, agent: subprocess.Popen[Any]) -> bool:
    """Wait for a checkpoint of ``update`` or later; False where the training was over before."""
    until = time.monotonic() + PATIENCE
    while agent.poll() is None:
        updates = [int(path.name[:8]) for path in run.glob("checkpoints/0*") if path.name[:8].isdigit()]
        if max(updates, default=0) >= update:
            return True
        if time.monotonic() > until:
            raise Wrong("the training hangs")
        time.sleep(0.05)
    return False


def _finished(run: Path) -> bool:
    from regard.training.checkpoint import Checkpoints

    state = Checkpoints(run).latest()
    return bool(state and state.finished)


def _children(process: int) -> list[int]:
    listed = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    return [int(child) for child in listed]
