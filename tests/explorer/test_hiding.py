"""Hiding words and places, used as a person would; stand-in models write "?" and "thing" for what they cannot see."""

import json
import re
from typing import Any

import numpy as np
import pytest

from regard.explorer.models import find_models
from tests.explorer.conftest import served
from tests.explorer.seeing import faults, photograph
from tests.explorer.stand_ins import Diagonal

NEEDED, LOOKED = "what it needed", "where it looked"


@pytest.fixture
def translated(page, site):
    def translated(query=""):
        page.goto(site.address(f"/translate?model=capitals&text=the+black+cat+sleeps{query}"))
        page.locator(".rg-map").wait_for()
        return page

    return translated


def column(page, name):
    return page.get_by_role("group", name="Input words").get_by_role("button", name=name)


def sentences(page):
    page.locator(".comparison").first.wait_for()
    return page.locator(".comparison .answer").all_inner_texts()


def read(page):
    return page.locator(".rg-map .rg-readout").inner_text()


def test_a_word_is_hidden_by_a_click_and_shown_again_by_undo(translated):
    page = translated()
    column(page, "black").click()
    assert sentences(page) == ["SLEEPS CAT BLACK THE", "SLEEPS CAT ? THE"]
    assert page.locator(".comparison del").all_inner_texts() == ["BLACK"]
    assert page.locator(".comparison ins").all_inner_texts() == ["?"]
    assert "Without “black”" in page.locator(".comparison").inner_text()
    assert page.locator("#live").inner_text() == "Without “black”: SLEEPS CAT ? THE (1 word changed)"
    assert column(page, "black").get_attribute("aria-pressed") == "true"
    assert page.evaluate("document.activeElement.textContent") == "black"
    assert "hide=1" in page.url
    assert faults(page) == []
    page.reload()
    assert sentences(page) == ["SLEEPS CAT BLACK THE", "SLEEPS CAT ? THE"]
    page.get_by_role("button", name="Undo").click()
    page.locator(".comparison").wait_for(state="detached")
    assert page.locator(".answer").first.inner_text() == "SLEEPS CAT BLACK THE"
    assert "hide" not in page.url


def test_words_are_hidden_by_keys_and_each_is_shown_again(translated):
    page = translated()
    column(page, "the").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    assert sentences(page)[1] == "SLEEPS CAT ? THE"
    page.keyboard.press("End")
    page.keyboard.press(" ")
    page.get_by_text("Without “black”, “sleeps”", exact=True).wait_for()
    assert sentences(page)[1] == "? CAT ? THE"
    assert "hide=1,3" in page.url
    page.get_by_role("button", name="Show “black” again").click()
    page.get_by_text("Without “sleeps”", exact=True).wait_for()
    assert sentences(page)[1] == "? CAT BLACK THE"
    page.go_back()
    page.get_by_text("Without “black”, “sleeps”", exact=True).wait_for()
    page.get_by_role("button", name="Show all").click()
    page.locator(".comparison").wait_for(state="detached")


def test_a_word_is_taken_out_of_the_input(translated):
    page = translated("&hide=1")
    sentences(page)
    page.get_by_role("switch", name="Take it out of the input too").check()
    page.locator(".rg-map .rg-column").nth(3).wait_for(state="detached")
    assert sentences(page)[1] == "SLEEPS CAT THE"
    assert page.locator(".rg-column").all_inner_texts() == ["the", "cat", "sleeps"]
    assert page.evaluate("document.activeElement.role") == "switch"
    assert "hide_input=true" in page.url
    column(page, "cat").click()  # the second column is the third word
    page.get_by_text("Without “black”, “cat”", exact=True).wait_for()
    assert "hide=1,2" in page.url
    beside = page.get_by_role("region", name="Without attention")
    beside.get_by_text("SLEEPS THE").wait_for()  # what has no attention can be without an input too


def test_another_sentence_begins_with_nothing_hidden(translated):
    page = translated("&hide=1")
    sentences(page)
    page.get_by_label("Sentence").fill("one two")
    page.keyboard.press("Enter")
    page.get_by_text("TWO ONE").first.wait_for()
    assert page.locator(".comparison").count() == 0
    assert "hide" not in page.url


def test_a_word_that_is_not_there_is_said(page, site):
    page.goto(site.address("/translate?model=capitals&text=a+b&hide=7"))
    page.get_by_role("alert").wait_for()
    assert "There is no source word 7 to hide" in page.get_by_role("alert").inner_text()
    page.wrong.clear()  # the browser itself reports the 400


