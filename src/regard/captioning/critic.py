"""The reward of self-critical training of a captioner: CIDEr-D, BLEU, ROUGE-L and METEOR's exact matches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from regard.captioning.metrics import CiderD, Text, bleu, rouge_l
from regard.text.special_tokens import EOS

if TYPE_CHECKING:
    from regard.captioning.batches import CaptionBatch

CIDER_WEIGHT = 0.5
"""Of CIDEr-D, up to 10 but about 0.5."""
BLEU_WEIGHTS = (3.0, 0.75, 0.75, 0.75)
"""Of BLEU-1 to 4, up to 1."""
ROUGE_WEIGHT = 2.0
"""Of ROUGE-L, up to 1 and about 0.5, in which recall counts for more than precision."""
METEOR_WEIGHT = 6.0
"""Of METEOR, up to some 0.6 and about 0.3: it asks above all what people said and the caption did not."""
_EVERYWHERE = 0.4  # a word of that many pictures' captions says little of any of them: "a", "in", "is", "with"
_ALPHA, _BETA, _GAMMA, _DELTA = 0.85, 0.2, 0.6, 0.75  # METEOR 1.5 for English


class CaptionCritic:
    """Scores sampled captions by CIDEr-D, BLEU, ROUGE-L and METEOR.

    ``captions[i]`` are those that people wrote of picture i, as ids. The end counts as a word: else a caption loses
    nothing by breaking off after "in a".
    """

    def __init__(self, captions: Sequence[Sequence[Sequence[int]]], count: int) -> None:
        self.cider = CiderD([[[*ids, EOS] for ids in several] for several in captions])
        pictures = Counter(word for several in self.cider.known for word in set().union(*several))
        self.everywhere = {word for word, count in pictures.items() if count > _EVERYWHERE * len(captions)}
        self.count = count

    def scores(self, batch: CaptionBatch, drawn: Sequence[Sequence[Sequence[int]]]) -> list[list[float]]:
        assert batch.numbers is not None
        return [self._scores(*one) for one in zip(batch.numbers.tolist(), drawn, strict=True)]

    def _scores(self, picture: int, drawn: Sequence[Sequence[int]]) -> list[float]:
        known = self.cider.known[picture]
        scores = []
        for cider, words in zip(self.cider.scores(picture, drawn), drawn, strict=True):
            bleus = sum(weight * b for weight, b in zip(BLEU_WEIGHTS, bleu([words], [known]), strict=True))
            meteor = max(exact_meteor(words, reference, self.everywhere) for reference in known)
            scores.append(CIDER_WEIGHT * cider + bleus + ROUGE_WEIGHT * rouge_l(words, known) + METEOR_WEIGHT * meteor)
        return scores


def exact_meteor(found: Text, known: Text, function_words: set[Hashable]) -> float:
    """METEOR (Denkowski and Lavie 2014, section 2) by equal words alone: no stems, synonyms or paraphrases.

    Recall counts for more than precision, other words for more than function words, and words that stand together in
    both for more than scattered ones. Unlike METEOR's own program it matches greedily, so that chunks may be more than
    the fewest, and makes no exception for texts that are the same.

    >>> round(exact_meteor("a dog runs".split(), "a dog runs fast".split(), {"a"}), 3)
    0.38
    """
    pairs = _matched(found, known)
    if not pairs:
        return 0.0
    chunks = 1 + sum(later != (place + 1, other + 1) for (place, other), later in pairwise(pairs))

    def weight(words: Text) -> float:
        return sum(1 - _DELTA if word in function_words else _DELTA for word in words)

    matched = weight([found[place] for place, _ in pairs])
    precision, recall = matched / weight(found), matched / weight(known)
    scattered: float = _GAMMA * (chunks / len(pairs)) ** _BETA
    return (1 - scattered) * precision * recall / (_ALPHA * precision + (1 - _ALPHA) * recall)


def _matched(found: Text, known: Text) -> list[tuple[int, int]]:
    """Places of equal words, each place once: the one after the last match where it is equal, else the first free."""
    pairs: list[tuple[int, int]] = []
    free = set(range(len(known)))
    for place, word in enumerate(found):
        next_one = pairs[-1][1] + 1 if pairs else 0
        equal = [other for other in sorted(free) if known[other] == word]
        if equal:
            pairs.append((place, next_one if next_one in equal else equal[0]))
            free.remove(pairs[-1][1])
    return pairs
