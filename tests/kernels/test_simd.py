"""Vectors in kernels against NumPy, for both kinds of numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numba import njit

from regard.kernels.simd import BYTES, exp, kept, largest, lesser, load, outside, quotient, splat, store, store_sums

KINDS = [np.float32, np.float64]


@njit
def _arithmetic(a: Any, b: Any, out: Any) -> None:
    for i in range(0, a.size, BYTES // a.itemsize):
        x, y = load(a, i), load(b, i)
        store(out, i, (x + y) * x - splat(a[0]))


@njit
def _quotient(a: Any, b: Any, out: Any) -> None:
    for i in range(0, a.size, BYTES // a.itemsize):
        store(out, i, quotient(load(a, i), load(b, i)))


@njit
def _exp(a: Any, out: Any) -> None:
    for i in range(0, a.size, BYTES // a.itemsize):
        store(out, i, exp(load(a, i)))


@njit
def _choices(a: Any, b: Any, less: Any) -> Any:
    beyond = False
    for i in range(0, a.size, BYTES // a.itemsize):
        x, y = load(a, i), load(b, i)
        store(less, i, lesser(x, y))
        beyond |= outside(x, splat(a.dtype.type(9)))
    return beyond


@njit
def _sums(a: Any, out: Any) -> None:
    lanes = BYTES // a.itemsize
    store_sums(out, 1, load(a, 0), load(a, lanes), load(a, 2 * lanes), load(a, 3 * lanes))


@njit
def _kept(a: Any, b: Any, out: Any) -> Any:
    """Returns the largest of the first vector."""
    for i in range(0, a.size, BYTES // a.itemsize):
        store(out, i, kept(load(a, i), load(a, i), load(b, i)))
    return largest(load(a, 0))


def numbers(kind: type, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.uniform(0.5, 2, 32).astype(kind), rng.uniform(0.5, 2, 32).astype(kind)


@pytest.mark.parametrize("kind", KINDS)
def test_arithmetic(kind: type) -> None:
    a, b = numbers(kind)
    out = np.empty_like(a)
    _arithmetic(a, b, out)
    np.testing.assert_allclose(
        out, (a + b) * a - a[0], rtol=10 * float(np.finfo(kind).eps), atol=float(np.finfo(kind).eps)
    )


@pytest.mark.parametrize(("kind", "most"), [(np.float32, 1e37), (np.float64, 1e300)])
def test_a_quotient_errs_by_less_than_one_unit_in_the_last_place(kind: type, most: float) -> None:
    rng = np.random.default_rng(4)
    b = np.concatenate([rng.uniform(1, 3, 2**16), 10 ** rng.uniform(0, np.log10(most), 2**16 - 16), [1, most] * 8])
    a = rng.choice([-1, 1], b.size) * rng.uniform(0.5, 1, b.size) * np.minimum(b, 2)
    a, b = a.astype(kind), b.astype(kind)
    out = np.empty_like(a)
    _quotient(a, b, out)
    exact = a.astype(np.longdouble) / b
    assert np.max(abs(out - exact) / abs(exact)) < np.finfo(kind).eps


@pytest.mark.parametrize(("kind", "limit"), [(np.float32, 87), (np.float64, 700)])
def test_exp_errs_by_less_than_one_unit_in_the_last_place(kind: type, limit: float) -> None:
    rng = np.random.default_rng(1)
    corners = [0, -0.0, limit, -limit, 1, -1, 0.5, -0.5] * 2
    x: Any = np.concatenate([rng.uniform(-limit, limit, 100_000), rng.uniform(-1, 1, 100_000), corners]).astype(kind)
    out = np.empty_like(x)
    _exp(x, out)
    exact = np.exp(x.astype(np.longdouble))
    assert np.max(abs(out - exact) / exact) < np.finfo(kind).eps


@pytest.mark.parametrize("kind", KINDS)
def test_choices(kind: type) -> None:
    a, b = numbers(kind, 2)
    less = np.empty_like(a)
    assert not _choices(a, b, less)
    np.testing.assert_array_equal(less, np.minimum(a, b))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("odd", [9.5, -9.5, np.nan, np.inf, -np.inf])
def test_a_number_outside_is_noticed_wherever_it_is(kind: type, odd: float) -> None:
    for place in range(32):
        a, b = numbers(kind)
        a[place] = odd
        less = np.empty_like(a)
        assert _choices(a, b, less)
        assert less[place] == (odd if odd < b[place] else b[place])  # b where a is not a number


@pytest.mark.parametrize("kind", KINDS)
def test_four_sums_at_once(kind: type) -> None:
    lanes = BYTES // np.dtype(kind).itemsize
    a: Any = np.random.default_rng(3).integers(0, 100, 4 * lanes).astype(kind)
    out: Any = np.full(6, -1, kind)
    _sums(a, out)
    np.testing.assert_array_equal(out, [-1, *a.reshape(4, lanes).sum(1), -1])


@pytest.mark.parametrize("kind", KINDS)
def test_lanes_are_kept_where_they_are_more(kind: type) -> None:
    lanes = BYTES // np.dtype(kind).itemsize
    for place in range(lanes):
        a, b = numbers(kind, seed=place)
        a[place], a[-1] = 7, -np.inf
        out = np.full_like(a, -1)
        assert _kept(a, b, out) == 7
        np.testing.assert_array_equal(out, np.where(a > b, a, 0))
