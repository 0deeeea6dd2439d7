"""From pieces to words: columns add up, rows are averaged, EOS counts with the last word."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from regard.text.vocabulary import Word
from regard.text.words import merge_pieces, without_end


def words_of(lengths: list[int]) -> list[Word]:
    stops = np.cumsum(lengths).tolist()
    return [Word("w", stop - length, stop) for length, stop in zip(lengths, stops, strict=True)]


LENGTHS = st.lists(st.integers(1, 3), min_size=1, max_size=5)


@given(LENGTHS, LENGTHS, st.integers(0, 2**32 - 1))
def test_rows_stay_distributions(target, source, seed):
    weights = np.random.default_rng(seed).dirichlet(np.ones(sum(source) + 1), sum(target))
    merged = merge_pieces(weights, words_of(target), words_of(source))
    assert merged.shape == (len(target), len(source) + 1)
    assert_allclose(merged.sum(1), 1)
    assert_allclose(without_end(merged).sum(1), 1)


def test_by_hand():
    weights = np.array([[0.1, 0.2, 0.3, 0.4], [0.3, 0.2, 0.1, 0.4], [0.5, 0.0, 0.25, 0.25]])
    merged = merge_pieces(weights, words_of([2, 1]), words_of([1, 2]))
    assert_allclose(merged, [[0.2, 0.4, 0.4], [0.5, 0.25, 0.25]])
    assert_allclose(without_end(merged), [[0.2, 0.8], [0.5, 0.5]])


def test_no_target_words_and_rows_without_weight():
    assert merge_pieces(np.zeros((0, 3)), [], words_of([1, 1])).shape == (0, 3)
    assert_allclose(without_end(np.array([[0.0, 0.0, 0.0], [0.2, 0.1, 0.1]])), [[0, 0], [0.5, 0.5]])
