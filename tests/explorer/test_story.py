"""The story, beat by beat in a real Chromium: every number on the stage is what Python computes from its weights."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import regard.explorer
from regard.explorer.blackboard import START, load, write
from regard.show.formatting import short
from tests.explorer.seeing import faults, photograph, violations

CHAPTERS = Path(regard.explorer.__file__).parent / "stage" / "chapters"
SLUGS = ("bottleneck", "look-back", "grid")
WIDE, PHONE = {"width": 1280, "height": 860}, {"width": 390, "height": 844}


def script(slug):
    return json.loads((CHAPTERS / f"{slug}.json").read_text(encoding="utf-8"))


def decimal(number):
    """As the stage writes numbers: two decimals, none of large ones, three for what would be 0 by that, then ≈0."""
    size = abs(number)
    if 0 < size < 0.0005:
        return "≈0"
    return short(float(f"{number:.{0 if size >= 100 else 3 if size < 0.005 else 2}f}"))


def computed(model, source, *, hard=False):
    """The text of every number that may stand on the stage, by its key."""
    written = write(model, source, hard=hard)
    found = {f"h.{i}": h for i, h in enumerate(written.states, 1)} | {"s.0": written.first}
    for t, step in enumerate(written.steps, 1):
        found |= {f"s.{t}": step.state, f"c.{t}": step.context}
        found |= {f"e.{t}.{i}": score for i, score in enumerate(step.scores, 1)}
        found |= {f"a.{t}.{i}": weight for i, weight in enumerate(step.weights, 1)}
        pairs = zip(step.weights, written.states, strict=False)
        found |= {f"w.{t}.{i}": weight * state for i, (weight, state) in enumerate(pairs, 1)}
    words = [START, *(step.word for step in written.steps)]
    return {key: decimal(number) for key, number in found.items()} | {f"y.{t}": word for t, word in enumerate(words)}


ON_STAGE = """() => [...document.querySelectorAll('.story-scene > .stage > .thing[data-key]')].map((thing) => {
  const box = thing.getBoundingClientRect(), stage = thing.parentElement.getBoundingClientRect();
  return {key: thing.dataset.key, text: thing.querySelector('.text')?.textContent ?? '',
    button: thing.tagName === 'BUTTON', x: box.x - stage.x, y: box.y - stage.y, w: box.width, h: box.height,
    width: stage.width, height: stage.height};
})"""


def check(things, expected, *, touch):
    """Every number is the computed one, nothing overlaps or is cut, and what can be touched is large enough."""
    assert [
        thing["key"] for thing in things if thing["key"] in expected and thing["text"] != expected[thing["key"]]
    ] == []
    known = {"pic", "x", "map", "label", "answer", "slope", "g"} | {key.split(".")[0] for key in expected}
    assert {thing["key"].split(".")[0] for thing in things} <= known
    for thing in things:
        assert thing["x"] >= -1, thing
        assert thing["y"] >= -1, thing
        assert thing["x"] + thing["w"] <= thing["width"] + 1, thing
        assert thing["y"] + thing["h"] <= thing["height"] + 1, thing
        if touch and thing["button"]:
            assert min(thing["w"], thing["h"]) >= 44, thing
    boxes = [thing for thing in things if thing["button"]]
    for number, one in enumerate(boxes):
        for other in boxes[number + 1 :]:
            across = min(one["x"] + one["w"], other["x"] + other["w"]) - max(one["x"], other["x"])
            down = min(one["y"] + one["h"], other["y"] + other["h"]) - max(one["y"], other["y"])
            assert min(across, down) <= 1, (one["key"], other["key"])


def settled(page, beat):
    page.wait_for_function(
        "(label) => document.querySelector('.dots [aria-current]')?.ariaLabel.startsWith(label)", arg=f"Beat {beat} of"
    )
    page.wait_for_function("() => document.getAnimations().every((one) => one.playState !== 'running')")
    page.wait_for_function("() => document.querySelector('[aria-busy=true]') === null")


@pytest.mark.parametrize("slug", SLUGS)
def test_every_beat_by_keyboard(page, site, slug):
    page.set_viewport_size(WIDE)
    walk(page, site, slug, lambda: page.keyboard.press("ArrowRight"), touch=False)


@pytest.mark.parametrize("slug", SLUGS)
def test_every_beat_by_touch_in_the_dark(phone, site, slug):
    phone.emulate_media(color_scheme="dark", reduced_motion="reduce")
    walk(phone, site, slug, phone.get_by_role("button", name="Next").tap, touch=True)


def walk(page, site, slug, go_on, *, touch):
    """Look at every beat of a chapter."""
    chapter = script(slug)
    model, source = load(chapter["model"]), chapter["source"]
    page.goto(site.address(f"/story/{slug}/1"))
    for number, beat in enumerate(chapter["beats"], 1):
        settled(page, number)
        things = page.evaluate(ON_STAGE)
        assert things or beat.get("panel")
        check(things, computed(model, source, hard=beat.get("hard", False)), touch=touch)
        assert {thing["key"] for thing in things} >= set(beat.get("ask", []))
        text = page.locator(".say").inner_text()
        assert text
        assert "{" not in text
        if beat.get("panel") in (None, "weights", "sentences", "picture"):
            assert faults(page) == [], number
        assert violations(page) == [], number
        assert page.url.endswith(f"/story/{slug}/{number}")
        if number < len(chapter["beats"]):
            go_on()


def test_a_beat_is_the_same_when_it_is_reloaded_and_in_the_history(page, site):
    page.goto(site.address("/story/look-back/8"))
    settled(page, 8)
    eighth = page.evaluate(ON_STAGE)
    page.keyboard.press("PageDown")
    settled(page, 9)
    page.go_back()
    settled(page, 8)
    assert page.evaluate(ON_STAGE) == eighth
    page.reload()
    settled(page, 8)
    assert page.evaluate(ON_STAGE) == eighth


def test_a_number_tells_its_sum_and_a_changed_weight_changes_what_follows(page, site):
    page.goto(site.address("/story/look-back/10"))
    settled(page, 10)
    page.locator("[data-key='h.2']").click()
    model, source = load("words-attention"), script("look-back")["source"]
    assert page.locator(".sum strong").inner_text() == computed(model, source)["h.2"]
    model["read"]["x"] = 0.4
    page.get_by_label("weight read.x").fill("0.4")
    page.get_by_label("weight read.x").press("Enter")
    expected = computed(model, source)
    page.wait_for_function(
        "(text) => document.querySelector(\"[data-key='h.2'] .text\").textContent === text", arg=expected["h.2"]
    )
    check(page.evaluate(ON_STAGE), expected, touch=False)
    page.wait_for_url("**/story/look-back/10?set=read.x%3A0.4")
    page.reload()
    settled(page, 10)
    check(page.evaluate(ON_STAGE), expected, touch=False)
    page.locator("[data-key='h.2']").click()
    page.get_by_label("weight read.x").fill("many")
    page.get_by_label("weight read.x").press("Enter")
    assert page.get_by_label("weight read.x").input_value() == "0.4"


def test_a_question_is_answered_by_pointing(page, site):
    page.goto(site.address("/story/look-back/11"))
    settled(page, 11)
    page.locator("[data-key='h.3']").click()
    settled(page, 12)
    assert page.locator(".verdict").inner_text() == "You pointed at sleeps."
    page.keyboard.press("ArrowLeft")
    settled(page, 11)
    page.locator("[data-key='h.2']").focus()
    page.keyboard.press("Enter")
    settled(page, 12)
    assert page.locator(".verdict").inner_text() == "Yes."


def test_another_sentence_and_another_picture(page, site):
    page.goto(site.address("/story/bottleneck/11"))
    settled(page, 11)
    page.get_by_role("button", name="the wolf sings").click()
    page.wait_for_url("**/story/bottleneck/11?read=the+wolf+sings")
    check(page.evaluate(ON_STAGE), computed(load("words-plain"), ["the", "wolf", "sings"]), touch=False)
    assert page.locator(".nine .right").count() == 4
    page.goto(site.address("/story/grid/14"))
    settled(page, 14)
    page.get_by_label("Below").select_option("sea")
    page.get_by_label("It looks").select_option("hard")
    page.wait_for_url("**/story/grid/14?read=*&look=hard")
    source = ["sky", "sun", *["sky"] * 4, *["sea"] * 3]
    check(page.evaluate(ON_STAGE), computed(load("grid"), source, hard=True), touch=False)


def test_the_keyboard_swipes_and_the_frame(page, site):
    page.goto(site.address("/story/bottleneck/14"))
    settled(page, 14)
    page.keyboard.press("ArrowRight")  # on to the next chapter
    page.get_by_role("heading", name="Look back").wait_for()
    settled(page, 1)
    page.keyboard.press("Space")
    settled(page, 2)
    touch = "(x) => new Touch({identifier: 1, target: document.body, clientX: x, clientY: 300})"
    page.evaluate(f"""() => {{
      const at = {touch}, story = document.querySelector('.story-text');
      story.dispatchEvent(new TouchEvent('touchstart', {{touches: [at(300)], bubbles: true}}));
      story.dispatchEvent(new TouchEvent('touchend', {{changedTouches: [at(150)], bubbles: true}}));
    }}""")
    settled(page, 3)
    page.goto(site.address("/story/look-back/4?embed="))
    settled(page, 4)
    assert not page.locator(".top").is_visible()
    assert page.locator("button.turn").count() == 2
    page.keyboard.press("f")
    page.wait_for_function("() => document.fullscreenElement !== null")


def test_the_live_translator_shows_pieces(page, site):
    last = len(script("look-back")["beats"])
    page.goto(site.address(f"/story/look-back/{last}"))
    page.locator(".live [data-key='y.1']").wait_for()
    page.get_by_role("button", name="Word ▶").click()
    assert "looks most at" in page.locator(".live .step-say").inner_text()
    assert faults(page) == []


def test_the_live_captioners_step_together(page, site, tmp_path):
    page.goto(site.address(f"/story/grid/{len(script('grid')['beats'])}"))
    chosen = page.locator(".photographs [aria-selected=true]")
    page.wait_for_function("() => document.querySelectorAll('.photographs [aria-selected=true]').length === 2")
    assert chosen.all_inner_texts() == ["a", "a"]
    page.get_by_role("button", name="Word ▶").click()
    assert chosen.all_inner_texts() == ["dog", "dog"]
    page.locator(".photographs .rg-word", has_text="grass").first.click()
    assert chosen.all_inner_texts() == ["grass", "grass"]
    assert page.get_by_role("button", name="Word ▶").is_disabled()
    assert violations(page) == []
    page.set_viewport_size(PHONE)
    assert faults(page) == []
    own = tmp_path / "own.png"
    own.write_bytes(photograph())
    first = page.locator(".photographs img").first.get_attribute("src")
    page.locator("#stage-photo").set_input_files(own)
    page.wait_for_function("(first) => document.querySelector('.photographs img').src !== first", arg=first)
    assert chosen.all_inner_texts() == ["a", "a"]
    page.get_by_role("link", name="Open in Caption").click()
    page.locator(".panel .rg-photo").first.wait_for()


def test_the_slope_is_that_of_the_loss(run):
    found = run(
        "maths/blackboard.js",
        "m.slope(x.model, x.source, x.target, 'align.0.v')",
        {
            "model": load("words-attention"),
            "source": ["the", "cat", "sleeps"],
            "target": ["le", "chat", "dort", "[STOP]"],
        },
    )
    assert found == pytest.approx(slope_by_hand(), rel=1e-4, abs=1e-7)


def slope_by_hand():
    import torch

    model, source = load("words-attention"), ["the", "cat", "sleeps"]
    target = ["le", "chat", "dort", "[STOP]"]
    v = torch.tensor(model["align"][0]["v"], dtype=torch.float64, requires_grad=True)
    written = write(model, source)
    states = torch.tensor(written.states, dtype=torch.float64)
    state, loss, last = torch.tensor(written.first, dtype=torch.float64), torch.zeros(()), START
    for word in target:
        hidden = [torch.tanh(unit["s"] * state + unit["h"] * states + unit["b"]) for unit in model["align"]]
        context = (v * hidden[0] + model["align"][1]["v"] * hidden[1]).softmax(0) @ states
        w = model["write"]
        state = torch.tanh(w["s"] * state + w["y"] * model["target"][last] + w["c"] * context + w["b"])
        logits = torch.stack([o["s"] * state + o["c"] * context + o["b"] for o in model["output"].values()])
        loss, last = loss - logits.log_softmax(0)[list(model["output"]).index(word)], word
    loss.backward()
    return float(v.grad)


def test_the_cover_has_a_map_that_writes_itself_and_the_way_in(page, site, bare_site):
    for where, corner in ((site, "tbody tr:first-child th"), (bare_site, "tbody tr:last-child th")):
        page.goto(where.address("/"))
        page.locator(".self-writing table").wait_for()
        page.wait_for_function("() => document.querySelectorAll('.self-writing .ahead').length === 0")
        assert page.locator(f".self-writing {corner}").inner_text()
        for size in (WIDE, PHONE):
            page.set_viewport_size(size)
            assert faults(page) == []
    page.get_by_role("link", name="Begin").click()
    settled(page, 1)
    assert page.url.endswith("/story/bottleneck/1")
