"""The translator: text in, translations with their attention out."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Literal, NamedTuple, overload

import numpy as np
import torch

from regard import pretrained
from regard.arrays import check_sizes
from regard.decoding import Hypothesis, limit_for, search
from regard.errors import CheckpointError, DataError, InputError
from regard.training.config import load_config
from regard.training.weights import load_weights
from regard.translation.batches import Batch, padded_batch
from regard.translation.config import TranslationConfig
from regard.translation.model import TranslationModel, build_model
from regard.translation.results import Alignment, Translation
from regard.translation.vocabularies import Vocabularies, stored_vocabularies
from regard.translation.watched import Watched, see, told
from regard.translation.words import merge_pieces, without_end

ALPHA = 1.4  # weight of the length penalty: with 1, translations are a few percent shorter than people's
BATCH = 64
MOST = 1 << 25  # numbers that a search or an alignment holds of all looks; 128 MB
MOST_OF_ONE = 1 << 29  # of a single sentence; 2 GB
LONGEST = 2000  # pieces of a sentence; more is almost surely a whole text on one line


class _Sentence(NamedTuple):
    text: str
    ids: list[int]


class Translator:
    """A trained model and its vocabularies.

    >>> translator = regard.Translator.load("runs/translate")  # doctest: +SKIP
    >>> translator.translate("a red house").text  # doctest: +SKIP
    'une maison rouge'
    """

    def __init__(self, model: TranslationModel, vocabularies: Vocabularies, config: TranslationConfig) -> None:
        self.model, self.vocabularies, self.config = model.eval(), vocabularies, config

    @classmethod
    def load(cls, model: str | os.PathLike[str]) -> Translator:
        """The model of a run directory, or one that ships with the package by its name."""
        directory = pretrained.find(model)
        config = load_config(directory / "config.toml")
        if not isinstance(config, TranslationConfig):
            raise CheckpointError(f"{directory} is a run of task = {config.task!r}; a translator needs 'translate'.")
        vocabularies = stored_vocabularies(directory, config.vocabulary)
        sizes = len(vocabularies.source), len(vocabularies.target)
        built = build_model(
            config.model, *sizes, shared=config.vocabulary.shared, generator=torch.Generator().manual_seed(0)
        )
        load_weights(built, pretrained.weights_file(directory))
        return cls(built, vocabularies, config)

    @overload
    def translate(
        self, text: str, *, beam: int = 5, n_best: int = 1, alpha: float = ALPHA, max_length: int | None = None
    ) -> Translation: ...
    @overload
    def translate(
        self, text: list[str], *, beam: int = 5, n_best: int = 1, alpha: float = ALPHA, max_length: int | None = None
    ) -> list[Translation]: ...
    def translate(
        self,
        text: str | list[str],
        *,
        beam: int = 5,
        n_best: int = 1,
        alpha: float = ALPHA,
        max_length: int | None = None,
    ) -> Translation | list[Translation]:
        """Translate a sentence, or each of several.

        ``alpha`` weighs the length penalty (0: none), ``n_best`` keeps that many as ``alternatives``, ``max_length``
        limits the pieces of a translation (twice the source's and ten when None).
        """
        if isinstance(text, str):
            return next(self.stream([text], beam=beam, n_best=n_best, alpha=alpha, max_length=max_length))
        return list(self.stream(text, beam=beam, n_best=n_best, alpha=alpha, max_length=max_length))

    def stream(
        self,
        texts: Iterable[str],
        *,
        beam: int = 5,
        n_best: int = 1,
        alpha: float = ALPHA,
        max_length: int | None = None,
        batch: int = BATCH,
    ) -> Iterator[Translation]:
        """Translations in the order of the texts, of which only ``batch`` are read ahead."""
        lines = iter(texts)
        number = 0
        while several := list(islice(lines, batch)):
            sentences = self._read(several, number + 1)
            found = self._search([s for s in sentences if s.ids], beam, n_best, alpha, max_length)
            for sentence in sentences:
                yield self._translation(sentence, next(found)) if sentence.ids else _nothing(sentence.text)
            number += len(several)

    def watch(self, text: str, *, beam: int = 5, max_length: int | None = None) -> Watched:
        """Translate a sentence, and keep what the decoder had before it at each word: scores, weights, context."""
        (sentence,) = self._read([text], 1)
        if not sentence.ids:
            return Watched(_nothing(text), [], {})
        ((found,),) = self._search([sentence], beam, 1, ALPHA, max_length)
        seen = see(self.model, padded_batch([sentence.ids], [found.words]))
        source, target = self.vocabularies.source.words(sentence.ids), self.vocabularies.target.words(found.words)
        soft = getattr(self.config.model, "normalize", "softmax") == "softmax"
        return told(self._one(sentence, found), seen, target, source, soft=soft)

    def align(self, source: str, target: str, *, offset: Literal[0, 1] = 0) -> Alignment:
        """Make the model write ``target`` and see where it looks meanwhile.

        With ``offset=1``, where it looks once it has read a word, which is the look for the next.
        """
        return next(self.align_all([(source, target)], offset=offset))

    def align_all(
        self, pairs: Iterable[tuple[str, str]], *, offset: Literal[0, 1] = 0, batch: int = BATCH
    ) -> Iterator[Alignment]:
        """Alignments in the order of the pairs."""
        if offset not in (0, 1):
            raise InputError(f"offset = {offset} is no look at a word: use 0 (for it) or 1 (after it)")
        lines = iter(pairs)
        number = 0
        while several := list(islice(lines, batch)):
            sources = self._read([source for source, _ in several], number + 1)
            targets = self._read([target for _, target in several], number + 1, side="target")
            for place, (source, target) in enumerate(zip(sources, targets, strict=True), number + 1):
                if not (source.ids and target.ids):
                    raise DataError(f"pair {place} has an empty side; there is nothing to align. Leave it out.")
            costs = [len(source.ids) * len(target.ids) for source, target in zip(sources, targets, strict=True)]
            found: dict[int, Alignment] = {}
            for rows in cut(costs, MOST):
                some = self._align([sources[row] for row in rows], [targets[row] for row in rows], offset)
                found.update(zip(rows, some, strict=True))
            yield from (found[row] for row in range(len(several)))
            number += len(several)

    def _align(self, sources: Sequence[_Sentence], targets: Sequence[_Sentence], offset: int) -> Iterator[Alignment]:
        forced = self.model.force(self._batch(sources, targets))
        if forced.weights is None:
            raise InputError("this model has no attention to align by; train one with model.attention set")
        looks, log_probs = forced.weights.double().numpy(), forced.log_probs.sum(1).tolist()
        for source, target, look, log_prob in zip(sources, targets, looks, log_probs, strict=True):
            source_words = self.vocabularies.source.words(source.ids)
            target_words = self.vocabularies.target.words(target.ids)
            whole = look[offset : len(target.ids) + offset, : len(source.ids) + 1]
            yield Alignment(
                [word.text for word in source_words],
                [word.text for word in target_words],
                merge_pieces(whole, target_words, source_words),
                log_prob,
            )

    def check(self, texts: Sequence[str]) -> None:
        """Refuse, by its number, a text that is too long to be translated in one go."""
        self._read(texts, 1)

    def _read(self, texts: Sequence[str], first: int, *, side: str = "source") -> list[_Sentence]:
        for text in texts:
            if not isinstance(text, str):
                raise InputError(f"a sentence is a str; {type(text).__name__} came: {text!r}")
        vocabulary = getattr(self.vocabularies, side)
        sentences = [_Sentence(text, ids) for text, ids in zip(texts, vocabulary.encode(texts), strict=True)]
        for number, sentence in enumerate(sentences, first):
            if len(sentence.ids) > LONGEST:
                raise InputError(
                    f"sentence {number} is {len(sentence.ids)} pieces long, more than the {LONGEST} that are "
                    f"translated in one go ({sentence.text[:40]!r}…). Split it into sentences, one a line."
                )
        return sentences

    def _batch(self, sources: Sequence[_Sentence], targets: Sequence[_Sentence]) -> Batch:
        return padded_batch([s.ids for s in sources], [t.ids for t in targets])

    def _search(
        self, sentences: list[_Sentence], beam: int, n_best: int, alpha: float, max_length: int | None
    ) -> Iterator[list[Hypothesis]]:
        """The best of each sentence, in order; long ones are searched few at a time, so that memory stays bounded."""
        check_sizes(beam=beam, n_best=n_best)
        limits = [limit_for(len(sentence.ids), self.model.longest) for sentence in sentences]
        if max_length is not None:
            check_sizes(max_length=max_length)
            limits = [min(max_length, self.model.longest or max_length)] * len(sentences)
        # Each hypothesis keeps where it looked at every step, and has a score for every word of the vocabulary.
        vocabulary = len(self.vocabularies.target)
        costs = [
            beam * max(len(sentence.ids) * limit, vocabulary) for sentence, limit in zip(sentences, limits, strict=True)
        ]
        for sentence, cost in zip(sentences, costs, strict=True):
            if cost > MOST_OF_ONE:
                raise InputError(
                    f"a beam of {beam} over {len(sentence.ids)} pieces ({sentence.text[:40]!r}…) may take "
                    f"{4 * cost / 2**30:.0f} GB. Ask for a narrower beam, or set a max_length."
                )
        found: dict[int, list[Hypothesis]] = {}
        for rows in cut(costs, MOST):
            some = [sentences[row] for row in rows]
            batch = self._batch(some, some)
            with torch.inference_mode():
                state = self.model.start(batch.source, batch.source_lengths)
                best = search(self.model, state, [limits[row] for row in rows], beam=beam, n_best=n_best, alpha=alpha)
            found.update(zip(rows, best, strict=True))
        return iter([found[row] for row in range(len(sentences))])

    def _translation(self, sentence: _Sentence, hypotheses: list[Hypothesis]) -> Translation:
        best, *others = (self._one(sentence, hypothesis) for hypothesis in hypotheses)
        best.alternatives.extend(others)
        return best

    def _one(self, sentence: _Sentence, found: Hypothesis) -> Translation:
        source = self.vocabularies.source.words(sentence.ids)
        target = self.vocabularies.target.words(found.words)
        weights = None
        if found.weights is not None:
            pieces = np.asarray(found.weights, dtype=np.float64)[: len(found.words), : len(sentence.ids) + 1]
            weights = without_end(merge_pieces(pieces, target, source))
        return Translation(
            source=sentence.text,
            text=self.vocabularies.target.decode(found.words),
            source_words=[word.text for word in source],
            target_words=[word.text for word in target],
            weights=weights,
            score=found.score,
            log_prob=found.log_prob,
            finished=found.finished,
        )


def cut(costs: Sequence[int], most: int) -> list[list[int]]:
    """Rows in groups that cost ``most`` at most, each row of a group as much as its dearest; dear ones stand alone.

    >>> cut([1, 9, 2, 5, 3], 10)
    [[1], [3, 4], [2, 0]]
    >>> cut([1, 1, 2], 10)
    [[0, 1, 2]]
    """
    if len(costs) * max(costs, default=0) <= most:
        return [list(range(len(costs)))] if costs else []
    groups: list[list[int]] = []
    for row in sorted(range(len(costs)), key=lambda row: -costs[row]):
        if groups and (len(groups[-1]) + 1) * costs[groups[-1][0]] <= most:
            groups[-1].append(row)
        else:
            groups.append([row])
    return groups


def _nothing(text: str) -> Translation:
    """What an empty line is translated to."""
    return Translation(text, "", [], [], np.zeros((0, 0)), 0.0, 0.0, True)
