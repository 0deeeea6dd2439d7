"""How good a captioner is: loss, the scores of its captions, and how it looks around."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from regard.captioning.batches import CaptionBatch
from regard.captioning.captioner import BATCH, Captioner
from regard.captioning.corpus import Example
from regard.captioning.evaluation import caption_scores, meteor_missing, signature
from regard.captioning.photos import open_photo
from regard.captioning.task import ALPHA, wording
from regard.captioning.wording import plain
from regard.errors import DataError
from regard.translation.batches import padded_targets


class Looks(NamedTuple):
    """How the maps of captions spread and move."""

    entropy: float
    """nats, the mean over words: 0 = one cell, log(cells) = all alike"""
    moves: float
    """the share of words whose cell of most weight is another than the word before had"""


@dataclass(frozen=True)
class CaptionEvaluation:
    """The figures of one model on one corpus, with the signature that says how they were computed."""

    photographs: int
    loss: float
    """nats a word, of the references"""
    scores: dict[str, float]
    exact: float
    """the share of captions that are one of their references, word for word"""
    looks: Looks
    signature: str
    captions: list[str]

    def to_json(self) -> dict[str, Any]:
        """What ``regard evaluate --json`` prints."""
        shown = {"photographs": self.photographs, "loss": self.loss, **self.scores, "exact": self.exact}
        return {**shown, **self.looks._asdict(), "signature": self.signature}


def evaluate(
    captioner: Captioner,
    examples: Sequence[Example],
    *,
    beam: int = 5,
    alpha: float = ALPHA,
    report: Callable[[int], None] = lambda _: None,
) -> CaptionEvaluation:
    """Describe the photographs and compare with what people wrote; ``report`` hears how many are done.

    METEOR is among the scores where pycocoevalcap and a Java runtime are there.
    """
    if not examples:
        raise DataError("there are no photographs to evaluate on")
    captions, maps = [], []
    total, words = 0.0, 0
    for start in range(0, len(examples), BATCH):
        several = examples[start : start + BATCH]
        photos = [open_photo(example.image) for example in several]
        seen = captioner.see(photos)
        for caption in captioner.describe([e.image for e in several], photos, seen, beam=beam, alpha=alpha):
            captions.append(caption.text)
            maps.append(caption.weights)
        nll, count = _loss(captioner, seen, several)
        total, words = total + nll, words + count
        report(start + len(several))
    meteor = not meteor_missing()
    scores = caption_scores(captions, [example.captions for example in examples], meteor=meteor)
    exact = [plain(text) in map(plain, e.captions) for text, e in zip(captions, examples, strict=True)]
    return CaptionEvaluation(
        len(examples),
        total / max(1, words),
        scores,
        sum(exact) / len(exact),
        looks_of(maps),
        signature(meteor=meteor),
        captions,
    )


def looks_of(maps: Sequence[NDArray[np.float64]]) -> Looks:
    """Of each caption the weights (words, rows, columns).

    >>> looks_of([np.array([[[1.0, 0.0]], [[1.0, 0.0]], [[0.0, 1.0]]])])
    Looks(entropy=0.0, moves=0.5)
    """
    entropies, moves = [], []
    for weights in maps:
        words, rows, columns = weights.shape  # there may be no words, and then -1 is no shape
        flat = weights.reshape(words, rows * columns)
        entropies += [float(-(row[row > 0] * np.log(row[row > 0])).sum()) + 0.0 for row in flat]
        peaks = flat.argmax(1)
        moves += (peaks[1:] != peaks[:-1]).tolist()
    return Looks(float(np.mean(entropies or [0.0])), float(np.mean(moves or [0.0])))


def _loss(captioner: Captioner, seen: torch.Tensor, examples: Sequence[Example]) -> tuple[float, int]:
    """The negative log-likelihood of every caption of the pictures, and the words, ends included."""
    settings = captioner.config.vocabulary
    encoded = [captioner.vocabulary.encode(wording(example.captions, settings)) for example in examples]
    rows = [(place, ids) for place, several in enumerate(encoded) for ids in several if ids]
    if not rows:
        return 0.0, 0
    target, lengths = padded_targets([ids for _, ids in rows])
    forced = captioner.model.force(CaptionBatch(seen[[place for place, _ in rows]], target))
    return -float(forced.log_probs.double().sum()), int(lengths.sum()) - len(rows)
