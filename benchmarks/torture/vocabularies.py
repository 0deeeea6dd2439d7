"""Sentencepiece models of model folders, mutated."""

from __future__ import annotations

from pathlib import Path

from benchmarks.torture import folders
from benchmarks.torture.harness import dice

NAME = "vocabularies"
WHAT = "model folders whose sentencepiece model is mutated"
FULL, SHORT = 5_000, 100
ISOLATED = True


def prepare(workspace: Path) -> folders.Context:
    return folders.prepare(workspace)


def strike(context: folders.Context, number: int) -> str:
    folder = folders.copied(context, number % 50)
    path = folder / "vocabulary.model"
    path.write_bytes(folders.mutated(path.read_bytes(), dice(NAME, number)))
    return folders.outcome(lambda: folders.use(folder))
