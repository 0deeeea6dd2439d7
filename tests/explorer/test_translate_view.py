"""Translate, used as a person would; the stand-in model writes the words in capitals, in reverse."""

import pytest

from tests.explorer.seeing import colours

SENTENCE = "the black cat sleeps"


@pytest.fixture
def translated(page, site):
    def translated(query="?model=capitals&text=the+black+cat+sleeps"):
        page.goto(site.address(f"/translate{query}"))
        page.locator(".answer").first.wait_for()
        return page

    return translated


def test_it_opens_with_a_sentence_already_translated(translated):
    page = translated("")
    assert page.get_by_label("Sentence").input_value().startswith("The agreement on the European Economic Area")
    assert page.locator(".answer").first.inner_text().startswith("1992.")


def test_typing_a_sentence_translates_it_and_writes_the_address(translated):
    page = translated("")
    page.get_by_label("Sentence").fill(SENTENCE)
    page.keyboard.press("Enter")
    page.get_by_text("SLEEPS CAT BLACK THE").first.wait_for()
    assert "About this model: writes capitals in reverse" in page.locator(".ask").inner_text()
    assert "text=the+black+cat+sleeps" in page.url
    page.reload()
    page.get_by_text("SLEEPS CAT BLACK THE").first.wait_for()


def test_the_decoder_is_stepped_with_buttons_and_arrow_keys(translated):
    page = translated()
    player = page.get_by_role("region", name="The decoder, word by word")
    assert player.get_by_role("status").inner_text() == "To write “SLEEPS” it looks most at “sleeps” (95 %)."
    page.get_by_role("button", name="One word on").click()
    assert player.locator(".written.now").inner_text() == "CAT"
    page.keyboard.press("ArrowRight")
    assert player.locator(".written.now").inner_text() == "BLACK"
    weights = [row.locator(".weight .number").inner_text() for row in player.locator("tbody tr").all()]
    assert weights == ["0.0174", "0.9479", "0.0174", "0.0174"]
    scores = [row.locator("td.number").inner_text() for row in player.locator("tbody tr").all()]
    assert scores == ["0", "4", "0", "0"]
    assert player.locator(".context-strip span").count() == 64
    assert "64 of its 80 numbers" in player.inner_text()
    page.keyboard.press("ArrowLeft")
    page.wait_for_url(lambda url: "step=1" in url)
    page.reload()
    page.locator(".written.now").wait_for()
    assert page.locator(".written.now").inner_text() == "CAT"


def test_play_runs_to_the_end_and_pause_stops_it(translated):
    page = translated()
    page.clock.install()
    page.get_by_role("button", name="Play").click()
    page.clock.run_for(1200)
    assert page.locator(".written.now").inner_text() == "CAT"
    page.get_by_role("button", name="Pause").click()
    page.clock.run_for(5000)
    assert page.locator(".written.now").inner_text() == "CAT"
    page.get_by_role("button", name="Play").click()
    page.clock.run_for(9000)
    assert page.locator(".written.now").inner_text() == "THE"
    assert page.get_by_role("button", name="Play").is_visible()


def test_the_map_is_hovered_and_rows_are_kept(translated):
    page = translated()
    canvas = page.locator(".rg-map canvas")
    assert colours(canvas.screenshot()) >= 3
    box = canvas.bounding_box()
    canvas.hover(position={"x": box["width"] * 7 / 8, "y": box["height"] / 8})
    readout = page.locator(".rg-map .rg-readout")
    assert readout.inner_text() == "“SLEEPS” looks at “sleeps”: 0.9479, score 4"
    canvas.click(position={"x": 5, "y": box["height"] / 8})
    page.locator(".rg-row").nth(2).click()
    page.mouse.move(0, 0)
    assert page.locator(".rg-row[aria-selected=true]").all_inner_texts() == ["SLEEPS", "BLACK"]
    assert readout.inner_text().startswith("“SLEEPS” looks at “sleeps” 95 %")
    page.wait_for_url(lambda url: "rows=0,2" in url)
    page.reload()
    page.locator(".rg-row[aria-selected=true]").first.wait_for()
    assert page.locator(".rg-row[aria-selected=true]").all_inner_texts() == ["SLEEPS", "BLACK"]


