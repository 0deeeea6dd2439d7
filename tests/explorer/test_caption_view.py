"""Caption, used as a person would; the stand-in models look along the diagonal."""

import io

import numpy as np
import pytest
from PIL import Image

from tests.explorer.seeing import colours, photograph

SOFT, HARD = "diagonal-soft", "diagonal-hard"


@pytest.fixture
def captioned(page, site):
    page.goto(site.address("/caption"))
    page.locator("#photo").wait_for(state="attached")
    page.locator("#photo").set_input_files({"name": "p.png", "mimeType": "image/png", "buffer": photograph()})
    page.locator(".rg-photo").nth(1).wait_for()
    return page


def light(picture, row, column):
    """The mean lightness of one place of a 7 x 7 grid over a picture."""
    with Image.open(io.BytesIO(picture)) as image:
        pixels = np.asarray(image.convert("L"), dtype=float)
    height, width = pixels.shape
    down, across = (slice(int(n * size / 7), int((n + 1) * size / 7)) for n, size in ((row, height), (column, width)))
    return pixels[down, across].mean()


def test_a_photograph_gets_its_words_soft_and_hard_side_by_side(captioned):
    for name in (SOFT, HARD):
        panel = captioned.get_by_role("region", name=name)
        assert panel.locator(".rg-word").all_inner_texts() == ["a", "dog", "runs", "on", "grass"]
        assert colours(panel.locator(".rg-stage").screenshot()) > 10
        assert panel.locator(".rg-frame canvas").count() == 5


@pytest.mark.parametrize("name", [SOFT, HARD])
def test_pointing_at_a_word_shows_where_it_looked(captioned, name):
    panel = captioned.get_by_role("region", name=name)
    stage = panel.locator(".rg-stage")
    plain = stage.screenshot()
    panel.locator(".rg-word").first.hover()  # looks at place (1, 1)
    first = stage.screenshot()
    panel.locator(".rg-word").nth(4).hover()  # looks at place (5, 5)
    last = stage.screenshot()
    assert light(first, 1, 1) > 0.8 * light(plain, 1, 1)  # the frame of the hard one adds light
    assert light(first, 5, 5) < 0.6 * light(plain, 5, 5)
    assert light(last, 5, 5) > 0.8 * light(plain, 5, 5)
    assert light(last, 1, 1) < 0.6 * light(plain, 1, 1)
    assert "“grass” looked" in panel.locator(".rg-readout").inner_text()
    assert "at the bottom right" in panel.locator(".rg-readout").inner_text()
    panel.locator(".rg-word").nth(1).hover()  # place (2, 2): its centre is in the middle third
    assert "in the middle" in panel.locator(".rg-readout").inner_text()


def test_words_are_walked_with_the_keyboard_and_kept(captioned):
    panel = captioned.get_by_role("region", name=SOFT)
    panel.locator(".rg-word").first.focus()
    captioned.keyboard.press("ArrowRight")
    captioned.keyboard.press("Enter")
    assert panel.locator(".rg-word[aria-selected=true]").inner_text() == "dog"
    captioned.wait_for_url(lambda url: "word=1" in url)
    captioned.reload()
    captioned.locator(".rg-word[aria-selected=true]").first.wait_for()
    assert captioned.locator(".rg-word[aria-selected=true]").all_inner_texts() == ["dog", "dog"]


def test_what_is_no_picture_is_refused(captioned):
    captioned.locator("#photo").set_input_files({"name": "n.txt", "mimeType": "text/plain", "buffer": b"not a picture"})
    assert "“n.txt” is not a picture" in captioned.get_by_role("alert").inner_text()


def test_a_broken_picture_shows_the_server_s_words(captioned):
    captioned.locator("#photo").set_input_files({"name": "b.png", "mimeType": "image/png", "buffer": b"\x89PNG broken"})
    captioned.get_by_role("alert").first.wait_for()
    assert "photograph" in captioned.get_by_role("alert").first.inner_text()
    captioned.wrong.clear()  # the browser itself reports the 422


def test_a_large_photograph_is_sent_smaller(page, site):
    page.add_init_script("""
      window.sent = [];
      const send = window.fetch;
      window.fetch = (address, options) => {
        if (options?.body instanceof Blob) window.sent.push(createImageBitmap(options.body));
        return send(address, options);
      };
    """)
    page.goto(site.address("/caption"))
    large = io.BytesIO()
    Image.fromarray(np.random.default_rng(0).integers(0, 255, (1200, 3200, 3), dtype=np.uint8)).save(large, "PNG")
    page.locator("#photo").set_input_files({"name": "l.png", "mimeType": "image/png", "buffer": large.getvalue()})
    page.locator(".rg-photo").nth(1).wait_for()
    sizes = page.evaluate("Promise.all(window.sent).then((sent) => sent.map(({width, height}) => [width, height]))")
    assert sizes == [[1600, 600], [1600, 600]]


def test_a_photograph_may_be_dropped_anywhere(page, site):
    page.goto(site.address("/caption"))
    page.get_by_text("Drop a photograph here").wait_for()
    left = page.evaluate(
        """async (bytes) => {
          const given = new DataTransfer();
          given.items.add(new File([new Uint8Array(bytes)], "p.png", { type: "image/png" }));
          const dropped = new DragEvent("drop", { dataTransfer: given, bubbles: true, cancelable: true });
          return document.querySelector("header").dispatchEvent(dropped);
        }""",
        list(photograph()),
    )
    assert not left, "the browser would have left the page for the file"
    page.locator(".rg-photo").first.wait_for()
