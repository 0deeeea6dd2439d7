"""Models of the shape that the server serves, which answer at once and always alike.

A sentence is translated to its words in capitals and in reverse, each looking at the word it came from and needing it
alone; a word that is hidden from the attention is written as "?". A caption is always the same five words, which look
along the diagonal of the photograph; a word whose place is hidden is written as "thing".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from PIL import Image

from regard.captioning.photos import open_photo
from regard.errors import UnknownName
from regard.explorer.limits import PHOTO_PIXELS
from regard.explorer.models import Card, Model
from regard.show.data import photo_data, watched_data
from regard.translation.results import Translation
from regard.translation.watched import DecoderStep, Pieces, Watched


class Capitals:
    """A translator; ``heads`` gives it two heads in each of two layers."""

    def __init__(self, name: str, attention: str, *, heads: bool = False) -> None:
        self.card = Card(name, "translate", attention, f"writes capitals in reverse, {attention}")
        self.heads = heads

    def load(self) -> None:
        pass

    def answer(
        self,
        given: Any,
        beam: int,  # noqa: ARG002 - one answer whatever the beam
        *,
        hide: Sequence[int] = (),
        hide_input: bool = False,
        needed: bool = False,
    ) -> dict[str, Any]:
        source = given.split()
        for word in hide:
            if word >= len(source):
                raise UnknownName(f"there is no source word {word} to hide; the words are {source}")
        if hide_input:
            source, hide = [word for number, word in enumerate(source) if number not in hide], ()
        target = ["?" if number in hide else word.upper() for number, word in enumerate(source)][::-1]
        scores = 4.0 * np.eye(len(source))[::-1]
        scores[:, [*hide]] = -np.inf
        weights = np.exp(scores) / np.exp(scores).sum(-1, keepdims=True)
        shown = None if self.card.attention == "none" else weights
        needs = np.where(np.eye(len(source))[::-1] > 0, 2.5, -0.25)
        needs[:, [*hide]] = 0
        found = Translation(
            given, " ".join(target), source, target, shown, -0.5, -1.5, True, measure_needed=lambda: needs
        )
        contexts = np.sin(np.arange(80) * (1 + np.arange(len(target))[:, None]))
        has_scores = shown is not None and not self.heads
        looks = [
            DecoderStep(word, scores[i] if has_scores else None, None if shown is None else weights[i], contexts[i])
            for i, word in enumerate(target)
        ]
        turned = {
            f"layer {layer}, head {head}": np.roll(weights, 2 * layer + head, 1) for layer in (1, 2) for head in (1, 2)
        }
        pieces = Pieces(
            [*(f"\u2581{word}" for word in source), "</s>"],
            [f"\u2581{word}" for word in target],
            None if shown is None else np.pad(weights, ((0, 0), (0, 1))),
        )
        return watched_data(Watched(found, looks, turned if self.heads else {}, pieces), needed=needed)


@dataclass(frozen=True)
class Captioned:
    """A caption of the shape that a captioner gives."""

    text: str
    words: list[str]
    weights: np.ndarray
    hard: bool
    photo: Image.Image
    score: float = -2.0

    def needed(self) -> np.ndarray:
        return self.weights * 3 - 0.1


class Diagonal:
    """A captioner with a grid of ``side`` x ``side`` cells."""

    words = ("a", "dog", "runs", "on", "grass")

    def __init__(self, name: str, attention: str, side: int = 7) -> None:
        self.card = Card(name, "caption", attention, f"looks along the diagonal, {attention}")
        self.side = side

    def load(self) -> None:
        pass

    def answer(
        self,
        given: Any,
        beam: int,  # noqa: ARG002 - one answer whatever the beam
        *,
        hide: Sequence[tuple[int, int]] = (),
        hide_input: bool = False,
        needed: bool = False,
    ) -> dict[str, Any]:
        picture = open_photo(given, most_pixels=PHOTO_PIXELS)
        hard = self.card.attention == "hard"
        places = np.arange(self.side)
        seen = np.ones((self.side, self.side))
        for cell in hide:
            if max(cell) >= self.side:
                raise UnknownName(f"there is no cell {cell} to hide; rows go from 0 to {self.side - 1}")
            seen[cell] = 0
        if hide_input:
            picture = picture.convert("L").convert("RGB")
        weights = np.zeros((5, self.side, self.side))
        for n, grid in enumerate(weights):
            at = (n + 1) * self.side // 7
            away = (places[:, None] - at) ** 2 + (places - at) ** 2
            grid[:] = (away == 0 if hard else np.exp(-away / 2)) * seen
            grid /= grid.sum() or 1
        words = [
            word if seen[at, at] else "thing"
            for at, word in zip((self.side * (n + 1) // 7 for n in range(5)), self.words, strict=True)
        ]
        return photo_data(Captioned(" ".join(words), words, weights, hard, picture), needed=needed)


MODELS: list[Model] = [
    Capitals("capitals", "additive"),
    Capitals("capitals-dot", "dot"),
    Capitals("capitals-none", "none"),
    Capitals("capitals-heads", "transformer", heads=True),
    Diagonal("diagonal-soft", "soft"),
    Diagonal("diagonal-hard", "hard"),
]
