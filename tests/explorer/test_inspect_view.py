"""Inspect, used as a person would, on a recording of 8,192 tokens; what the page says is what Python says."""

from __future__ import annotations

import json
import re
from xml.etree import ElementTree

import pytest

from regard.explorer.models import find_models
from tests.explorer.conftest import served
from tests.explorer.recorded_model import TOKENS, store
from tests.explorer.seeing import colours, faults

READY = ".big-map[data-state='exact']"
DRAWN = ".big-map:is([data-state='sampled'], [data-state='exact'])"
ZOOMED = "&map=attention&heads=1&rows=200-212&columns=190-202"


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    """The maps, and a site that serves them."""
    directory = tmp_path_factory.mktemp("recording")
    recorded = store(directory)
    models = find_models([str(directory)])
    for model in models:
        model.load()
    with served(models) as site:
        yield recorded, site, str(directory)


@pytest.fixture
def opened(page, recording):
    def opened(query="", ready=READY):
        _, site, name = recording
        page.goto(site.address(f"/inspect?recording={name}{query}"))
        page.locator(ready).wait_for(timeout=60_000)
        return page

    return opened


def cell(page, share=(0.5, 0.5)):
    """A point of the map, by its share of the height and the width."""
    return page.evaluate(
        """([y, x]) => {
          const box = document.querySelector(".big-map canvas").getBoundingClientRect();
          const narrow = box.width < 520;
          const [left, top, right, bottom] = narrow ? [58, 66, 34, 48] : [96, 84, 64, 72];
          return [box.left + left + x * (box.width - left - right), box.top + top + y * (box.height - top - bottom)];
        }""",
        share,
    )


def hover(page, share):
    page.locator(".big-map").scroll_into_view_if_needed()
    page.mouse.move(*cell(page, share))
    return page.locator(".map-panel .rg-readout")


def test_the_whole_map_becomes_exact(opened):
    page = opened("&map=attention")
    assert page.locator(".map-state").inner_text() == "Exact: every weight of this part was computed."
    assert colours(page.locator(".big-map").screenshot()) >= 3


def test_what_is_not_exact_yet_is_labelled_so(page, recording):
    _, site, name = recording
    page.route(
        "**/api/inspect/tile",
        lambda route: route.continue_() if '"sampled":true' in route.request.post_data else None,
    )
    page.goto(site.address(f"/inspect?recording={name}"))
    page.locator(".big-map[data-state='sampled']").wait_for(timeout=60_000)
    assert page.locator(".map-state").inner_text().startswith("Drawn from sampled rows; exact weights are coming: 0 %")
    page.unroute_all(behavior="ignoreErrors")


def test_the_hovered_number_is_that_of_python(opened, recording):
    page = opened(ZOOMED)
    head = recording[0]["attention"][0, 1]
    readout = hover(page, (5.5 / 12, 3.5 / 12))
    page.locator(".map-panel .rg-readout[data-weight]").wait_for()
    weight = float(head.weights(205, 193))
    assert readout.inner_text() == f"“{head.rows[205]}” (205) looks at “{head.columns[193]}” (193): {weight:.6g}"
    assert float(readout.get_attribute("data-weight")) == weight
    page.get_by_text("Numbers on screen as a table").click()
    page.locator(".map-numbers td").nth(1).wait_for()
    shown = [[float(td.inner_text()) for td in row.locator("td").all()] for row in page.locator("tbody tr").all()]
    wanted = head.weights(slice(200, 212), slice(190, 202)).tolist()
    assert shown == [[float(f"{weight:.6g}") for weight in row] for row in wanted]


def test_a_cell_of_many_weights_says_its_largest_one_and_pins_it(opened, recording):
    page = opened("&map=attention&heads=0", ready=DRAWN)
    head = recording[0]["attention"][0, 0]
    readout = hover(page, (0.6, 0.2))
    page.locator(".map-panel .rg-readout[data-weight]").wait_for()
    found = re.fullmatch(
        r"queries (\d+) to (\d+), from “.*”; keys (\d+) to (\d+), from “.*”: largest weight (\S+)", readout.inner_text()
    )
    top, bottom, left, right = (int(number) for number in found.groups()[:4])
    tile = head.weights(slice(top, bottom + 1), slice(left, right + 1))
    assert float(readout.get_attribute("data-weight")) == pytest.approx(float(tile.max()), rel=1e-5)
    page.mouse.down()
    page.mouse.up()
    page.wait_for_url("**at=*")
    row, column = (int(number) for number in re.search(r"at=(\d+),(\d+)", page.url).groups())
    assert float(head.weights(row, column)) == pytest.approx(float(tile.max()), rel=1e-5)


