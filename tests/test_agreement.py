"""NumPy, torch, JAX, array-api-strict and a naive triple loop give the same numbers."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from regard import attend, masks, normalizers, scores
from tests import naive

SCORES = ["dot", "scaled_dot", "cosine", "general", "additive", "concat", "location"]
NORMALIZERS = ["softmax", "sparsemax", "hard"]
MASKS = ["none", "causal", "padding", "window", "any", "nothing"]
HIDDEN = 5


class Case(NamedTuple):
    query: np.ndarray
    key: np.ndarray
    value: np.ndarray
    weights: dict[str, np.ndarray]


@st.composite
def cases(draw: Any) -> Case:
    """A prime for every dimension, so that a transposed axis must fail."""
    q, k, d, v = (
        draw(st.integers(1, 5)),
        draw(st.integers(1, 7)),
        draw(st.sampled_from([1, 2, 3])),
        draw(st.integers(1, 4)),
    )
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    scale = draw(st.sampled_from([0.0, 0.1, 1.0, 3.0]))
    weights = {
        "W": rng.normal(size=(d, d)),
        "W_q": rng.normal(size=(HIDDEN, d)),
        "W_k": rng.normal(size=(HIDDEN, d)),
        "v": rng.normal(size=HIDDEN),
        "W_location": rng.normal(size=(k + 2, d)),
    }
    return Case(scale * rng.normal(size=(q, d)), scale * rng.normal(size=(k, d)), rng.normal(size=(k, v)), weights)


def mask_for(name: str, case: Case) -> np.ndarray | None:
    q, k = len(case.query), len(case.key)
    rng = np.random.default_rng(q * 31 + k)
    kinds: dict[str, np.ndarray | None] = {
        "none": None,
        "causal": masks.causal(q, k),
        "padding": np.broadcast_to(masks.padding(np.array(max(1, k // 2)), k), (q, k)),
        "window": masks.window(q, 1, k),
        "any": rng.random((q, k)) < 0.5,
        "nothing": np.zeros((q, k), bool),
    }
    return kinds[name]


def score_object(name: str, case: Case, convert: Any = lambda x: x) -> Any:
    w = {key: convert(array) for key, array in case.weights.items()}
    both = convert(np.concatenate([case.weights["W_q"], case.weights["W_k"]], axis=1))
    return {
        "general": scores.General(w["W"]),
        "additive": scores.Additive(w["W_q"], w["W_k"], w["v"]),
        "concat": scores.Concat(both, w["v"]),
        "location": scores.Location(w["W_location"]),
    }.get(name, name)


def by_loops(score: str, normalize: str, case: Case, visible: Any) -> Any:
    w = {key: array.tolist() for key, array in case.weights.items()}
    both = [[*a, *b] for a, b in zip(w["W_q"], w["W_k"], strict=True)]
    rule = {
        "dot": naive.dot,
        "scaled_dot": naive.scaled_dot,
        "cosine": naive.cosine,
        "general": naive.general(w["W"]),
        "additive": naive.additive(w["W_q"], w["W_k"], w["v"]),
        "concat": naive.concat(both, w["v"]),
        "location": None,
    }[score]
    location = w["W_location"] if score == "location" else None
    return naive.attend(case.query, case.key, case.value, rule, getattr(naive, normalize), visible, location)


def same(attended: Any, expected: Any, normalize: str, tolerance: float, case: Case) -> None:
    context, weights, plain_scores = expected
    assert_allclose(np.asarray(attended.scores), plain_scores, rtol=tolerance, atol=tolerance)
    got = np.asarray(attended.weights)
    if normalize == "hard" and not np.array_equal(got, weights):
        # Two scores that differ in the last bit may fall either way; the chosen one must be as good.
        assert_allclose((got * plain_scores).sum(-1), (weights * plain_scores).sum(-1), rtol=tolerance, atol=tolerance)
        context = got @ case.value
    else:
        assert_allclose(got, weights, rtol=tolerance, atol=tolerance)
    assert_allclose(np.asarray(attended.context), context, rtol=tolerance, atol=tolerance * 10)


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("normalize", NORMALIZERS)
@pytest.mark.parametrize("score", SCORES)
@settings(max_examples=25, deadline=None)
@given(case=cases())
def test_numpy_and_torch_agree_with_the_loops(score, normalize, mask, case):
    visible = mask_for(mask, case)
    expected = by_loops(score, normalize, case, visible)

    same(
        attend(*case[:3], score=score_object(score, case), normalize=normalize, visible=visible),
        expected,
        normalize,
        1e-12,
        case,
    )

    tensors = [torch.from_numpy(array) for array in case[:3]]
    kind = score_object(score, case, torch.from_numpy)
    same(attend(*tensors, score=kind, normalize=normalize, visible=visible), expected, normalize, 1e-12, case)

    singles = [tensor.float() for tensor in tensors]
    same(attend(*singles, score=kind, normalize=normalize, visible=visible), expected, normalize, 1e-5, case)


@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize("library", ["strict", "jax"])
@settings(max_examples=10, deadline=None)
@given(case=cases())
def test_other_libraries_agree_with_numpy(library, score, case):
    if library == "jax":
        jax = pytest.importorskip("jax", reason="jax (the extra regard[jax]) is not installed")
        convert, tolerance = jax.numpy.asarray, 1e-5  # JAX computes in float32 unless told otherwise
    else:
        strict = pytest.importorskip("array_api_strict", reason="array-api-strict, of '.[test]', is not installed")
        convert, tolerance = strict.asarray, 1e-12
    visible = mask_for("any", case)
    for normalize in NORMALIZERS:
        expected = attend(*case[:3], score=score_object(score, case), normalize=normalize, visible=visible)
        got = attend(
            *map(convert, case[:3]),
            score=score_object(score, case, convert),
            normalize=normalize,
            visible=convert(visible),
        )
        assert type(got.context).__module__.partition(".")[0] in ("array_api_strict", "jaxlib", "jax")
        same(got, (expected.context, expected.weights, expected.scores), normalize, tolerance, case)


@settings(max_examples=50, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1), batch=st.sampled_from([((), (3,)), ((2, 1), (3,)), ((3,), ()), ((2, 3), (2, 3))])
)
def test_batches_broadcast_and_each_is_attended_by_itself(seed, batch):
    rng = np.random.default_rng(seed)
    query, key = rng.normal(size=(*batch[0], 5, 2)), rng.normal(size=(*batch[1], 7, 2))
    whole = np.broadcast_shapes(*batch)
    for convert in (np.asarray, torch.from_numpy):
        attended = attend(convert(query), convert(key))
        assert tuple(attended.context.shape) == (*whole, 5, 2)
        assert tuple(attended.weights.shape) == (*whole, 5, 7)
        queries, keys = np.broadcast_to(query, (*whole, 5, 2)), np.broadcast_to(key, (*whole, 7, 2))
        for place in np.ndindex(*whole):
            assert_allclose(attended.context[place], attend(queries[place], keys[place]).context, atol=1e-12)


def test_a_single_query_is_a_row_without_its_axis():
    rng = np.random.default_rng(0)
    query, key, visible = rng.normal(size=3), rng.normal(size=(2, 5, 3)), rng.random((2, 5)) < 0.7
    for convert in (np.asarray, torch.from_numpy):
        one = attend(convert(query), convert(key), visible=convert(visible), bias=convert(rng.normal(size=5)))
        assert tuple(one.context.shape) == (2, 3)
        assert tuple(one.weights.shape) == (2, 5)
        assert not np.asarray(one.weights)[~visible].any()


def test_sampled_draws_by_share_and_repeats_with_the_seed():
    row = np.log(np.array([0.5, 0.3, 0.2]))
    many = np.broadcast_to(row, (20000, 3))
    drawn = normalizers.Sampled(np.random.default_rng(7))(many)
    assert (drawn.sum(-1) == 1).all()
    assert_allclose(drawn.mean(0), [0.5, 0.3, 0.2], atol=0.015)
    assert np.array_equal(drawn, normalizers.Sampled(np.random.default_rng(7))(many))
    tensor = normalizers.Sampled(torch.Generator().manual_seed(7))(torch.tensor(many))
    assert_allclose(tensor.mean(0), [0.5, 0.3, 0.2], atol=0.015)
    hidden = normalizers.Sampled(np.random.default_rng(7))(normalizers.hide(many, [False, True, False]))
    assert (hidden[:, 1] == 1).all()
