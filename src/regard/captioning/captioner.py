"""The captioner: photographs in, captions with their attention out."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import NamedTuple, Unpack, overload

import numpy as np
import torch
from PIL import Image

from regard.captioning.backbones import Backbone, load_backbone
from regard.captioning.config import CaptionConfig
from regard.captioning.corpus import CaptionCorpus, Example
from regard.captioning.hidden import Hide, covered, hidden_cells, needed_cells
from regard.captioning.model import CaptionModel, model_for
from regard.captioning.photos import Source, open_photo
from regard.captioning.results import Caption
from regard.captioning.search import best_hypotheses, model_inputs
from regard.captioning.vocabulary import stored_vocabulary
from regard.decoding import Hypothesis
from regard.errors import CheckpointError
from regard.search_options import CAPTIONING, SearchKeywords, SearchOptions
from regard.text.faithfulness import Faithfulness, Report, silent
from regard.text.vocabulary import Vocabulary
from regard.training import runs
from regard.training.config import load_config
from regard.training.weights import load_weights, sizes_of

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
        directory = runs.find(model)
        config = load_config(directory / "config.toml")
        if not isinstance(config, CaptionConfig):
            raise CheckpointError(f"{directory} is a run of task = {config.task!r}; a captioner needs 'caption'.")
        vocabulary = stored_vocabulary(directory, config.vocabulary)
        backbone = load_backbone(config.data.backbone)
        weights = runs.weights_file(directory)
        with sizes_of(weights):
            built = model_for(config.model, backbone, len(vocabulary), torch.Generator().manual_seed(0))
        load_weights(built, weights)
        return cls(built, vocabulary, backbone, config)

    @overload
    def caption(
        self,
        image: Source,
        *,
        generator: torch.Generator | None = None,
        hide: Hide = (),
        hide_input: bool = False,
        **options: Unpack[SearchKeywords],
    ) -> Caption: ...
    @overload
    def caption(
        self,
        image: list[Source],
        *,
        generator: torch.Generator | None = None,
        hide: Hide = (),
        hide_input: bool = False,
        **options: Unpack[SearchKeywords],
    ) -> list[Caption]: ...
    def caption(
        self,
        image: Source | list[Source],
        *,
        beam: int = CAPTIONING.beam,
        n_best: int = CAPTIONING.n_best,
        alpha: float = CAPTIONING.alpha,
        max_length: int | None = CAPTIONING.max_length,
        generator: torch.Generator | None = None,
        hide: Hide = (),
        hide_input: bool = False,
    ) -> Caption | list[Caption]:
        """Describe a photograph (a path, bytes, a PIL image, an array (h, w, 3) of uint8), or each of several.

        ``alpha`` weighs the length penalty (0: none), ``n_best`` keeps that many as ``alternatives``, ``max_length``
        limits the words, the end included. Hard attention takes the best cell, or with a ``generator`` samples one.

        ``hide`` names cells (row, column) that the attention may not see. The first state is still predicted from the
        mean of all cells, and each cell's features see beyond its borders; ``hide_input=True`` makes the cells grey in
        the photograph itself, so that nothing in the model has seen them.
        """
        images = image if isinstance(image, list) else [image]
        options = SearchOptions(beam, n_best, alpha, max_length)
        found = list(self._stream(images, options, generator, BATCH, _Hidden(hide, hide_input)))
        return found if isinstance(image, list) else found[0]

    def stream(
        self,
        images: Iterable[Source],
        *,
        generator: torch.Generator | None = None,
        batch: int = BATCH,
        hide: Hide = (),
        hide_input: bool = False,
        **options: Unpack[SearchKeywords],
    ) -> Iterator[Caption]:
        """Captions in the order of the photographs, ``batch`` of which are read ahead; options as for `caption`."""
        return self._stream(images, replace(CAPTIONING, **options), generator, batch, _Hidden(hide, hide_input))

    def _stream(
        self,
        images: Iterable[Source],
        options: SearchOptions,
        generator: torch.Generator | None,
        batch: int,
        hide: _Hidden,
    ) -> Iterator[Caption]:
        rest, hidden = iter(images), hidden_cells(self.model.grid, hide.cells) if hide.cells else None
        while several := list(islice(rest, batch)):
            photos = [open_photo(image) for image in several]
            if hidden is not None and hide.from_input:
                photos = [covered(photo, hidden, self.model.grid) for photo in photos]
            pictures = model_inputs(self.backbone, photos)
            unseen = None if hide.from_input else hidden
            found = best_hypotheses(self.model, pictures, options, generator=generator, hidden=unseen)
            yield from captions_of(self, several, photos, pictures, found, unseen)

    def faithfulness(
        self,
        data: str | os.PathLike[str] | Sequence[Example],
        *,
        seed: int = 0,
        report: Report | None = None,
    ) -> Faithfulness:
        """Does the attention matter? On photographs with captions: a corpus, or its examples.

        Measured on the first caption of each of 200 photographs at most, spread evenly over the corpus. ``seed`` fixes
        what is drawn at random; ``report`` is told how many of how many are done.
        """
        from regard.captioning.faithfulness import captioner_faithfulness

        examples = list(CaptionCorpus(data)) if isinstance(data, str | os.PathLike) else data
        return captioner_faithfulness(self, examples, seed=seed, report=report or silent)


class _Hidden(NamedTuple):
    cells: Hide
    from_input: bool


def captions_of(
    captioner: Captioner,
    images: Sequence[Source],
    photos: Sequence[Image.Image],
    pictures: torch.Tensor,
    found: Sequence[list[Hypothesis]],
    hidden: torch.Tensor | None = None,
) -> Iterator[Caption]:
    """The captions of photographs, which came as ``images`` and are ``pictures`` to the model, by their hypotheses.

    ``hidden`` (cells,) is True at the cells that the attention could not see.
    """
    for image, photo, picture, hypotheses in zip(images, photos, pictures, found, strict=True):
        name = os.fspath(image) if isinstance(image, str | os.PathLike) else None
        shown = photo.copy()
        shown.thumbnail((SHOWN, SHOWN))
        best, *others = (_caption(captioner, name, shown, picture, hypothesis, hidden) for hypothesis in hypotheses)
        best.alternatives.extend(others)
        yield best


def _caption(
    captioner: Captioner,
    name: str | None,
    photo: Image.Image,
    picture: torch.Tensor,
    found: Hypothesis,
    hidden: torch.Tensor | None,
) -> Caption:
    words = captioner.vocabulary.words(found.tokens)
    grid = captioner.model.grid
    weights = np.asarray(found.weights, dtype=np.float64)
    by_word = [weights[word.start : word.stop].mean(0) for word in words]
    return Caption(
        image=name,
        text=captioner.vocabulary.decode(found.tokens),
        words=[word.text for word in words],
        weights=np.reshape(by_word, (len(words), grid.rows, grid.columns)),
        score=found.score,
        log_prob=found.log_prob,
        finished=found.finished,
        hard=captioner.config.model.attention == "hard",
        photo=photo,
        measure_needed=partial(needed_cells, captioner.model, picture[None], found.tokens, words, hidden),
    )
