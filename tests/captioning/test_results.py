"""What captions give: JSON, pictures by weights or by need, and errors where there is nothing behind them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from PIL import Image

from regard.captioning.results import Caption
from regard.errors import InputError, UnknownName


def caption(words=("a", "dog"), **fields: Any) -> Caption:
    weights = np.full((len(words), 2, 3), 1 / 6)
    photo = Image.new("RGB", (30, 20), (90, 120, 30))
    return Caption("dog.jpg", " ".join(words), list(words), weights, -0.5, -1.5, True, False, photo, **fields)


def test_json_holds_alternatives_only_where_there_are_some():
    found = caption()
    assert list(found.to_json()) == ["image", "caption", "words", "weights", "score"]
    assert found.to_json()["weights"][1] == [[0.166667] * 3] * 2
    found.alternatives.append(caption(("the", "dog")))
    assert found.to_json()["alternatives"] == [{"caption": "the dog", "score": -0.5}]


def test_two_captions_are_the_same_whatever_model_is_behind_them():
    asked = caption(measure_needed=lambda _: np.zeros((2, 2, 3)))
    assert "measure_needed" not in repr(asked)
    assert "photo" not in repr(asked)


def test_need_is_asked_of_the_model_with_the_block():
    asked: list[Any] = []
    found = caption(measure_needed=lambda block: asked.append(block) or np.ones((2, 2, 3)))
    assert found.needed().sum() == 12
    found.needed(block=2)
    assert asked == [None, 2]
    for wrong in (0, -1, 1.5):
        with pytest.raises(InputError, match="block is a number of cells each way, 1 or more; it is"):
            found.needed(block=wrong)
    with pytest.raises(InputError, match=r"no model behind it to ask; take one that Captioner\.caption gave"):
        caption().needed()


def test_pictures_are_by_weights_or_by_what_costs_when_it_is_hidden(tmp_path, monkeypatch):
    drawn: list[Any] = []
    monkeypatch.setattr("regard.show.photo_figures.plot_caption", lambda *given, **more: drawn.append((*given, more)))
    needed = np.array([[[-1.0, 2, 0], [0, 0, 3]], [[1, -5, 0], [0, 0, 0]]])
    found = caption(measure_needed=lambda _: needed)
    found.plot(tmp_path / "x.png")
    found.plot(tmp_path / "x.png", by="needed")
    np.testing.assert_array_equal(drawn[0][2], found.weights)
    np.testing.assert_array_equal(drawn[1][2], [[[0, 2, 0], [0, 0, 3]], [[1, 0, 0], [0, 0, 0]]])
    with pytest.raises(UnknownName, match="no kind of map is called 'heat'; choose from weights, needed"):
        found.plot(tmp_path / "x.png", by="heat")
    with pytest.raises(InputError, match="there are no words to draw"):
        caption(()).plot(tmp_path / "x.png")
