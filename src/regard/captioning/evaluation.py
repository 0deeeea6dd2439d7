"""How good a captioner is: loss, the scores of its captions, and how its attention maps spread and move."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Unpack

import numpy as np
import torch
from numpy.typing import NDArray

from regard.captioning.batches import CaptionBatch
from regard.captioning.captioner import BATCH, Captioner, captions_of
from regard.captioning.corpus import Example
from regard.captioning.metrics import caption_scores, meteor_missing, signature
from regard.captioning.photos import open_photo
from regard.captioning.search import best_hypotheses, model_inputs
from regard.captioning.tokens import plain
from regard.captioning.vocabulary import normalized
from regard.errors import DataError
from regard.search_options import CAPTIONING, SearchKeywords
from regard.text.padding import padded_targets


class MapStatistics(NamedTuple):
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
    maps: MapStatistics
    signature: str
    captions: list[str]

    def to_json(self) -> dict[str, Any]:
        """What ``regard evaluate --json`` prints."""
        shown = {"photographs": self.photographs, "loss": self.loss, **self.scores, "exact": self.exact}
        return {**shown, **self.maps._asdict(), "signature": self.signature}


def evaluate(
    captioner: Captioner,
    examples: Sequence[Example],
    *,
    report: Callable[[int], None] = lambda _: None,
    **options: Unpack[SearchKeywords],
) -> CaptionEvaluation:
    """Describe the photographs and compare with what people wrote; ``report`` is called with how many are done.

    The options are those of `Captioner.caption`. METEOR is among the scores where pycocoevalcap and a Java runtime are
    there.
    """
    if not examples:
        raise DataError("there are no photographs to evaluate on")
    search = replace(CAPTIONING, **options)
    captions, maps = [], []
    total, words = 0.0, 0
    for start in range(0, len(examples), BATCH):
        several = examples[start : start + BATCH]
        photos = [open_photo(example.image) for example in several]
        pictures = model_inputs(captioner.backbone, photos)
        hypotheses = best_hypotheses(captioner.model, pictures, search)
        for caption in captions_of(captioner, [e.image for e in several], photos, pictures, hypotheses):
            captions.append(caption.text)
            maps.append(caption.weights)
        nll, count = _loss(captioner, pictures, several)
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
        map_statistics(maps),
        signature(meteor=meteor),
        captions,
    )


def map_statistics(maps: Sequence[NDArray[np.float64]]) -> MapStatistics:
    """Of each caption the weights (words, rows, columns).

    >>> map_statistics([np.array([[[1.0, 0.0]], [[1.0, 0.0]], [[0.0, 1.0]]])])
    MapStatistics(entropy=0.0, moves=0.5)
    """
    entropies, moves = [], []
    for weights in maps:
        words, rows, columns = weights.shape  # there may be no words, and then -1 is no shape
        flat = weights.reshape(words, rows * columns)
        entropies += [float(-(row[row > 0] * np.log(row[row > 0])).sum()) + 0.0 for row in flat]
        peaks = flat.argmax(1)
        moves += (peaks[1:] != peaks[:-1]).tolist()
    return MapStatistics(float(np.mean(entropies or [0.0])), float(np.mean(moves or [0.0])))


def _loss(captioner: Captioner, pictures: torch.Tensor, examples: Sequence[Example]) -> tuple[float, int]:
    """The negative log-likelihood of every caption of the pictures, and the number of tokens, EOS included."""
    settings = captioner.config.vocabulary
    encoded = [captioner.vocabulary.encode(normalized(example.captions, settings)) for example in examples]
    rows = [(place, ids) for place, several in enumerate(encoded) for ids in several if ids]
    if not rows:
        return 0.0, 0
    target, lengths = padded_targets([ids for _, ids in rows])
    forced = captioner.model.force(CaptionBatch(pictures[[place for place, _ in rows]], target))
    return -float(forced.log_probs.double().sum()), int(lengths.sum()) - len(rows)
