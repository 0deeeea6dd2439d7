"""Local attention against a loop over each window, and its cost."""

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from regard import attend, attend_local, masks, scores
from regard.errors import InputError
from regard.local import predict_centers


def naive_local(query, key, value, width, centers, gaussian):
    """For each query: softmax over the keys s with |s - p| <= width, then the Gaussian of sigma = width / 2."""
    weights = np.zeros((len(query), len(key)))
    for i, (q, p) in enumerate(zip(query, centers, strict=True)):
        window = [s for s in range(len(key)) if abs(s - p) <= width]
        shares = np.exp([q @ key[s] / np.sqrt(len(q)) for s in window])
        for s, share in zip(window, shares / shares.sum() if len(window) else [], strict=True):
            weights[i, s] = share * (np.exp(-((s - p) ** 2) / (2 * (width / 2) ** 2)) if gaussian else 1.0)
    return weights @ value, weights


def by_kernel(near):
    """Whether the context was computed without gathering windows of keys."""
    return "windows" not in vars(near._look())


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 5), st.integers(1, 9), st.integers(1, 4), st.booleans())
def test_both_kinds_agree_with_a_loop_over_each_window(seed, q, k, width, predicted):
    rng = np.random.default_rng(seed)
    query, key, value = rng.normal(size=(q, 3)), rng.normal(size=(k, 3)), rng.normal(size=(k, 2))
    centers = rng.uniform(-1, k + 1, size=q) if predicted else np.arange(q)
    context, weights = naive_local(query, key, value, width, centers, gaussian=predicted)
    for convert in (np.asarray, torch.from_numpy):
        given_centers = convert(centers) if predicted else None
        near = attend_local(convert(query), convert(key), convert(value), width=width, centers=given_centers)
        assert_allclose(near.context, context, atol=1e-12)
        assert_allclose(near.weights, weights, atol=1e-12)


def test_the_weights_sum_to_one_inside_the_window_before_the_gaussian():
    rng = np.random.default_rng(0)
    near = attend_local(rng.normal(size=(5, 3)), rng.normal(size=(9, 3)), width=2, centers=rng.uniform(0, 8, size=5))
    steps = {step.name: step.value for step in near.steps()}
    assert_allclose(steps["aligned"].sum(-1), 1)
    assert (steps["weights"].sum(-1) < 1).all()


def test_the_monotonic_window_is_attention_under_a_window_mask():
    rng = np.random.default_rng(1)
    query, key = rng.normal(size=(2, 7, 3)), rng.normal(size=(2, 7, 3))
    mask = masks.padding([7, 4], 7)
    near = attend_local(query, key, width=2, visible=mask)
    dense = attend(query, key, visible=masks.window(7, 2) & mask)
    assert_allclose(near.context, dense.context, rtol=1e-12)
    assert_allclose(near.weights, dense.weights, rtol=1e-12)
    assert not near.context[1, 6].any()  # its window lies in the padding: zeros


@pytest.mark.parametrize(
    "score",
    [
        scores.Dot(),
        scores.Cosine(),
        scores.General(np.arange(9.0).reshape(3, 3) / 9),
        scores.Additive(np.ones((2, 3)), -np.ones((2, 3)), np.ones(2)),
        scores.Location(np.arange(21.0).reshape(7, 3) / 21),
        lambda q, k: q @ np.swapaxes(k, -1, -2),
    ],
)
def test_every_score_sees_the_same_in_a_window(score):
    rng = np.random.default_rng(2)
    query, key = rng.normal(size=(2, 5, 3)), rng.normal(size=(2, 7, 3))
    dense = attend(query, key, score=score, visible=masks.window(5, 2, 7))
    assert_allclose(attend_local(query, key, score=score, width=2).context, dense.context, rtol=1e-12)


