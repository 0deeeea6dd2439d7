"""The CPU kernels called on arrays: against tanh pair by pair, and what they say of rows they cannot take."""

from __future__ import annotations

import math

import numpy as np
import pytest

from regard.kernels import additive_cpu

KINDS = [(np.float32, 1e-5), (np.float64, 1e-13)]


def problem(dtype: type, b: int = 2, q: int = 7, k: int = 9, d: int = 21) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(0)
    return tuple(rng.standard_normal(shape).astype(dtype) for shape in ((b, q, d), (b, k, d), (d,)))


@pytest.mark.parametrize(("dtype", "tolerance"), KINDS)
@pytest.mark.parametrize("threads", [1, 2])
def test_scores_pair_by_pair(dtype: type, tolerance: float, threads: int) -> None:
    query, key, v = problem(dtype)
    scores, beyond = additive_cpu.scores(query, key, v, threads)
    assert not beyond
    for b, n, m in np.ndindex(scores.shape):
        expected = sum(w * math.tanh(x + y) for w, x, y in zip(v, query[b, n], key[b, m], strict=True))
        assert scores[b, n, m] == pytest.approx(expected, rel=tolerance, abs=tolerance)


@pytest.mark.parametrize(("dtype", "tolerance"), KINDS)
def test_gradients_pair_by_pair(dtype: type, tolerance: float) -> None:
    query, key, v = problem(dtype)
    grad = np.random.default_rng(1).standard_normal((2, 7, 9)).astype(dtype)
    strides = tuple(step // grad.itemsize for step in grad.strides)
    found, beyond = additive_cpu.gradients(grad.reshape(-1), strides, query, key, v, (True, True, True), 2)
    assert not beyond
    t = np.tanh(query[:, :, None].astype(np.float64) + key[:, None])
    slope = grad[..., None] * (1 - t * t) * v
    for one, other in zip(found, (slope.sum(2), slope.sum(1), (grad[..., None] * t).sum((0, 1, 2))), strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=40 * tolerance)


def test_gradients_that_are_not_wanted_are_none() -> None:
    query, key, v = problem(np.float64)
    found, _ = additive_cpu.gradients(np.ones(1), (0, 0, 0), query, key, v, (False, True, False), 1)
    assert [part is None for part in found] == [True, False, True]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("where", ["query", "key"])
def test_a_row_beyond_the_limit_is_reported_and_one_at_it_is_not(dtype: type, where: str) -> None:
    query, key, v = problem(dtype)
    row = {"query": query, "key": key}[where]
    for number, message in ((additive_cpu.limit(np.dtype(dtype)), False), (np.nan, True), (1e3, True)):
        row[1, 3, 5] = number
        scores, beyond = additive_cpu.scores(query, key, v, 1)
        assert beyond is message
        assert np.isfinite(scores).all()
