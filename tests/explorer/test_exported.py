"""What the page sends to be saved as a file of its own: every kind is taken, everything else is refused."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from regard.explorer.limits import EXPORT_BYTES
from tests.explorer.asking import application, ask, photograph, refused

MAP = {"kind": "map", "rows": ["la", "chatte"], "columns": ["the", "cat"], "weights": [[0.75, 0.25], [0, 1]]}
PHOTO: dict[str, Any] = {
    "kind": "photo",
    "image": "data:image/png;base64,iVBORw0=",
    "words": ["a"],
    "weights": [[[1, 0]]],
    "hard": True,
}
TABLE = {"id": "scores", "name": "scores", "formula": "*q* · *k*", "values": [[927, None]]}
STEPS: dict[str, Any] = {
    "kind": "steps",
    "title": "dot",
    "tables": [{**TABLE, "from": [[[["query", 0, 1]], None]], "why": [["so", None]]}],
}


@pytest.fixture
def app():
    return application()


def export(app, data):
    return ask(app, "POST", "/api/export", json=data)


def data_in(answer):
    return json.loads(re.search(r'id="data">(.*?)</script>', answer.text, re.S)[1])


@pytest.mark.parametrize("data", [MAP, PHOTO, STEPS, {"kind": "several", "title": "all", "parts": [MAP, PHOTO, STEPS]}])
def test_every_kind_comes_back_as_a_file(app, data):
    answer = export(app, data)
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert answer.headers["content-disposition"] == f'attachment; filename="regard-{data["kind"]}.html"'
    (part,) = data_in(answer)
    assert part["kind"] == data["kind"]
    if data["kind"] == "map":
        assert part["weights"] == MAP["weights"]
    if data["kind"] == "steps":
        assert part["tables"][0]["from"] == STEPS["tables"][0]["from"]
        assert part["tables"][0]["values"] == [[927, None]]
        assert "<h1>dot</h1>" in answer.text


def test_what_was_needed_and_hidden_stays_in_the_file(app):
    (part,) = data_in(export(app, {**MAP, "needed": [[1.5, -0.1], [0, 2]], "by": "needed", "hidden": [0]}))
    assert (part["needed"], part["by"], part["hidden"]) == ([[1.5, -0.1], [0, 2]], "needed", [0])
    (part,) = data_in(export(app, {**PHOTO, "needed": [[[1, -1]]], "hidden": [[0, 1]]}))
    assert (part["needed"], part["by"], part["hidden"]) == ([[[1, -1]]], "weights", [[0, 1]])


@pytest.mark.parametrize("model", ["capitals", "capitals-heads", "capitals-none"])
def test_a_translation_can_be_sent_back_as_it_came(app, model):
    found = ask(app, "POST", "/api/translate", json={"model": model, "text": "the old cat"}).json()["translation"]
    assert export(app, found).status_code == 200
    assert export(app, {**found, "title": "<b>"}).text.count("<h1>&lt;b&gt;</h1>") == 1


def test_a_caption_can_be_sent_back_as_it_came(app):
    found = ask(app, "POST", "/api/caption?model=diagonal-soft", content=photograph()).json()["caption"]
    assert data_in(export(app, found))[0]["image"] == found["image"]


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({}, ["kind is missing"]),
        ({"kind": "page"}, ["'map', 'photo', 'steps', 'several'"]),
        ({**MAP, "weights": [[1, 0]]}, ["weights must have 2 rows of 2 numbers"]),
        ({**MAP, "weights": [["1", 0], [0, 1]]}, ["weights.0.0"]),
        ({**MAP, "weights": [[True, 0], [0, 1]]}, ["weights.0.0"]),
        ({**MAP, "weights": [[[[[0]]], 0], [0, 1]]}, ["weights.0.0"]),
        ({**MAP, "rows": ["la", 3]}, ["rows.1"]),
        ({**MAP, "rows": ["la", "x" * 300]}, ["rows.1", "200"]),
        ({**MAP, "heads": [{"name": "1", "weights": [[1]]}]}, ["1 must have 2 rows"]),
        ({**MAP, "needed": [[1]]}, ["needed must have 2 rows of 2 numbers"]),
        ({**MAP, "by": "score"}, ["by = ", "'weights' or 'needed'"]),
        ({**PHOTO, "needed": []}, ["1 words, but needed for 0"]),
        ({**PHOTO, "needed": [[[1]]]}, ["one grid"]),
        ({**MAP, "script": "alert(1)"}, ["there is no field script; choose from kind, title"]),
        ({**PHOTO, "image": "https://example.org/a.png"}, ["image = "]),
        ({**PHOTO, "image": "data:image/svg+xml;base64,PHN2Zz4="}, ["image = "]),
        ({**PHOTO, "image": PHOTO["image"] + '" onerror="x'}, ["image = "]),
        ({**PHOTO, "words": ["a", "dog"]}, ["2 words, but weights for 1"]),
        ({**PHOTO, "weights": [[[1], [1, 0]]]}, ["one grid"]),
        ({**PHOTO, "weights": [[]]}, ["one grid"]),
        ({"kind": "steps", "tables": []}, ["tables is empty"]),
        ({"kind": "steps", "tables": [{**TABLE, "from": [[[["query", 0, "1"]]]]}]}, ['tables.0.from.0.0.0.2 = "1"']),
        ({"kind": "several", "parts": [{**MAP, "wights": 1}]}, ["parts.0.wights", "Did you mean 'weights'?"]),
        ({"kind": "several", "parts": [{"kind": "several", "parts": []}]}, ["parts.0.kind"]),
    ],
)
def test_anything_else_is_refused_with_its_place(app, data, words):
    assert refused(export(app, data), 400, *words)


def test_numbers_that_are_not_finite_and_data_without_end(app):
    raw = json.dumps(MAP).replace("0.75", "1e999")
    answer = ask(app, "POST", "/api/export", content=raw, headers={"Content-Type": "application/json"})
    assert refused(answer, 400, "weights.0.0", "finite")
    assert refused(export(app, {**MAP, "text": "x" * EXPORT_BYTES}), 413, "KB")
