"""The calls under /api/inspect: their numbers are those of the maps in Python, and what cannot be is refused."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from regard.explorer.models import find_models
from regard.explorer.recordings import ADVICE
from tests.explorer.asking import application, ask, refused
from tests.explorer.recorded_model import store

SIZE = 50


@pytest.fixture(scope="module")
def served_recording(tmp_path_factory):
    directory = tmp_path_factory.mktemp("recording")
    recorded = store(directory, SIZE)
    models = find_models([str(directory)])
    models[0].load()
    return application(models), str(directory), recorded


@pytest.fixture
def post(served_recording):
    app, name, _ = served_recording

    def post(part, **body):
        return ask(app, "POST", f"/api/inspect/{part}", json={"recording": name, **body})

    return post


@pytest.fixture
def head(served_recording):
    return served_recording[2]["attention"][0, 1]


ONE = {"map": "attention", "heads": [1]}


def numbers(answer):
    assert answer.status_code == 200, answer.text
    shape = [int(size) for size in answer.headers["X-Regard-Shape"].split(",")]
    return np.frombuffer(answer.content, np.dtype(answer.headers["X-Regard-Type"])).reshape(shape)


def test_what_can_be_inspected_is_listed(served_recording):
    app, name, _ = served_recording
    listed = ask(app, "GET", "/api/inspect").json()
    assert listed["recordings"] == [{"name": name, "takes_text": False, "description": "a stored recording"}]
    assert ask(application([]), "GET", "/api/inspect").json() == {"recordings": [], "advice": ADVICE}


def test_maps_and_heads(post, served_recording):
    first, cross = post("maps").json()["maps"]
    sizes = {"batch": 1, "heads": [0, 1], "rows": SIZE, "columns": SIZE}
    assert first == {"name": "attention", "layer": None, **sizes, "cross": False}
    assert (cross["rows"], cross["columns"], cross["cross"]) == (12, 40, True)
    heads = [head for name in ("attention", "cross_attn") for head in post("heads", map=name).json()["heads"]]
    assert heads == served_recording[2].heads().to_json()


def test_a_tile_is_float16_and_exact_when_it_is_to_be_precise(post, head):
    span = {"rows": [10, 30], "columns": [5, 21]}
    weights = head.weights(slice(10, 30), slice(5, 21)).numpy()
    rough = numbers(post("tile", **ONE, **span))
    assert rough.dtype == np.float16
    assert_allclose(rough, weights, atol=5e-4)
    precise = numbers(post("tile", **ONE, **span, precise=True))
    assert precise.tolist() == weights.tolist()
    pooled = post("tile", **ONE, rows=[0, SIZE], columns=[0, SIZE], cell=[64, 64], by="mean", precise=True)
    assert_allclose(numbers(pooled), [[head.weights().mean()]], rtol=1e-6)
    assert post("tile", **ONE, **span, cell=[4, 4], sampled=True).headers["X-Regard-Sampled"] == "true"


def test_thumbnails_profiles_labels_and_search(post, head):
    assert numbers(post("thumbnails", map="attention", size=10)).shape == (2, 10, 10)
    assert post("profile", **ONE, axis="row", place=20, span=[0, SIZE]).json()["values"] == head.row(20).tolist()
    column = post("profile", **ONE, axis="column", place=3, span=[10, 20]).json()
    assert column["values"] == head.column(3)[10:20].tolist()
    assert post("labels", map="attention", axis="column", span=[2, 7]).json()["labels"] == head.columns[2:7]
    found = post("search", map="attention", axis="row", find="CAT").json()
    assert found["places"] == [n for n, word in enumerate(head.rows) if "cat" in word]
    assert found["count"] == len(found["places"])
    assert post("search", map="attention", axis="row", find="zebra").json() == {"places": [], "count": 0}


@pytest.mark.parametrize(
    ("part", "body", "status", "words"),
    [
        ("maps", {"recording": "nowhere"}, 404, "no recording is called 'nowhere'"),
        ("maps", {"text": "a " * 300}, 400, "at most 200 words"),
        ("tile", ONE, 400, "rows is missing"),
        ("tile", {**ONE, "rows": [0, 2, 3], "columns": [0, 4]}, 400, "rows"),
        ("tile", {**ONE, "rows": [-1, 2], "columns": [0, 4]}, 400, "rows"),
        ("tile", {**ONE, "rows": [0, 2], "columns": [0, 4], "cell": [0, 1]}, 400, "cell"),
        ("tile", {**ONE, "rows": [0, 2], "columns": [0, 4], "by": "median"}, 400, "by"),
        ("tile", {**ONE, "rows": [0, 2], "columns": [0, 4], "colour": 1}, 400, "colour"),
        ("tile", {**ONE, "rows": [0, 51], "columns": [0, 4]}, 422, "rows 0 to 51 are not in the map"),
        ("tile", {**ONE, "heads": [7], "rows": [0, 2], "columns": [0, 4]}, 422, "head 7 is not here"),
        ("tile", {**ONE, "heads": [], "rows": [0, 2], "columns": [0, 4]}, 400, "heads"),
        ("tile", {**ONE, "batch": 1, "rows": [0, 2], "columns": [0, 4]}, 422, "no item 1 of the batch"),
        ("tile", {**ONE, "map": "atention", "rows": [0, 2], "columns": [0, 4]}, 400, "Did you mean 'attention'"),
        ("profile", {**ONE, "axis": "row", "place": 50, "span": [0, 4]}, 422, "rows 50 to 51 are not in the map"),
        ("profile", {**ONE, "axis": "row", "place": 0, "span": [0, 4], "bins": 5000}, 400, "bins"),
        ("labels", {"map": "attention", "axis": "row", "span": [0, 51]}, 422, "the map has 50"),
        ("labels", {"map": "attention", "axis": "row", "span": [0, 5000]}, 400, "1 to 4096 labels"),
        ("search", {"map": "attention", "axis": "row", "find": ""}, 400, "find"),
    ],
)
def test_what_is_refused(post, part, body, status, words):
    assert refused(post(part, **body), status, words)
