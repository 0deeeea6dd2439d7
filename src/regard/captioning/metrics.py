"""How good captions are: BLEU-1 to 4, ROUGE-L and CIDEr-D as COCO's evaluation defines them, and its METEOR.

All are given times 100. They compare words, not text: those of :func:`regard.captioning.tokens.ptb_words`.
"""

from __future__ import annotations

import importlib.util
import math
import shutil
from collections import Counter
from collections.abc import Hashable, Sequence
from typing import TypeAlias

from regard.captioning.tokens import ptb_words
from regard.errors import InputError

SIGNATURE = "coco|words:ptb-lower-nopunct|bleu:corpus-closest-nosmooth|rouge-l:beta1.2|cider-d:n4-sigma6|x100"
METEOR_SIGNATURE = "meteor:1.5-en-norm"

Words: TypeAlias = list[str]
Text: TypeAlias = Sequence[Hashable]
Gram: TypeAlias = tuple[Hashable, ...]
Weighted: TypeAlias = dict[Gram, float]

_ORDERS = (1, 2, 3, 4)
_BETA = 1.2  # ROUGE-L: recall counts for more
_SIGMA = 6.0  # CIDEr-D: width of the Gaussian on the difference in length


def caption_scores(
    candidates: Sequence[str], references: Sequence[Sequence[str]], *, meteor: bool = False
) -> dict[str, float]:
    """The scores of one caption for each photograph, against what people wrote of it; see :func:`signature`.

    >>> scores = caption_scores(["a dog runs", "two cats"], [["A dog runs.", "a dog"], ["two cats sleep"]])
    >>> {name: round(score, 1) for name, score in scores.items() if name in ("bleu1", "bleu2", "rouge_l")}
    {'bleu1': 81.9, 'bleu2': 81.9, 'rouge_l': 88.6}
    """
    _check(candidates, references)
    found = [ptb_words(candidate) for candidate in candidates]
    known = [[ptb_words(reference) for reference in several] for several in references]
    scores = {f"bleu{order}": score for order, score in zip(_ORDERS, bleu(found, known), strict=True)}
    scores["rouge_l"] = sum(map(rouge_l, found, known)) / len(found)
    cider = CiderD(known)
    scores["cider_d"] = sum(cider.scores(place, [words])[0] for place, words in enumerate(found)) / len(found)
    if meteor:
        scores["meteor"] = _meteor(found, known)
    return {name: 100 * score for name, score in scores.items()}


def signature(*, meteor: bool = False) -> str:
    """How the scores were computed, to stand beside them."""
    return f"{SIGNATURE}|{METEOR_SIGNATURE}" if meteor else SIGNATURE


def meteor_missing() -> str:
    """What METEOR lacks on this machine; empty where it can be computed."""
    if importlib.util.find_spec("pycocoevalcap") is None:
        return "METEOR needs pycocoevalcap: pip install 'regard[coco]'"
    if shutil.which("java") is None:
        return "METEOR needs a Java runtime, and no java is on the PATH"
    return ""


def _check(candidates: Sequence[str], references: Sequence[Sequence[str]]) -> None:
    if isinstance(candidates, str) or any(isinstance(several, str) for several in references):
        raise InputError("candidates are a list of captions, references a list of captions for each; got plain text")
    if len(candidates) != len(references):
        raise InputError(f"each caption needs its references; got {len(candidates)} and {len(references)}")
    if not candidates:
        raise InputError("there are no captions to score")
    for number, several in enumerate(references):
        if not any(ptb_words(reference) for reference in several):
            raise InputError(f"caption {number} has no reference with a word in it: {list(several)!r}")


def _grams(words: Text, order: int) -> Counter[Gram]:
    return Counter(zip(*(words[start:] for start in range(order)), strict=False))


