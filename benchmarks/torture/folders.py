"""A small model folder to mutate, and what may come of using one."""

from __future__ import annotations

import contextlib
import io
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import regard
from benchmarks.torture.runs import settings, write_data
from regard.errors import RegardError
from regard.training.export import export


class Context(NamedTuple):
    workspace: Path
    translator: Path
    captioner: Path


def prepare(workspace: Path, *, captioner: bool = False) -> Context:
    """Exported folders of small models; what is compiled for using them is compiled."""
    write_data(workspace)
    kinds = ("rnn", "captioner") if captioner else ("rnn",)
    with contextlib.redirect_stderr(io.StringIO()):
        for kind in kinds:
            regard.train(settings(workspace, kind, workspace / f"run-{kind}"))
            export(workspace / f"run-{kind}", workspace / kind)
    context = Context(workspace, workspace / "rnn", workspace / "captioner")
    use(context.translator)
    return context


def copied(context: Context, number: int) -> Path:
    folder = context.workspace / f"folder-{number}"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(context.translator, folder)
    return folder


def use(folder: Path) -> None:
    """Load a translator and translate with it."""
    regard.Translator.load(folder).translate("the red house sees a car", beam=2, max_length=8)


def outcome(action: Callable[[], object]) -> str:
    """What a person would meet: an answer, or an error of regard's own; all else is left to be counted as wrong."""
    try:
        action()
    except RegardError as error:
        if not str(error).strip():
            raise
        return "refused, and named"
    return "used"


def mutated(content: bytes, draw: random.Random) -> bytes:
    """The bytes with a few changed, taken out, put in, repeated or cut off."""
    changed = bytearray(content)
    for _ in range(draw.choice((1, 1, 1, 2, 4, 16))):
        place = draw.randrange(len(changed) + 1)
        length = draw.choice((1, 1, 2, 4, 8, 64, 1024))
        how = draw.randrange(7)
        if how == 0 and changed:
            changed[place % len(changed)] ^= 1 << draw.randrange(8)
        elif how == 1:
            changed[place : place + length] = draw.randbytes(length)
        elif how == 2:
            del changed[place : place + length]
        elif how == 3:
            changed[place:place] = draw.randbytes(length)
        elif how == 4:
            changed[place:place] = changed[place : place + length] * draw.choice((1, 3, 50))
        elif how == 5:
            changed[place : place + length] = draw.choice((b"\0", b"\xff", b"9", b"-")) * length
        elif draw.random() < 0.2:
            del changed[place:]
    return bytes(changed)
