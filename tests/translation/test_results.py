"""What translations and alignments give: links, JSON, and an error where there is nothing to draw."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from regard.errors import InputError
from regard.translation.results import Alignment, Translation, weights_to_draw


def translation(weights, words=("un", "chat")) -> Translation:
    return Translation("a cat", " ".join(words), ["a", "cat"], list(words), weights, -0.5, -1.0, True)


def test_links_leave_out_words_that_attend_to_eos_most():
    raw = np.array([[0.1, 0.7, 0.2], [0.6, 0.3, 0.1], [0.2, 0.2, 0.6]])
    found = Alignment(["a", "b"], ["x", "y", "z"], raw, -2.0)
    assert found.links == [(0, 1), (1, 0)]
    assert found.pharaoh() == "0-1 1-0"
    assert_allclose(found.weights.sum(1), 1)
    assert Alignment(["a"], [], np.zeros((0, 2)), 0.0).links == []


def test_json_holds_alternatives_only_where_there_are_some():
    found = translation(np.eye(2))
    assert list(found.to_json()) == ["source", "translation", "source_words", "target_words", "weights", "score"]
    found.alternatives.append(translation(None, ("le", "chat")))
    assert found.to_json()["alternatives"] == [{"translation": "le chat", "score": -0.5}]
    assert found.alternatives[0].to_json()["weights"] is None


def test_nothing_to_draw_is_said():
    assert weights_to_draw(translation(np.eye(2))).shape == (2, 2)
    with pytest.raises(InputError, match="this model has no attention"):
        weights_to_draw(translation(None))
    with pytest.raises(InputError, match="there are no words to draw"):
        weights_to_draw(translation(np.zeros((0, 0))))
