"""Vectors in kernels against NumPy, for both kinds of numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numba import njit

from regard.kernels.lanes import BYTES, exp, lesser, load, outside, splat, store, store_sums, where_less

KINDS = [np.float32, np.float64]


@njit
def _arithmetic(a: Any, b: Any, out: Any) -> None:
    for i in range(0, a.size, BYTES // a.itemsize):
        x, y = load(a, i), load(b, i)
        store(out, i, (x + y) * x - splat(a[0]) / y)


@njit
def _exp(a: Any, out: Any) -> None:
    for i in range(0, a.size, BYTES // a.itemsize):
        store(out, i, exp(load(a, i)))


@njit
def _choices(a: Any, b: Any, less: Any, either: Any) -> Any:
    beyond = False
    for i in range(0, a.size, BYTES // a.itemsize):
        x, y = load(a, i), load(b, i)
        store(less, i, lesser(x, y))
        store(either, i, where_less(x, y, y, x + x))
        beyond |= outside(x, splat(a.dtype.type(9)))
    return beyond


@njit
def _sums(a: Any, out: Any) -> None:
    lanes = BYTES // a.itemsize
    store_sums(out, 1, load(a, 0), load(a, lanes), load(a, 2 * lanes), load(a, 3 * lanes))


def numbers(kind: type, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.uniform(0.5, 2, 32).astype(kind), rng.uniform(0.5, 2, 32).astype(kind)


@pytest.mark.parametrize("kind", KINDS)
def test_arithmetic(kind: type) -> None:
    a, b = numbers(kind)
    out = np.empty_like(a)
    _arithmetic(a, b, out)
    np.testing.assert_allclose(out, (a + b) * a - a[0] / b, rtol=10 * np.finfo(kind).eps, atol=np.finfo(kind).eps)


@pytest.mark.parametrize(("kind", "limit"), [(np.float32, 87), (np.float64, 700)])
def test_exp_errs_by_less_than_one_unit_in_the_last_place(kind: type, limit: float) -> None:
    rng = np.random.default_rng(1)
    corners = [0, -0.0, limit, -limit, 1, -1, 0.5, -0.5]
    x = np.concatenate([rng.uniform(-limit, limit, 100_000), rng.uniform(-1, 1, 100_000), corners]).astype(kind)
    out = np.empty_like(x)
    _exp(x, out)
    exact = np.exp(x.astype(np.longdouble))
    assert np.max(abs(out - exact) / exact) < np.finfo(kind).eps


@pytest.mark.parametrize("kind", KINDS)
def test_choices(kind: type) -> None:
    a, b = numbers(kind, 2)
    less, either = np.empty_like(a), np.empty_like(a)
    assert not _choices(a, b, less, either)
    np.testing.assert_array_equal(less, np.minimum(a, b))
    np.testing.assert_array_equal(either, np.where(a < b, b, a + a))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("odd", [9.5, -9.5, np.nan, np.inf, -np.inf])
def test_a_number_outside_is_noticed_wherever_it_is(kind: type, odd: float) -> None:
    for place in range(32):
        a, b = numbers(kind)
        a[place] = odd
        less = np.empty_like(a)
        assert _choices(a, b, less, np.empty_like(a))
        assert less[place] == (odd if odd < b[place] else b[place])  # b where a is not a number


@pytest.mark.parametrize("kind", KINDS)
def test_four_sums_at_once(kind: type) -> None:
    lanes = BYTES // np.dtype(kind).itemsize
    a = np.random.default_rng(3).integers(0, 100, 4 * lanes).astype(kind)
    out = np.full(6, -1, kind)
    _sums(a, out)
    np.testing.assert_array_equal(out, [-1, *a.reshape(4, lanes).sum(1), -1])
