"""What holds on every view: something to see, in light and dark and on a phone; names, contrast, addresses, files."""

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from numpy.testing import assert_allclose

from regard.show.colours import colours_of
from tests.explorer.seeing import colours, faults, photograph
from tests.show.test_colours import luminance

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


def test_the_empty_caption_view_is_fit_to_be_seen(page, site):
    page.goto(site.address("/caption"))
    page.get_by_text("Drop a photograph here").wait_for()
    assert faults(page) == []


def test_without_a_model_steps_work_and_a_line_says_how_to_get_one(page, bare_site):
    page.goto(bare_site.address("/steps"))
    page.get_by_role("heading", name="Steps", exact=True).wait_for()
    line = page.locator(".lead .rg-note")
    line.wait_for()
    shown = "No model to translate is loaded; train one with regard init translate > run.toml and regard train run.toml"
    assert line.inner_text() == f"{shown}, then regard serve runs/translate."
    assert page.locator("[data-table='weights'] td.rg-cell").first.inner_text() == "0.1192"
    for task in ("translate", "caption"):
        page.get_by_role("navigation").get_by_role("link", name=task.capitalize()).click()
        page.get_by_role("heading", name=f"No model to {task} with").wait_for()
        assert page.locator(".notice code").last.inner_text() == f"regard serve runs/{task}"
        for width in (1280, 375):
            page.set_viewport_size({"width": width, "height": 800})
            assert faults(page) == []
    page.get_by_role("link", name="Kinds").last.click()
    page.get_by_text("With two translators the same sentence stands here").wait_for()
    assert faults(page) == []


def test_with_models_nothing_is_said_of_missing_ones(page, site):
    with page.expect_response("**/api/models"):
        page.goto(site.address("/steps"))
    page.locator(".computed .rg-cell").first.wait_for()
    assert page.locator(".lead .rg-note").count() == 0


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


def test_a_link_opens_in_a_new_tab(page, site):
    page.goto(site.address("/translate?text=one+two"))
    page.locator(".answer").first.wait_for()
    link = page.url
    assert "token" not in link
    other = page.context.new_page()
    other.goto(link)
    assert other.locator(".answer").first.inner_text() == "TWO ONE"
    with page.context.expect_page() as opened:
        page.get_by_role("navigation").get_by_role("link", name="Translate").click(modifiers=["ControlOrMeta"])
    opened.value.locator(".answer").first.wait_for()
    assert page.context.cookies() == []  # no request of another page may carry the token by itself


def test_the_token_is_not_known_to_another_server_of_this_machine(page, site, bare_site):
    page.goto(site.address("/steps"))
    page.locator(".rg-cell").first.wait_for()
    page.goto(f"{bare_site.origin}/steps")
    page.locator(".rg-cell").first.wait_for()
    assert page.evaluate("({...localStorage})") == {}
    page.locator(".lead .rg-note").wait_for()
    assert "open the address that regard serve printed" in page.locator(".lead .rg-note").inner_text()
    page.wrong.clear()  # the browser itself reports the 401


def test_a_browser_that_keeps_nothing_still_shows_everything(page, site):
    page.add_init_script("""
      for (const store of ["localStorage", "sessionStorage"])
        Object.defineProperty(window, store, { get() { throw new DOMException("no", "SecurityError"); } });
    """)
    page.goto(site.address("/translate?text=one+two"))
    page.locator(".answer").first.wait_for()
    page.locator("#theme").click()
    page.get_by_role("navigation").get_by_role("link", name="Caption").click()
    page.get_by_text("Drop a photograph here").wait_for()


def test_the_skip_link_goes_to_the_content_and_leaves_the_address(page, site):
    page.goto(site.address("/steps?rung=many"))
    page.locator(".rg-cell").first.wait_for()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "view"
    assert page.url.endswith("/steps?rung=many")


@pytest.mark.parametrize("path", ["/steps?rung=many", "/kinds"])
def test_a_control_keeps_the_focus_while_it_is_used(page, site, path):
    page.goto(site.address(path))
    fewer = page.get_by_role("button", name="Keys: one fewer")
    count = int(fewer.locator("+ output").inner_text())
    fewer.focus()
    for _ in range(count - 1):
        page.keyboard.press("Enter")
    assert fewer.locator("+ output").inner_text() == "1"
    assert page.evaluate("document.activeElement.ariaLabel") == "Keys: one more"


