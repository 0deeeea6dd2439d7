"""Pairs of sentences as the verbs that test a translator take them."""

from __future__ import annotations

from pathlib import Path

from regard.translation.config import CorpusConfig
from regard.translation.corpus import Corpus, Pair
from regard.translation.translator import Translator


def corpus_of(data: Path, target: Path | None) -> Corpus:
    """The pairs of one file (TSV or JSON lines), or of two text files side by side; plain or .gz."""
    files = {"path": str(data)} if target is None else {"source": str(data), "target": str(target)}
    return Corpus(CorpusConfig.model_validate(files))


def pairs_for(translator: Translator, corpus: Corpus) -> list[Pair]:
    """The pairs in the translator's direction: a run with data.reverse = true swapped the same files."""
    reverse = translator.config.data.reverse
    return [Pair(pair.target, pair.source) if reverse else pair for pair in corpus]
