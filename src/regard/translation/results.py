"""What a translator gives back: text, and where it looked."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from regard.errors import InputError
from regard.shown import Shown
from regard.translation.gold import pharaoh
from regard.translation.words import Weights, without_end


def drawn(result: Translation | Alignment) -> Weights:
    """The weights to draw; an error where there are none."""
    if result.weights is None:
        raise InputError("this model has no attention, so there is nothing to draw; train one with model.attention set")
    if not result.weights.size:
        raise InputError("there are no words to draw")
    return result.weights


def _plot(result: Translation | Alignment, path: str | os.PathLike[str]) -> Path:
    from regard.show.figures import plot_map

    return plot_map(drawn(result), result.target_words, result.source_words, path)


def _show(result: Translation | Alignment) -> None:
    from rich.console import Console

    from regard.show.terminal import TerminalMap

    Console().print(TerminalMap(drawn(result), result.target_words, result.source_words))


@dataclass(frozen=True)
class Translation(Shown):
    """A sentence, its translation, and how much each word of it looked at each word of the source."""

    source: str
    text: str
    source_words: list[str]
    target_words: list[str]
    weights: Weights | None
    """(target words, source words), rows sum to 1; None for a model without attention"""
    score: float
    """log-probability, divided by the length penalty: what the search ranked it by"""
    log_prob: float
    finished: bool
    """False when the longest allowed length came before the end"""
    alternatives: list[Translation] = field(default_factory=list)
    """the next best, when more than one was asked for"""

    def plot(self, path: str | os.PathLike[str]) -> Path:
        """The map as a figure (.png, .svg, .pdf): rows = the translation, columns = the source, labels on top."""
        return _plot(self, path)

    def show(self) -> None:
        """Print the map in the terminal: coloured blocks, or shades where there is no colour."""
        _show(self)

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
class Alignment(Shown):
    """A sentence and a given translation, and where the model looks while it is made to write it."""

    source_words: list[str]
    target_words: list[str]
    raw_weights: Weights
    """(target words, source words + the end mark)"""
    log_prob: float

    @property
    def weights(self) -> Weights:
        """(target words, source words), rows sum to 1."""
        return without_end(self.raw_weights)

    @property
    def links(self) -> list[tuple[int, int]]:
        """(source word, target word) for each target word that looks at a source word more than at the end mark."""
        best = self.raw_weights.argmax(1) if len(self.raw_weights) else []
        return sorted((int(i), j) for j, i in enumerate(best) if i < len(self.source_words))

    def pharaoh(self) -> str:
        """The links as ``i-j`` from 0, source word first."""
        return pharaoh(self.links)

    def plot(self, path: str | os.PathLike[str]) -> Path:
        """The map as a figure, as for a translation."""
        return _plot(self, path)

    def show(self) -> None:
        """Print the map in the terminal, as for a translation."""
        _show(self)
