"""One step of additive attention in one pass: by hand, against torch's own gradients, and at its edges."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch

from regard.kernels.additive_attention import attend_step, attend_step_backward, largest_key

B, K, D, A = 3, 5, 16, 32
EVERYWHERE = np.empty((0, 0), np.bool_)


def problem(dtype: type = np.float64) -> Any:
    rng = np.random.default_rng(0)
    drawn: Any = (rng.standard_normal(shape).astype(dtype) for shape in ((B, D), (B, K, D), (D,), (B, K, A)))
    return tuple(drawn)


def forward(query: np.ndarray, key: np.ndarray, v: np.ndarray, annotations: np.ndarray, visible: np.ndarray):
    scores, weights = (np.empty(key.shape[:2], v.dtype) for _ in range(2))
    context = np.empty((len(key), annotations.shape[2]), v.dtype)
    attend_step(query, np.exp(-2 * key), v, annotations, visible, scores, weights, context, threads=2)
    return scores, weights, context


def by_torch(tensors: list[torch.Tensor], visible: np.ndarray) -> tuple[torch.Tensor, ...]:
    query, key, v, annotations = tensors
    scores = torch.tanh(query[:, None] + key) @ v
    seen = torch.from_numpy(visible) if visible.size else torch.ones_like(scores, dtype=torch.bool)
    weights = torch.softmax(scores.masked_fill(~seen, -torch.inf), -1).nan_to_num(0.0)
    return scores, weights, (weights[:, None] @ annotations)[:, 0]


def test_two_keys_by_hand() -> None:
    query, key, v = np.zeros((1, 16)), np.zeros((1, 2, 16)), np.zeros(16)
    key[0, 1, 0], v[0] = math.atanh(0.5), 2 * math.log(3)  # scores 0 and ln 3: weights 1/4 and 3/4
    annotations = np.repeat([[[8.0], [4.0]]], 16, axis=2)
    scores, weights, context = forward(query, key, v, annotations, EVERYWHERE)
    np.testing.assert_allclose(scores, [[0, math.log(3)]], atol=1e-14)
    np.testing.assert_allclose(weights, [[0.25, 0.75]], rtol=1e-14)
    np.testing.assert_allclose(context, 5, rtol=1e-14)


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float32, 1e-5), (np.float64, 1e-12)])
@pytest.mark.parametrize("masked", [False, True])
def test_results_and_gradients_are_torchs(masked: bool, dtype: type, tolerance: float) -> None:
    visible = np.arange(K) < np.array([[5], [2], [3]]) if masked else EVERYWHERE
    given = problem(dtype)
    tensors = [torch.from_numpy(x).requires_grad_() for x in given]
    expected = by_torch(tensors, visible)
    found = forward(*given, visible)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other.detach(), rtol=tolerance, atol=tolerance)
    rng = np.random.default_rng(1)
    by_scores, by_weights = (rng.standard_normal((B, K)).astype(dtype) for _ in range(2))
    by_context = rng.standard_normal((B, A)).astype(dtype)
    query, key, v, annotations = given
    by_query, by_score = np.empty_like(query), np.empty((B, K), dtype)
    attend_step_backward(
        by_context, by_weights, by_scores, query, np.exp(-2 * key), v, annotations, found[1], by_query, by_score,
        threads=2,
    )  # fmt: skip
    given_by = (by_scores, by_weights, by_context)
    total = sum((torch.from_numpy(by) * part).sum() for by, part in zip(given_by, expected, strict=True))
    wanted = torch.autograd.grad(total, [tensors[0], expected[0]])
    np.testing.assert_allclose(by_query, wanted[0], rtol=tolerance, atol=10 * tolerance)
    np.testing.assert_allclose(by_score, wanted[1], rtol=tolerance, atol=10 * tolerance)


def test_a_sentence_that_may_be_seen_nowhere_gets_zeros() -> None:
    visible = np.ones((B, K), np.bool_)
    visible[1] = False
    _, weights, context = forward(*problem(), visible)
    assert not weights[1].any()
    assert not context[1].any()
    np.testing.assert_allclose(weights[[0, 2]].sum(1), 1, rtol=1e-14)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_keys_of_the_largest_size_and_queries_of_any(dtype: type) -> None:
    query, key, v, annotations = problem(dtype)
    most = largest_key(np.dtype(dtype))
    key[0, 0], key[0, 1], query[0], query[1] = most, -most, 1e30, -1e30
    scores, weights, _ = forward(query, key, v, annotations, EVERYWHERE)
    expected = np.tanh(query[:, None] + key) @ v
    np.testing.assert_allclose(scores, expected, rtol=1e-4, atol=1e-5)
    assert np.isfinite(weights).all()
