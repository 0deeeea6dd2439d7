"""The reward of self-critical training of a translator: n-grams shared with the reference."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a

from regard.text.vocabulary import Vocabulary
from regard.translation.batches import Batch

MAX_ORDER = 4  # words of an n-gram


class TranslationCritic:
    """Scores sampled translations by GLEU (Wu et al. 2016, sec. 5), which is to one sentence what BLEU is to many."""

    def __init__(self, vocabulary: Vocabulary, count: int) -> None:
        self.vocabulary, self.count = vocabulary, count
        self._split: Callable[[str], str] = Tokenizer13a()  # type: ignore[no-untyped-call]

    def scores(self, batch: Batch, drawn: Sequence[Sequence[Sequence[int]]]) -> list[list[float]]:
        references = batch.target.tolist()
        return [
            [gleu(self._words(ids), known) for ids in several]
            for several, known in zip(drawn, map(self._words, references), strict=True)
        ]

    def _words(self, ids: Sequence[int]) -> list[str]:
        return self._split(self.vocabulary.decode(ids)).split()


def gleu(words: Sequence[str], reference: Sequence[str]) -> float:
    """The n-grams of 1 to 4 words that both have, divided by those of the text that has more.

    >>> gleu("a man sleeps".split(), "a man eats".split())
    0.5
    """
    ours, theirs = _ngrams(words), _ngrams(reference)
    return (ours & theirs).total() / max(ours.total(), theirs.total(), 1)


def _ngrams(words: Sequence[str]) -> Counter[tuple[str, ...]]:
    lengths = range(1, MAX_ORDER + 1)
    return Counter(tuple(words[i : i + n]) for n in lengths for i in range(len(words) - n + 1))
