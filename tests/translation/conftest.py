"""Translators of the small grammar, trained once for all tests."""

from __future__ import annotations

from pathlib import Path

import pytest

import regard
from tests.translation import grammar

NO_DROPOUT = dict.fromkeys(["dropout_embedding", "dropout_layers", "dropout_output"], 0.0)


def run_file(folder: Path, **model: object) -> dict[str, object]:
    return {
        "task": "translate",
        "run": str(folder / "run"),
        "data": {"train": [{"path": str(folder / "train.tsv")}], "validation": [{"path": str(folder / "dev.tsv")}]},
        "vocabulary": {"size": 90},
        "model": {"embedding": 24, "encoder_size": 24, "decoder_size": 32, "attention_size": 24, **NO_DROPOUT, **model},
        "training": {
            "updates": 500,
            "epochs": 0,
            "batch_tokens": 400,
            "learning_rate": 0.01,
            "label_smoothing": 0.0,
            "validate_every": 500,
            "threads": 1,
        },
    }


def train(folder: Path, **model: object) -> Path:
    rows = grammar.pairs()
    (folder / "train.tsv").write_text(grammar.tsv(rows[100:]))
    (folder / "dev.tsv").write_text(grammar.tsv(rows[:100]))
    regard.train(run_file(folder, **model))
    return folder / "run"


@pytest.fixture(scope="session")
def toy_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run directory with additive attention; dev.tsv lies beside it."""
    return train(tmp_path_factory.mktemp("additive"))


@pytest.fixture(scope="session")
def toy_back(toy_run: Path) -> Path:
    """A run of the other direction."""
    run = toy_run.with_name("back")
    regard.train(run_file(toy_run.parent), overrides=[f"run={run}", "data.reverse=true"])
    return run


@pytest.fixture(scope="session")
def blind_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same without attention."""
    return train(tmp_path_factory.mktemp("none"), attention="none")


@pytest.fixture(scope="session")
def toy(toy_run: Path) -> regard.Translator:
    return regard.Translator.load(toy_run)
