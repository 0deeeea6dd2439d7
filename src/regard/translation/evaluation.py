"""How good a translator is: BLEU and chrF by sacrebleu, loss, and all of it by length of the source."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Unpack

import torch
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF

from regard.errors import DataError
from regard.search_options import SearchKeywords
from regard.translation.batches import padded_batch
from regard.translation.corpus import Pair
from regard.translation.search import read_sentences
from regard.translation.translator import BATCH, Translator

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
    report: Callable[[int], None] = lambda _: None,
    **options: Unpack[SearchKeywords],
) -> Evaluation:
    """Translate the sources and compare with the references; ``report`` is called with how many are done.

    The options are those of `Translator.translate`.
    """
    if not pairs:
        raise DataError("there are no pairs to evaluate on")
    read_sentences(translator.vocabularies.source, [pair.source for pair in pairs])  # refuses before hours of work
    longest_first = sorted(range(len(pairs)), key=lambda i: -len(pairs[i].source))
    found = [""] * len(pairs)
    for start in range(0, len(pairs), BATCH):
        rows = longest_first[start : start + BATCH]
        translations = translator.translate([pairs[row].source for row in rows], **options)
        for row, translation in zip(rows, translations, strict=True):
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
    """What translations are compared with: the targets as they are, lowercased where the vocabulary is."""
    return [pair.target.lower() if lowercase else pair.target for pair in pairs]


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
    """Cross-entropy in nats a piece, EOS included; pairs with an empty side are left out."""
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
