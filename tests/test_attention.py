"""What holds for attention whatever the numbers: masks, extremes, gradients, laziness."""

from typing import Any, cast

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from numpy.testing import assert_allclose

import regard
from regard import attend, masks, scores
from regard.errors import InputError


def normal(*shape, seed=0, **options):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64, **options)


def kinds(d=3, hidden=5, keys=7):
    return {
        "dot": scores.Dot(),
        "scaled_dot": scores.ScaledDot(),
        "cosine": scores.Cosine(),
        "general": scores.General(normal(d, d, seed=11)),
        "additive": scores.Additive(normal(hidden, d, seed=12), normal(hidden, d, seed=13), normal(hidden, seed=14)),
        "concat": scores.Concat(normal(hidden, 2 * d, seed=15), normal(hidden, seed=16)),
        "location": scores.Location(normal(keys, d, seed=17)),
    }


@pytest.mark.parametrize("name", kinds())
@pytest.mark.parametrize("normalize", ["softmax", "sparsemax"])
def test_gradients_are_those_of_finite_differences(name, normalize):
    visible = torch.tensor(masks.causal(5, 7))
    visible[2] = False

    def context_and_weights(query, key, value):
        return tuple(attend(query, key, value, score=kinds()[name], normalize=normalize, visible=visible))

    inputs = [normal(2, 5, 3, seed=1), normal(2, 7, 3, seed=2), normal(2, 7, 2, seed=3)]
    assert torch.autograd.gradcheck(context_and_weights, [x.requires_grad_() for x in inputs])


@pytest.mark.parametrize("name", kinds())
def test_a_query_that_sees_nothing_gets_zeros_forward_and_backward(name):
    query, key, value = (x.requires_grad_() for x in (normal(5, 3), normal(7, 3, seed=1), normal(7, 2, seed=2)))
    visible = torch.ones(5, 7, dtype=torch.bool)
    visible[1] = False
    attended = attend(query, key, value, score=kinds()[name], visible=visible)
    assert not attended.context[1].any()
    assert not attended.weights[1].any()
    (attended.context.sum() + attended.weights.sum()).backward()
    for x in (query, key, value):
        assert torch.isfinite(x.grad if x.grad is not None else torch.zeros(1)).all()
    assert not query.grad[1].any()


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("name", kinds())
@pytest.mark.parametrize("library", ["numpy", "torch"])
def test_what_is_hidden_never_leaks(library, name, bad):
    query, key, value = normal(4, 3), normal(7, 3, seed=1), normal(7, 2, seed=2)
    visible = torch.tensor(masks.causal(4, 7))
    clean = attend(query, key, value, score=kinds()[name], visible=visible).context
    key, value = key.clone(), value.clone()
    key[3], value[2, 0], key[6], value[6] = bad, bad, bad, bad
    kind = kinds()[name]
    if library == "numpy":
        kind = type(kind)(**{name: weight.numpy() for name, weight in vars(kind).items()})
        query, key, value, visible = (cast(Any, x.numpy()) for x in (query, key, value, visible))
    got = np.asarray(attend(query, key, value, score=kind, visible=visible).context)
    # Queries 0 and 1 see none of it, query 2 sees the bad entry of value 2, query 3 the bad key 3 as well.
    assert_allclose(got[:2], clean[:2], rtol=1e-12)
    assert np.isnan(got[2, 0])
    assert_allclose(got[2, 1], clean[2, 1], rtol=1e-12)
    assert np.isnan(got[3, 0])


def test_steps_show_what_was_computed_with_where_a_key_is_no_number():
    key, value = np.array([[1.0, 0.0], [np.nan, 1.0], [0.0, 1.0]]), np.array([[1.0], [2.0], [np.inf]])
    attended = attend([[1.0, 0.0], [0.0, 1.0]], key, value, visible=[[True, False, False], [True, True, True]])
    steps = {step.name: step.value for step in attended.steps()}
    assert_allclose(steps["keys"], key)
    assert_allclose(steps["values"], value)
    assert_allclose(steps["scaled"], attended.scores)
    assert np.isnan(steps["scaled"][1, 1])
    assert_allclose(steps["weighted values"][0], [[1.0], [0.0], [0.0]])
    assert_allclose(steps["weighted values"].sum(-2), attended.context)


