"""The captioner: photographs in, captions with their attention out."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, overload

import numpy as np
import torch
from PIL import Image

from regard import pretrained
from regard.captioning.backbones import Backbone, load_backbone
from regard.captioning.config import CaptionConfig
from regard.captioning.model import CaptionModel
from regard.captioning.photos import Source, open_photo
from regard.captioning.results import Caption
from regard.captioning.task import ALPHA, LONGEST, model_for, stored_vocabulary, write
from regard.decoding import Hypothesis
from regard.errors import CheckpointError
from regard.training.config import load_config
from regard.training.weights import load_weights
from regard.translation.vocabulary import Vocabulary

BATCH = 16
SHOWN = 480  # pixels of the longer side of what a caption keeps of its photograph


class Captioner:
    """A trained model, its vocabulary and its backbone.

    >>> captioner = regard.Captioner.load("runs/caption")  # doctest: +SKIP
    >>> captioner.caption("photo.jpg").text  # doctest: +SKIP
    'a brown dog runs through the snow'
    """

    def __init__(self, model: CaptionModel, vocabulary: Vocabulary, backbone: Backbone, config: CaptionConfig) -> None:
        self.model, self.vocabulary, self.backbone, self.config = model.eval(), vocabulary, backbone, config

    @classmethod
    def load(cls, model: str | os.PathLike[str]) -> Captioner:
        """The model of a run directory, or one that ships with the package by its name."""
        directory = pretrained.find(model)
        config = load_config(directory / "config.toml")
        if not isinstance(config, CaptionConfig):
            raise CheckpointError(f"{directory} is a run of task = {config.task!r}; a captioner needs 'caption'.")
        vocabulary = stored_vocabulary(directory, config.vocabulary)
        backbone = load_backbone(config.data.backbone)
        built = model_for(config, backbone, vocabulary, torch.Generator().manual_seed(0))
        load_weights(built, pretrained.weights_file(directory))
        return cls(built, vocabulary, backbone, config)

    @overload
    def caption(
        self,
        image: Source,
        *,
        beam: int = 5,
        n_best: int = 1,
        alpha: float = ALPHA,
        max_length: int = LONGEST,
        generator: torch.Generator | None = None,
    ) -> Caption: ...
    @overload
    def caption(
        self,
        image: list[Source],
        *,
        beam: int = 5,
        n_best: int = 1,
        alpha: float = ALPHA,
        max_length: int = LONGEST,
        generator: torch.Generator | None = None,
    ) -> list[Caption]: ...
    def caption(
        self,
        image: Source | list[Source],
        *,
        beam: int = 5,
        n_best: int = 1,
        alpha: float = ALPHA,
        max_length: int = LONGEST,
        generator: torch.Generator | None = None,
    ) -> Caption | list[Caption]:
        """Describe a photograph (a path, bytes, a PIL image, an array (h, w, 3) of uint8), or each of several.

        ``alpha`` weighs the length penalty (0: none), ``n_best`` keeps that many as ``alternatives``, ``max_length``
        limits the words, the end included. Hard attention takes the best cell, or with a ``generator`` draws one.
        """
        images = image if isinstance(image, list) else [image]
        found = list(
            self.stream(images, beam=beam, n_best=n_best, alpha=alpha, max_length=max_length, generator=generator)
        )
        return found if isinstance(image, list) else found[0]

    def stream(
        self,
        images: Iterable[Source],
        *,
        beam: int = 5,
        n_best: int = 1,
        alpha: float = ALPHA,
        max_length: int = LONGEST,
        generator: torch.Generator | None = None,
        batch: int = BATCH,
    ) -> Iterator[Caption]:
        """Captions in the order of the photographs, of which only ``batch`` are read ahead."""
        rest = iter(images)
        while several := list(islice(rest, batch)):
            photos = [open_photo(image) for image in several]
            yield from self.describe(
                several,
                photos,
                self.see(photos),
                beam=beam,
                n_best=n_best,
                alpha=alpha,
                longest=max_length,
                generator=generator,
            )

    def see(self, photos: Sequence[Image.Image]) -> torch.Tensor:
        """Photographs as the model takes them: the features of their cells, or pixels for a CNN of its own."""
        prepared = torch.stack([self.backbone.prepare(photo) for photo in photos])
        return prepared if self.backbone.trainable else self.backbone.grid(prepared).flatten(1, 2)

    def describe(
        self, images: Sequence[Source], photos: Sequence[Image.Image], seen: torch.Tensor, **search: Any
    ) -> Iterator[Caption]:
        """Captions of photographs that were read and seen; ``search`` as `regard.captioning.task.write` takes it."""
        found = write(self.model, seen, **search)
        for image, photo, hypotheses in zip(images, photos, found, strict=True):
            yield self._caption(image, photo, hypotheses)

    def _caption(self, image: Source, photo: Image.Image, hypotheses: list[Hypothesis]) -> Caption:
        name = os.fspath(image) if isinstance(image, str | os.PathLike) else None
        shown = photo.copy()
        shown.thumbnail((SHOWN, SHOWN))
        best, *others = (self._one(name, shown, hypothesis) for hypothesis in hypotheses)
        best.alternatives.extend(others)
        return best

    def _one(self, name: str | None, photo: Image.Image, found: Hypothesis) -> Caption:
        words = self.vocabulary.words(found.words)
        grid = self.model.grid
        looks = np.asarray(found.weights, dtype=np.float64)
        by_word = [looks[word.start : word.stop].mean(0) for word in words]
        return Caption(
            image=name,
            text=self.vocabulary.decode(found.words),
            words=[word.text for word in words],
            weights=np.reshape(by_word, (len(words), grid.rows, grid.columns)),
            score=found.score,
            log_prob=found.log_prob,
            finished=found.finished,
            hard=self.config.model.attention == "hard",
            photo=photo,
        )
