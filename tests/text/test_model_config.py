"""Settings that the models of several tasks share."""

from __future__ import annotations

import pytest

from regard.text.model_config import known_score, several_draws


def test_one_sample_leaves_nothing_to_compare_with():
    assert [several_draws(count) for count in (0, 2, 5)] == [0, 2, 5]
    with pytest.raises(ValueError, match="leaves no other text to compare with"):
        several_draws(1)


def test_scores_are_known_by_name():
    assert known_score("score", "additive") == "additive"
    assert known_score("attention", "none", "none") == "none"
    with pytest.raises(ValueError, match=r"no score is called 'aditive'; .* Did you mean 'additive'\?"):
        known_score("score", "aditive")
