"""What holds on every view: something to see, in light and dark and on a phone; names, contrast, addresses, files."""

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.explorer.seeing import colours, faults, photograph

VIEWS = {
    "steps": ("/steps", ".computed .rg-cell"),
    "self": ("/steps?rung=self&order=2,0,3,1&places=on", "[data-table='context_all']"),
    "additive": ("/steps?rung=many&score=additive", "[data-table='hidden']"),
    "heads": ("/steps?rung=heads", "[data-table='output']"),
    "translate": ("/translate?text=the+black+cat+sleeps&rows=1", ".rg-map"),
    "heads map": ("/translate?model=capitals-heads&text=the+cat+sleeps", ".rg-map select"),
    "caption": ("/caption", ".rg-frame canvas"),
    "kinds": ("/kinds?look=window&text=one+two+three", ".kind-map .rg-map"),
}


def show(page, site, view):
    path, ready = VIEWS[view]
    page.goto(site.address(path))
    if view == "caption":
        page.locator("#photo").wait_for(state="attached")
        page.locator("#photo").set_input_files({"name": "p.png", "mimeType": "image/png", "buffer": photograph()})
    page.locator(ready).first.wait_for()


@pytest.mark.parametrize("view", VIEWS)
def test_names_contrast_and_width_in_light_dark_and_on_a_phone(page, site, view):
    show(page, site, view)
    for width, scheme in ((1280, "light"), (375, "dark")):
        page.set_viewport_size({"width": width, "height": 800})
        page.emulate_media(color_scheme=scheme)
        assert faults(page) == [], (width, scheme)
        assert colours(page.screenshot()) >= 5


def test_the_empty_caption_view_and_the_missing_models_are_fit_to_be_seen(page, site):
    page.goto(site.address("/caption"))
    page.get_by_text("Drop a photograph here").wait_for()
    assert faults(page) == []
    page.route("**/api/models", lambda route: route.fulfill(json={"models": []}))
    for task in ("translate", "caption"):
        page.goto(site.address(f"/{task}"))
        page.get_by_role("heading", name=f"No model to {task} with").wait_for()
        assert faults(page) == []


def test_the_switch_goes_from_the_system_s_colours_to_light_to_dark(page, site):
    page.emulate_media(color_scheme="dark")
    page.goto(site.address("/steps"))
    background = "getComputedStyle(document.querySelector('.top')).backgroundColor"
    dark = page.evaluate(background)
    page.locator("#theme").click()
    light = page.evaluate(background)
    assert light != dark
    page.locator("#theme").click()
    assert page.evaluate(background) == dark
    page.emulate_media(color_scheme="light")
    page.reload()
    assert page.evaluate(background) == dark
    assert page.locator("#theme").get_attribute("aria-label") == "Colours: dark. Switch."


def test_the_token_leaves_the_address_and_stays_with_the_page(page, site):
    page.goto(site.address("/translate?text=one+two"))
    page.locator(".answer").first.wait_for()
    assert "token" not in page.url
    page.get_by_role("navigation").get_by_role("link", name="Kinds").click()
    page.locator(".kind-map .rg-map").first.wait_for()
    assert "token" not in page.url


def test_every_view_is_reached_by_keyboard_from_the_top(page, site):
    page.goto(site.address("/"))
    page.locator(".rg-cell").first.wait_for()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
    page.keyboard.press("Tab")
    for name in ("Steps", "Translate", "Caption", "Kinds"):
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.textContent") == name
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Kinds", exact=True).wait_for()
    assert page.title() == "Kinds · regard"


@pytest.mark.parametrize("view", ["self", "translate", "caption", "kinds"])
def test_what_is_on_the_screen_is_saved_as_svg_png_json_and_html(page, site, view, browser, tmp_path):
    show(page, site, view)
    saved = {}
    for kind in ("SVG", "PNG", "JSON", "HTML"):
        with page.expect_download() as waiting:
            page.get_by_role("button", name=f"Save as {kind}").click()
        saved[kind] = tmp_path / waiting.value.suggested_filename
        assert saved[kind].suffix == f".{kind.lower()}"
        waiting.value.save_as(saved[kind])
    tree = ElementTree.parse(saved["SVG"])
    assert len(list(tree.iter())) > 20
    assert colours(saved["PNG"].read_bytes()) >= 5
    assert json.loads(saved["JSON"].read_text("utf-8"))["kind"] in ("map", "photo", "steps", "several")
    opened_from_disk(browser, saved["HTML"], view)


def opened_from_disk(browser, file: Path, view):
    context = browser.new_context(offline=True)
    page, wrong = context.new_page(), []
    page.on("console", lambda said: wrong.append(said.text) if said.type == "error" else None)
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.goto(file.as_uri())
    page.locator(".rg figure").first.wait_for()
    assert colours(page.screenshot()) >= 5
    if view == "self":
        page.locator(".rg-cells").last.locator("td.rg-cell").first.hover()
        assert page.locator(".rg-source").count() > 3
        assert "=" in page.locator(".rg-readout").inner_text()
    if view == "translate":
        page.locator(".rg-row").first.hover()
        assert "looks at" in page.locator(".rg-map .rg-readout").first.inner_text()
    context.close()
    assert wrong == []
