"""What a captioner learns from when it draws captions: CIDEr-D, BLEU and ROUGE-L."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from regard.captioning.evaluation import CiderD, bleu, rouge_l
from regard.marks import EOS

if TYPE_CHECKING:
    from regard.captioning.batches import CaptionBatch

CIDER_WEIGHT = 0.5
"""Of CIDEr-D, up to 10 but about 0.5."""
BLEU_WEIGHTS = (3.0, 0.75, 0.75, 0.75)
"""Of BLEU-1 to 4, up to 1."""
ROUGE_WEIGHT = 2.0
"""Of ROUGE-L, up to 1 and about 0.5, in which recall counts for more than precision."""


class CaptionCritic:
    """Scores drawn captions by CIDEr-D, BLEU and ROUGE-L.

    ``captions[i]`` are those that people wrote of picture i, as ids. The end counts as a word: else a caption loses
    nothing by breaking off after "in a".
    """

    def __init__(self, captions: Sequence[Sequence[Sequence[int]]], count: int) -> None:
        self.cider = CiderD([[[*ids, EOS] for ids in several] for several in captions])
        self.count = count

    def scores(self, batch: CaptionBatch, drawn: Sequence[Sequence[Sequence[int]]]) -> list[list[float]]:
        assert batch.numbers is not None
        return [self._scores(*one) for one in zip(batch.numbers.tolist(), drawn, strict=True)]

    def _scores(self, picture: int, drawn: Sequence[Sequence[int]]) -> list[float]:
        known = self.cider.known[picture]
        scores = []
        for cider, words in zip(self.cider.scores(picture, drawn), drawn, strict=True):
            bleus = sum(weight * b for weight, b in zip(BLEU_WEIGHTS, bleu([words], [known]), strict=True))
            scores.append(CIDER_WEIGHT * cider + bleus + ROUGE_WEIGHT * rouge_l(words, known))
        return scores