def test_a_rung_keeps_the_focus_when_it_is_chosen(page, site):
    page.goto(site.address("/steps"))
    page.get_by_role("button", name="Self-attention").focus()
    page.keyboard.press("Enter")
    page.locator("[data-table='context_all']").wait_for()
    assert page.evaluate("document.activeElement.textContent") == "Self-attention"


def test_one_scale_on_the_page_and_in_the_figures(page, site):
    def shown(where):
        colour = page.locator(where).evaluate("(element) => getComputedStyle(element).backgroundColor")
        return [int(part) for part in re.findall(r"\d+", colour)]

    page.goto(site.address("/steps?query=-5,1,20"))
    page.locator("[data-table='query'] td.rg-cell").first.wait_for()
    for cell, shade in ((1, -0.25), (2, 0.05), (3, 1.0)):
        found = shown(f"[data-table='query'] tbody td:nth-of-type({cell})")
        assert_allclose(found, 255 * colours_of(np.array(shade)), atol=1.5)
    page.goto(site.address("/translate?text=one+two+three"))
    canvas = page.locator(".rg-map canvas")
    canvas.wait_for()
    pixel = "(canvas) => [...canvas.getContext('2d').getImageData(canvas.width - 5, 5, 1, 1).data.slice(0, 3)]"
    most = np.exp(4) / (np.exp(4) + 2)  # the first word written looks at the last
    assert_allclose(canvas.evaluate(pixel), 255 * colours_of(most), atol=1.5)


def contrast(colour, background):
    """The ratio of WCAG 2.2 between two colours, 0 to 255."""
    lights = sorted(luminance(np.array([colour, background]) / 255) + 0.05)
    return lights[1] / lights[0]


PIXEL = "(canvas, [x, y]) => [...canvas.getContext('2d').getImageData(x, y, 1, 1).data.slice(0, 3)]"
BEHIND = """(element) => {
  for (let at = element; at; at = at.parentElement) {
    const colour = getComputedStyle(at).backgroundColor;
    if (!/, 0\\)$/.test(colour)) return colour.match(/\\d+/g).map(Number);
  }
}"""


def test_on_a_dark_page_zero_recedes_and_what_is_large_stands_out(page, site):
    page.emulate_media(color_scheme="dark")
    page.goto(site.address("/steps"))
    weights = page.locator("[data-table='weights'] td.rg-cell")  # 0.1192 7.9e-232 0 0.8808
    weights.first.wait_for()
    behind = page.locator("[data-table='weights']").evaluate(BEHIND)
    measured = [contrast(cell.evaluate(BEHIND), behind) for cell in weights.all()]
    assert measured[2] < 1.5
    assert measured[2] < measured[0] < measured[3]
    assert measured[3] > 7
    assert faults(page) == []


def test_a_map_is_drawn_again_when_the_page_turns_dark_and_light(page, site):
    page.goto(site.address("/translate?text=one+two+three"))
    canvas = page.locator(".rg-map canvas")
    canvas.wait_for()

    def measured():
        """The contrasts with the page of a weight of 0.02, and of one of 0.96."""
        behind = page.locator(".rg-map").evaluate(BEHIND)
        right = canvas.evaluate("(canvas) => canvas.width - 5")
        return [contrast(canvas.evaluate(PIXEL, [x, 5]), behind) for x in (5, right)]

    def redrawn(turn):
        before = canvas.evaluate("(canvas) => canvas.toDataURL()")
        turn()
        page.wait_for_function("(was) => document.querySelector('.rg-map canvas').toDataURL() !== was", arg=before)

    light = measured()
    redrawn(lambda: page.emulate_media(color_scheme="dark"))
    small, large = measured()
    assert small < 1.5
    assert large > 7
    redrawn(page.locator("#theme").click)  # light, whatever the system has
    assert measured() == light


def test_every_view_is_reached_by_keyboard_from_the_top(page, site):
    page.goto(site.address("/"))
    page.get_by_role("link", name="Begin").wait_for()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
    page.keyboard.press("Tab")
    for name in ("Story", "Steps", "Translate", "Caption", "Kinds"):
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
    page.on("console", lambda entry: wrong.append(entry.text) if entry.type == "error" else None)
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
