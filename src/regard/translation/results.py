"""The results of a translator: texts with their attention weights."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np

from regard.displayable import Displayable, DisplayableWithNeeds
from regard.errors import InputError, choose
from regard.text.words import Weights, without_end
from regard.translation.alignment import pharaoh


def weights_to_draw(result: Translation | Alignment) -> Weights:
    """The weights to draw; an error where there are none."""
    if result.weights is None:
        raise InputError("this model has no attention, so there is nothing to draw; train one with model.attention set")
    if not result.weights.size:
        raise InputError("there are no words to draw")
    return result.weights


def shown_by(result: Translation, by: str) -> Weights:
    """The numbers of a translation's map: its weights, or what each word needed, from 0 on."""
    needed: bool = choose("kind of map", by, {"weights": False, "needed": True})
    if needed and not result.target_words:
        raise InputError("there are no words to draw")
    return result.needed().clip(min=0) if needed else weights_to_draw(result)


def _plot(result: Translation | Alignment, path: str | os.PathLike[str], numbers: Weights) -> Path:
    from regard.show.figures import plot_map

    return plot_map(numbers, result.target_words, result.source_words, path)


def _show(result: Translation | Alignment, numbers: Weights) -> None:
    from rich.console import Console

    from regard.show.terminal import TerminalMap

    Console().print(TerminalMap(numbers, result.target_words, result.source_words))


@dataclass(frozen=True)
class Translation(DisplayableWithNeeds):
    """A sentence, its translation, and the attention of each target word over the source words."""

    source: str
    """the sentence as it came"""
    text: str
    """the translation"""
    source_words: list[str]
    """the columns of the weights"""
    target_words: list[str]
    """the rows of the weights"""
    weights: Weights | None
    """(target words, source words), rows sum to 1; None for a model without attention"""
    score: float
    """log-probability, divided by the length penalty: what the search ranked it by"""
    log_prob: float
    """log-probability of the translation, its end included"""
    finished: bool
    """False when max_length was reached before EOS"""
    alternatives: list[Translation] = field(default_factory=list)
    """the next best, when more than one was asked for"""
    measure_needed: Callable[[], Weights] | None = field(default=None, repr=False, compare=False)
    """what `needed` asks the model that wrote it"""

    def needed(self) -> Weights:
        """What it needed, beside where it looked: (target words, source words) in nats.

        The log-probability that each written word loses when the attention may not see a source word; below 0 where
        the word becomes likelier. The encoder has read every word before, so a word can matter and cost little here.
        """
        if not self.target_words:
            return np.zeros((0, len(self.source_words)))
        if self.measure_needed is None:
            raise InputError("this translation has no model behind it to ask; take one that Translator.translate gave")
        return self.measure_needed()

    def plot(self, path: str | os.PathLike[str], *, by: Literal["weights", "needed"] = "weights") -> Path:
        """The map as a figure (.png, .svg, .pdf): rows = the translation, columns = the source, labels on top.

        ``by="needed"`` draws what each word loses when a source word is hidden, in nats, instead of the weights.
        """
        return _plot(self, path, shown_by(self, by))

    def show(self, *, by: Literal["weights", "needed"] = "weights") -> None:
        """Print the map in the terminal: coloured blocks, or shades where there is no colour; ``by`` as for `plot`."""
        _show(self, shown_by(self, by))

    def to_json(self) -> dict[str, Any]:
        """What ``regard translate --json`` prints."""
        shown: dict[str, Any] = {
            "source": self.source,
            "translation": self.text,
            "source_words": self.source_words,
            "target_words": self.target_words,
            "weights": None if self.weights is None else self.weights.round(6).tolist(),
            "score": self.score,
        }
        if self.alternatives:
            shown["alternatives"] = [{"translation": other.text, "score": other.score} for other in self.alternatives]
        return shown


@dataclass(frozen=True)
class Alignment(Displayable):
    """A sentence, a given translation, and the attention of the model while it is forced to decode it."""

    source_words: list[str]
    """the columns of the weights"""
    target_words: list[str]
    """the rows of the weights"""
    raw_weights: Weights
    """(target words, source words + 1): the last column is EOS"""
    log_prob: float
    """log-probability of the given translation, its end included"""

    @property
    def weights(self) -> Weights:
        """(target words, source words), rows sum to 1."""
        return without_end(self.raw_weights)

    @property
    def links(self) -> list[tuple[int, int]]:
        """(source word, target word) for each target word that attends to a source word more than to EOS."""
        best = self.raw_weights.argmax(1) if len(self.raw_weights) else []
        return sorted((int(i), j) for j, i in enumerate(best) if i < len(self.source_words))

    def pharaoh(self) -> str:
        """The links as ``i-j`` from 0, source word first."""
        return pharaoh(self.links)

    def plot(self, path: str | os.PathLike[str]) -> Path:
        """The map as a figure, as for a translation."""
        return _plot(self, path, weights_to_draw(self))

    def show(self) -> None:
        """Print the map in the terminal, as for a translation."""
        _show(self, weights_to_draw(self))
