"""Models of the shape that the server serves, which answer at once and always alike.

A sentence is translated to its words in capitals and in reverse, each looking at the word it came from; a caption is
always the same five words, which look along the diagonal of the photograph.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from PIL import Image

from regard.captioning.photos import open_photo
from regard.explorer.limits import PHOTO_PIXELS
from regard.explorer.models import Card
from regard.show.data import photo_data, watched_data
from regard.translation.results import Translation
from regard.translation.watched import Look, Watched


class Capitals:
    """A translator; ``heads`` gives it two heads in each of two layers."""

    def __init__(self, name: str, attention: str, *, heads: bool = False) -> None:
        self.card = Card(name, "translate", attention, f"writes capitals in reverse, {attention}")
        self.heads = heads

    def load(self) -> None:
        pass

    def answer(self, given: Any, beam: int) -> dict[str, Any]:  # noqa: ARG002 - one answer whatever the beam
        source = given.split()
        target = [word.upper() for word in reversed(source)]
        scores = 4.0 * np.eye(len(source))[::-1]
        weights = np.exp(scores) / np.exp(scores).sum(-1, keepdims=True)
        shown = None if self.card.attention == "none" else weights
        found = Translation(given, " ".join(target), source, target, shown, -0.5, -1.5, True)
        contexts = np.sin(np.arange(80) * (1 + np.arange(len(target))[:, None]))
        has_scores = shown is not None and not self.heads
        looks = [
            Look(word, scores[i] if has_scores else None, None if shown is None else weights[i], contexts[i])
            for i, word in enumerate(target)
        ]
        turned = {
            f"layer {layer}, head {head}": np.roll(weights, 2 * layer + head, 1) for layer in (1, 2) for head in (1, 2)
        }
        return watched_data(Watched(found, looks, turned if self.heads else {}))


@dataclass(frozen=True)
class Captioned:
    """A caption of the shape that a captioner gives."""

    text: str
    words: list[str]
    weights: np.ndarray
    hard: bool
    photo: Image.Image
    score: float = -2.0


class Diagonal:
    """A captioner."""

    words = ("a", "dog", "runs", "on", "grass")

    def __init__(self, name: str, attention: str) -> None:
        self.card = Card(name, "caption", attention, f"looks along the diagonal, {attention}")

    def load(self) -> None:
        pass

    def answer(self, given: Any, beam: int) -> dict[str, Any]:  # noqa: ARG002 - one answer whatever the beam
        picture = open_photo(given, most_pixels=PHOTO_PIXELS)
        hard = self.card.attention == "hard"
        places = np.arange(7)
        weights = np.zeros((5, 7, 7))
        for n, grid in enumerate(weights):
            away = (places[:, None] - n - 1) ** 2 + (places - n - 1) ** 2
            grid[:] = away == 0 if hard else np.exp(-away / 2) / np.exp(-away / 2).sum()
        return photo_data(Captioned(" ".join(self.words), list(self.words), weights, hard, picture))


MODELS = [
    Capitals("capitals", "additive"),
    Capitals("capitals-dot", "dot"),
    Capitals("capitals-none", "none"),
    Capitals("capitals-heads", "transformer", heads=True),
    Diagonal("diagonal-soft", "soft"),
    Diagonal("diagonal-hard", "hard"),
]
