"""One HTML file that holds everything: it opens from disk, asks for nothing, and can be pointed at."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

import regard
from regard import Step
from regard.captioning.results import Caption
from regard.errors import DtypeError, InputError
from regard.show import data
from regard.show.data import parts_of
from regard.show.html import VIEWER, bundle, document, embedded
from regard.translation.results import Alignment, Translation
from regard.translation.watched import DecoderStep, Watched

HOSTILE = [
    "</script><script>alert(1)</script>",
    "<!--",
    "a\u2028b\u2029",
    '"&amp;',
    "\U0001f431",
    "<img src=x onerror=alert(1)>",
]


def translation(source=("the", "old", "cat"), target=("la", "chatte", "vieille")):
    weights = np.full((len(target), len(source)), 0.1)
    np.fill_diagonal(weights, 1.0)
    weights /= weights.sum(1, keepdims=True)
    return Translation(" ".join(source), " ".join(target), [*source], [*target], weights, -0.5, -1.5, True)


def caption():
    weights = np.full((2, 7, 7), 0.5 / 48)
    weights[0, 1, 2] = weights[1, 5, 6] = 0.5
    photo = Image.radial_gradient("L").resize((300, 200))
    return Caption(None, "a dog", ["a", "dog"], weights, -0.5, -1.0, True, False, photo)


def data_in(html):
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', html, re.S)[1])


def test_hostile_words_stay_words():
    html = document(parts_of(translation(target=HOSTILE, source=HOSTILE)))
    assert data_in(html)[0]["rows"] == HOSTILE
    assert html.count("<script") == html.count("</script>") == 2
    assert "<!--" not in html.partition("<style>")[0] + html.partition("<main")[2].partition('type="module"')[0]
    assert not re.search("[\u2028\u2029]", embedded(HOSTILE))
    assert "<script>alert" not in document([{"kind": "map"}], title="<script>alert(1)</script>")


def test_what_may_run_is_named_by_its_digest():
    html = document(parts_of(translation()))
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', html)[1]
    for directive, element in (("script-src", 'script type="module"'), ("style-src", "style")):
        text = re.search(f"<{element}>(.*?)</{element.split()[0]}>", html, re.S)[1]
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{directive} 'sha256-{digest}';" in policy
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy


def test_asks_for_nothing_and_is_small():
    html = document(parts_of(translation()))
    links = re.findall(r'\b(?:src|href)\s*=\s*["\']?([^"\'\s>]+)', html)
    assert [link for link in links if not link.startswith("data:")] == []
    assert not re.search(r"^import |\bimport\(|@import|url\(", html, re.M)
    assert len(html) < 300_000


def test_the_bundle_holds_no_name_twice():
    names = re.findall(r"^(?:export )?(?:async )?(?:function\*?|class|const|let|var) (\w+)", bundle().script, re.M)
    assert len(names) == len(set(names))
    assert "mount" in names
    assert "</script" not in bundle().script.lower()
    assert "</style" not in bundle().style.lower()


def test_the_viewer_needs_nothing_of_the_explorer():
    listed = json.loads((VIEWER / "manifest.json").read_text("utf-8"))
    assert {file.name for file in VIEWER.iterdir()} == {*listed["modules"], *listed["styles"], "manifest.json"}
    for at, name in enumerate(listed["modules"]):
        imported = re.findall(r"^import .* from \"(.*)\";$", (VIEWER / name).read_text("utf-8"), re.M)
        assert {file.removeprefix("./") for file in imported} <= set(listed["modules"][:at])


def cell(page, row, column):
    """Where on the screen a cell of the map is."""
    box = page.locator(".rg-plot canvas").bounding_box()
    rows, columns = page.locator(".rg-row").count(), page.locator(".rg-column").count()
    return box["x"] + (column + 0.5) * box["width"] / columns, box["y"] + (row + 0.5) * box["height"] / rows


def test_a_translation_opens_from_disk_to_be_pointed_at_and_pinned(page, tmp_path):
    assert translation(target=["la", "chatte", HOSTILE[0]]).html(tmp_path / "map.html") == tmp_path / "map.html"
    page.goto((tmp_path / "map.html").as_uri())
    page.mouse.move(*cell(page, 1, 1))
    assert page.locator(".rg-readout").inner_text() == "“chatte” looks at “old”: 0.8333"
    page.mouse.click(*cell(page, 1, 1))
    page.mouse.move(5, 5)
    assert [row.get_attribute("aria-selected") for row in page.locator(".rg-row").all()] == ["false", "true", "false"]
    assert "chatte" in page.locator(".rg-readout").inner_text()
    assert page.locator(".rg-row").nth(2).inner_text() == HOSTILE[0]


def test_a_caption_opens_from_disk(page, tmp_path):
    page.goto(caption().html(tmp_path / "photo.html").as_uri())
    page.locator(".rg-word", has_text="dog").hover()
    assert "looked most at the bottom right" in page.locator(".rg-readout").inner_text()
    width = page.locator(".rg-image").evaluate("image => image.decode().then(() => image.naturalWidth)")
    assert width == 300


def test_a_file_with_what_was_needed_has_the_switch(page, tmp_path):
    needed = np.array([[0.75, -0.0625, 0], [0.001, 0.002, 0], [0, 0, 12.5]])
    found = replace(translation(), measure_needed=lambda: needed)
    assert "needed" not in data_in(found.html(tmp_path / "plain.html").read_text())[0]
    page.goto((tmp_path / "plain.html").as_uri())
    assert page.get_by_role("radio").count() == page.get_by_role("button").count() == 0
    page.goto(found.html(tmp_path / "map.html", needed=True).as_uri())
    page.get_by_role("radio", name="what it needed").check()
    assert page.locator(".rg-legend").inner_text().split() == ["0", "12.5", "nats"]
    page.mouse.move(*cell(page, 0, 1))
    message = page.locator(".rg-readout").inner_text()
    assert message == "“la” becomes likelier by 0.0625 nats when “old” is hidden (-0.0625)"
    page.locator(".rg-row").nth(1).hover()
    assert page.locator(".rg-readout").inner_text() == "“chatte” needs none of them alone (at most 0.002 nats)"
    page.get_by_role("radio", name="where it looked").check()
    page.locator(".rg-row").nth(1).hover()
    assert "looks at “old” 83 %" in page.locator(".rg-readout").inner_text()


def test_a_caption_with_what_was_needed_has_the_switch(page, tmp_path):
    needed = np.zeros((2, 7, 7))
    needed[1, 6, 0], needed[1, 0, 0] = 0.75, -0.5
    found = replace(caption(), measure_needed=lambda block: needed)  # noqa: ARG005 - one answer for every block
    page.goto(found.html(tmp_path / "photo.html", needed=True).as_uri())
    page.get_by_role("radio", name="what it needed").check()
    page.locator(".rg-word", has_text="dog").hover()
    message = "“dog” needs most what is at the bottom left: hiding it costs 0.75 nats, the brightest here; "
    assert page.locator(".rg-readout").inner_text() == f"{message}somewhere it becomes likelier, by 0.5"
    page.locator(".rg-word").first.hover()
    assert "needs no place alone: hiding one costs at most 0 nats" in page.locator(".rg-readout").inner_text()
    assert page.locator(".rg-nats").all_inner_texts() == ["0.00 nats", "0.75 nats"]


def test_a_watched_translation_is_shown_with_its_steps():
    found = translation()
    steps = [DecoderStep(word, None, row, row) for word, row in zip(found.target_words, found.weights, strict=True)]
    (part,) = parts_of(Watched(found, steps, {}))
    assert [step["word"] for step in part["steps"]] == found.target_words


def test_steps_open_from_disk_and_point_to_where_they_came_from(page, tmp_path):
    keys = [[3, 12, 45], [59, 2, 5], [1, 43, 5], [4, 3, 45.3]]
    regard.attend([5, 1, 20], keys, score="dot").html(tmp_path / "steps.html")
    page.goto((tmp_path / "steps.html").as_uri())
    page.get_by_role("grid", name=re.compile("^scores")).locator("td").first.hover()
    assert "927" in page.locator(".rg-readout").inner_text()
    assert page.locator(".rg-target").count() == 1
    assert page.locator(".rg-source").count() == 6
    page.get_by_role("grid", name=re.compile("^context")).locator("td").first.hover()
    assert page.locator(".rg-source").count() == 4


class Turned(regard.scores.Score):
    """A score with a step of its own."""

    name, formula = "turned", "query · turned key"

    def __call__(self, query, key):
        return query @ np.swapaxes(key[..., ::-1], -1, -2)

    def steps(self, query, key):
        turned = Step("turned keys", "key, last number first", key[..., ::-1], ("k", "d"), ("keys",), ("d",))
        return [turned, Step("likeness", self.formula, self(query, key), ("q", "k"), ("query", "turned keys"))]


@pytest.mark.parametrize("query", [[5, 1], [[2, 7], [5, 1]]], ids=["one", "several"])
def test_a_score_of_ones_own_answers_with_its_sums(page, tmp_path, query):
    page.goto(regard.attend(query, [[3, 12], [59, 2]], score=Turned()).html(tmp_path / "own.html").as_uri())
    page.get_by_role("grid", name=re.compile("^likeness")).locator("td").last.hover()
    assert page.locator(".rg-readout").first.inner_text() == "5·2 + 1·59 = 69"
    marked = page.get_by_role("grid", name=re.compile("^turned keys")).locator("tr").nth(1)
    assert marked.locator(".rg-source").count() == 2
    assert page.locator(".rg-source").count() == 4
    page.get_by_role("grid", name=re.compile("^turned keys")).locator("td").first.click()
    assert page.get_by_role("grid", name=re.compile("^keys")).locator(".rg-source").count() == 2


def test_hidden_scores_are_infinite_on_the_page_too(page, tmp_path):
    attended = regard.attend([[1, 0], [0, 1]], [[1, 0], [0, 1]], visible=[[True, False], [True, True]])
    attended.html(tmp_path / "masked.html")
    page.goto((tmp_path / "masked.html").as_uri())
    masked = page.get_by_role("grid", name=re.compile("^masked")).locator("td")
    assert masked.nth(1).inner_text() == "-∞"
    assert page.locator(".rg-row").count() == 2  # several queries have a map as well


def test_origins_are_those_of_the_mathematics():
    attended = regard.attend([[1, 2], [3, 4], [5, 6]], [[1, 0], [0, 1]], [[7, 8, 9, 1], [1, 2, 3, 4]])
    steps, weights = parts_of(attended)
    tables = {table["id"]: table for table in steps["tables"]}

    def value(origin):
        table, row, column = origin
        return tables[table]["values"][row][column]

    context = tables["context"]
    for i, row in enumerate(context["values"]):
        for j, number in enumerate(row):
            assert sum(map(value, context["from"][i][j])) == pytest.approx(number, rel=1e-4)
    weighted = tables["weighted values of query 3"]
    assert np.prod([value(origin) for origin in weighted["from"][1][3]]) == pytest.approx(
        weighted["values"][1][3], rel=1e-4
    )
    assert tables["scores"]["from"][2][1] == [["query", 2, 0], ["keys", 1, 0], ["query", 2, 1], ["keys", 1, 1]]
    assert tables["scaled"]["from"][2][1] == [["scores", 2, 1]]
    assert tables["weights"]["from"][2][1] == [["scaled", 2, 0], ["scaled", 2, 1]]
    assert (weights["rows"], weights["columns"]) == (["query 1", "query 2", "query 3"], ["key 1", "key 2"])


def test_tables_too_large_to_read_are_left_to_the_map():
    several = np.random.default_rng(0).standard_normal((120, 20))
    steps, weights = parts_of(regard.attend(several, several))
    assert len(weights["weights"]) == 120
    assert [table["id"] for table in steps["tables"]] == ["query", "keys", "values", "context"]
    assert len(document([steps, weights])) < 600_000


def test_whatever_is_large_something_is_shown(monkeypatch):
    random = np.random.default_rng(0)
    many_queries = parts_of(regard.attend(random.standard_normal((100, 60)), random.standard_normal((10, 60))))
    assert [part["kind"] for part in many_queries] == ["steps", "map"]
    monkeypatch.setattr(data, "MOST_NUMBERS", 3)
    everything = parts_of(regard.attend(random.standard_normal(5), random.standard_normal((4, 5))))
    assert [part["kind"] for part in everything] == ["map"]


def test_windows_are_linked_where_all_they_were_made_from_is_shown():
    random = np.random.default_rng(0)
    local = regard.attend_local(random.standard_normal((3, 4)), random.standard_normal((7, 4)), width=1, score="dot")
    steps, weights = parts_of(local)
    tables = {table["id"]: table for table in steps["tables"]}
    assert [name for name, table in tables.items() if "from" in table] == ["positions", "aligned", "weights"]
    assert tables["aligned"]["from"][1][2] == [["scores", 1, 0], ["scores", 1, 1], ["scores", 1, 2]]
    assert tables["weights"]["from"][1][2] == [["aligned", 1, 2]]
    assert len(weights["weights"][0]) == 7


def test_an_alignment_is_shown_as_a_translation_is(tmp_path):
    found = Alignment(["a", "cat"], ["une", "chatte"], np.array([[0.8, 0.1, 0.1], [0.1, 0.7, 0.2]]), -1.0)
    (part,) = data_in(found.html(tmp_path / "a.html").read_text())
    assert (part["source"], part["text"]) == ("a cat", "une chatte")
    assert part["weights"] == [[0.8, 0.2], [0.1, 0.9]]


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("map.png", "ends in .html"),
        ("nowhere/map.html", "there is no folder"),
        ("folder.html", "it is a folder"),
        ("x" * 300 + ".html", "File name too long"),
    ],
)
def test_places_that_cannot_be_written(tmp_path, path, words):
    (tmp_path / "folder.html").mkdir()
    with pytest.raises(InputError, match=words):
        translation().html(tmp_path / path)


def test_what_cannot_be_shown_is_said(tmp_path):
    blind = Translation("a", "b", ["a"], ["b"], None, 0.0, 0.0, True)
    with pytest.raises(InputError, match="this model has no attention"):
        blind.html(tmp_path / "map.html")
    with pytest.raises(InputError, match="there are no words to draw"):
        translation((), ()).html(tmp_path / "map.html")
    with pytest.raises(DtypeError, match="a list cannot be shown"):
        parts_of([1])
    assert list(tmp_path.iterdir()) == []
