"""Kinds, used as a person would."""

import pytest

import regard
from regard.local import attend_local

QUERY = [[1, 0.5]]
KEYS = [[1, 0.5], [0.5, -0.5], [2, 1], [-1, 0], [1, 2], [0, 1.5]]


@pytest.fixture
def kinds(page, site):
    def kinds(query=""):
        page.goto(site.address(f"/kinds{query}"))
        page.locator(".chart").first.wait_for()
        return page

    return kinds


def label(page, score, normalize):
    return page.locator(f"[role=img][aria-label^='{score}, {normalize}:']").get_attribute("aria-label")


def percents(weights):
    text = ["0 %" if not w > 0 else "less than 1 %" if w < 0.01 else f"{int(w * 100 + 0.5)} %" for w in weights]
    return ", ".join(f"k{j} {text}" for j, text in enumerate(text, 1))


def test_every_score_under_every_normalizer(kinds):
    page = kinds()
    assert page.locator(".chart").count() == 21
    for score in ("dot", "scaled_dot", "cosine"):
        for normalize in ("softmax", "sparsemax", "hard"):
            weights = regard.attend(QUERY, KEYS, score=score, normalize=normalize).weights[0]
            name = score.replace("_", " ")
            assert label(page, name, normalize) == f"{name}, {normalize}: {percents(weights)}"


def test_a_window_hides_the_far_keys(kinds):
    page = kinds()
    page.get_by_label("May look at").select_option(label="a window with a Gaussian")
    weights = attend_local(QUERY, KEYS, width=1, centers=[2.0], gaussian=True, score="dot").weights[0]
    assert label(page, "dot", "softmax") == f"dot, softmax: {percents(weights)}"
    page.get_by_role("button", name="Reach: one more").click()
    weights = attend_local(QUERY, KEYS, width=2, centers=[2.0], gaussian=True, score="dot").weights[0]
    assert label(page, "dot", "softmax") == f"dot, softmax: {percents(weights)}"
    page.wait_for_url(lambda url: "look=gaussian&centre=2&width=2" in url)
    page.reload()
    page.locator(".chart").first.wait_for()
    assert label(page, "dot", "softmax") == f"dot, softmax: {percents(weights)}"


def test_an_edited_key_changes_the_charts(kinds):
    page = kinds()
    page.get_by_label("Keys, row k4, column 1").fill("9")
    changed = [*KEYS[:3], [9, 0], *KEYS[4:]]
    assert (
        label(page, "dot", "hard")
        == f"dot, hard: {percents(regard.attend(QUERY, changed, normalize='hard').weights[0])}"
    )
    page.get_by_role("button", name="Start over").click()
    assert label(page, "dot", "hard").startswith("dot, hard: k1 0 %, k2 0 %, k3 100 %")


def test_the_same_sentence_under_each_model(kinds):
    page = kinds("?text=one+two+three")
    panel = page.get_by_role("region", name="The same sentence under each model")
    panel.locator(".rg-map").nth(2).wait_for()
    titles = panel.locator("h3").all_inner_texts()
    assert titles == ["capitals (additive)", "capitals-dot (dot)", "capitals-heads (transformer)"]
    assert panel.locator(".rg-text").all_inner_texts() == ["THREE TWO ONE"] * 3