def test_the_map_is_switched_to_what_was_needed(translated):
    page = translated()
    box = page.locator(".rg-map canvas").bounding_box()
    page.get_by_role("radio", name=NEEDED).check()
    page.get_by_text("2.5 nats").wait_for()
    assert page.locator(".rg-legend").inner_text().split() == ["0", "2.5", "nats"]
    first, last = (page.locator(".rg-map canvas"), {"x": 5, "y": 5}), {"x": box["width"] - 5, "y": 5}
    first[0].hover(position=first[1])
    assert read(page) == "“SLEEPS” becomes likelier by 0.25 nats when “the” is hidden (-0.25)"
    first[0].hover(position=last)
    assert read(page) == "“SLEEPS” loses 2.5 nats when “sleeps” is hidden"
    page.locator(".rg-row").first.hover()
    assert read(page) == "“SLEEPS” needs “sleeps” (2.5 nats)"
    page.wait_for_url(lambda url: "by=needed" in url)
    assert faults(page) == []
    page.reload()
    page.get_by_text("2.5 nats").wait_for()
    page.get_by_role("radio", name=NEEDED).focus()
    page.keyboard.press("ArrowLeft")
    page.locator(".rg-row").first.hover()
    assert read(page).startswith("“SLEEPS” looks at “sleeps” 95 %")


@pytest.mark.parametrize("kind", ["SVG", "HTML", "JSON"])
def test_both_sentences_and_the_chosen_map_are_saved(translated, kind, tmp_path):
    page = translated("&hide=1&by=needed")
    page.get_by_text("2.5 nats").wait_for()
    page.get_by_role("region", name="Without attention").get_by_text("SLEEPS CAT BLACK THE").wait_for()
    with page.expect_download() as waiting:
        page.get_by_role("button", name=f"Save as {kind}").click()
    waiting.value.save_as(tmp_path / "saved")
    saved = (tmp_path / "saved").read_text("utf-8")
    assert "capitals, as it is" in saved
    assert re.search(r"capitals, without (“|\\u201c)black", saved)
    if kind == "SVG":
        assert ">2.5 nats<" in saved
    if kind == "JSON":
        assert [(part.get("by"), part.get("hidden")) for part in json.loads(saved)["parts"]] == [
            (None, None),
            ("needed", [1]),
            (None, None),
        ]


def test_a_map_that_cannot_be_measured_stays_the_one_it_was(translated):
    page = translated()
    page.route("**/api/translate", lambda route: route.fulfill(status=503, json={"error": "busy"}))
    page.get_by_role("radio", name=NEEDED).check(force=True)
    page.locator(".rg-map .rg-readout").get_by_text("busy", exact=True).wait_for()
    assert page.get_by_role("radio", name=LOOKED).is_checked()
    page.wrong.clear()  # the browser itself reports the 503


def test_numbers_are_those_of_python(page):
    model: Any
    (model,) = find_models(["en-fr"])
    model.load()
    found = model.translator.translate("The old man sleeps.", hide=[1])
    with served([model]) as site:
        page.goto(site.address("/translate?model=en-fr&text=The+old+man+sleeps.&hide=1&by=needed"))
        page.locator(".rg-legend", has_text="nats").wait_for()
        page.get_by_text("All numbers as a table").click()
        page.locator(".rg-numbers tbody tr").nth(len(found.target_words) - 1).wait_for()
        shown = [row.locator("td").all_inner_texts() for row in page.locator(".rg-numbers tbody tr").all()]
        assert page.locator(".comparison .answer").nth(1).inner_text() == found.text
    np.testing.assert_allclose(np.array(shown, dtype=float), found.needed(), rtol=0.06, atol=6e-5)


@pytest.fixture
def fine(page):
    """A captioner of 14 x 14 cells beside one of 7 x 7, with a photograph."""
    with served([Diagonal("fine", "soft", 14), Diagonal("coarse", "soft", 7)]) as site:
        page.goto(site.address("/caption"))
        page.locator("#photo").wait_for(state="attached")
        page.locator("#photo").set_input_files({"name": "p.png", "mimeType": "image/png", "buffer": photograph()})
        page.locator(".rg-photo").nth(1).wait_for()
        yield page
        page.goto("about:blank")  # what it still asks for must not outlive the server


def cell(page, model, row, column):
    return page.get_by_role("region", name=model).get_by_label(f"row {row + 1}, column {column + 1}", exact=True)


