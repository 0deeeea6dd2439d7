"""What a call of the API may ask: anything else is refused by name, with what came and what is allowed."""

from __future__ import annotations

import json

import pytest
from starlette.requests import Request

from regard.explorer.limits import JSON_BYTES
from regard.explorer.requests import CHARACTERS, WORDS, CaptionRequest, from_query
from tests.explorer.asking import SENTENCE, application, ask, refused


@pytest.fixture
def app():
    return application()


def translate(app, content, kind="application/json"):
    return ask(app, "POST", "/api/translate", content=content, headers={"Content-Type": kind})


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", ["not JSON"]),
        (b"{", ["not JSON"]),
        (b"\xff\xfe{}", ["not JSON"]),
        (b"[1]", ["[1] cannot be used: it should be an object"]),
        (b"3", ["3 cannot be used: it should be an object"]),
        (b"[" * 30_000, ["not JSON: recursion limit"]),
        (b'{"a":' * 10_000, ["not JSON: recursion limit"]),
        (b'{"model": NaN}', ["model = NaN cannot be used"]),
        (b'{"beam": -Infinity}', ["beam = -Infinity cannot be used"]),
        (b'{"beam": ' + b"9" * 5000 + b"}", ["not JSON", "out of range"]),
        (b'{"text": "\\ud800"}', ["not JSON", "hex escape"]),
        (b"{}", ["model is missing", "text is missing"]),
        (b'{"model": "capitals"}', ["text is missing"]),
        (b'{"model": 3, "text": "a"}', ["model = 3 cannot be used: it should be a valid string"]),
        (b'{"model": "capitals", "text": ["a"]}', ['text = ["a"] cannot be used: it should be a valid string']),
        (b'{"model": "capitals", "text": null}', ["text = null cannot be used: it should be a valid string"]),
        (b'{"model": "capitals", "text": "a", "beam": true}', ["beam = true cannot be used", "a valid integer"]),
        (b'{"model": "capitals", "text": "a", "beam": 2.0}', ["beam = 2.0 cannot be used", "a valid integer"]),
        (b'{"model": "capitals", "text": "a", "beam": 1e999}', ["beam = Infinity cannot be used", "a valid integer"]),
        (b'{"model": "capitals", "text": "a", "beam": 0}', ["beam = 0 cannot", "greater than or equal to 1"]),
        (b'{"model": "capitals", "text": "a", "beam": 1' + b"0" * 400 + b"}", ["less than or equal to 10"]),
        (b'{"model": "capitals", "text": "a", "bean": 1}', ["there is no field bean", "Did you mean 'beam'?"]),
        (b'{"a": 1, "b": 1, "c": 1, "d": 1}', ["3 more."]),
        (b'{"model": "capitals", "text": "a", "hide": 1}', ["hide = 1 cannot be used", "a valid array"]),
        (b'{"model": "capitals", "text": "a", "hide": ["a"]}', ["hide.0", "a valid integer"]),
        (b'{"model": "capitals", "text": "a", "hide": [-1]}', ["hide.0", "greater than or equal to 0"]),
        (b'{"model": "capitals", "text": "a b", "hide": [2]}', ["no source word 2 to hide", "['a', 'b']"]),
        (b'{"model": "capitals", "text": "a", "hide_input": 1}', ["hide_input = 1 cannot be used", "a valid boolean"]),
        (b'{"model": "capitals", "text": "a", "needed": "yes"}', ['needed = "yes" cannot be used']),
    ],
)
def test_bad_requests_say_what_is_wrong(app, content, words):
    assert refused(translate(app, content), 400, *words)


def test_a_request_must_say_that_it_is_json(app):
    # A form of a foreign page can send text/plain without asking first.
    assert refused(translate(app, json.dumps(SENTENCE), kind="text/plain"), 415, "application/json")


@pytest.mark.parametrize("text", ["word " * (WORDS + 1), "x" * (CHARACTERS + 1)])
def test_long_sentences(app, text):
    answer = ask(app, "POST", "/api/translate", json={**SENTENCE, "text": text})
    assert refused(answer, 400, f"at most {WORDS} words", "Split it")


def test_a_sentence_of_ten_thousand_words(app):
    answer = ask(app, "POST", "/api/translate", json={**SENTENCE, "text": "word " * 10_000})
    assert refused(answer, 400, "10000 words")
    answer = ask(app, "POST", "/api/translate", json={**SENTENCE, "text": "wonderful " * 10_000})
    assert refused(answer, 413, f"{JSON_BYTES >> 10} KB")


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("", ["model is missing"]),
        ("?modle=diagonal-soft", ["there is no field modle", "Did you mean 'model'?"]),
        ("?model=diagonal-soft&beam=5", ["there is no field beam; choose from model, hide, hide_input, needed."]),
        ("?model=diagonal-soft&hide=3", ['hide: cells are written "row,column" from 0']),
        ("?model=diagonal-soft&hide=3,x", ['cells are written "row,column"']),
        ("?model=diagonal-soft&hide=3,1000000", ['cells are written "row,column"']),
        ("?model=diagonal-soft&hide_input=yes", ['hide_input = "yes" cannot be used', "a valid boolean"]),
        (f"?model={'x' * 2000}", ["model = ", "at most 1000 characters"]),
    ],
)
def test_queries_are_checked_as_bodies_are(app, query, words):
    assert refused(ask(app, "POST", f"/api/caption{query}", content=b"x"), 400, *words)


def test_hidden_cells_and_switches_are_read_from_an_address():
    request = Request({"type": "http", "query_string": b"model=m&hide=3,4%3B13,0&hide_input=true&needed=false"})
    asked = from_query(CaptionRequest, request)
    assert (asked.hide, asked.hide_input, asked.needed) == ([(3, 4), (13, 0)], True, False)
