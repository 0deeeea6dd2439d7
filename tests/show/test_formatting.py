"""Numbers short enough for a cell, and tables of what has more axes than paper."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from regard.errors import ShapeError
from regard.scores import Step
from regard.show.formatting import as_table, by_query, one_by_one, share, short


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0.0, "0"),
        (-0.0, "0"),
        (1 / 3, "0.3333"),
        (1e-3, "0.001"),
        (9.99e-4, "1.0e-03"),
        (999_999.0, "999999"),
        (1e6, "1.0e+06"),
        (-1234.56789, "-1234.5679"),
        (np.nan, "NaN"),
        (np.inf, "∞"),
    ],
)
def test_short_numbers(number, text):
    assert short(number) == text


@pytest.mark.parametrize(
    ("weight", "text"),
    [(0.0, ""), (0.0049, ""), (0.005, ".01"), (0.994, ".99"), (0.996, "1"), (-0.25, "-.25"), (1.5, "1.50")],
)
def test_shares_in_hundredths(weight, text):
    assert share(weight) == text


def test_tables_have_rows_and_columns():
    assert as_table([1, 2, 3], "weights").shape == (1, 3)
    halves = torch.tensor([[0.5, 1.5]], dtype=torch.bfloat16, requires_grad=True)
    assert as_table(halves, "keys").tolist() == [[0.5, 1.5]]
    with pytest.raises(ShapeError, match=r"one table is shown at a time: keys \(2, 3, 4\) has 3 dimensions"):
        as_table(np.ones((2, 3, 4)), "keys")


def test_a_step_with_a_table_for_each_query_becomes_a_step_for_each():
    value = np.arange(12.0).reshape(2, 3, 2)
    several = Step("weighted values", "weight * value", value, ("q", "k", "v"))
    single = Step("keys", "given", value[0], ("k", "d"))
    parts = one_by_one([single, several])
    assert [part.name for part in parts] == ["keys", "weighted values of query 1", "weighted values of query 2"]
    assert [part.axes for part in parts] == [("k", "d"), ("k", "v"), ("k", "v")]
    np.testing.assert_array_equal(parts[2].value, value[1])
    assert by_query(single) == [(None, single)]