def test_places_are_hidden_by_clicks_and_shown_again(fine):
    page = fine
    page.get_by_role("switch", name="Choose places to hide").check()
    assert page.get_by_role("region", name="fine").locator(".cell-grid button").count() == 196
    assert page.get_by_role("region", name="coarse").locator(".cell-grid button").count() == 49
    assert faults(page) == []
    cell(page, "coarse", 2, 2).click()
    assert sentences(page) == ["a dog runs on grass", "a thing runs on grass"] * 2
    assert page.locator(".comparison ins").all_inner_texts() == ["thing", "thing"]
    assert page.locator(".comparison del").all_inner_texts() == ["dog", "dog"]
    assert "4 places hidden" in page.locator(".hiding").inner_text()  # as the finer of the two counts them
    assert cell(page, "fine", 5, 5).get_attribute("aria-pressed") == "true"
    assert "hide=4,4;4,5;5,4;5,5" in page.url
    page.reload()  # the photograph is kept by the tab
    assert sentences(page) == ["a dog runs on grass", "a thing runs on grass"] * 2
    page.get_by_role("button", name="Show all").click()
    page.locator(".comparison").first.wait_for(state="detached")
    assert "hide" not in page.url


def test_places_are_hidden_by_keys_and_by_drawing(fine):
    page = fine
    page.get_by_role("switch", name="Choose places to hide").check()
    cell(page, "fine", 0, 0).focus()
    for key in ["ArrowDown"] * 2 + ["ArrowRight"] * 2:
        page.keyboard.press(key)
    page.keyboard.press("Enter")
    assert sentences(page)[1] == "thing dog runs on grass"
    assert page.evaluate("document.activeElement.ariaLabel") == "row 3, column 3"
    start, stop = (cell(page, "fine", 4, at).bounding_box() for at in (2, 6))
    page.mouse.move(start["x"] + 3, start["y"] + 3)
    page.mouse.down()
    page.mouse.move(stop["x"] + 3, stop["y"] + 3, steps=12)
    page.mouse.up()
    page.get_by_text("6 places hidden").wait_for()
    page.get_by_text("Without 6 places").first.wait_for()
    assert sentences(page)[1] == "thing thing runs on grass"
    page.get_by_role("button", name="Undo").click()
    page.get_by_text("Without one place").first.wait_for()
    assert sentences(page)[1] == "thing dog runs on grass"


def test_photographs_are_switched_to_what_was_needed_together(fine):
    page = fine
    page.get_by_role("radio", name=NEEDED).first.check()
    page.locator(".rg-nats", has_text="nats").nth(9).wait_for()
    assert [radio.is_checked() for radio in page.get_by_role("radio", name=NEEDED).all()] == [True, True]
    page.get_by_role("region", name="fine").locator(".rg-word").first.click()
    text = page.get_by_role("region", name="fine").locator(".rg-readout").inner_text()
    assert text.startswith("“a” needs most what is at the top left: hiding it costs 0.3")
    assert "likelier, by 0.1" in text
    assert faults(page) == []
    page.wait_for_url(lambda url: "by=needed" in url)


@pytest.mark.parametrize(
    ("before", "after", "lost", "gained"),
    [
        ("a b c", "a b c", "", ""),
        ("a b c", "a x c", "b", "x"),
        ("a b c", "c a b", "c", "c"),
        ("", "a", "", "a"),
        ("a a b", "a b", "a", ""),
    ],
)
def test_words_that_differ(run, before, after, lost, gained):
    before, after = before.split(), after.split()
    found = run("page/hiding.js", "m.changes(...x)", [before, after])
    shown = [
        " ".join(word for word, differs in zip(*pair, strict=True) if differs)
        for pair in zip((before, after), found, strict=True)
    ]
    assert shown == [lost, gained]


def test_cells_of_one_grid_in_another(run):
    same = "m.sameCells(...x)"
    assert run("page/cell_grid.js", same, [[[1, 2]], [7, 7], [7, 7]]) == [[1, 2]]
    assert run("page/cell_grid.js", same, [[[1, 2]], [7, 7], [14, 14]]) == [[2, 4], [2, 5], [3, 4], [3, 5]]
    assert run("page/cell_grid.js", same, [[[2, 4], [2, 5]], [14, 14], [7, 7]]) == [[1, 2]]
    assert run("page/cell_grid.js", same, [[[2, 4]], [14, 14], [7, 7]]) == []
