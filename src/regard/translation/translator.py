"""The translator: text in, translations with their attention out."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice, repeat
from pathlib import Path
from typing import Literal, NamedTuple, Unpack, overload

import numpy as np
import torch

from regard.decoding import Hypothesis
from regard.errors import CheckpointError, DataError, InputError
from regard.search_options import TRANSLATION, SearchKeywords, SearchOptions
from regard.text.faithfulness import Faithfulness, Report, silent
from regard.text.special_tokens import EOS
from regard.text.words import merge_pieces, without_end
from regard.training import runs
from regard.training.config import load_config
from regard.training.weights import load_weights, sizes_of
from regard.translation.alignment import read_gold
from regard.translation.batches import padded_batch
from regard.translation.config import CorpusConfig, TranslationConfig
from regard.translation.corpus import Corpus, Pair
from regard.translation.hidden import Hide, hidden_pieces, last_visible, needed_words
from regard.translation.model import TranslationModel, build_model
from regard.translation.results import Alignment, Translation
from regard.translation.search import MAX_NUMBERS, Sentence, best_hypotheses, groups_within, read_sentences
from regard.translation.vocabularies import Vocabularies, stored_vocabularies
from regard.translation.watched import Pieces, RecordedSteps, Watched, watched

BATCH = 64


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
        directory = runs.find(model)
        config = load_config(directory / "config.toml")
        if not isinstance(config, TranslationConfig):
            raise CheckpointError(f"{directory} is a run of task = {config.task!r}; a translator needs 'translate'.")
        vocabularies = stored_vocabularies(directory, config.vocabulary)
        sizes = len(vocabularies.source), len(vocabularies.target)
        weights = runs.weights_file(directory)
        with sizes_of(weights):
            built = build_model(
                config.model, *sizes, shared=config.vocabulary.shared, generator=torch.Generator().manual_seed(0)
            )
        load_weights(built, weights)
        return cls(built, vocabularies, config)

    @overload
    def translate(
        self, text: str, *, hide: Hide = (), hide_input: bool = False, **options: Unpack[SearchKeywords]
    ) -> Translation: ...
    @overload
    def translate(
        self, text: list[str], *, hide: Hide = (), hide_input: bool = False, **options: Unpack[SearchKeywords]
    ) -> list[Translation]: ...
    def translate(
        self,
        text: str | list[str],
        *,
        beam: int = TRANSLATION.beam,
        n_best: int = TRANSLATION.n_best,
        alpha: float = TRANSLATION.alpha,
        max_length: int | None = TRANSLATION.max_length,
        hide: Hide = (),
        hide_input: bool = False,
    ) -> Translation | list[Translation]:
        """Translate a sentence, or each of several.

        ``alpha`` weighs the length penalty (0: none), ``n_best`` keeps that many as ``alternatives``, ``max_length``
        limits the pieces of a translation (twice the source's and ten when None).

        ``hide`` names source words, by number from 0 or as they are written, that the attention may not see. The
        encoder has still read them, and its other states may tell of them; ``hide_input=True`` takes them out of the
        input instead, so that nothing in the model has seen them.
        """
        options = SearchOptions(beam, n_best, alpha, max_length)
        hidden = _Hidden(hide, hide_input)
        found = self._stream([text] if isinstance(text, str) else text, options, BATCH, hidden)
        return next(found) if isinstance(text, str) else list(found)

    def stream(
        self,
        texts: Iterable[str],
        *,
        batch: int = BATCH,
        hide: Hide = (),
        hide_input: bool = False,
        **options: Unpack[SearchKeywords],
    ) -> Iterator[Translation]:
        """Translations in the order of the texts, ``batch`` of which are read ahead; options as for `translate`."""
        return self._stream(texts, replace(TRANSLATION, **options), batch, _Hidden(hide, hide_input))

    def _stream(
        self, texts: Iterable[str], options: SearchOptions, batch: int, hidden: _Hidden
    ) -> Iterator[Translation]:
        lines = iter(texts)
        number = 0
        while several := list(islice(lines, batch)):
            sentences = read_sentences(self.vocabularies.source, several, first=number + 1)
            sentences, pieces = self._hide(sentences, hidden)
            best = best_hypotheses(self.model, [s for s in sentences if s.ids], options, hidden=pieces)
            found = zip(best, pieces or repeat(()), strict=False)
            for sentence in sentences:
                yield self._translation(sentence, *next(found)) if sentence.ids else _empty(sentence.text)
            number += len(several)

    def _hide(self, sentences: Sequence[Sentence], hidden: _Hidden) -> tuple[list[Sentence], list[list[int]] | None]:
        """The sentences and which pieces the attention may not see; or the sentences without these, and None."""
        if not hidden.words:
            return list(sentences), None
        pieces = [hidden_pieces(self.vocabularies.source.words(s.ids), hidden.words) for s in sentences]
        if hidden.from_input:
            kept = [
                Sentence(s.text, [token for place, token in enumerate(s.ids) if place not in some])
                for s, some in zip(sentences, pieces, strict=True)
            ]
            return kept, None
        if self.model.normalizer is None:
            raise InputError("this model has no attention to hide words from; use hide_input=True to leave them out")
        return list(sentences), [some for s, some in zip(sentences, pieces, strict=True) if s.ids]

    def watch(
        self,
        text: str,
        *,
        beam: int = TRANSLATION.beam,
        max_length: int | None = None,
        hide: Hide = (),
        hide_input: bool = False,
    ) -> Watched:
        """Translate a sentence, and keep the scores, weights and context of the decoder for each word.

        ``hide`` and ``hide_input`` as for `translate`.
        """
        (sentence,), pieces = self._hide(read_sentences(self.vocabularies.source, [text]), _Hidden(hide, hide_input))
        options = replace(TRANSLATION, beam=beam, max_length=max_length)
        if not sentence.ids:
            return Watched(_empty(text), [], {})
        stepping = RecordedSteps(self.model)
        ((found,),) = best_hypotheses(self.model, [sentence], options, stepping=stepping, hidden=pieces)
        hidden = pieces[0] if pieces else ()
        source, target = self.vocabularies.source.words(sentence.ids), self.vocabularies.target.words(found.tokens)
        soft = getattr(self.config.model, "normalize", "softmax") == "softmax"
        translation, last = self._one(sentence, found, hidden), last_visible(source, hidden)
        joined = watched(translation, found, target, source, soft=soft, last=last)
        return joined._replace(pieces=self._pieces(sentence, found))

    def _pieces(self, sentence: Sentence, found: Hypothesis) -> Pieces:
        source = self.vocabularies.source.pieces([*sentence.ids, EOS])
        target = self.vocabularies.target.pieces(found.tokens)
        weights = None if found.weights is None else np.asarray(found.weights, dtype=np.float64)
        return Pieces(source, target, None if weights is None else weights[: len(target), : len(source)])

    def align(self, source: str, target: str, *, offset: Literal[0, 1] = 0) -> Alignment:
        """The attention of the model while it is forced to decode ``target``.

        With ``offset=1`` a word gets the weights of the step after it, which has read the word.
        """
        return next(self.align_all([(source, target)], offset=offset))

    def align_all(
        self, pairs: Iterable[tuple[str, str]], *, offset: Literal[0, 1] = 0, batch: int = BATCH
    ) -> Iterator[Alignment]:
        """Alignments in the order of the pairs."""
        if offset not in (0, 1):
            raise InputError(f"offset = {offset} is no step of a word: use 0 (that decodes it) or 1 (the one after)")
        lines = iter(pairs)
        number = 0
        while several := list(islice(lines, batch)):
            sources = read_sentences(self.vocabularies.source, [pair[0] for pair in several], first=number + 1)
            targets = read_sentences(self.vocabularies.target, [pair[1] for pair in several], first=number + 1)
            for place, (source, target) in enumerate(zip(sources, targets, strict=True), number + 1):
                if not (source.ids and target.ids):
                    raise DataError(f"pair {place} has an empty side; there is nothing to align. Leave it out.")
            costs = [len(source.ids) * len(target.ids) for source, target in zip(sources, targets, strict=True)]
            found: dict[int, Alignment] = {}
            for rows in groups_within(costs, MAX_NUMBERS):
                some = self._align([sources[row] for row in rows], [targets[row] for row in rows], offset)
                found.update(zip(rows, some, strict=True))
            yield from (found[row] for row in range(len(several)))
            number += len(several)

    def _align(self, sources: Sequence[Sentence], targets: Sequence[Sentence], offset: int) -> Iterator[Alignment]:
        forced = self.model.force(padded_batch([s.ids for s in sources], [t.ids for t in targets]))
        if forced.weights is None:
            raise InputError("this model has no attention to align by; train one with model.attention set")
        maps, log_probs = forced.weights.double().numpy(), forced.log_probs.sum(1).tolist()
        for source, target, weights, log_prob in zip(sources, targets, maps, log_probs, strict=True):
            source_words = self.vocabularies.source.words(source.ids)
            target_words = self.vocabularies.target.words(target.ids)
            pieces = weights[offset : len(target.ids) + offset, : len(source.ids) + 1]
            yield Alignment(
                [word.text for word in source_words],
                [word.text for word in target_words],
                merge_pieces(pieces, target_words, source_words),
                log_prob,
            )

    def faithfulness(
        self,
        data: str | os.PathLike[str] | Sequence[Pair],
        *,
        gold: str | os.PathLike[str] | None = None,
        seed: int = 0,
        report: Report | None = None,
    ) -> Faithfulness:
        """Does the attention matter? On pairs, a TSV or JSON-lines file or those of a corpus.

        Measured on the references of 200 pairs at most, spread evenly over the corpus. With the ``gold`` links of all
        pairs (a file, a line a pair), the alignment error rate too. ``seed`` fixes what is drawn at random.
        """
        from regard.translation.faithfulness import translator_faithfulness

        given = Corpus(CorpusConfig(path=os.fspath(data))) if isinstance(data, str | os.PathLike) else data
        pairs = [Pair(pair.target, pair.source) if self._turns(data) else pair for pair in given]
        links = None if gold is None else read_gold(Path(gold))
        return translator_faithfulness(self, pairs, links, seed=seed, report=report or silent)

    def _turns(self, data: object) -> bool:
        """Whether pairs of a file are swapped for this model: a run with data.reverse = true swapped the same files."""
        return self.config.data.reverse and isinstance(data, str | os.PathLike)

    def _translation(self, sentence: Sentence, hypotheses: list[Hypothesis], hidden: Sequence[int]) -> Translation:
        best, *others = (self._one(sentence, hypothesis, hidden) for hypothesis in hypotheses)
        best.alternatives.extend(others)
        return best

    def _one(self, sentence: Sentence, found: Hypothesis, hidden: Sequence[int]) -> Translation:
        """The translation of a hypothesis, written while the attention could not see the pieces ``hidden``."""
        source = self.vocabularies.source.words(sentence.ids)
        target = self.vocabularies.target.words(found.tokens)
        weights = None
        if found.weights is not None:
            pieces = np.asarray(found.weights, dtype=np.float64)[: len(found.tokens), : len(sentence.ids) + 1]
            weights = without_end(merge_pieces(pieces, target, source), last_visible(source, hidden))
        return Translation(
            source=sentence.text,
            text=self.vocabularies.target.decode(found.tokens),
            source_words=[word.text for word in source],
            target_words=[word.text for word in target],
            weights=weights,
            score=found.score,
            log_prob=found.log_prob,
            finished=found.finished,
            measure_needed=partial(needed_words, self.model, self.vocabularies, sentence.ids, found.tokens, hidden),
        )


class _Hidden(NamedTuple):
    words: Hide
    from_input: bool


def _empty(text: str) -> Translation:
    """The translation of an empty line."""
    return Translation(text, "", [], [], np.zeros((0, 0)), 0.0, 0.0, True)
