"""The models that the explorer serves, and their answers as data for the page."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from regard.errors import InputError
from regard.explorer.limits import PHOTO_PIXELS
from regard.explorer.recordings import ServedRecording, is_recording, record_translation
from regard.show.data import photo_data, watched_data
from regard.training import runs
from regard.training.config import load_config

if TYPE_CHECKING:
    from regard.inspection.recorded import Recorded

WARM_UP = "one two three four five six seven eight."
TASKS = ("translate", "caption")


@dataclass(frozen=True)
class Card:
    """What the page says of a model."""

    name: str
    task: str
    """"translate", "caption", or "inspect" of a recording"""
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

    def answer(
        self, given: Any, beam: int, *, hide: Sequence[Any] = (), hide_input: bool = False, needed: bool = False
    ) -> dict[str, Any]:
        """The data of a map for a sentence, of a photo map for the bytes of a photograph.

        ``hide`` (words by number, cells by row and column) and ``hide_input`` as for the model itself; ``needed`` adds
        what each word needed.
        """


def find_models(names: Sequence[str]) -> list[Model]:
    """The models of these names, run directories or recordings; those that ship with regard when there are none."""
    return [_model(name) for name in dict.fromkeys(names or runs.names())]


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
    if is_recording(name):
        return ServedRecording(Card(name, "inspect", "", "a stored recording"))
    run = runs.find(name)
    config = load_config(run / "config.toml")
    model = getattr(config, "model", None)
    about = ". ".join(part for part in (_description(model), _verdict(run)) if part)
    attention = str(getattr(model, "attention", getattr(model, "kind", "")))
    if config.task == "translate":
        return ServedTranslator(Card(name, "translate", attention, about))
    if config.task == "caption":
        return ServedCaptioner(Card(name, "caption", attention, about))
    raise InputError(f"{name} is a run of task = {config.task!r}; the explorer shows 'translate' and 'caption'.")


def _description(model: Any) -> str:
    """A line about a [model] table: what differs between kinds of attention."""
    if getattr(model, "kind", "") == "transformer":
        return f"Transformer, {model.layers} layers of {model.heads} heads"
    score = getattr(model, "score", model.attention)
    parts = [f"{model.cell.upper()} decoder", "no attention" if score == "none" else f"{score} scores"]
    parts += [getattr(model, name, "") for name in ("span", "normalize")]
    return ", ".join(word for word in parts if word not in ("", "global", "softmax"))


def _verdict(run: Path) -> str:
    """Whether the model's attention matters, where its folder has what `regard evaluate --attention --json` printed."""
    try:
        verdict = json.loads((run / "attention.json").read_text(encoding="utf-8"))["verdict"]
    except (OSError, ValueError, KeyError, TypeError):
        return ""
    return verdict if isinstance(verdict, str) else ""


def _one_thread() -> None:
    """One is enough for a sentence; two that share a busy machine wait for each other."""
    import torch

    torch.set_num_threads(1)


class ServedTranslator:
    """A translator, loaded from a run directory or by name."""

    takes_text = True

    def __init__(self, card: Card) -> None:
        self.card = card

    def load(self) -> None:
        from regard.translation.translator import Translator

        _one_thread()
        self.translator = Translator.load(self.card.name)
        for beam in (1, 5):
            self.answer(WARM_UP, beam)

    def answer(
        self, given: Any, beam: int, *, hide: Sequence[Any] = (), hide_input: bool = False, needed: bool = False
    ) -> dict[str, Any]:
        found = self.translator.watch(given, beam=beam, hide=hide, hide_input=hide_input)
        return watched_data(found, needed=needed)

    def recorded(self, text: str) -> Recorded:
        """Its attention while it translates ``text``."""
        return record_translation(self.translator, text)


class ServedCaptioner:
    """A captioner, loaded from a run directory or by name."""

    def __init__(self, card: Card) -> None:
        self.card = card

    def load(self) -> None:
        from regard.captioning.captioner import Captioner

        _one_thread()
        self.captioner = Captioner.load(self.card.name)
        self.captioner.caption(np.zeros((224, 224, 3), np.uint8))

    def answer(
        self, given: Any, beam: int, *, hide: Sequence[Any] = (), hide_input: bool = False, needed: bool = False
    ) -> dict[str, Any]:
        from regard.captioning.photos import open_photo

        photo = open_photo(given, most_pixels=PHOTO_PIXELS)
        found = self.captioner.caption(photo, beam=beam, hide=hide, hide_input=hide_input)
        return photo_data(found, needed=needed)
