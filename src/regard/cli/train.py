"""``regard train run.toml``: train a model as a run file says."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from regard.errors import RegardError
from regard.training import train as run


def train(
    config: Path,
    /,
    *,
    set: Annotated[tuple[str, ...], Parameter(negative="")] = (),  # noqa: A002 - the option is called so
    resume: Annotated[bool, Parameter(negative="")] = False,
) -> None:
    """Train a model as a run file says; `regard init` writes one.

    Start it on several processes with: torchrun --nproc-per-node 2 -m regard train run.toml

    Parameters
    ----------
    config
        The run file.
    set
        Change a setting, such as --set training.seed=7; may be given more than once.
    resume
        Resume the run from its last checkpoint.
    """
    try:
        run(config, resume=resume, overrides=set)
    except RegardError:
        if os.environ.get("RANK", "0") != "0":
            sys.exit(2)  # the first process says what is wrong
        raise
