"""Log-sum-exp and the gradient of the cross-entropy, in place, beside NumPy's own."""

from __future__ import annotations

import numpy as np
import pytest

from regard.kernels.cross_entropy import cross_entropy_gradient, log_sum_exp


def padded(logits: np.ndarray, dtype: type = np.float64) -> np.ndarray:
    """Rows padded to 16 numbers, with what must not count."""
    rows = np.full((len(logits), -(-logits.shape[1] // 16) * 16), 1e6, dtype)
    rows[:, : logits.shape[1]] = logits
    return rows


def test_two_words_by_hand() -> None:
    found = log_sum_exp(padded(np.log([[1.0, 2.0], [3.0, 5.0]])), np.log([1.0, 2.0]), 1)
    np.testing.assert_allclose(found.log_sum_exp, np.log([1 + 4, 3 + 10]), rtol=1e-14)
    np.testing.assert_allclose(found.means, [np.log(4) / 2, np.log(30) / 2], rtol=1e-14)


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float32, 2e-6), (np.float64, 1e-13)])
@pytest.mark.parametrize("width", [1, 2, 15, 16, 17, 100])
def test_gradients_are_the_softmax_less_the_target(width: int, dtype: type, tolerance: float) -> None:
    rng = np.random.default_rng(width)
    logits, bias = 3 * rng.standard_normal((70, width)), rng.standard_normal(width)
    right, smoothing = rng.integers(0, width, 70), 0.2
    rows = padded(logits, dtype)
    found = cross_entropy_gradient(rows, bias.astype(dtype), right, smoothing, 2)
    exps = np.exp(logits + bias)
    target = np.full((70, width), smoothing / width)
    target[np.arange(70), right] += 1 - smoothing
    expected = exps / exps.sum(1, keepdims=True) - target
    np.testing.assert_allclose(rows[:, :width], expected, rtol=0, atol=tolerance)
    np.testing.assert_allclose(found.by_bias, expected.sum(0), rtol=0, atol=70 * tolerance)
    np.testing.assert_allclose(found.log_sum_exp, np.log(exps.sum(1)), rtol=10 * tolerance, atol=10 * tolerance)


def test_a_constant_added_to_a_row_is_added_to_its_log_sum_exp() -> None:
    logits = np.random.default_rng(0).standard_normal((4, 20))
    one, other = (log_sum_exp(padded(logits + c), np.zeros(20), 1).log_sum_exp for c in (0.0, 1000.0))
    np.testing.assert_allclose(other - one, 1000, rtol=1e-13)


def test_no_rows() -> None:
    found = cross_entropy_gradient(np.empty((0, 16)), np.zeros(9), np.empty(0, np.int64), 0.1, 1)
    assert found.log_sum_exp.shape == (0,)