def test_no_leak_from_outside_the_window_forward_or_backward():
    key = torch.randn(9, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    key[6:] = torch.nan
    key.requires_grad_()
    query = torch.ones(4, 3, dtype=torch.float64, requires_grad=True)
    attend_local(query, key, width=2).context.sum().backward()
    assert torch.isfinite(query.grad).all()
    assert torch.isfinite(key.grad[:6]).all()


@pytest.mark.parametrize("convert", [np.asarray, torch.from_numpy])
def test_what_one_query_sees_does_not_leak_into_its_neighbours(convert):
    key, value = np.random.default_rng(3).normal(size=(2, 9, 3))
    clean = attend_local(convert(key), convert(key), convert(value), width=2).context
    for place in (key, value):
        place[5] = np.nan
    got = np.asarray(attend_local(convert(np.nan_to_num(key)), convert(key), convert(value), width=2).context)
    assert_allclose(got[:3], clean[:3], rtol=1e-12)
    assert np.isnan(got[3:8]).all()


@pytest.mark.parametrize("score", ["dot", "scaled_dot"])
def test_a_key_outside_the_window_may_be_as_large_as_it_likes(score):
    query, key, value = torch.full((70, 2), 10.0), torch.ones(70, 2), torch.ones(70, 2)
    key[0, 0] = 1e38  # finite, but its products with the queries are not
    for x in (query, key, value):
        x.requires_grad_()
    near = attend_local(query, key, value, score=score, width=3)
    assert_allclose(near.context[4:].detach(), np.ones((66, 2)), rtol=1e-6)
    near.context[4:].sum().backward()
    assert query.grad[4:].isfinite().all()


@pytest.mark.parametrize("convert", [np.asarray, torch.from_numpy])
def test_values_may_have_batches_that_query_and_key_have_not(convert):
    rng = np.random.default_rng(5)
    query, key, value = (convert(rng.normal(size=shape)) for shape in ((4, 2), (6, 2), (3, 6, 5)))
    dense = attend(query, key, value, visible=masks.window(4, 1, 6))
    near = attend_local(query, key, value, width=1)
    assert_allclose(near.context, dense.context, rtol=1e-12)
    assert_allclose(near.weights[2], dense.weights, rtol=1e-12)


def test_one_sentence_without_a_batch_may_be_padded():
    query, key = np.random.default_rng(6).normal(size=(2, 5, 3))
    visible = np.array([[True, True, True, True, False]])
    near = attend_local(torch.from_numpy(query), torch.from_numpy(key), width=1, visible=torch.from_numpy(visible))
    assert by_kernel(near)
    assert_allclose(near.context, attend_local(query, key, width=1, visible=visible).context, rtol=1e-12)


@pytest.mark.parametrize("score", ["dot", "scaled_dot", "additive", "concat"])
def test_torch_takes_the_kernel_and_agrees_with_the_gathered_windows(score):
    rng = np.random.default_rng(4)
    inputs = [rng.normal(size=(2, 3, 70, 4)) for _ in range(3)]
    W = rng.normal(size=(5, 8))
    kinds = {
        "additive": lambda to: scores.Additive(to(W[:, :4]), to(W[:, 4:]), to(W[:, 0])),
        "concat": lambda to: scores.Concat(to(W), to(W[:, 0])),
    }
    kind = kinds.get(score, lambda _: score)
    expected = attend_local(*inputs, width=9, score=kind(np.asarray))
    tensors = [torch.from_numpy(x).requires_grad_() for x in inputs]
    near = attend_local(*tensors, width=9, score=kind(lambda x: torch.tensor(x)))
    assert by_kernel(near)
    assert_allclose(near.context.detach(), expected.context, rtol=1e-10, atol=1e-13)
    assert_allclose(near.weights.detach(), expected.weights, rtol=1e-10, atol=1e-13)
    assert_allclose(near.window_weights.detach(), expected.window_weights, rtol=1e-10, atol=1e-13)
    near.context.sum().backward()
    assert all(x.grad.isfinite().all() for x in tensors)


@pytest.mark.parametrize("convert", [np.asarray, torch.from_numpy])
@pytest.mark.parametrize("score", ["dot", "scaled_dot", "cosine"])
def test_a_causal_window_is_attention_under_its_mask(convert, score):
    rng = np.random.default_rng(5)
    query, key, value = (rng.normal(size=(2, 3, 11, 4)) for _ in range(3))
    padding = masks.padding([11, 6], 11)[:, None]
    for visible in (None, padding, padding & (np.arange(11) != 2)):
        seen = masks.window(11, 3, causal=True) if visible is None else masks.window(11, 3, causal=True) & visible
        dense = attend(query, key, value, score=score, visible=seen)
        given_mask = None if visible is None else convert(visible)
        arrays = [convert(x) for x in (query, key, value)]
        near = attend_local(*arrays, width=3, causal=True, score=score, visible=given_mask)
        taken = convert is torch.from_numpy and score != "cosine" and (visible is None or visible is padding)
        assert by_kernel(near) == taken
        assert_allclose(near.context, dense.context, rtol=1e-10, atol=1e-13)
        assert_allclose(near.weights, dense.weights, rtol=1e-10, atol=1e-13)
        assert near.window_weights.shape == (2, 3, 11, 4)


def test_a_causal_window_around_given_centers_ends_at_them():
    near = attend_local(np.ones((3, 2)), np.ones((9, 2)), width=2, causal=True, centers=[3.5, 8.0, 0.4], gaussian=False)
    expected = np.zeros((3, 9))
    expected[0, 2:4], expected[1, 6:9], expected[2, 0] = 1 / 2, 1 / 3, 1
    assert_allclose(near.weights, expected)


@pytest.mark.parametrize("causal", [False, True])
def test_with_stay_the_queries_after_the_last_key_look_around_it(causal):
    rng = np.random.default_rng(6)
    query, key, value = rng.normal(size=(2, 12, 4)), rng.normal(size=(2, 7, 4)), rng.normal(size=(2, 7, 4))
    mask, lengths = masks.padding([7, 4], 7), np.array([7, 4])
    centers = np.minimum(np.arange(12), lengths[:, None] - 1)
    options = {"width": 2, "causal": causal, "gaussian": False}
    expected = attend_local(query, key, value, **options, centers=centers, visible=mask)
    for convert in (np.asarray, torch.from_numpy):
        arrays = [convert(x) for x in (query, key, value)]
        near = attend_local(*arrays, **options, stay=True, visible=convert(mask))
        assert by_kernel(near) == (convert is torch.from_numpy)
        assert_allclose(near.context, expected.context, rtol=1e-10)
        assert_allclose(near.weights, expected.weights, rtol=1e-10, atol=1e-15)


@pytest.mark.parametrize("name", ["query", "key", "value", "visible", "v"])
def test_weights_of_tensors_written_over_since_are_refused(name):
    tensors: dict[str, Any] = {n: torch.ones(1, 5, 3) for n in ("query", "key", "value")}
    visible, v = torch.ones(1, 1, 5, dtype=torch.bool), torch.ones(3)
    near = attend_local(**tensors, visible=visible, width=1, score=scores.SumOfTanh(v))
    assert by_kernel(near)
    {**tensors, "visible": visible, "v": v}[name].zero_()
    for look in (lambda: near.weights, lambda: near.window_weights, lambda: near.scores, near.steps):
        with pytest.raises(InputError, match=f"{name} was changed in place"):
            look()


@pytest.mark.parametrize("convert", [np.asarray, torch.from_numpy])
@pytest.mark.parametrize("centers", [None, [-3.0, 0.0, 9.5]])
def test_a_window_wider_than_the_keys_is_all_of_them(convert, centers):
    query, key = np.random.default_rng(7).normal(size=(2, 3, 4))
    near = attend_local(convert(query), convert(key), width=10**400, centers=centers, gaussian=False)
    assert_allclose(near.context, attend(query, key).context, rtol=1e-12)
    assert near.window_weights.shape == (3, 3)


def test_gradients_reach_the_predicted_centers():
    query, key = (torch.randn(n, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(n)) for n in (4, 9))
    centers = torch.tensor([1.3, 2.6, 4.4, 7.7], dtype=torch.float64)
    inputs = [x.requires_grad_() for x in (query, key, centers)]
    assert torch.autograd.gradcheck(lambda q, k, p: attend_local(q, k, width=2, centers=p).context, inputs)


def test_cost_depends_on_the_window_not_on_the_length():
    seen = []

    def counting(query, key):
        seen.append(key.shape)
        return query @ np.swapaxes(key, -1, -2)

    for length in (50, 500):
        attend_local(np.ones((10, 3)), np.ones((length, 3)), width=3, score=counting)
    assert seen[0] == seen[1] == (10, 7, 3)


def test_centers_are_predicted_as_in_the_paper():
    query, W_p, v_p = np.array([[0.5, -1.0]]), np.array([[1.0, 2.0], [0.0, 1.0]]), np.array([0.3, -0.7])
    hidden = np.tanh([0.5 - 2.0, -1.0])
    expected = 8 / (1 + np.exp(-(0.3 * hidden[0] - 0.7 * hidden[1])))
    assert_allclose(predict_centers(query, W_p, v_p, 8), [expected], rtol=1e-14)


@pytest.mark.parametrize("far", [1000.0, -1000.0])
def test_a_center_predicted_at_an_end_has_a_gradient(far):
    v_p = torch.full((3,), far, requires_grad=True)
    center = predict_centers(torch.ones(1, 2), torch.ones(3, 2), v_p, 8)
    center.sum().backward()
    assert center.item() == (8 if far > 0 else 0)
    assert v_p.grad.isfinite().all()
