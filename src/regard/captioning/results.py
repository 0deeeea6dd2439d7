"""The results of a captioner: captions with their attention weights."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from regard.displayable import DisplayableWithNeeds
from regard.errors import InputError, choose


@dataclass(frozen=True)
class Caption(DisplayableWithNeeds):
    """A photograph, its caption, and the attention of each word over the cells of the photograph."""

    image: str | None
    """the photograph's path; None where it came as an array, bytes or a PIL image"""
    text: str
    """the caption"""
    words: list[str]
    """its words, one for each map of the weights"""
    weights: NDArray[np.float64]
    """(words, rows, columns): what is in row r and column c is seen by cell (r, c); sums to 1 for each word"""
    score: float
    """log-probability, divided by the length penalty: what the search ranked it by"""
    log_prob: float
    """log-probability of the caption, its end included"""
    finished: bool
    """False when max_length was reached before EOS"""
    hard: bool
    """whether the model has hard attention: one cell for each word"""
    photo: Image.Image = field(repr=False, compare=False)
    """the photograph, upright, at most `regard.captioning.captioner.SHOWN` pixels long"""
    alternatives: list[Caption] = field(default_factory=list)
    """the next best, when more than one was asked for"""
    measure_needed: Callable[[int | None], NDArray[np.float64]] | None = field(default=None, repr=False, compare=False)
    """what `needed` asks the model that wrote it"""

    def needed(self, *, block: int | None = None) -> NDArray[np.float64]:
        """What it needed, beside where it looked: (words, rows, columns) in nats.

        The log-probability that each written word loses when the attention may not see a block of ``block`` x ``block``
        cells (None: as large as leaves at most 7 x 7 blocks); below 0 where the word becomes likelier. The first state
        knows the mean of all cells, so a cell can matter and cost little here.
        """
        if self.measure_needed is None:
            raise InputError("this caption has no model behind it to ask; take one that Captioner.caption gave")
        if block is not None and (not isinstance(block, int) or block < 1):
            raise InputError(f"block is a number of cells each way, 1 or more; it is {block!r}")
        return self.measure_needed(block)

    def plot(self, path: str | os.PathLike[str], *, by: Literal["weights", "needed"] = "weights") -> Path:
        """The photograph once for each word (.png, .svg, .pdf), lit where its weights are.

        ``by="needed"`` lights what each word loses by when it is hidden, instead of the weights.
        """
        from regard.show.photo_figures import plot_caption

        if not self.words:
            raise InputError("there are no words to draw")
        if choose("kind of map", by, {"weights": False, "needed": True}):
            return plot_caption(self.photo, self.words, self.needed().clip(min=0), path)
        return plot_caption(self.photo, self.words, self.weights, path, hard=self.hard)

    def to_json(self) -> dict[str, Any]:
        """What ``regard caption --json`` prints."""
        shown: dict[str, Any] = {
            "image": self.image,
            "caption": self.text,
            "words": self.words,
            "weights": self.weights.round(6).tolist(),
            "score": self.score,
        }
        if self.alternatives:
            shown["alternatives"] = [{"caption": other.text, "score": other.score} for other in self.alternatives]
        return shown
