"""Self-attention: two inputs by hand, any order, windows as masks, and gradients."""

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose
from torch import nn

from regard import masks
from regard.errors import DtypeError, InputError, ShapeError
from regard.nn import SCORES, SelfAttention
from tests.nn.gradients import check_gradients, normal


def test_two_inputs_by_hand():
    """W_q = W_k = W_v = 1, scaled_dot at d = 1: scores are the products of the inputs."""
    layer = SelfAttention(1).double()
    for linear in (layer.W_q, layer.W_k, layer.W_v):
        nn.init.ones_(linear.weight)
    attended = layer(torch.tensor([[0.0], [np.log(3.0)]], dtype=torch.float64))
    second = 3.0 ** np.log(3.0)  # e^(ln 3 * ln 3), beside e^0
    assert_allclose(attended.weights.detach(), [[0.5, 0.5], [1 / (1 + second), second / (1 + second)]], rtol=1e-12)
    assert_allclose(attended.context.detach()[0, 0], np.log(3) / 2, rtol=1e-12)


def test_inputs_in_another_order_give_contexts_in_that_order():
    layer, inputs, order = SelfAttention(4).double(), normal(5, 4), [3, 0, 4, 1, 2]
    assert_allclose(layer(inputs[order]).context.detach(), layer(inputs).context.detach()[order], rtol=1e-11)


@pytest.mark.parametrize("score", SCORES)
def test_gradients_of_every_score(score):
    check_gradients(SelfAttention(4, score=score).double(), normal(2, 3, 4), visible=torch.tensor(masks.causal(3)))


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("score", SCORES)
def test_a_sliding_window_is_the_layer_under_a_mask(score, causal):
    inputs, padding = normal(2, 13, 6), masks.padding(torch.tensor([13, 5]), 13)
    mask = torch.from_numpy(masks.window(13, 3, causal=causal)) & padding
    layer = SelfAttention(6, score=score, window=3, causal=causal).double()
    near = layer(inputs, visible=padding)
    layer.window = None
    dense = layer(inputs, visible=mask)
    assert_allclose(near.context.detach(), dense.context.detach(), rtol=1e-9, atol=1e-12)
    assert_allclose(near.weights.detach(), dense.weights.detach(), rtol=1e-9, atol=1e-12)
    weights = [p for p in layer.parameters() if p.requires_grad]
    losses = (near.context.square().sum(), dense.context.square().sum())
    for one, other in zip(*(torch.autograd.grad(x, weights, materialize_grads=True) for x in losses), strict=True):
        assert_allclose(one, other, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (lambda: SelfAttention(0), InputError, "dim must be a whole number"),
        (lambda: SelfAttention(3)([[1.0, 2.0, 3.0]]), DtypeError, "inputs must be a torch tensor, not list"),
        (lambda: SelfAttention(3)(torch.ones(2, 3, dtype=torch.int64)), DtypeError, r"Use inputs\.float\(\)"),
        (lambda: SelfAttention(3)(normal(2, 3)), DtypeError, "the layer.s weights are torch.float32"),
        (lambda: SelfAttention(4)(torch.ones(2, 3)), ShapeError, r"inputs must be \(..., rows, 4\)"),
        (lambda: SelfAttention(3, causal=True), InputError, r"pass visible=masks.causal\(n\)"),
        (lambda: SelfAttention(3, window=1)(torch.ones(1, 2, 3), bias=torch.zeros(2, 2)), ShapeError, "Leave bias out"),
    ],
)
def test_refused_before_torch_says_it_in_its_words(call, kind, text):
    with pytest.raises(kind, match=text):
        call()