def bleu(found: Sequence[Text], known: Sequence[Sequence[Text]]) -> list[float]:
    """BLEU up to each order (Papineni et al. 2002, section 2.3), over the corpus; no common n-gram means 0.

    The reference that is closest in length is the one to be as long as; the shorter of two that are as close.
    """
    length = sum(map(len, found))
    closest = sum(
        min((abs(len(r) - len(c)), len(r)) for r in several)[1] for c, several in zip(found, known, strict=True)
    )
    brevity = min(0.0, 1 - closest / length) if length else -math.inf
    logs, bleus = 0.0, []
    for order in _ORDERS:
        matched = total = 0
        for words, several in zip(found, known, strict=True):
            grams, most = _grams(words, order), Counter[Gram]()
            for reference in several:
                most |= _grams(reference, order)
            matched += (grams & most).total()
            total += grams.total()
        logs += math.log(matched / total) if matched else -math.inf
        bleus.append(math.exp(logs / order + brevity))
    return bleus


def rouge_l(found: Text, known: Sequence[Text]) -> float:
    """ROUGE-L (Lin 2004, section 3): the longest common subsequence; precision and recall by the best reference."""
    common = [_longest_common(found, reference) for reference in known]
    precision = max(common) / len(found) if found else 0.0
    recall = max(c / len(reference) for c, reference in zip(common, known, strict=True) if reference)
    if not precision or not recall:
        return 0.0
    return (1 + _BETA**2) * precision * recall / (recall + _BETA**2 * precision)


def _longest_common(first: Text, second: Text) -> int:
    """The length of the longest common subsequence."""
    lengths = [0] * (len(second) + 1)
    for word in first:
        diagonal = 0
        for column, other in enumerate(second, 1):
            above = lengths[column]
            lengths[column] = diagonal + 1 if word == other else max(above, lengths[column - 1])
            diagonal = above
    return lengths[-1]


class CiderD:
    """CIDEr-D (Vedantam et al. 2015, sections 4 and 6): cosine of the n-grams' TF-IDF, clipped, by length; up to 10.

    ``known[i]`` are the references of picture i, each a sequence of words, or of token ids.
    """

    def __init__(self, known: Sequence[Sequence[Text]]) -> None:
        self.known = known
        pictures = Counter(gram for several in known for gram in set().union(*map(_all_grams, several)))
        self.rarity = {gram: math.log(len(known) / count) for gram, count in pictures.items()}
        self.unseen = math.log(len(known))

    def scores(self, picture: int, candidates: Sequence[Text]) -> list[float]:
        """How good each of these captions of a picture is."""
        references = [(self._weighted(text), _bigrams(text)) for text in self.known[picture]]
        return [self._score(self._weighted(words), _bigrams(words), references) for words in candidates]

    def _score(self, found: list[Weighted], bigrams: int, references: list[tuple[list[Weighted], int]]) -> float:
        total = 0.0
        for known, length in references:
            similarity = sum(map(_clipped_cosine, found, known)) / len(_ORDERS)
            total += similarity * math.exp(-((bigrams - length) ** 2) / (2 * _SIGMA**2))
        return 10 * total / len(references)

    def _weighted(self, words: Text) -> list[Weighted]:
        """The n-grams of each order by their weight."""
        return [
            {gram: count * self.rarity.get(gram, self.unseen) for gram, count in _grams(words, order).items()}
            for order in _ORDERS
        ]


def _all_grams(words: Text) -> set[Gram]:
    return {gram for order in _ORDERS for gram in _grams(words, order)}


def _bigrams(words: Text) -> int:
    """COCO's code takes the number of bigrams for the length."""
    return max(0, len(words) - 1)


def _clipped_cosine(found: Weighted, known: Weighted) -> float:
    lengths = [math.sqrt(sum(weight**2 for weight in vector.values())) for vector in (found, known)]
    if not all(lengths):
        return 0.0
    product = sum(min(weight, known[gram]) * known[gram] for gram, weight in found.items() if gram in known)
    return product / math.prod(lengths)


def _meteor(found: list[Words], known: list[list[Words]]) -> float:
    """METEOR 1.5 by its authors' Java program, which comes inside pycocoevalcap."""
    if missing := meteor_missing():
        raise InputError(f"{missing}.")
    from pycocoevalcap.meteor.meteor import Meteor

    gold = {number: [" ".join(words) for words in several] for number, several in enumerate(known)}
    score, _ = Meteor().compute_score(gold, {number: [" ".join(words)] for number, words in enumerate(found)})
    return float(score)
