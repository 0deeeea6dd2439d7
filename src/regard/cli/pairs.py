"""Pairs of sentences as the verbs that test a translator take them."""

from __future__ import annotations

from pathlib import Path

from regard.translation.config import CorpusConfig
from regard.translation.corpus import Corpus, Pair


def read_pairs(data: Path, target: Path | None, *, skip: bool = False) -> list[Pair]:
    """The pairs of one file (TSV or JSON lines), or of two text files side by side; plain or .gz."""
    files = {"path": str(data)} if target is None else {"source": str(data), "target": str(target)}
    return list(Corpus(CorpusConfig.model_validate(files), on_bad_line="skip" if skip else "refuse"))
