"""The interface between the training loop and a task."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import torch
from torch import nn

from regard.training.order import Examples, Rows


class Batch(Protocol):
    """The input of a task's model; the loop only moves it to a device."""

    def to(self, device: torch.device) -> Any:
        """The batch on another device."""


class TrainingExamples(Examples, Protocol):
    """Training data: it can be put in order, and any of its rows made a batch."""

    def batch(self, rows: Rows) -> Batch:
        """The rows as tensors."""


class Validation(NamedTuple):
    """The outcome of a validation: ``metrics`` with "loss" and what else can be "best_by"; ``samples`` to show."""

    metrics: dict[str, float]
    samples: list[dict[str, str]]


class Task(Protocol):
    """A kind of training. It is made from its settings, then prepared, then asked for the rest."""

    def __init__(self, config: Any) -> None: ...

    def prepare(self, run: Path, *, begun: bool, threads: int, report: Callable[[str], None]) -> None:
        """Make the data ready, or find it made: called by one process, then by all others.

        ``begun`` says that :meth:`save` was called before: a resumed run uses what it wrote.
        """

    @property
    def examples(self) -> TrainingExamples:
        """What is trained on."""

    def fingerprints(self) -> dict[str, str]:
        """A digest of each corpus and vocabulary, by the name that messages call it."""

    def save(self, run: Path) -> None:
        """Write what the weights need to be used (vocabularies) into the run directory."""

    def build_model(self, generator: torch.Generator) -> nn.Module:
        """The initialised model; ``model(batch, label_smoothing=...)`` gives a ``Loss``."""

    def validate(self, model: Any, device: torch.device) -> Validation:
        """Measure the model on the validation data; it is in evaluation mode."""