def test_wheel_drag_and_keys_move_the_map_and_the_address_keeps_it(opened):
    page = opened(ZOOMED)
    hover(page, (0.5, 0.5))
    page.mouse.wheel(0, 400)
    page.wait_for_url(lambda url: "rows=200-212" not in url)
    top, bottom = span(page)
    assert top < 200
    assert bottom > 212
    page.mouse.down()
    page.mouse.move(*cell(page, (0.2, 0.5)), steps=4)
    page.mouse.up()
    page.wait_for_url(lambda url: f"rows={top}-" not in url)
    assert span(page)[0] > top
    page.locator(".big-map").focus()
    page.keyboard.press("Home")
    page.wait_for_url(lambda url: "rows=" not in url)
    for _ in range(3):
        page.keyboard.press("+")
    page.wait_for_url(lambda url: length(url) in (TOKENS // 8, TOKENS // 8 + 1))
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_url("**at=*")
    before = page.url
    page.reload()
    page.locator(DRAWN).wait_for(timeout=60_000)
    assert page.url == before
    page.locator(".big-map").focus()
    page.keyboard.press("Escape")
    page.wait_for_url(lambda url: "at=" not in url)


def span(page, axis="rows"):
    first, last = re.search(rf"{axis}=(\d+)-(\d+)", page.url).groups()
    return int(first), int(last)


def length(url):
    """Rows on screen, as an address says them; all when it does not."""
    found = re.search(r"rows=(\d+)-(\d+)", url)
    return int(found[2]) - int(found[1]) if found else TOKENS


def choice(page, name):
    """The select of a control."""
    return page.locator("label.control", has_text=re.compile(f"^{name}")).locator("select")


def test_two_fingers_zoom(opened):
    page = opened("&map=attention", ready=DRAWN)
    x, y = cell(page)
    page.evaluate(
        """([x, y]) => {
          const canvas = document.querySelector(".big-map canvas");
          canvas.setPointerCapture = () => {};
          const fire = (type, id, dx) => canvas.dispatchEvent(new PointerEvent(type, {
            pointerId: id, clientX: x + dx, clientY: y, bubbles: true, pointerType: "touch", button: 0}));
          fire("pointerdown", 1, -20); fire("pointerdown", 2, 20);
          fire("pointermove", 2, 60); fire("pointermove", 1, -60);
          fire("pointerup", 1, -60); fire("pointerup", 2, 60);
        }""",
        [x, y],
    )
    page.wait_for_url(lambda url: length(url) == pytest.approx(TOKENS / 3, rel=0.02))


def test_every_head_has_a_small_map_and_a_click_shows_it_large(opened):
    page = opened(ZOOMED)
    page.locator(".heads-grid[data-state='drawn']").wait_for(timeout=60_000)
    assert page.get_by_text("Small maps are drawn from sampled rows.").is_visible()
    page.get_by_role("button", name=re.compile("^attention, head 0: ")).click(timeout=60_000)
    page.get_by_role("heading", name="attention, head 0").wait_for()
    page.wait_for_url("**heads=0&*")
    assert span(page) == (200, 212)  # the same part of another head
    page.get_by_role("button", name=re.compile("^cross_attn, head 1")).click()
    page.get_by_role("heading", name="cross_attn, head 1, cross-attention").wait_for()
    page.wait_for_url("**map=cross_attn&heads=1*")


def test_heads_are_averaged(opened, recording):
    page = opened(ZOOMED)
    page.get_by_role("switch", name="Average several heads").check(force=True)
    page.get_by_role("button", name=re.compile("^attention, head 0")).click()
    page.get_by_role("heading", name="attention, mean of heads 0, 1").wait_for()
    page.locator(READY).wait_for(timeout=60_000)
    readout = hover(page, (5.5 / 12, 3.5 / 12))
    page.locator(".map-panel .rg-readout[data-weight]").wait_for()
    maps = recording[0]["attention"]
    mean = (float(maps[0, 0].weights(205, 193)) + float(maps[0, 1].weights(205, 193))) / 2
    assert float(readout.get_attribute("data-weight")) == pytest.approx(mean, rel=1e-6)
    assert "heads=0,1" in page.url


def test_a_token_is_found_and_gone_to(opened):
    page = opened("&map=attention", ready=DRAWN)
    page.get_by_label("Find a token").fill("bird-7007")
    page.keyboard.press("Enter")
    page.get_by_text("“bird-7007” is not there").wait_for()
    page.get_by_label("Find a token").fill("-7007")
    page.keyboard.press("Enter")
    page.get_by_text("1 of 1: place 7007").wait_for()
    page.wait_for_url("**columns=*")
    first, last = span(page, "columns")
    assert first < 7007 < last <= first + 50
    assert "find=-7007" in page.url


def test_a_long_map_opens_on_a_logarithmic_scale_and_may_be_linear(opened):
    page = opened("&map=attention&heads=0", ready=DRAWN)
    legend = page.locator(".map-panel .rg-legend")
    assert legend.inner_text().split()[-1] == "logarithmic"
    choice(page, "Scale").select_option("linear")
    page.locator(".map-panel .rg-legend[data-key$='false']").wait_for()
    page.wait_for_url("**scale=linear*")
    assert legend.inner_text().split()[0] == "0"
    page.get_by_role("switch", name="Scale without the first token").check(force=True)
    page.wait_for_url("**sink=off*")


def test_the_scale_without_the_sink_ends_at_the_largest_of_the_other_columns(opened):
    page = opened(ZOOMED)
    tops = page.evaluate(
        """async () => {
          const { Tiles } = await import("/maps/tiles.js");
          const { topOf } = await import("/maps/scale.js");
          const values = Float32Array.of(0.9, 0.1, 0, 0.8, 0.15, 0.05, 0.7, 0.1, 0.2);
          await new Promise((done) => {
            const ask = async () => ({ values });
            window.tiles = new Tiles({ rows: 3, columns: 3, heads: 1, ask, onChange: done, onError: done });
            window.shown = window.tiles.cover([1, 1], { top: 0, left: 0, height: 3, width: 3 });
          });
          return [topOf(window.shown, false), topOf(window.shown, true), window.tiles.progress(window.shown)];
        }"""
    )
    assert tops == pytest.approx([1, 0.2, 1])


def test_words_are_shaded_by_the_row_and_a_click_pins_another(opened, recording):
    page = opened(f"{ZOOMED}&at=205,193")
    head = recording[0]["attention"][0, 1]
    word = page.locator(".text-word[data-place='193']")
    word.wait_for()
    assert word.inner_text() == head.columns[193]
    assert word.get_attribute("title") == f"193: {float(head.weights(205, 193)):.6g}"
    best = int(head.row(205).argmax())
    assert page.locator(".strong-place").first.inner_text().startswith(f"{head.columns[best]} ({best})")
    page.locator(".text-word[data-place='201']").click()
    page.wait_for_url("**at=201,193*")
    page.get_by_text(f"“{head.rows[201]}” (201) looks at these words").wait_for()
    choice(page, "Shade").select_option("column")
    page.get_by_text(f"“{head.columns[193]}” (193) is looked at by these words").wait_for()


def test_the_part_on_screen_is_saved_and_its_size_does_not_grow_with_the_map(opened, recording, tmp_path):
    sizes = {}
    for query in ("&map=attention&heads=1", ZOOMED):
        page = opened(query, ready=DRAWN)
        for kind in ("SVG", "PNG", "JSON", "HTML"):
            with page.expect_download(timeout=60_000) as waiting:
                page.get_by_role("button", name=f"Save as {kind}").click()
            file = tmp_path / f"{len(sizes)}.{kind}"
            waiting.value.save_as(file)
            sizes[query, kind] = file.stat().st_size
            if kind == "JSON":
                data = json.loads(file.read_text("utf-8"))
            if kind == "SVG":
                assert len(list(ElementTree.parse(file).iter())) > 100
            if kind == "PNG":
                assert colours(file.read_bytes()) >= 3
        assert data["kind"] == "map"
        assert max(len(data["rows"]), len(data["columns"])) <= 96
    assert sizes["&map=attention&heads=1", "HTML"] < 400_000
    head = recording[0]["attention"][0, 1]
    assert data["rows"] == head.rows[200:212]
    assert data["weights"] == head.weights(slice(200, 212), slice(190, 202)).tolist()


def test_names_contrast_and_width_in_light_dark_and_on_a_phone(opened):
    page = opened(f"{ZOOMED}&at=205,193&find=cat")
    page.locator(".text-word").first.wait_for()
    for width, scheme in ((1280, "light"), (375, "dark")):
        page.set_viewport_size({"width": width, "height": 800})
        page.emulate_media(color_scheme=scheme)
        assert faults(page) == [], (width, scheme)
        assert colours(page.screenshot()) >= 5


def test_without_a_recording_it_says_how_to_make_one(page, bare_site):
    page.goto(bare_site.address("/inspect"))
    page.get_by_role("heading", name="Nothing to inspect").wait_for()
    assert "regard.record(model, store=DIR)" in page.locator(".notice").inner_text()


def test_a_recording_that_is_not_there_is_said(page, recording):
    page.goto(recording[1].address("/inspect?recording=elsewhere"))
    page.get_by_text("There is no recording “elsewhere” here.").first.wait_for()
