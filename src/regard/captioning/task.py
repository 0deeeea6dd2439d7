"""The task of captioning for the training loop: photographs, vocabulary, model, validation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from regard.captioning.backbones import load_backbone
from regard.captioning.batches import Captions
from regard.captioning.config import CaptionConfig
from regard.captioning.corpus import CaptionCorpus, Example
from regard.captioning.critic import CaptionCritic
from regard.captioning.encoded import EncodedCaptions, encode_captions
from regard.captioning.features import Features, features_of
from regard.captioning.metrics import caption_scores
from regard.captioning.model import CaptionModel, model_for
from regard.captioning.mosaic import Varied
from regard.captioning.search import best_hypotheses
from regard.captioning.vocabulary import (
    later_content_words,
    learned_vocabulary,
    store_vocabulary,
    stored_vocabulary,
)
from regard.errors import ConfigError
from regard.search_options import CAPTIONING
from regard.text.vocabulary import Vocabulary
from regard.training.order import Order
from regard.training.task import Validation

BATCH = 64


class CaptionTask:
    """Learning to describe pictures from captions that people wrote."""

    def __init__(self, config: CaptionConfig) -> None:
        self.config = config
        self._train, self._validation = (
            [CaptionCorpus(corpus.path, images=corpus.images, on_bad=config.data.on_bad) for corpus in corpora]
            for corpora in (config.data.train, config.data.validation)
        )
        self.backbone = load_backbone(config.data.backbone)
        self._photographs: dict[str, str] = {}
        self.vocabulary: Vocabulary
        self.examples: Captions
        self.held_out: EncodedCaptions

    def prepare(self, run: Path, *, begun: bool, threads: int, report: Callable[[str], None]) -> None:  # noqa: ARG002
        """Learn or load the vocabulary, make the features; each is found made if it was made before."""
        data = self.config.data
        cache = Path(data.cache) if data.cache else run / "cache"
        train, held_out = ([e for corpus in corpora for e in corpus] for corpora in (self._train, self._validation))
        if begun:
            self.vocabulary = stored_vocabulary(run, self.config.vocabulary)
        else:
            captions = (caption for example in train for caption in example.captions)
            self.vocabulary = learned_vocabulary(captions, self.config.vocabulary)

        def seen(examples: list[Example]) -> Features:
            paths = [example.image for example in examples]
            return features_of(paths, self.backbone, cache, report=report, on_bad=data.on_bad)

        def encoded(examples: list[Example], features: Features, max_words: int) -> EncodedCaptions:
            return encode_captions(examples, features, self.vocabulary, self.config.vocabulary, max_words)

        of_train, of_held_out = seen(train), seen(held_out)
        # Runs from before mirrored the photographs themselves: they are refused, as they saw other pictures.
        how = "mirrored by cells " if data.mirror else ""
        self._photographs = {
            "data.train": how + of_train.fingerprint(),
            "data.validation": of_held_out.fingerprint(),
        }
        self.examples = encoded(train, of_train, data.max_words).captions
        if data.mirror or data.mosaic:
            self.examples.pictures = self._varied(train, of_train, cache, report)
        if self.config.model.taught:
            self.examples.content = [later_content_words(self.vocabulary, ids) for ids in self.examples.ids]
        self.held_out = encoded(held_out, of_held_out, 0)  # a test leaves nothing out

    def _varied(self, train: list[Example], features: Features, cache: Path, report: Callable[[str], None]) -> Varied:
        """The training photographs, mirrored at random and in mosaics, as the settings say."""
        data, quarters = self.config.data, None
        if data.mosaic:
            small = getattr(self.backbone, "of_half_the_side", None)
            if small is None or self.backbone.rows % 2:
                raise ConfigError(
                    f"data.mosaic = {data.mosaic} joins four grids to one, and {data.backbone} has "
                    f'{self.backbone.rows} x {self.backbone.columns} cells: use backbone = "efficientnet-lite0-448"'
                )
            report("the photographs as quarters of mosaics:")
            paths = [example.image for example in train]
            quarters = features_of(paths, small(), cache, report=report, on_bad=data.on_bad)
        return Varied(
            features,
            (self.backbone.rows, self.backbone.columns),
            mirror=data.mirror,
            share=data.mosaic,
            quarters=quarters,
            usable=np.flatnonzero(features.good),
            seed=self.config.training.seed,
        )

    def fingerprints(self) -> dict[str, str]:
        """Digests of the corpora, the photographs, the vocabulary and the backbone."""
        corpora = (("data.train", self._train), ("data.validation", self._validation))
        prints = {
            f"{key}.{number}, the corpus": corpus.content_hash()
            for key, several in corpora
            for number, corpus in enumerate(several)
        }
        prints |= {f"{key}, a photograph": print_ for key, print_ in self._photographs.items()}
        return {**prints, "the vocabulary": self.vocabulary.fingerprint(), "the backbone": self.backbone.identity}

    def save(self, run: Path) -> None:
        """Write the vocabulary."""
        store_vocabulary(self.vocabulary, run)

    def build_model(self, generator: torch.Generator) -> CaptionModel:
        """The model of the settings, for this backbone and vocabulary."""
        model = model_for(self.config.model, self.backbone, len(self.vocabulary), generator)
        if self.config.model.self_critical:
            model.critic = CaptionCritic(self.examples.by_picture, self.config.model.self_critical)
        return model

    def validate(self, model: CaptionModel, device: torch.device) -> Validation:
        """Loss in nats a word, and BLEU-4 (as for COCO) of the captions of the validation photographs."""
        references, captions = self.held_out
        nll, words = 0.0, 0
        for share in Order(examples=captions, batch_tokens=self.config.training.batch_tokens, seed=0).shares():
            loss = model(captions.batch(share.rows).to(device))
            nll, words = nll + float(loss.nll), words + int(loss.tokens)
        seen = np.flatnonzero([bool(several) for several in references])
        options = replace(CAPTIONING, beam=self.config.validation.beam)
        found = [
            self.vocabulary.decode(hypotheses[0].tokens)
            for start in range(0, len(seen), BATCH)
            for hypotheses in best_hypotheses(
                model, captions.pictures.rows(seen[start : start + BATCH]).to(device), options
            )
        ]
        known = [references[number] for number in seen]
        scores = caption_scores(found, known)
        samples = [
            {"reference": several[0], "model": text}
            for several, text in zip(known[: self.config.validation.samples], found, strict=False)
        ]
        metrics = {"loss": nll / words, "bleu": scores["bleu4"], "bleu1": scores["bleu1"], "cider_d": scores["cider_d"]}
        return Validation(metrics, samples)
