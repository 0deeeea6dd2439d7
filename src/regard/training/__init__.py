"""Training: settings, order of the data, loop, checkpoints, several processes. Importing it does not import torch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from regard.training.config import RunConfig
    from regard.training.run import RunResult

__all__ = ["train"]


def train(
    config: RunConfig | Mapping[str, Any] | str | Path, *, resume: bool = False, overrides: Iterable[str] = ()
) -> RunResult:
    """Train what a run file (or its settings) describes; ``overrides`` are ``"a.b=c"``, as for ``--set``.

    ``resume=True`` resumes a run that was stopped. Ctrl-C writes a checkpoint and raises KeyboardInterrupt.
    The caller's random state and number of threads are left as they were.
    """
    from regard.training.config import load_config

    settings = load_config(config, overrides)
    from regard.training.run import run_training

    return run_training(settings, resume=resume)
