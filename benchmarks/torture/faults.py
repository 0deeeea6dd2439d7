"""Every file of a run damaged in every way, every write refused; a resume names it or ends as if nothing had been."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import io
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import regard
from benchmarks.torture.harness import Wrong, dice
from benchmarks.torture.kills import _counted
from benchmarks.torture.runs import KINDS, differences, settings, write_data
from regard.errors import RegardError
from regard.training import directory

NAME = "faults"
WHAT = (
    "every file of a run truncated at every 4 KiB, a bit flipped, bytes appended, deleted; no space left and a file "
    "system that became read-only at every write; another process in the directory"
)
FULL, SHORT = 2000, 60
ISOLATED = True
USED = ("rnn", "transformer", "captioner")


class Context(NamedTuple):
    folder: Path
    whole: dict[str, Path]
    stopped: dict[str, Path]


def prepare(workspace: Path) -> Context:
    """A whole run of each kind, and one that was stopped between its checkpoints."""
    write_data(workspace)
    whole, stopped = {}, {}
    for kind in USED:
        whole[kind], stopped[kind] = workspace / f"whole-{kind}", workspace / f"stopped-{kind}"
        with contextlib.redirect_stderr(io.StringIO()):
            regard.train(settings(workspace, kind, whole[kind]))
            _stop_at(settings(workspace, kind, stopped[kind]), 11)
    return Context(workspace, whole, stopped)


def _stop_at(values: dict[str, Any], update: int) -> None:
    from regard.training.loop import Trainer

    original = Trainer._record

    def record(self: Trainer, *arguments: Any) -> None:
        original(self, *arguments)
        if self.state.update == update:
            raise KeyboardInterrupt

    Trainer._record = record  # type: ignore[method-assign]
    try:
        regard.train(values)
    except KeyboardInterrupt:
        pass
    finally:
        Trainer._record = original  # type: ignore[method-assign]


def strike(context: Context, number: int) -> str:
    draw = dice(NAME, number)
    kind = USED[number % len(USED)]
    run = context.folder / f"run-{number}"
    shutil.copytree(context.stopped[kind], run)
    messages: list[str] = []
    try:
        fault = draw.choices([_damage, _refused_write, _locked], [12, 4, 1])[0]
        what = fault(run, draw, lambda: _resume(context, kind, run, messages))
        if what.startswith("refused"):
            return what
        if found := differences(run, context.whole[kind]):
            if what.startswith("delete cache/") and found.startswith("files"):
                return "the same result"  # a cache may be removed at any time, and not all of it is needed to resume
            named = any("damaged" in line or "lost" in line or "gone" in line for line in messages)
            if not named:
                raise Wrong(f"{kind}, {what}: another result in {found} without a word")
            return "went on with what is left, and said so"
        return "the same result, and said so" if any("damaged" in line for line in messages) else "the same result"
    finally:
        shutil.rmtree(run, ignore_errors=True)


def _resume(context: Context, kind: str, run: Path, messages: list[str]) -> str:
    """ "" once the run is finished, or the error that a person would read."""
    from regard.training.progress import Lines

    original = Lines.message
    Lines.message = lambda _, text: messages.append(text)  # type: ignore[method-assign]
    try:
        regard.train(settings(context.folder, kind, run), resume=True)
    except (RegardError, OSError) as error:
        return str(error) or type(error).__name__
    finally:
        Lines.message = original  # type: ignore[method-assign]
    return ""


def _damage(run: Path, draw: Any, resume: Callable[[], str]) -> str:
    files = sorted(path for path in run.rglob("*") if path.is_file() and path.name != ".lock")
    path = draw.choice(files)
    content = path.read_bytes()
    damage = draw.choice(("truncate", "flip", "append", "delete"))
    path.unlink()
    if damage == "truncate":
        path.write_bytes(content[: draw.randrange(0, len(content) // 4096 + 1) * 4096])
    elif damage == "flip" and content:
        changed = bytearray(content)
        changed[draw.randrange(len(changed))] ^= 1 << draw.randrange(8)
        path.write_bytes(changed)
    elif damage == "append":
        path.write_bytes(content + draw.randbytes(draw.choice((1, 4, 512))))
    where = path.relative_to(run)
    if not (output := resume()):
        return f"{damage} {where}"
    if path.name not in output and path.parent.name not in output and run.name not in output:
        raise Wrong(f"{damage} {where}: the error does not name it: {output[:300]}")
    return "refused, and named"


def _refused_write(
    run: Path,  # noqa: ARG001
    draw: Any,
    resume: Callable[[], str],
) -> str:
    """The n-th step of writing fails; afterwards there is room again."""
    number = draw.choice((errno.ENOSPC, errno.EROFS, errno.EIO))
    left = [draw.randint(1, 60)]

    def step(_: str) -> None:
        left[0] -= 1
        if left[0] == 0:
            raise OSError(number, os.strerror(number))

    with _counted(step):
        first = resume()
    if left[0] > 0:
        return "a write that was not reached"
    if first and os.strerror(number) not in first:
        raise Wrong(f"a write refused: the error does not say why: {first[:300]}")
    if second := resume():
        raise Wrong(f"a write refused ({first[:200]}), and the run cannot be resumed afterwards: {second[:300]}")
    return "a write refused"


def _locked(run: Path, draw: Any, resume: Callable[[], str]) -> str:  # noqa: ARG001
    with (run / directory._LOCK).open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        if "another process" not in (output := resume()):
            raise Wrong(f"another process holds the directory, and it was said: {output[:300]!r}")
    return "another process was there" if not resume() else "refused"


assert set(USED) <= set(KINDS)
