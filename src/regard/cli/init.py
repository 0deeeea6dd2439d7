"""``regard init translate`` or ``caption``: a run file with every default."""

from __future__ import annotations

import sys
from typing import Annotated

from cyclopts import Parameter

from regard.training.config import template
from regard.training.toml import render


def init(
    task: str,
    /,
    *,
    set: Annotated[tuple[str, ...], Parameter(negative="")] = (),  # noqa: A002 - the option is called so
) -> None:
    """Write a commented run file with every default to stdout: regard init translate > run.toml

    Parameters
    ----------
    task
        What to train: translate or caption.
    set
        Change a setting, such as --set model.kind=transformer; may be given more than once.
    """
    sys.stdout.write(render(template(task, set)))
