"""Where numbers came from: by axes alone, whatever the steps are called."""

import numpy as np
import pytest

import regard
from regard import Step, scores
from regard.show import provenance
from regard.show.provenance import Provenance, interleaved, tables_of

KEYS = [[3, 12, 45], [59, 2, 5], [1, 43, 5], [4, 3, 45.3]]


def tied(steps):
    tables = tables_of(steps)
    return {table.id: table for table in tables}, Provenance(tables)


def sums(steps, name):
    tables, known = tied(steps)
    return known.sums(tables[name], known.origins(tables[name]))


def behind(steps, name, row, column):
    tables, known = tied(steps)
    return interleaved(known.origins(tables[name])[row][column])


def own(query, key):
    """A product by other names: r rows of one, c columns of the other, n numbers between."""
    return [
        Step("left", "given", query, ("r", "n")),
        Step("right", "given", key, ("n", "c")),
        Step("product", "left × right", query @ key, ("r", "c"), ("left", "right")),
        Step("shares", "shares(product)", query @ key / 9, ("r", "c"), ("product",), ("c",)),
        Step("largest", "max over columns", (query @ key).max(1), ("r",), ("product",)),
    ]


def test_numbers_come_from_the_places_on_the_axes_that_both_have():
    steps = own(np.arange(6.0).reshape(2, 3), np.arange(12.0).reshape(3, 4))
    assert behind(steps, "product", 1, 2) == [cell for n in range(3) for cell in (("left", 1, n), ("right", n, 2))]
    assert behind(steps, "shares", 1, 2) == [("product", 1, n) for n in range(4)]
    assert behind(steps, "largest", 0, 1) == [("product", 1, n) for n in range(4)]


def test_sums_of_products_are_written_where_they_are_true():
    left, right = np.array([[1.0, -2.0]]), np.array([[3.0, 0.5], [4.0, 0.25]])
    steps = own(left, right)
    assert sums(steps, "product") == [["1·3 + (-2)·4 = -5", "1·0.5 + (-2)·0.25 = 0"]]
    steps[2] = steps[2]._replace(value=left @ right + 1)
    assert sums(steps, "product") == [["(1, -2) × (3, 4) = -4", "(1, -2) × (0.5, 0.25) = 1"]]
    assert sums(steps, "shares")[0][0] == "shares(-4, 1) = -0.5556"
    assert sums(steps, "largest") is None  # its formula names no step


def test_every_sum_of_the_first_example():
    steps = regard.attend([5, 1, 20], KEYS, score="dot").steps()
    assert sums(steps, "scores")[0][3] == "5·4 + 1·3 + 20·45.3 = 929"
    assert sums(steps, "weights")[0][0] == "softmax(927, 397, 148, 929) = 0.1192"
    assert sums(steps, "weighted values")[3][2] == "0.8808·45.3 = 39.9001"
    assert sums(steps, "context")[0][0].endswith("+ 3.5232 = 3.8808")
    assert sums(steps, "values") is None
    assert behind(steps, "values", 2, 1) == [("keys", 2, 1)]
    assert sums(regard.attend([5, 1, 20], KEYS).steps(), "scaled")[0][3] == "929 / √3 = 536.3584"


def test_sparse_weights_are_not_taken_for_a_sum():
    steps = regard.attend([1, 0], [[1, 0], [0, 1]], score="dot", normalize="sparsemax").steps()
    assert sums(steps, "weights")[0] == ["sparsemax(1, 0) = 1", "sparsemax(1, 0) = 0"]


def test_long_sums_are_cut():
    steps = regard.attend(np.ones(9), np.ones((2, 9)), score="dot").steps()
    assert sums(steps, "scores")[0][0] == "1·1 + 1·1 + 1·1 + 1·1 + 1·1 + … = 9"


def test_each_query_has_its_own_hidden_layer():
    score = scores.Additive(np.eye(2), np.eye(2), [1.0, 2.0])
    steps = regard.attend([[1.0, 0.0], [0.0, 1.0]], [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], score=score).steps()
    assert behind(steps, "hidden of query 2", 2, 1) == [("projected query", 1, 1), ("projected keys", 2, 1)]
    assert behind(steps, "scores", 1, 2) == [("hidden of query 2", 2, 0), ("hidden of query 2", 2, 1)]
    assert behind(steps, "context", 1, 0) == [("weighted values of query 2", n, 0) for n in range(3)]


@pytest.mark.parametrize("gone", ["left", "right"])
def test_half_an_origin_is_none(gone):
    steps = own(np.ones((2, 3)), np.ones((3, 4)))
    tables, known = tied([step for step in steps if step.name != gone])
    assert known.origins(tables["product"]) is None
    assert known.origins(tables["shares"]) is not None


def test_too_many_links_are_none(monkeypatch):
    steps = own(np.ones((2, 3)), np.ones((3, 4)))
    tables, known = tied(steps)
    monkeypatch.setattr(provenance, "MOST_LINKS", 2 * 4 * 6 - 1)
    assert known.origins(tables["product"]) is None
    assert known.origins(tables["shares"]) is not None
