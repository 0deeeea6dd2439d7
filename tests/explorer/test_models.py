"""The models that are served: found by name, described in a line, and how to get one where there is none."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from PIL import Image

from regard.errors import DataError, UnknownName
from regard.explorer import limits, models
from regard.explorer.models import ServedCaptioner, ServedTranslator, advice, find_models
from regard.training import runs
from tests.explorer.asking import application, ask, refused
from tests.explorer.stand_ins import MODELS

RUN = """
task = "translate"
run = "x"
[data]
train = [{path = "train.tsv"}]
validation = [{path = "dev.tsv"}]
[model]
"""


@pytest.fixture
def card(tmp_path):
    def card(model):
        (tmp_path / "config.toml").write_text(RUN + model)
        (found,) = find_models([str(tmp_path)])
        return found.card

    return card


def test_without_names_the_models_that_ship_are_served():
    found = find_models(())
    assert [model.card.name for model in found] == runs.names()
    kinds = {"translate": ServedTranslator, "caption": ServedCaptioner}
    assert {type(model) is kinds[model.card.task] for model in found} == {True}


def test_a_name_given_twice_is_served_once():
    name = runs.names()[0]
    assert [model.card.name for model in find_models([name, name])] == [name]


def test_a_name_that_is_none():
    with pytest.raises(UnknownName, match=r"no model is called 'en-fe'.*Did you mean 'en-fr'"):
        find_models(["en-fe"])


@pytest.mark.parametrize(
    ("model", "attention", "description"),
    [
        ("", "additive", "GRU decoder, additive scores"),
        ('attention = "none"', "none", "GRU decoder, no attention"),
        ('cell = "lstm"\nattention = "general"\nspan = "local-m"', "general", "LSTM decoder, general scores, local-m"),
        ('attention = "general"\nnormalize = "hard"', "general", "GRU decoder, general scores, hard"),
        ('kind = "transformer"\nlayers = 2\nheads = 8', "transformer", "Transformer, 2 layers of 8 heads"),
    ],
)
def test_a_card_says_what_differs_between_kinds_of_attention(card, model, attention, description):
    found = card(model)
    assert (found.attention, found.description) == (attention, description)
    assert found.to_json() == {
        "name": found.name,
        "task": "translate",
        "attention": attention,
        "description": description,
    }


def test_a_card_says_whether_the_attention_matters_where_that_was_measured(tmp_path):
    for damage in ("no file", "{", "[]", '{"verdict": 3}', '{"verdict": "It matters."}'):
        (tmp_path / "config.toml").write_text((runs.find("en-fr") / "config.toml").read_text())
        if damage != "no file":
            (tmp_path / "attention.json").write_text(damage)
        (model,) = find_models([str(tmp_path)])
        assert model.card.description == "GRU decoder, additive scores" + (". It matters." if "It" in damage else "")


def test_where_a_task_has_no_model_the_way_to_one_is_told(monkeypatch):
    captioner = next(model for model in MODELS if model.card.task == "caption")
    app = application([captioner])
    monkeypatch.setattr(runs, "names", list)
    found = ask(app, "GET", "/api/models").json()["advice"]
    assert list(found) == ["translate"]
    assert "`regard init translate > run.toml`" in found["translate"]
    shipped = next(model for model in MODELS if model.card.task == "translate")
    monkeypatch.setattr(models, "find_models", lambda _: [captioner, shipped])
    assert "`regard serve capitals`" in advice("translate")


def test_a_translator_that_ships_answers_with_its_map():
    model = next(model for model in find_models(()) if model.card.task == "translate")
    model.load()
    found = model.answer("A man", 1)
    assert found["kind"] == "map"
    assert found["columns"] == ["A", "man"]
    assert len(found["weights"]) == len(found["rows"]) == len(found["steps"])


def test_a_translator_that_ships_hides_words_and_says_what_was_needed():
    model: Any = next(model for model in find_models(()) if model.card.task == "translate")
    model.load()
    python = model.translator.translate("A man sleeps.", beam=1, hide=[1])
    found = model.answer("A man sleeps.", 1, hide=[1], needed=True)
    assert (found["text"], found["columns"]) == (python.text, ["A", "man", "sleeps."])
    assert {row[1] for row in found["weights"]} == {0}
    assert_allclose(found["needed"], python.needed(), rtol=1e-5, atol=1e-6)
    shorter = model.answer("A man sleeps.", 1, hide=[1], hide_input=True)
    assert shorter["columns"] == ["A", "sleeps."]
    app = application([model])
    asked = {"model": model.card.name, "text": "A man sleeps.", "hide": [3]}
    assert refused(ask(app, "POST", "/api/translate", json=asked), 400, "the words are 0 'A', 1 'man', 2 'sleeps.'")


def test_a_captioner_that_ships_answers_with_its_photo_map(monkeypatch):
    model = next(model for model in find_models(()) if model.card.task == "caption")
    model.load()
    written = io.BytesIO()
    Image.radial_gradient("L").resize((60, 40)).convert("RGB").save(written, "PNG")
    found = model.answer(written.getvalue(), 1)
    assert found["kind"] == "photo"
    assert len(found["weights"]) == len(found["words"])
    hidden = model.answer(written.getvalue(), 1, hide=[(0, 1)], needed=True)
    assert {grid[0][1] for grid in hidden["weights"]} == {0}
    assert np.shape(hidden["needed"]) == np.shape(hidden["weights"])
    with pytest.raises(UnknownName, match=r"there is no cell \(99, 0\) to hide; rows go from 0 to"):
        model.answer(written.getvalue(), 1, hide=[(99, 0)])
    monkeypatch.setattr(models, "PHOTO_PIXELS", 100)
    assert limits.PHOTO_PIXELS > 100
    with pytest.raises(DataError, match="60 x 40 pixels"):
        model.answer(written.getvalue(), 1)
