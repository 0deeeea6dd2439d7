"""What the training loop asks of a task: the least that carries translation and captioning alike."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import torch
from torch import nn

from regard.training.order import Examples, Rows


class Batch(Protocol):
    """What a task's model takes; the loop only moves it."""

    def to(self, device: torch.device) -> Any:
        """The batch on another device."""


class TrainingExamples(Examples, Protocol):
    """What is trained on: it can be put in order, and any of its rows made a batch."""

    def batch(self, rows: Rows) -> Batch:
        """The rows as tensors."""


class Validation(NamedTuple):
    """What a validation found: ``metrics`` with "loss" and what else can be "best_by"; ``samples`` to show."""

    metrics: dict[str, float]
    samples: list[dict[str, str]]


class Task(Protocol):
    """A kind of training. It is made from its settings, then prepared, then asked for the rest."""

    def __init__(self, config: Any) -> None: ...

    def prepare(self, run: Path, *, begun: bool, threads: int, report: Callable[[str], None]) -> None:
        """Make the data ready, or find it made: called by one process, then by all others.

        ``begun`` says that :meth:`save` has been here: what it wrote is what the run goes on with.
        """

    @property
    def examples(self) -> TrainingExamples:
        """What is trained on."""

    def fingerprints(self) -> dict[str, str]:
        """A digest of each corpus and vocabulary, by the name that people know it by."""

    def save(self, run: Path) -> None:
        """Put what the weights need to be used (vocabularies) into the run directory."""

    def build_model(self, generator: torch.Generator) -> nn.Module:
        """The model with its first weights; ``model(batch, label_smoothing=...)`` gives a ``Loss``."""

    def validate(self, model: Any, device: torch.device) -> Validation:
        """Measure the model on the validation data; it is in evaluation mode."""
