"""What a captioner gives back: text, and where it looked for each word."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from regard.errors import InputError
from regard.shown import Shown


@dataclass(frozen=True)
class Caption(Shown):
    """A photograph, its caption, and where in the photograph the model looked for each word."""

    image: str | None
    """the photograph's path; None where it came as an array, bytes or a PIL image"""
    text: str
    words: list[str]
    weights: NDArray[np.float64]
    """(words, rows, columns): what is in row r and column c is seen by cell (r, c); sums to 1 for each word"""
    score: float
    """log-probability, divided by the length penalty: what the search ranked it by"""
    log_prob: float
    finished: bool
    """False when the longest allowed length came before the end"""
    hard: bool
    """whether the model looks at one cell at a time"""
    photo: Image.Image = field(repr=False, compare=False)
    """the photograph, upright, at most `regard.captioning.captioner.SHOWN` pixels long"""
    alternatives: list[Caption] = field(default_factory=list)
    """the next best, when more than one was asked for"""

    def plot(self, path: str | os.PathLike[str]) -> Path:
        """The photograph once for each word (.png, .svg, .pdf), lit where the model looked."""
        from regard.show.photos import plot_caption

        if not self.words:
            raise InputError("there are no words to draw")
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
