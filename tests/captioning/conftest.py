"""A folder of drawn scenes, and captioners trained on them for a moment: enough to be used, not to be good."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import regard
from regard.captioning.scenes import write_scenes

TINY = {"annotation_size": 16, "attention_size": 16, "embedding": 16, "decoder_size": 16}


def run_file(scenes: Path, run: Path, **changes: Any) -> dict[str, Any]:
    """A run of a tiny model; ``changes`` are dotted keys with __ for the dot."""
    values: dict[str, Any] = {
        "task": "caption",
        "run": str(run),
        "data": {
            "backbone": "small-cnn",
            "train": [{"path": str(scenes / "train")}],
            "validation": [{"path": str(scenes / "dev")}],
        },
        "vocabulary": {"size": 40},
        "model": dict(TINY),
        "training": {
            "updates": 40,
            "batch_tokens": 100,
            "validate_every": 20,
            "checkpoint_every": 15,
            "threads": 1,
            "learning_rate": 0.01,
            "best_by": "loss",
        },
    }
    for key, value in changes.items():
        table, _, name = key.rpartition("__")
        (values[table] if table else values)[name] = value
    return values


@pytest.fixture(scope="session")
def scenes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("scenes")
    write_scenes(folder / "train", 40, seed=1)
    write_scenes(folder / "dev", 10, seed=2)
    return folder


@pytest.fixture(scope="session")
def soft_run(scenes: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = tmp_path_factory.mktemp("soft") / "run"
    regard.train(run_file(scenes, run))
    return run


@pytest.fixture(scope="session")
def hard_run(scenes: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = tmp_path_factory.mktemp("hard") / "run"
    regard.train(run_file(scenes, run, model__attention="hard"))
    return run
