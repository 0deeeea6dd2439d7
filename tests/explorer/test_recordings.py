"""What can be inspected: stored recordings, and translators on a text."""

from __future__ import annotations

import pytest

from regard.errors import DataError, InputError
from regard.explorer import recordings
from regard.explorer.limits import Refused
from regard.explorer.models import Card, find_models
from regard.explorer.recordings import Inspected, Recordings, ServedRecording, record_translation
from regard.translation.translator import Translator
from tests.explorer.recorded_model import store


class Counted:
    """A model whose recordings are numbers."""

    takes_text = True

    def __init__(self) -> None:
        self.card, self.asked = Card("counted", "translate", "dot", ""), []

    def recorded(self, text):
        self.asked.append(text)
        return f"recording of {text}"


def test_a_stored_recording_is_served_by_its_directory(tmp_path):
    store(tmp_path / "maps", 20)
    (model,) = find_models([str(tmp_path / "maps")])
    assert isinstance(model, ServedRecording)
    assert isinstance(model, Inspected)
    assert model.card.task == "inspect"
    model.load()
    assert list(model.recorded("")) == ["attention", "cross_attn"]
    with pytest.raises(InputError, match="is a recording"):
        model.answer("a text", 5)


def test_a_recording_that_is_damaged_or_cut_is_said_when_it_loads(tmp_path):
    store(tmp_path, 20)
    (model,) = find_models([str(tmp_path)])
    file = tmp_path / "0000.safetensors"
    file.write_bytes(file.read_bytes()[:100])
    with pytest.raises(DataError, match="is cut or of another store"):
        model.load()
    (tmp_path / "recorded.json").write_text("{")
    with pytest.raises(DataError, match="damaged"):
        model.load()


def test_recordings_of_the_last_texts_are_kept(monkeypatch):
    monkeypatch.setattr(recordings, "KEPT", 2)
    model = Counted()
    found = Recordings([model, object()])
    for text in ("a", "b", "a", "c", "a", "b"):
        assert found.find("counted", text) == f"recording of {text}"
    assert model.asked == ["a", "b", "c", "b"]


def test_recordings_that_are_not_there():
    with pytest.raises(Refused, match="Nothing to inspect is loaded"):
        Recordings([]).find("x", "")
    with pytest.raises(Refused, match="Did you mean 'counted'"):
        Recordings([Counted()]).find("count", "")


def test_a_translator_is_recorded_while_it_writes_its_own_translation():
    translator = Translator.load("en-fr")
    with pytest.raises(InputError, match="the text is empty"):
        record_translation(translator, "  ")
    recorded = record_translation(translator, "a red house")
    found = recorded["decoder.attention"]
    assert found.columns[-1] == found.rows[-1] == "end"
    assert "".join(found.columns[:-1]).replace("▁", " ").strip() == "a red house"
    assert found.shape[2:] == (len(found.rows), len(found.columns))
    assert float(found[0, 0].row(0).sum()) == pytest.approx(1, abs=1e-5)
