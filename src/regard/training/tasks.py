"""What can be trained: a line a task. A task's modules are imported when it is used."""

from __future__ import annotations

import importlib
from typing import Any, NamedTuple


class TaskPaths(NamedTuple):
    """Where a task's settings class and its Task live, as ``module:name``."""

    config: str
    task: str


TASKS = {
    "translate": TaskPaths("regard.translation.config:TranslationConfig", "regard.translation.task:TranslationTask"),
    "caption": TaskPaths("regard.captioning.config:CaptionConfig", "regard.captioning.task:CaptionTask"),
}


def load(path: str) -> Any:
    """The object at ``module:name``."""
    module, _, name = path.partition(":")
    return getattr(importlib.import_module(module), name)
