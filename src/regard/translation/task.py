"""The task of translation for the training loop: corpora, vocabularies, model, validation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from pathlib import Path

import torch
from sacrebleu.metrics.bleu import BLEU

from regard.decoding import Hypothesis
from regard.errors import ConfigError
from regard.search_options import TRANSLATION
from regard.training.order import Order, Rows
from regard.training.task import Validation
from regard.translation.batches import Batch, Pairs
from regard.translation.config import TranslationConfig
from regard.translation.corpus import Corpus, Pair
from regard.translation.critic import TranslationCritic
from regard.translation.encoded import SIDES, EncodedCorpus, encode_corpus
from regard.translation.evaluation import references_of
from regard.translation.model import TranslationModel, build_model
from regard.translation.search import Sentence, best_hypotheses
from regard.translation.vocabularies import (
    Vocabularies,
    given_vocabularies,
    learned_vocabularies,
    store_vocabularies,
    stored_vocabularies,
)


class TranslationTask:
    """Learning to translate from pairs of sentences."""

    def __init__(self, config: TranslationConfig) -> None:
        self.config = config
        data = config.data
        self._train, self._validation = (
            [Corpus(corpus, on_bad_line=data.on_bad_line, reverse=data.reverse) for corpus in corpora]
            for corpora in (data.train, data.validation)
        )
        self.vocabularies: Vocabularies
        self.examples: Pairs
        self.held_out: Pairs

    def prepare(self, run: Path, *, begun: bool, threads: int, report: Callable[[str], None]) -> None:
        """Learn or load the vocabularies, encode the corpora; each is found made if it was made before."""
        data, vocabulary = self.config.data, self.config.vocabulary
        cache = Path(data.cache) if data.cache else run / "cache"
        weights = [corpus.weight for corpus in data.train]
        if begun:
            self.vocabularies = stored_vocabularies(run, vocabulary)
        else:
            self.vocabularies = given_vocabularies(vocabulary) or learned_vocabularies(
                self._train, weights, vocabulary, cache, report=report
            )
        everything = data.model_copy(update={"max_words": 0, "max_tokens": 0})  # a test leaves nothing out
        train, held_out = (
            [encode_corpus(c, self.vocabularies, limits, cache, threads=threads, report=report) for c in corpora]
            for corpora, limits in ((self._train, data), (self._validation, everything))
        )
        self._check_places(train, "data.train", "lower data.max_tokens")
        self._check_places(held_out, "data.validation", "split the sentence")
        self.examples, self.held_out = Pairs(train, weights), Pairs(held_out)

    def _check_places(self, corpora: list[EncodedCorpus], key: str, advice: str) -> None:
        """Refuse what would end the training at its longest sentence, be it hours later."""
        for number, corpus in enumerate(corpora):
            for side, (name, most) in enumerate(zip(SIDES, self.config.model.places, strict=True)):
                if most is not None and (longest := corpus.longest(side)) >= most:
                    raise ConfigError(
                        f"model.max_positions = {most} leaves no room for {key}.{number} with a {name} of {longest} "
                        f"pieces and EOS. Raise it to at least {longest + 1}, or {advice}."
                    )

    def fingerprints(self) -> dict[str, str]:
        """Digests of the corpora and vocabularies."""
        corpora = (("data.train", self._train), ("data.validation", self._validation))
        prints = {
            f"{key}.{number}, the corpus": corpus.content_hash()
            for key, several in corpora
            for number, corpus in enumerate(several)
        }
        given = given_vocabularies(self.config.vocabulary) or self.vocabularies
        for side, used, now in zip(("source", "target"), self.vocabularies, given, strict=True):
            prints[f"the {side} vocabulary"] = used.fingerprint()
            prints[f"vocabulary.{side}_file"] = now.fingerprint()
        return prints

    def save(self, run: Path) -> None:
        """Write the vocabularies."""
        store_vocabularies(self.vocabularies, run, self.config.vocabulary)

    def build_model(self, generator: torch.Generator) -> TranslationModel:
        """The model of the settings, for these vocabularies."""
        source, target = map(len, self.vocabularies)
        shared = self.config.vocabulary.shared
        model = build_model(self.config.model, source, target, shared=shared, generator=generator)
        if self.config.model.self_critical:
            model.critic = TranslationCritic(self.vocabularies.target, self.config.model.self_critical)
        return model

    def validate(self, model: TranslationModel, device: torch.device) -> Validation:
        """Loss in nats a piece, and BLEU (13a, cased) of the translations of the validation corpus."""
        nll, tokens = 0.0, 0
        found = [""] * len(self.held_out)
        order = Order(examples=self.held_out, batch_tokens=self.config.training.batch_tokens, seed=0)
        for share in order.shares():
            batch = self.held_out.batch(share.rows).to(device)
            loss = model(batch)
            nll, tokens = nll + float(loss.nll), tokens + int(loss.tokens)
            for row, hypotheses in zip(share.rows, self._search(model, batch, share.rows), strict=True):
                found[row] = self.vocabularies.target.decode(hypotheses[0].tokens)
        references = references_of(self._texts, lowercase=self.config.vocabulary.lowercase)
        bleu = BLEU().corpus_score(found, [references])
        samples = [
            {"source": pair.source, "reference": pair.target, "model": text}
            for pair, text in zip(self._texts[: self.config.validation.samples], found, strict=False)
        ]
        return Validation({"loss": nll / tokens, "bleu": bleu.score}, samples)

    def _search(self, model: TranslationModel, batch: Batch, rows: Rows) -> list[list[Hypothesis]]:
        """As a Translator searches, with the beam of the settings."""
        sources = zip(rows, batch.source.tolist(), batch.source_lengths.tolist(), strict=True)
        sentences = [Sentence(self._texts[row].source, ids[: length - 1]) for row, ids, length in sources]
        return best_hypotheses(model, sentences, replace(TRANSLATION, beam=self.config.validation.beam))

    @cached_property
    def _texts(self) -> list[Pair]:
        """The validation pairs as they are in their files, row for row with ``held_out``."""
        source, target = self.vocabularies
        pairs = (pair for corpus in self._validation for pair in corpus)
        return [pair for pair in pairs if source.clean(pair.source) and target.clean(pair.target)]