@pytest.mark.parametrize(("dtype", "large"), [("float32", 1e38), ("float64", 1e308)])
@pytest.mark.parametrize("library", ["numpy", "torch"])
@pytest.mark.filterwarnings("ignore:overflow")
def test_a_hidden_key_whose_product_overflows_never_leaks(library, dtype, large):
    inputs: list[Any] = [np.full((4, 3), 10, dtype), np.ones((5, 3), dtype), np.ones((5, 2), dtype)]
    query, key, value = inputs
    key[4, 0] = large
    if library == "torch":
        query, key, value = (torch.tensor(x, requires_grad=True) for x in (query, key, value))
    attended = attend(query, key, value, visible=masks.padding([4], 5)[0])
    context = attended.context
    if library == "torch":
        context.sum().backward()
        assert all(torch.isfinite(x.grad).all() for x in (query, key, value))
        context = context.detach()
    assert_allclose(context, np.ones((4, 2)), rtol=1e-6)


@pytest.mark.parametrize("name", kinds())
def test_what_is_hidden_leaves_the_gradients_clean(name):
    query, key, value = normal(4, 3), normal(7, 3, seed=1), normal(7, 2, seed=2)
    key[5:], value[5:] = torch.nan, torch.inf
    inputs = [x.requires_grad_() for x in (query, key, value)]
    attend(*inputs, score=kinds()[name], visible=torch.arange(7) < 5).context.sum().backward()
    assert all(torch.isfinite(x.grad).all() for x in inputs if x.grad is not None)
    assert value.grad[:5].any()
    assert not value.grad[5:].any()


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("shape", [(5, 3), (2, 5, 3), (2, 3, 5, 3), (2, 2, 3, 5, 3)])
def test_attend_is_torchs_scaled_dot_product_attention(shape, masked):
    query, key, value = normal(*shape), normal(*shape[:-2], 7, 3, seed=1), normal(*shape[:-2], 7, 3, seed=2)
    visible = normal(5, 7, seed=3) > -1 if masked else None
    expected = F.scaled_dot_product_attention(query, key, value, attn_mask=visible)
    attended = attend(query, key, value, visible=visible)
    assert_allclose(attended.context, expected, rtol=1e-12)
    assert_allclose(attended.weights @ value, expected, rtol=1e-12)
    causal = attend(query, key, value, visible=masks.causal(5, 7)).context
    assert_allclose(causal, F.scaled_dot_product_attention(query, key, value, is_causal=True), rtol=1e-12)


def test_bias_is_added_to_the_scores_and_carries_gradients():
    query, key, bias = normal(5, 3), normal(7, 3, seed=1), normal(5, 7, seed=2).requires_grad_()
    visible = masks.causal(5, 7)
    attended = attend(query, key, visible=visible, bias=bias)
    expected = torch.softmax((query @ key.T / 3**0.5 + bias).masked_fill(~torch.tensor(visible), -torch.inf), -1)
    assert_allclose(attended.weights.detach(), expected.detach(), rtol=1e-12)
    assert_allclose(attended.context.detach(), (expected @ key).detach(), rtol=1e-12)
    attended.context.sum().backward()
    assert bias.grad.abs().sum() > 0
    assert_allclose(
        attend(query.numpy(), key.numpy(), visible=visible, bias=bias.detach().numpy()).weights,
        attended.weights.detach(),
        rtol=1e-12,
    )


@pytest.mark.parametrize("library", [np.asarray, torch.from_numpy])
@pytest.mark.parametrize("size", [1e4, -1e4])
def test_huge_scores_stay_finite_and_right(library, size):
    key = library(np.array([[size], [size - 1.0], [-size]]))
    weights = attend(library(np.array([[1.0]])), key, score="dot").weights
    top = 1 / (1 + np.exp(-1.0))
    expected = [[top, 1 - top, 0.0]] if size > 0 else [[0.0, 0.0, 1.0]]
    assert_allclose(weights, expected, rtol=1e-12)


@pytest.mark.parametrize("normalize", ["softmax", "sparsemax"])
def test_equal_scores_share_equally_and_hard_takes_the_first(normalize):
    assert_allclose(attend(np.ones((2, 3)), np.ones((4, 3)), normalize=normalize).weights, 0.25)
    assert attend(np.ones(3), np.ones((4, 3)), normalize="hard").weights.tolist() == [1, 0, 0, 0]
    assert attend(torch.ones(3), torch.ones(4, 3), normalize="hard").weights.tolist() == [1, 0, 0, 0]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("score", ["dot", "scaled_dot", "cosine"])
def test_half_precision_is_computed_wide_and_given_back_as_it_came(dtype, score):
    query, key = (100 * normal(5, 64)).to(dtype), (100 * normal(7, 64, seed=1)).to(dtype)
    attended = attend(query, key, score=score)
    wide = attend(query.double(), key.double(), score=score)
    assert attended.context.dtype == attended.weights.dtype == dtype
    assert torch.isfinite(attended.scores).all()  # 640,000 would be inf in float16
    assert_allclose(attended.scores, wide.scores, rtol=1e-4, atol=1e-2)
    assert_allclose(attended.context.double(), wide.context, rtol=0.01, atol=0.01)


