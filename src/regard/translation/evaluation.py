"""How good a translator is: BLEU and chrF by sacrebleu, loss, and all of it by length of the source."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import torch
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF

from regard.errors import DataError
from regard.translation.batches import padded_batch
from regard.translation.corpus import Pair
from regard.translation.translator import ALPHA, BATCH, Translator

WORDS_A_BUCKET = 10


class Bucket(NamedTuple):
    """The sentences whose source has ``first`` to ``last`` words."""

    first: int
    last: int
    sentences: int
    bleu: float


@dataclass(frozen=True)
class Evaluation:
    """The figures of one model on one corpus, with the signatures that say how they were computed."""

    sentences: int
    bleu: float
    chrf: float
    loss: float
    """nats a piece, of the reference"""
    signatures: dict[str, str]
    translations: list[str]
    buckets: list[Bucket]

    def to_json(self) -> dict[str, Any]:
        """What ``regard evaluate --json`` prints."""
        shown = {name: getattr(self, name) for name in ("sentences", "bleu", "chrf", "loss", "signatures")}
        return {**shown, "by_length": [bucket._asdict() for bucket in self.buckets]}


def evaluate(
    translator: Translator,
    pairs: Sequence[Pair],
    *,
    beam: int = 5,
    alpha: float = ALPHA,
    report: Callable[[int], None] = lambda _: None,
) -> Evaluation:
    """Translate the sources and compare with the references; ``report`` hears how many are done."""
    if not pairs:
        raise DataError("there are no pairs to evaluate on")
    translator.check([pair.source for pair in pairs])
    longest_first = sorted(range(len(pairs)), key=lambda i: -len(pairs[i].source))
    found = [""] * len(pairs)
    for start in range(0, len(pairs), BATCH):
        rows = longest_first[start : start + BATCH]
        for row, translation in zip(
            rows, translator.translate([pairs[row].source for row in rows], beam=beam, alpha=alpha), strict=True
        ):
            found[row] = translation.text
        report(min(start + BATCH, len(pairs)))
    references = references_of(pairs, lowercase=translator.config.vocabulary.lowercase)
    bleu, chrf = BLEU(), CHRF()
    scores = bleu.corpus_score(found, [references]).score, chrf.corpus_score(found, [references]).score
    return Evaluation(
        len(pairs),
        *scores,
        loss=_loss(translator, pairs),
        signatures={"bleu": str(bleu.get_signature()), "chrf": str(chrf.get_signature())},
        translations=found,
        buckets=_by_length([len(pair.source.split()) for pair in pairs], found, references),
    )


def references_of(pairs: Iterable[Pair], *, lowercase: bool) -> list[str]:
    """What translations are compared with: the targets as they are, lowered where the model writes lower case only."""
    return [pair.target.lower() if lowercase else pair.target for pair in pairs]


def plot_by_length(evaluations: dict[str, Evaluation], path: str | os.PathLike[str]) -> Path:
    """BLEU against the length of the source, a curve for each model: the reason attention exists."""
    from regard.show.figures import Curve, plot_curves

    curves = [
        Curve(name, [(b.first + b.last) / 2 for b in e.buckets], [b.bleu for b in e.buckets])
        for name, e in evaluations.items()
    ]
    return plot_curves(curves, path, across="words in the source sentence", up="BLEU")


def _by_length(lengths: Sequence[int], found: Sequence[str], references: Sequence[str]) -> list[Bucket]:
    groups: dict[int, list[int]] = {}
    for row, length in enumerate(lengths):
        groups.setdefault(max(0, length - 1) // WORDS_A_BUCKET, []).append(row)
    return [
        Bucket(
            number * WORDS_A_BUCKET + 1,
            (number + 1) * WORDS_A_BUCKET,
            len(rows),
            BLEU().corpus_score([found[row] for row in rows], [[references[row] for row in rows]]).score,
        )
        for number, rows in sorted(groups.items())
    ]


def _loss(translator: Translator, pairs: Sequence[Pair]) -> float:
    """Nats a piece, the end mark among them; pairs that are empty to the vocabulary say nothing."""
    source, target = translator.vocabularies
    ids = zip(
        source.encode([pair.source for pair in pairs]), target.encode([pair.target for pair in pairs]), strict=True
    )
    known = sorted((pair for pair in ids if all(pair)), key=lambda pair: len(pair[1]))
    total, pieces = 0.0, 0
    for start in range(0, len(known), BATCH):
        sources, targets = zip(*known[start : start + BATCH], strict=True)
        with torch.inference_mode():
            loss = translator.model(padded_batch(sources, targets))
        total, pieces = total + float(loss.nll), pieces + int(loss.tokens)
    return total / pieces if pieces else 0.0
