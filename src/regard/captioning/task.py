"""Captioning as the training loop sees it: photographs, vocabulary, model, validation."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import nn

from regard.captioning.backbones import Backbone, load_backbone
from regard.captioning.batches import Captions
from regard.captioning.config import CaptionConfig, CaptionVocabularyConfig
from regard.captioning.corpus import CaptionCorpus, Example
from regard.captioning.critic import CaptionCritic
from regard.captioning.evaluation import caption_scores
from regard.captioning.features import Features, features_of
from regard.captioning.model import CaptionModel, Grid, build_model
from regard.captioning.wording import plain
from regard.decoding import Hypothesis, search
from regard.errors import DataError, InputError
from regard.files import write_bytes
from regard.normalizers import Sampled
from regard.training.order import Order
from regard.training.task import Validation
from regard.translation.vocabulary import Vocabulary

BATCH = 64
LONGEST = 40  # words of a caption
ALPHA = 1.3  # weight of the length penalty: a little longer than likely, captions say more of what people said
_VOCABULARY = "vocabulary.model"


class Described(NamedTuple):
    """Pictures with their captions in words, and the same as numbers to train on or to measure the loss by."""

    references: list[list[str]]
    """by picture; those that could not be read have none"""
    captions: Captions


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
        self.held_out: Described

    def prepare(self, run: Path, *, begun: bool, threads: int, report: Callable[[str], None]) -> None:  # noqa: ARG002
        """Learn or load the vocabulary, make the features; each is found made if it was made before."""
        data = self.config.data
        cache = Path(data.cache) if data.cache else run / "cache"
        train, held_out = ([e for corpus in corpora for e in corpus] for corpora in (self._train, self._validation))
        if begun:
            self.vocabulary = stored_vocabulary(run, self.config.vocabulary)
        else:
            captions = (caption for example in train for caption in example.captions)
            self.vocabulary = Vocabulary.learn(wording(captions, self.config.vocabulary), self.config.vocabulary)

        def seen(examples: list[Example], *, mirrored: bool = False) -> Features:
            paths = [example.image for example in examples]
            return features_of(paths, self.backbone, cache, report=report, on_bad=data.on_bad, mirrored=mirrored)

        def described(examples: list[Example], features: Features, max_words: int) -> Described:
            return describe(examples, features, self.vocabulary, self.config.vocabulary, max_words)

        of_train, of_held_out = seen(train), seen(held_out)
        self._photographs = {
            "data.train": of_train.fingerprint(),
            "data.validation": of_held_out.fingerprint(),
        }
        if data.mirror:
            report("the photographs' mirror images:")
            readable = [train[number] for number in np.flatnonzero(of_train.good)]
            train, of_train = [*train, *readable], of_train + seen(readable, mirrored=True)
        self.examples = described(train, of_train, data.max_words).captions
        self.held_out = described(held_out, of_held_out, 0)  # a test leaves nothing out

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
        write_bytes(run / _VOCABULARY, self.vocabulary.model)

    def build_model(self, generator: torch.Generator) -> CaptionModel:
        """The model of the settings, for this backbone and vocabulary."""
        model = model_for(self.config, self.backbone, self.vocabulary, generator)
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
        found = [
            self.vocabulary.decode(hypotheses[0].words)
            for start in range(0, len(seen), BATCH)
            for hypotheses in write(
                model,
                captions.pictures.rows(seen[start : start + BATCH]).to(device),
                beam=self.config.validation.beam,
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


def wording(captions: Iterable[str], config: CaptionVocabularyConfig) -> list[str]:
    """Captions as the vocabulary takes them."""
    return [plain(caption) if config.plain else caption for caption in captions]


def describe(
    examples: Sequence[Example],
    features: Features,
    vocabulary: Vocabulary,
    config: CaptionVocabularyConfig,
    max_words: int,
) -> Described:
    """The examples whose photographs could be read, with captions as numbers; those too long or empty left out."""
    references = [list(example.captions) if good else [] for example, good in zip(examples, features.good, strict=True)]
    encoded = [
        [ids for ids in vocabulary.encode(wording(several, config)) if ids and len(ids) <= (max_words or len(ids))]
        for several in references
    ]
    if not any(encoded):
        raise DataError(
            "there is no caption to use: each is empty or too long, or of a photograph that cannot be read."
        )
    return Described(references, Captions(features, encoded))


def stored_vocabulary(run: Path, config: CaptionVocabularyConfig) -> Vocabulary:
    """That of a run directory."""
    return Vocabulary.load(run / _VOCABULARY, lowercase=config.lowercase, normalization=config.normalization)


def model_for(
    config: CaptionConfig, backbone: Backbone, vocabulary: Vocabulary, generator: torch.Generator
) -> CaptionModel:
    """The model of the settings."""
    grid = Grid(backbone.rows, backbone.columns, backbone.dim)
    cnn = backbone if backbone.trainable else None
    assert cnn is None or isinstance(cnn, nn.Module)
    return build_model(config.model, grid, len(vocabulary), cnn=cnn, generator=generator)


def write(
    model: CaptionModel,
    pictures: torch.Tensor,
    *,
    beam: int = 5,
    alpha: float = ALPHA,
    n_best: int = 1,
    longest: int = LONGEST,
    generator: torch.Generator | None = None,
) -> list[list[Hypothesis]]:
    """The best captions of each picture; with a ``generator``, hard attention draws its cells."""
    if generator is not None and model.config.attention != "hard":
        raise InputError(f'cells are drawn by models with attention = "hard"; this one has {model.config.attention!r}')
    with torch.inference_mode():
        state = model.start(pictures, None if generator is None else Sampled(generator))
        limits = [longest] * len(pictures)
        return search(model, state, limits, beam=beam, alpha=alpha, n_best=n_best, forbid=model.never)
