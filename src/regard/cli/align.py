"""``regard align``: where a model looks while it is made to write given translations."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Literal

from regard.errors import DataError


def align(
    model: str, data: Path, /, *, target: Path | None = None, gold: Path | None = None, offset: Literal[0, 1] = 0
) -> None:
    """Align given pairs word by word: Pharaoh lines "i-j", source word first, from 0.

    Parameters
    ----------
    model
        A model that ships with regard, or a run directory.
    data
        A TSV or JSON-lines file of pairs, or the source's text file.
    target
        The target's text file, where DATA holds the source sentences alone.
    gold
        Alignments to compare with, a line a pair (i-j sure, ipj possible): the alignment error rate goes to stderr.
    offset
        Which look counts for a word: 0 = that for it, 1 = that after it, for the next word.
    """
    from regard.cli.pairs import corpus_of, pairs_for
    from regard.translation.gold import alignment_error_rate, read_gold
    from regard.translation.translator import Translator

    corpus = corpus_of(data, target)
    translator = Translator.load(model)
    pairs = pairs_for(translator, corpus)
    if not pairs:
        raise DataError(f"{corpus.name} holds no pairs; there is nothing to align")
    wanted = None if gold is None else read_gold(gold)
    if wanted is not None and len(wanted) != len(pairs):
        raise DataError(f"{gold} has {len(wanted)} lines, but there are {len(pairs)} pairs; they must go line by line")
    found = []
    for alignment in translator.align_all(pairs, offset=offset):
        sys.stdout.write(alignment.pharaoh() + "\n")
        found.append(alignment.links)
    if wanted is not None:
        sys.stderr.write(f"alignment error rate: {alignment_error_rate(found, wanted):.4f}\n")