def test_the_map_is_read_with_the_keyboard(translated):
    page = translated()
    page.locator(".rg-row").first.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    assert page.locator(".rg-map .rg-readout").inner_text().startswith("“CAT” looks at “the”: 0.0174")
    page.keyboard.press(" ")
    assert page.locator(".rg-row[aria-selected=true]").all_inner_texts() == ["CAT"]
    page.keyboard.press("Escape")
    assert page.locator(".rg-row[aria-selected=true]").count() == 0
    page.get_by_text("All numbers as a table").click()
    page.locator(".rg-numbers tbody tr").nth(3).wait_for()
    assert page.locator(".rg-numbers tbody tr").count() == 4


def test_a_head_is_chosen_where_there_are_several(translated):
    page = translated("?model=capitals-heads&text=one+two+three+four+five")
    before = page.locator(".rg-map canvas").screenshot()
    page.locator(".rg-choice select").select_option(label="layer 1, head 2")
    assert page.locator(".rg-map canvas").screenshot() != before
    page.locator(".rg-row").first.hover()
    assert page.locator(".rg-map .rg-readout").inner_text() == "“FIVE” looks at “four” 93 %"


def test_the_same_sentence_without_attention_stands_beside(translated):
    page = translated()
    beside = page.get_by_role("region", name="Without attention")
    assert "capitals-none" in beside.inner_text()
    assert "SLEEPS CAT BLACK THE" in beside.inner_text()


def test_the_answer_does_not_wait_for_the_one_without_attention(page, site):
    held = []

    def hold(route):
        if route.request.post_data_json["model"] == "capitals-none":
            held.append(route)
        else:
            route.continue_()

    page.route("**/api/translate", hold)
    page.goto(site.address("/translate?model=capitals&text=the+black+cat"))
    page.locator(".rg-map").wait_for()
    beside = page.get_by_role("region", name="Without attention")
    assert beside.locator(".answer").inner_text() == "…"
    held[0].continue_()
    beside.get_by_text("CAT BLACK THE").wait_for()


def test_a_tap_shows_its_number_and_keeps_its_row(browser, site):
    context = browser.new_context(viewport={"width": 375, "height": 700}, has_touch=True)
    page = context.new_page()
    page.goto(site.address("/translate?model=capitals&text=the+black+cat+sleeps"))
    canvas = page.locator(".rg-map canvas")
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    canvas.tap(position={"x": box["width"] * 7 / 8, "y": box["height"] / 8})
    assert page.locator(".rg-map .rg-readout").inner_text() == "“SLEEPS” looks at “sleeps”: 0.9479, score 4"
    assert page.locator(".rg-row[aria-selected=true]").all_inner_texts() == ["SLEEPS"]
    context.close()


def test_a_model_without_attention_says_that_there_is_nothing_to_see(translated):
    page = translated("?model=capitals-none&text=the+cat")
    assert "This model has no attention" in page.get_by_role("region", name="The whole map").inner_text()
    assert page.locator(".rg-map").count() == 0


def test_what_the_server_refuses_is_shown(translated):
    page = translated()
    page.get_by_label("Sentence").fill("word " * 300)
    page.get_by_role("button", name="Translate").click()
    error = page.get_by_role("alert")
    error.wait_for()
    assert "300 words" in error.inner_text()
    page.wrong.clear()  # the browser itself reports the 400


def test_a_sentence_of_any_script_and_length_fits(translated):
    words = "一二三 السلام नमस्ते e\u0301te\u0301 👩‍👩‍👧 " + "Donaudampfschifffahrtsgesellschaftskapitän " + "so " * 54
    page = translated(f"?model=capitals&text={words.strip()}")
    assert page.locator(".rg-row").count() == 60
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    assert colours(page.locator(".rg-map canvas").screenshot()) >= 2


def test_without_the_token_the_page_says_what_to_open(page, site):
    page.goto(f"{site.origin}/translate")
    page.get_by_role("heading", name="The server has not answered").wait_for()
    assert "open the address that regard serve printed" in page.locator(".notice").inner_text()
    assert page.get_by_role("link", name="Steps").count() == 2
    page.wrong.clear()  # the browser itself reports the 401