def test_autocast_does_not_round_a_fused_context():
    query, key = torch.randn(2, 3, 5, generator=torch.Generator().manual_seed(1)).split(2, 1)
    with torch.autocast("cpu", torch.bfloat16):
        attended = regard.attend(query, key)
    assert torch.equal(attended.context, regard.attend(query, key).context)


def test_numpy_half_precision_too():
    attended = attend(np.full((1, 64), 100, np.float16), np.full((3, 64), 100, np.float16), score="dot")
    assert attended.scores.tolist() == [[640000.0] * 3]
    assert attended.context.dtype == np.float16


def test_integers_are_promoted_and_dtypes_meet():
    assert attend([1, 2], [[1, 2]]).context.dtype == np.float64
    assert attend(torch.tensor([1, 2]), torch.tensor([[1, 2]])).context.dtype == torch.float32
    assert attend(np.ones((1, 2), np.float32), np.ones((1, 2), np.float32)).context.dtype == np.float32
    assert attend(np.ones((1, 2), np.float32), np.ones((1, 2))).context.dtype == np.float64


def test_weights_looked_at_later_are_those_of_the_context():
    query, key = normal(5, 3).requires_grad_(), normal(7, 3, seed=1)
    attended = attend(query, key)
    assert "weights" not in vars(attended)
    attended.weights[0, 0].backward()
    assert query.grad[0].any()
    with torch.no_grad():
        query.mul_(2)
    stale = attend(query, key)
    with torch.no_grad():
        key.add_(1)
    with pytest.raises(InputError, match=r"key was changed in place after attend\(\)"):
        _ = stale.weights


def test_a_callable_scores_and_a_callable_normalizes():
    nearness = attend([[0.0]], [[1.0], [3.0]], score=lambda q, k: -((q[..., :, None, 0] - k[..., None, :, 0]) ** 2))
    assert nearness.scores.tolist() == [[-1.0, -9.0]]
    mean = attend([[0.0]], [[1.0], [3.0]], normalize=lambda s: np.full_like(s, 1 / s.shape[-1]))
    assert mean.context.tolist() == [[2.0]]
    assert [step.formula for step in mean.steps() if step.name == "weights"] == ["normalize(scaled)"]


def test_jax_traces_and_differentiates():
    jax = pytest.importorskip("jax", reason="jax (the extra regard[jax]) is not installed")
    rng = np.random.default_rng(0)
    query, key = jax.numpy.asarray(rng.normal(size=(4, 3))), jax.numpy.asarray(rng.normal(size=(5, 3)))
    visible = jax.numpy.asarray(masks.causal(4, 5)).at[0].set(False)

    def total(query, key):
        return (attend(query, key, visible=visible).context ** 2).sum()

    plain, traced = jax.grad(total, argnums=(0, 1))(query, key), jax.jit(jax.grad(total, argnums=(0, 1)))(query, key)
    tensors = [torch.tensor(np.asarray(x), requires_grad=True) for x in (query, key)]
    (attend(*tensors, visible=torch.tensor(np.asarray(visible))).context ** 2).sum().backward()
    for a, b, c in zip(plain, traced, tensors, strict=True):
        assert_allclose(a, b, atol=1e-5)
        assert_allclose(a, c.grad, atol=1e-5)
    assert not np.asarray(plain[0])[0].any()


def test_what_is_not_a_number_stays_so_under_every_normalizer():
    for normalize in ("softmax", "sparsemax", "hard"):
        assert np.isnan(attend([np.nan], [[1.0], [2.0]], normalize=normalize).weights).all()


def test_no_queries_give_no_contexts():
    assert attend(torch.zeros(0, 2), torch.ones(3, 2)).context.shape == (0, 2)
    assert attend(np.zeros((0, 2)), np.ones((3, 2))).context.shape == (0, 2)


def test_unpacks_as_context_and_weights():
    context, weights = attend([1.0], [[1.0]])
    assert (context.tolist(), weights.tolist()) == ([1.0], [1.0])
    assert repr(regard.attend([1.0], [[1.0]])) == "Attended(context (1,), unpacks as context, weights)"


def test_a_mask_is_taken_under_vmap():
    query, key, visible = normal(2, 3, 4), normal(2, 5, 4, seed=1), normal(2, 3, 5, seed=2) > -0.5
    mapped = torch.vmap(lambda *one: attend(*one[:2], visible=one[2]).context)(query, key, visible)
    torch.testing.assert_close(mapped, attend(query, key, visible=visible).context)
