"""``regard align``: the attention of a model while it is forced to decode given translations."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from itertools import starmap
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from regard.errors import DataError

if TYPE_CHECKING:
    from regard.translation.alignment import Link
    from regard.translation.corpus import Pair
    from regard.translation.translator import Translator


def align(
    model: str,
    data: Path,
    /,
    *,
    target: Path | None = None,
    reverse: str | None = None,
    gold: Path | None = None,
    offset: Literal[0, 1] = 0,
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
    reverse
        A model of the other direction, by which the links are made symmetric: the maps of both are multiplied, and a
        link is what is largest in its row and in its column.
    gold
        Alignments to compare with, a line a pair (i-j sure, ipj possible): the alignment error rate goes to stderr.
    offset
        Whose weights align a word: 0 = those of its own step, 1 = those of the step after it.
    """
    from regard.cli.pairs import corpus_of, pairs_for
    from regard.translation.alignment import alignment_error_rate, pharaoh, read_gold
    from regard.translation.translator import Translator

    corpus = corpus_of(data, target)
    translator = Translator.load(model)
    other = None if reverse is None else Translator.load(reverse)
    pairs = pairs_for(translator, corpus)
    if not pairs:
        raise DataError(f"{corpus.name} holds no pairs; there is nothing to align")
    wanted = None if gold is None else read_gold(gold)
    if wanted is not None and len(wanted) != len(pairs):
        raise DataError(f"{gold} has {len(wanted)} lines, but there are {len(pairs)} pairs; they must go line by line")
    found = []
    for links in _links(translator, other, pairs, offset):
        sys.stdout.write(pharaoh(links) + "\n")
        found.append(links)
    if wanted is not None:
        sys.stderr.write(f"alignment error rate: {alignment_error_rate(found, wanted):.4f}\n")


def _links(
    translator: Translator, other: Translator | None, pairs: Sequence[Pair], offset: Literal[0, 1]
) -> Iterator[list[Link]]:
    """The links of each pair by the translator, or symmetrised with another of the other direction."""
    from regard.translation.alignment import symmetrised

    there = translator.align_all(pairs, offset=offset)
    if other is None:
        return (alignment.links for alignment in there)
    back = other.align_all(((pair.target, pair.source) for pair in pairs), offset=offset)
    return starmap(symmetrised, zip(there, back, strict=True))
