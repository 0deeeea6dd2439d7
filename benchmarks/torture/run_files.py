"""Run files for `regard train`, mutated: refused in a line that says why, or trained for an update."""

from __future__ import annotations

import contextlib
import io
import re
import shutil
from pathlib import Path

import regard
from benchmarks.torture import folders
from benchmarks.torture.configs import changed
from benchmarks.torture.harness import dice
from benchmarks.torture.runs import settings, write_data
from regard.errors import RegardError
from regard.training.config import load_config
from regard.training.toml import render

NAME = "run_files"
WHAT = "run files for `regard train`, mutated as config.toml is"
FULL, SHORT = 1_000, 30
ISOLATED = True


def prepare(workspace: Path) -> tuple[Path, bytes]:
    write_data(workspace)
    values = settings(workspace, "rnn", workspace / "run")
    values["training"]["updates"] = 1
    values["data"]["cache"] = str(workspace / "cache")
    with contextlib.redirect_stderr(io.StringIO()):
        regard.train(values)
    return workspace, render(load_config(values)).encode()


def strike(context: tuple[Path, bytes], number: int) -> str:
    workspace, content = context
    draw = dice(NAME, number)
    text = changed(content, draw)
    # What only makes it train for long is no attack: a person may ask for it.
    text = re.sub(rb"(?m)^(updates|epochs) = .*$", rb"\1 = 1", text)
    path = workspace / "run.toml"
    path.write_bytes(text)
    shutil.rmtree(workspace / "run", ignore_errors=True)

    def train() -> None:
        try:
            regard.train(path)
        except (MemoryError, RuntimeError) as error:
            if not isinstance(error, RegardError) and "alloc" not in str(error):
                raise
            raise RegardError(f"there is not enough memory: {error}") from None  # as the command says it
        except OSError as error:
            raise RegardError(f"{error.filename}: {error.strerror}") from None

    return folders.outcome(train)
