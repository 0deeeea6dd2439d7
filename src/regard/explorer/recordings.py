"""What the view Inspect shows: stored recordings, and the attention of a served translator on a text."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from regard.errors import InputError, UnknownName, choose
from regard.explorer.limits import Refused

if TYPE_CHECKING:
    from regard.explorer.models import Card
    from regard.inspection.attention_map import AttentionMap
    from regard.inspection.recorded import Recorded
    from regard.translation.translator import Translator

KEPT = 4  # texts whose recordings are kept
INDEX = "recorded.json"  # as regard.inspection.store names it, which imports torch
ADVICE = (
    "Nothing to inspect is loaded. Record a model with `regard.record(model, store=DIR)` and start with "
    "`regard serve DIR`, or with a translator: `regard serve en-fr`."
)


@runtime_checkable
class Inspected(Protocol):
    """What can be inspected: a recording, or a model that is recorded on a text."""

    card: Card
    takes_text: bool

    def recorded(self, text: str) -> Recorded:
        """The recording; a stored one has no text."""


def is_recording(name: str) -> bool:
    """Whether this is a directory that ``regard.record(..., store=)`` wrote."""
    return (Path(name) / INDEX).is_file()


class ServedRecording:
    """A stored recording, opened when the server loads."""

    takes_text = False

    def __init__(self, card: Card) -> None:
        self.card = card

    def load(self) -> None:
        from regard.inspection.store import open_store

        self._recorded = open_store(self.card.name)
        if not len(self._recorded):
            raise InputError(f"{self.card.name} holds no map; record the model again")

    def recorded(self, text: str) -> Recorded:  # noqa: ARG002 - it has been recorded
        return self._recorded

    def answer(self, given: object, beam: int, **asked: object) -> dict[str, object]:  # noqa: ARG002 - whatever is asked
        raise InputError(f"{self.card.name} is a recording: it has maps to inspect, and writes nothing")


def record_translation(translator: Translator, text: str) -> Recorded:
    """The attention of a translator that reads ``text`` and writes its own translation."""
    from regard.inspection.recorder import record

    if not text.strip():
        raise InputError("the text is empty; type one with at least one word")
    found = translator.translate(text)
    with record(translator) as recorded:
        translator.align(text, found.text)
    vocabularies = translator.vocabularies
    source, target = (
        [*vocabulary.pieces(vocabulary.encode([words])[0]), "end"]
        for vocabulary, words in ((vocabularies.source, text), (vocabularies.target, found.text))
    )
    recorded.crosses.add("decoder.attention")  # of an RNN, whose decoder has no other
    recorded.tokens = (source, target)
    return recorded


def only(recorded: Recorded, name: str) -> Recorded:
    """The recording with one of its maps."""
    from regard.inspection.recorded import Recorded

    found, alone = recorded[name], Recorded()
    alone.add(name, found.call, found.heads)
    if recorded.is_cross(name):
        alone.crosses.add(name)
    else:
        alone.tokens = found.columns
    return alone


class Recordings:
    """Recordings by name and text; those of the last few texts are kept."""

    def __init__(self, models: Iterable[object]) -> None:
        self.by_name = {model.card.name: model for model in models if isinstance(model, Inspected)}
        self._kept: OrderedDict[tuple[str, str], Recorded] = OrderedDict()

    def find(self, name: str, text: str) -> Recorded:
        """Runs in the worker, one at a time."""
        if not self.by_name:
            raise Refused(404, ADVICE)
        try:
            model = choose("recording", name, self.by_name)
        except UnknownName as error:
            raise Refused(404, str(error)) from None
        key = (name, text if model.takes_text else "")
        if key not in self._kept:
            self._kept[key] = model.recorded(text)
        self._kept.move_to_end(key)
        while len(self._kept) > KEPT:
            self._kept.popitem(last=False)
        return self._kept[key]

    def heads(self, name: str, text: str, module: str, batch: int, heads: Iterable[int]) -> list[AttentionMap]:
        """One map for each of these heads of a module."""
        found = self.find(name, text)[module]
        return [found[batch, head] for head in heads]
