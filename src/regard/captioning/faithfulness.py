"""Does a captioner's attention matter? On given captions: photographs as they are, and mosaics of four of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from PIL import Image
from torch import Tensor

from regard.captioning.corpus import Example
from regard.captioning.hidden import blocks_of
from regard.captioning.mosaic import QUARTERS, overlap, picture_of
from regard.captioning.photos import open_photo
from regard.captioning.search import model_inputs
from regard.captioning.vocabulary import later_content_words, normalized
from regard.errors import DataError
from regard.text.faithfulness import Estimate, Faithfulness, Report, Subject, estimate, measure, silent
from regard.text.interventions import uniform
from regard.text.padding import padded_targets
from regard.text.special_tokens import PAD

if TYPE_CHECKING:
    from regard.captioning.captioner import Captioner

PHOTOGRAPHS = 200
"""measured at most, spread evenly over the corpus"""
BATCH = 8


def captioner_faithfulness(
    captioner: Captioner,
    examples: Sequence[Example],
    *,
    seed: int = 0,
    report: Report = silent,
) -> Faithfulness:
    """The figures on the first caption of each photograph; of mosaics the attention in the right quarter too."""
    chosen = _spread(examples)
    count = len(chosen)
    found = measure(
        captioner.model, _subjects(captioner, chosen), seed=seed, report=lambda done: report(done, 2 * count)
    )
    mosaics = _mosaics(captioner, chosen, seed, lambda done: report(count + done, 2 * count))
    return replace(found, extra=mosaics)


def _spread(examples: Sequence[Example]) -> list[Example]:
    if len(examples) < QUARTERS:
        raise DataError(f"a mosaic takes {QUARTERS} photographs; there are {len(examples)} to measure on")
    places = np.linspace(0, len(examples) - 1, min(PHOTOGRAPHS, len(examples))).round().astype(int)
    return [examples[place] for place in places]


def _subjects(captioner: Captioner, examples: Sequence[Example]) -> Iterator[Subject]:
    grid = captioner.model.grid
    cells, blocks = torch.arange(grid.cells), blocks_of(grid)
    for start in range(0, len(examples), BATCH):
        several = examples[start : start + BATCH]
        state = _start(captioner, [open_photo(example.image) for example in several])
        target = _targets(captioner, several)
        yield Subject(state, target, cells.expand(len(several), -1), blocks.expand(len(several), -1))


def _start(captioner: Captioner, photos: Sequence[Image.Image]) -> Any:
    with torch.no_grad():
        return captioner.model.start(model_inputs(captioner.backbone, photos))


def _targets(captioner: Captioner, examples: Sequence[Example]) -> Tensor:
    first = [example.captions[0] for example in examples]
    target, _ = padded_targets(captioner.vocabulary.encode(normalized(first, captioner.config.vocabulary)))
    return target


class _Found(NamedTuple):
    """Sums over the content words of one caption after its first, in a mosaic."""

    words: int
    inside: float
    """weight in the quarter that the caption tells"""
    peaks: float
    """how much of the cells of most weight lies in that quarter"""
    tokens: int
    nll: float
    uniform_nll: float


def _mosaics(
    captioner: Captioner, examples: Sequence[Example], seed: int, report: Callable[[int], None]
) -> dict[str, Estimate]:
    """Attention in the right quarter, the peaks there, and what uniform weights cost on mosaics."""
    generator = np.random.default_rng(seed)
    found: list[_Found] = []
    for start in range(0, len(examples), BATCH):
        several = examples[start : start + BATCH]
        places = generator.integers(QUARTERS, size=len(several)).tolist()
        pictures = [_mosaic(examples, start + row, place, generator) for row, place in enumerate(places)]
        found += _found(captioner, pictures, places, several)
        report(len(found))
    rows = np.array(found, dtype=float).T
    words, inside, peaks, tokens, nll, uniform_nll = rows
    return {
        "mosaic: attention in the right quarter": estimate(inside, words),
        "mosaic: peak in the right quarter": estimate(peaks, words),
        "mosaic: uniform weights cost": estimate(uniform_nll - nll, tokens),
    }


def _mosaic(examples: Sequence[Example], described: int, place: int, generator: np.random.Generator) -> Image.Image:
    """A picture of four photographs, with number ``described`` in quarter ``place``."""
    others = generator.choice(np.delete(np.arange(len(examples)), described), QUARTERS - 1, replace=False).tolist()
    members = [*others[:place], described, *others[place:]]
    return picture_of([open_photo(examples[member].image) for member in members])


@torch.no_grad()
def _found(
    captioner: Captioner, pictures: Sequence[Image.Image], places: Sequence[int], examples: Sequence[Example]
) -> Iterator[_Found]:
    grid, state, target = captioner.model.grid, _start(captioner, pictures), _targets(captioner, examples)
    forced = captioner.model.force_from(state, target)
    even = captioner.model.force_from(state.normalized_by(uniform), target)
    assert forced.weights is not None
    for row, place in enumerate(places):
        content = later_content_words(captioner.vocabulary, target[row, 1:].tolist())
        right = torch.from_numpy(overlap(place, grid.rows, grid.columns)).flatten()
        weights = forced.weights[row, content].double()
        yield _Found(
            words=len(content),
            inside=float((weights @ right).sum()),
            peaks=float(right[weights.argmax(-1)].sum()),
            tokens=int((target[row, 1:] != PAD).sum()),
            nll=-float(forced.log_probs[row].sum()),
            uniform_nll=-float(even.log_probs[row].sum()),
        )
