"""Multi-head attention against torch's, under masks and windows, with dropout, and its gradients."""

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose
from torch import nn

from regard import masks
from regard.errors import DtypeError, InputError, ShapeError
from regard.nn import SCORES, MultiHeadAttention, SelfAttention
from tests.nn.gradients import check_gradients, normal


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("masked", [True, False])
def test_multi_head_attention_is_torchs(masked, bias):
    theirs = nn.MultiheadAttention(8, 2, bias=bias, batch_first=True, dtype=torch.float64)
    ours = MultiHeadAttention.from_torch(theirs)
    query, memory = normal(3, 5, 8), normal(3, 7, 8, seed=1)
    visible = masks.padding(torch.tensor([7, 4, 1]), 7) if masked else None
    padding = None if visible is None else ~visible[:, 0]
    expected, averaged = theirs(query, memory, memory, key_padding_mask=padding)
    context, weights = ours(query, memory, visible=None if visible is None else visible[:, None])
    assert_allclose(context.detach(), expected.detach(), rtol=1e-11, atol=1e-13)
    assert_allclose(weights.mean(1).detach(), averaged.detach(), rtol=1e-11, atol=1e-13)


def test_torch_layers_that_cannot_be_taken_are_refused():
    with pytest.raises(InputError, match="without bias_k"):
        MultiHeadAttention.from_torch(nn.MultiheadAttention(8, 2, add_bias_kv=True))
    with pytest.raises(InputError, match="made with batch_first=False"):
        MultiHeadAttention.from_torch(nn.MultiheadAttention(8, 2))
    with pytest.raises(InputError, match=r"only torch's nn.MultiheadAttention can be taken, not Linear"):
        MultiHeadAttention.from_torch(nn.Linear(8, 2))


@pytest.mark.parametrize("score", SCORES)
def test_gradients_of_every_score(score):
    check_gradients(MultiHeadAttention(4, 2, score=score).double(), normal(2, 3, 4), normal(2, 5, 4, seed=1))


@pytest.mark.parametrize("heads", [1, 3])
@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("score", SCORES)
def test_a_sliding_window_is_the_layer_under_a_mask(score, causal, heads):
    inputs, padding = normal(2, 13, 6), masks.padding(torch.tensor([13, 5]), 13)
    mask = torch.from_numpy(masks.window(13, 3, causal=causal)) & padding
    layer = MultiHeadAttention(6, heads, score=score, window=3, causal=causal).double()
    near = layer(inputs, visible=padding[:, None])
    layer.window = None
    dense = layer(inputs, visible=mask[:, None])
    assert_allclose(near.context.detach(), dense.context.detach(), rtol=1e-9, atol=1e-12)
    assert_allclose(near.weights.detach(), dense.weights.detach(), rtol=1e-9, atol=1e-12)
    weights = [p for p in layer.parameters() if p.requires_grad]
    losses = (near.context.square().sum(), dense.context.square().sum())
    for one, other in zip(*(torch.autograd.grad(x, weights, materialize_grads=True) for x in losses), strict=True):
        assert_allclose(one, other, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("score", ["dot", "scaled_dot", "additive"])
def test_sliding_windows_make_no_map_of_all_pairs(score):
    class Watch(torch.utils._python_dispatch.TorchDispatchMode):
        largest = 0

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            out = func(*args, **(kwargs or {}))
            sizes = [
                x.numel() for x in (out if isinstance(out, tuple | list) else [out]) if isinstance(x, torch.Tensor)
            ]
            Watch.largest = max(Watch.largest, *sizes, 0)
            return out

    n = 3000
    layer = MultiHeadAttention(4, 2, score=score, window=5, causal=True)
    with Watch():
        layer(
            normal(1, n, 4).float(), visible=masks.padding(torch.tensor([n - 7]), n)[:, None]
        ).context.sum().backward()
    assert 0 < Watch.largest < n * n // 10


def test_weights_shown_are_those_before_dropout():
    layer = MultiHeadAttention(8, 2, dropout=0.5)
    inputs = normal(2, 5, 8).float()
    dropped = layer.train()(inputs)
    assert_allclose(dropped.weights.sum(-1).detach(), 1, rtol=1e-5)
    whole = layer.eval()(inputs)
    assert_allclose(dropped.weights.detach(), whole.weights.detach(), rtol=1e-5)
    assert not torch.allclose(dropped.context, whole.context)
    assert [step.name for step in whole.steps()][-3:] == ["context", "joined", "output"]


@pytest.mark.parametrize("window", [None, 2])
def test_steps_show_the_weights_before_dropout_and_what_became_of_them(window):
    layer = MultiHeadAttention(8, 2, dropout=0.5, window=window).train()
    dropped = layer(normal(2, 3, 8).float())
    steps = {step.name: step.value.detach() for step in dropped.steps()}
    assert_allclose(steps["weights"].sum(-1), 1, rtol=1e-5)
    assert ((steps["dropped"] == 0) | torch.isclose(steps["dropped"], 2 * steps["weights"])).all()
    assert (steps["dropped"] == 0).any()
    assert "dropped" not in [step.name for step in layer.eval()(normal(2, 3, 8).float()).steps()]


def test_weights_of_a_half_layer_are_halves_with_dropout_too():
    layer = MultiHeadAttention(8, 2, dropout=0.5).to(torch.bfloat16).train()
    assert layer(normal(2, 5, 8).to(torch.bfloat16)).weights.dtype == torch.bfloat16


def test_weights_of_a_window_are_shown_before_dropout_too():
    layer = MultiHeadAttention(8, 2, dropout=0.5, window=2)
    inputs = normal(2, 9, 8).float()
    dropped, whole = layer.train()(inputs), layer.eval()(inputs)
    assert_allclose(dropped.weights.detach(), whole.weights.detach(), rtol=1e-5, atol=1e-7)
    assert not torch.allclose(dropped.context, whole.context)


def test_mixed_precision_is_taken():
    with torch.autocast("cpu", torch.bfloat16):
        inputs = normal(2, 3, 4).to(torch.bfloat16)
        assert MultiHeadAttention(4, 2)(SelfAttention(4)(inputs).context.to(torch.bfloat16)).context.isfinite().all()


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (lambda: MultiHeadAttention(4, 2.0), InputError, "heads must be a whole number"),
        (lambda: MultiHeadAttention(4, 2, dropout=2.0), InputError, r"dropout must be a share from 0 to 1; it is 2\.0"),
        (lambda: MultiHeadAttention(8, 3), InputError, r"8 / 3 does not"),
        (lambda: MultiHeadAttention(4, 2)(torch.ones(2, 4), np.ones((2, 4))), DtypeError, "key must be a torch tensor"),
        (
            lambda: MultiHeadAttention(4, 2, window=1)(torch.ones(1, 2, 4), bias=torch.zeros(2, 2)),
            ShapeError,
            "Leave bias out",
        ),
    ],
)
def test_refused_before_torch_says_it_in_its_words(call, kind, text):
    with pytest.raises(kind, match=text):
        call()
