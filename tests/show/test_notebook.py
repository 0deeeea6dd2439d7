"""Results in notebooks: static HTML that is safe and small, and a widget with the page's modules."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import numpy as np
import pytest

import regard
from regard.errors import RegardError
from regard.show.notebook import MOST, widget
from tests.show.test_html import HOSTILE, caption, translation


class Cells(HTMLParser):
    """The texts of the cells, and every tag and attribute there is."""

    def __init__(self, html):
        super().__init__()
        self.tags, self.attributes, self.texts = set(), set(), []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data):
        self.texts.append(data)


def test_hostile_words_stay_words():
    found = Cells(translation(source=HOSTILE, target=HOSTILE)._repr_html_())
    assert set(HOSTILE) <= set(found.texts)
    assert found.tags <= {"table", "thead", "tbody", "tr", "td", "th", "p", "br", "strong"}
    assert found.attributes <= {"style", "scope"}


def test_the_numbers_are_there_without_styles():
    found = Cells(translation()._repr_html_())
    assert found.texts.count("0.8333") == 3
    steps = Cells(regard.attend([5, 1, 20], [[3, 12, 45], [4, 3, 45.3]], score="dot")._repr_html_())
    assert {"927", "929", "scores", "weights", "context"} <= set(steps.texts)


def test_hidden_scores_are_infinite():
    attended = regard.attend([1, 0], [[1, 0], [0, 1]], visible=[True, False])
    assert "-∞" in Cells(attended._repr_html_()).texts


def test_large_results_are_cut_and_counted():
    words = [f"word{n}" for n in range(300)]
    html = translation(source=words, target=words)._repr_html_()
    assert f"and {300 - MOST} more rows" in html
    assert f"and {300 - MOST} more columns" in html
    assert len(html) < 300_000


def test_what_cannot_be_drawn_still_has_a_form():
    assert "Attended(context (2, 3, 4)" in regard.attend(np.zeros((2, 3, 4)), np.zeros((2, 5, 4)))._repr_html_()
    assert "there are no words to draw" in translation((), ())._repr_html_()


def test_a_caption_is_a_photograph_and_a_strip():
    found = caption()._repr_html_()
    assert len(re.findall(r'<img src="data:image/jpeg;base64,', found)) == 3
    assert "a dog" in found
    assert len(found) < 60_000


def test_the_widget_draws_with_the_pages_modules(page):
    pytest.importorskip("anywidget", reason="anywidget (the extra regard[notebook]) is not installed")
    made = widget(translation())
    page.goto("about:blank")
    page.evaluate(
        """async ([code, parts]) => {
          const url = URL.createObjectURL(new Blob([code], { type: "text/javascript" }));
          const { default: module } = await import(url);
          window.end = module.render({ model: { get: () => parts }, el: document.body });
        }""",
        [made._esm, made.parts],
    )
    assert [row.inner_text() for row in page.locator(".rg-row").all()] == ["la", "chatte", "vieille"]
    page.evaluate("() => window.end()")
    assert page.locator(".rg-row").count() == 0
    assert ".rg-map" in made._css


def test_the_widget_says_what_it_needs(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "anywidget", None)
    with pytest.raises(RegardError, match=r"pip install 'regard\[notebook\]'"):
        widget(translation())
