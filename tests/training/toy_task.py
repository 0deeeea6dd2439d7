"""A task small enough to train in a second: predict each word from the word before it.

As a script it is ``regard train`` with this task, and can be made to die at chosen moments.
"""

from __future__ import annotations

import hashlib
import json
import os
import signal
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor, nn

from regard.nn.output import Loss
from regard.settings import Settings, setting
from regard.training import config as training_config
from regard.training.config import RunConfig, TaskPaths, TrainingConfig
from regard.training.order import Section
from regard.training.task import Validation

WORDS = 11


class ToyData(Settings):
    lines: int = setting(40, "Lines.")
    corpus: str = setting("abc", "What the lines are made from.", may_change=True)
    dropout: float = setting(0.3, "Dropout.")
    poison: int = setting(0, "The forward pass that gives an infinite loss; 0 = none.")


class ToyConfig(RunConfig):
    task: Literal["toy"] = setting(description="The task.")
    toy: ToyData = setting(ToyData(), "The data.")
    training: TrainingConfig = setting(TrainingConfig(), "How to train.")


@dataclass(frozen=True)
class ToyBatch:
    words: Tensor

    def to(self, device):
        return ToyBatch(self.words.to(device))


class ToyExamples:
    def __init__(self, config):
        seed = int.from_bytes(hashlib.blake2b(config.corpus.encode(), digest_size=4).digest())
        generator = np.random.default_rng(seed)
        lengths = generator.integers(3, 9, config.lines)
        self.lines = [
            np.cumsum(generator.integers(1, 3, length)) % (WORDS - 1) + 1 for length in lengths
        ]  # words step on by 1 or 2: something to learn
        self.sections = [Section(config.lines)]

    def sizes(self, rows):
        return np.array([[len(self.lines[row])] for row in rows])

    def batch(self, rows):
        padded = np.zeros((len(rows), max(len(self.lines[row]) for row in rows)), np.int64)
        for place, row in enumerate(rows):
            padded[place, : len(self.lines[row])] = self.lines[row]
        return ToyBatch(torch.from_numpy(padded))


class ToyModel(nn.Module):
    seen: torch.Tensor

    def __init__(self, config):
        super().__init__()
        self.embedding = nn.Embedding(WORDS, 8)
        self.dropout = nn.Dropout(config.dropout)
        self.output = nn.Linear(8, WORDS)
        self.tied = self.embedding  # a second name for the same weights
        self.register_buffer("seen", torch.zeros((), dtype=torch.int64))
        self.poison = config.poison

    def forward(self, batch, *, label_smoothing=0.0):
        if self.training:
            self.seen += 1
            torch.rand(1)  # a random state that moves even without dropout
            mine = os.environ.get("RANK", "0") == os.environ.get("TOY_RANK", "0")
            first_life = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0") == "0"
            if mine and first_life and os.environ.get("TOY_KILL_AT") == str(int(self.seen)):
                os.kill(os.getpid(), signal.SIGKILL)
            if mine and os.environ.get("TOY_INTERRUPT_AT") == str(int(self.seen)):
                os.kill(os.getpid(), signal.SIGINT)
        before, after = batch.words[:, :-1], batch.words[:, 1:]
        logits = self.output(self.dropout(self.embedding(before)))[after > 0]
        loss = [
            nn.functional.cross_entropy(logits, after[after > 0], reduction="sum", label_smoothing=smoothing)
            for smoothing in (label_smoothing, 0.0)
        ]
        if self.training and self.poison and int(self.seen) >= self.poison:
            loss[0] = loss[0] * torch.inf
        return Loss(loss[0], loss[1], int((after > 0).sum()))


class ToyTask:
    def __init__(self, config):
        self.config = config.toy
        self.examples = ToyExamples(self.config)

    def prepare(self, run, *, begun, threads, report):  # noqa: ARG002
        report("prepared")

    def fingerprints(self):
        digest = hashlib.blake2b(b"".join(line.tobytes() for line in self.examples.lines)).hexdigest()
        return {"toy.corpus": digest}

    def save(self, run):
        (run / "vocabulary.json").write_text(json.dumps(WORDS))

    def build_model(self, generator):
        model = ToyModel(self.config)
        for parameter in model.parameters():
            nn.init.normal_(parameter, std=0.5, generator=generator)
        return model

    def validate(self, model, device):
        torch.rand(3)  # must not disturb the training's random state
        loss = model(self.examples.batch(np.arange(min(10, self.config.lines))).to(device))
        metrics = {"loss": float(loss.nll) / loss.tokens, "bleu": float(-loss.nll)}
        return Validation(metrics, [{"source": "a", "model": "b"}])


training_config.TASKS["toy"] = TaskPaths("tests.training.toy_task:ToyConfig", "tests.training.toy_task:ToyTask")

SETTINGS: dict[str, Any] = {
    "task": "toy",
    "training": {
        "epochs": 0,
        "updates": 24,
        "batch_tokens": 40,
        "validate_every": 6,
        "checkpoint_every": 4,
        "checkpoint_minutes": 0.0,
        "threads": 1,
        "learning_rate": 0.02,
        "best_by": "loss",
        "patience": 0,
    },
}


def settings(run: Path, **training) -> dict[str, Any]:
    return {**SETTINGS, "run": str(run), "training": {**SETTINGS["training"], **training}}


def _die_at(moment: str) -> None:
    """Make the n-th call of a function the last thing this process does: ``link:3``."""
    from regard.training import checkpoint

    name, _, number = moment.partition(":")
    original, calls = getattr(checkpoint, name), 0

    def deadly(*arguments):
        nonlocal calls
        calls += 1
        if calls == int(number):
            os.kill(os.getpid(), signal.SIGKILL)
        return original(*arguments)

    setattr(checkpoint, name, deadly)


if __name__ == "__main__":
    from cyclopts import App

    from regard.cli import train as verb

    if moment := os.environ.get("TOY_DIE"):
        _die_at(moment)
    try:
        App(default_command=verb.train)(sys.argv[1:])
    except KeyboardInterrupt:
        sys.exit(130)
