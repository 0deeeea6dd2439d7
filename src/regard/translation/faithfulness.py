"""Does a translator's attention matter? On given translations, word by word of the source."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import torch

from regard.errors import DataError
from regard.text.faithfulness import Estimate, Faithfulness, Report, Subject, estimate, measure, silent
from regard.translation.alignment import Gold, alignment_counts
from regard.translation.batches import padded_batch
from regard.translation.hidden import words_of_pieces

if TYPE_CHECKING:
    from regard.translation.corpus import Pair
    from regard.translation.translator import Translator

PAIRS = 200
"""measured at most, spread evenly over the corpus"""
BATCH = 16


def translator_faithfulness(
    translator: Translator,
    pairs: Sequence[Pair],
    gold: Sequence[Gold] | None = None,
    *,
    seed: int = 0,
    report: Report = silent,
) -> Faithfulness:
    """The figures on the references; with ``gold`` links of the pairs, the alignment error rate of all of them too."""
    places = np.linspace(0, len(pairs) - 1, min(PAIRS, len(pairs))).round().astype(int)
    subjects = _subjects(translator, [pairs[place] for place in places])
    found = measure(translator.model, subjects, seed=seed, report=lambda done: report(done, len(places)))
    return (
        found if gold is None else replace(found, extra={"alignment error rate": _error_rate(translator, pairs, gold)})
    )


def _subjects(translator: Translator, pairs: Sequence[Pair]) -> Iterator[Subject]:
    source, target = translator.vocabularies
    ids = zip(source.encode([p.source for p in pairs]), target.encode([p.target for p in pairs]), strict=True)
    known = sorted((pair for pair in ids if all(pair)), key=lambda pair: len(pair[0]))
    for start in range(0, len(known), BATCH):
        sources, targets = zip(*known[start : start + BATCH], strict=True)
        batch = padded_batch(sources, targets)
        with torch.no_grad():
            state = translator.model.encode(batch)
        words = words_of_pieces(source, sources, batch.source.shape[1])
        yield Subject(state, batch.target, words, words)


def _error_rate(translator: Translator, pairs: Sequence[Pair], gold: Sequence[Gold]) -> Estimate:
    if len(gold) != len(pairs):
        raise DataError(f"there are gold links of {len(gold)} pairs, but {len(pairs)} pairs; they must go line by line")
    counts = np.array(
        [alignment_counts(found.links, known) for found, known in zip(translator.align_all(pairs), gold, strict=True)],
        dtype=float,
    )
    hits, sizes = counts.T
    return estimate(sizes - hits, sizes)
