"""The models that the explorer serves, and their answers as data for the page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from regard import pretrained
from regard.errors import InputError
from regard.explorer.limits import PHOTO_PIXELS
from regard.show.data import photo_data, watched_data
from regard.training.config import load_config

WARM_UP = "one two three four five six seven eight."
TASKS = ("translate", "caption")


@dataclass(frozen=True)
class Card:
    """What the page says of a model."""

    name: str
    task: str
    """"translate" or "caption" """
    attention: str
    description: str

    def to_json(self) -> dict[str, str]:
        return {
            "name": self.name,
            "task": self.task,
            "attention": self.attention,
            "description": self.description,
        }


class Model(Protocol):
    """A model to serve: its card is known at once, the rest after ``load``."""

    card: Card

    def load(self) -> None:
        """Read the weights, and answer once so that every kernel is compiled."""

    def answer(self, given: Any, beam: int) -> dict[str, Any]:
        """The data of a map for a sentence, of a photo map for the bytes of a photograph."""


def find_models(names: Sequence[str]) -> list[Model]:
    """The models of these names or run directories; those that ship with the package when there are none."""
    return [_model(name) for name in dict.fromkeys(names or pretrained.names())]


def advice(task: str) -> str:
    """How to get a model where none of a task is loaded, in one line; commands stand in backticks."""
    shipped = [model.card.name for model in find_models(()) if model.card.task == task]
    if shipped:
        return f"No model to {task} is loaded; start with the one that ships with regard: `regard serve {shipped[0]}`."
    return (
        f"No model to {task} is loaded; train one with `regard init {task} > run.toml` and `regard train run.toml`, "
        f"then `regard serve runs/{task}`."
    )


def _model(name: str) -> Model:
    config = load_config(pretrained.find(name) / "config.toml")
    model = getattr(config, "model", None)
    attention = str(getattr(model, "attention", getattr(model, "kind", "")))
    if config.task == "translate":
        return TranslationServed(Card(name, "translate", attention, _description(model)))
    if config.task == "caption":
        return CaptionServed(Card(name, "caption", attention, _description(model)))
    raise InputError(f"{name} is a run of task = {config.task!r}; the explorer shows 'translate' and 'caption'.")


def _description(model: Any) -> str:
    """A line about a [model] table: what differs between kinds of attention."""
    if getattr(model, "kind", "") == "transformer":
        return f"Transformer, {model.layers} layers of {model.heads} heads"
    score = getattr(model, "score", model.attention)
    said = [f"{model.cell.upper()} decoder", "no attention" if score == "none" else f"{score} scores"]
    said += [getattr(model, name, "") for name in ("span", "normalize")]
    return ", ".join(word for word in said if word not in ("", "global", "softmax"))


def _one_thread() -> None:
    """One is enough for a sentence; two that share a busy machine wait for each other."""
    import torch

    torch.set_num_threads(1)


class TranslationServed:
    """A translator."""

    def __init__(self, card: Card) -> None:
        self.card = card

    def load(self) -> None:
        from regard.translation.translator import Translator

        _one_thread()
        self.translator = Translator.load(self.card.name)
        for beam in (1, 5):
            self.answer(WARM_UP, beam)

    def answer(self, given: Any, beam: int) -> dict[str, Any]:
        return watched_data(self.translator.watch(given, beam=beam))


class CaptionServed:
    """A captioner."""

    def __init__(self, card: Card) -> None:
        self.card = card

    def load(self) -> None:
        from regard.captioning.captioner import Captioner

        _one_thread()
        self.captioner = Captioner.load(self.card.name)
        self.captioner.caption(np.zeros((224, 224, 3), np.uint8))

    def answer(self, given: Any, beam: int) -> dict[str, Any]:
        from regard.captioning.photos import open_photo

        return photo_data(self.captioner.caption(open_photo(given, most_pixels=PHOTO_PIXELS), beam=beam))
