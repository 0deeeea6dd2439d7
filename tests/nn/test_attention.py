"""The attention layer against `attend`, against its formula, and against finite differences."""

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose

import regard
from regard import attend, masks
from regard.errors import DtypeError, InputError, ShapeError, UnknownName
from regard.nn import SCORES, Attention, PredictedWindow
from regard.nn.attention import straight_through
from regard.normalizers import Sampled
from tests.nn.gradients import check_gradients, normal


def test_the_additive_layer_is_the_formula():
    layer = Attention(3, 4, hidden_dim=5).double()
    query, key = normal(2, 3, 3), normal(2, 7, 4, seed=1)
    W_q, W_k, v = layer.score.W_q.weight, layer.score.W_k.weight, layer.score.v
    pairs = torch.tanh((query @ W_q.T)[:, :, None] + (key @ W_k.T)[:, None])
    assert_allclose(layer(query, key).scores.detach(), (pairs @ v).detach(), rtol=1e-12)
    core = attend(query, key, score=regard.scores.Additive(W_q, W_k, v))
    assert_allclose(layer(query, key).context.detach(), core.context.detach(), rtol=1e-12)


@pytest.mark.parametrize("window", [None, 2, "predicted"])
@pytest.mark.parametrize("score", SCORES)
def test_gradients_of_every_score_and_window(score, window):
    window = PredictedWindow(2, 3, 4).double() if window == "predicted" else window
    layer = Attention(3, 3, score=score, hidden_dim=4, window=window).double()
    visible = masks.padding(torch.tensor([5, 3]), 5)
    check_gradients(layer, normal(2, 3, 3), normal(2, 5, 3, seed=1), visible=visible)


@pytest.mark.parametrize("score", SCORES)
def test_projecting_the_keys_once_gives_the_same(score):
    layer = Attention(3, 3, score=score).double()
    query, key, visible = normal(2, 4, 3), normal(2, 5, 3, seed=1), masks.padding(torch.tensor([5, 2]), 5)
    whole = layer(query, key, visible=visible)
    projected = layer.project(key)
    for t in range(4):
        step = layer(query[:, t : t + 1], key, visible=visible, projected=projected)
        assert_allclose(step.context.detach(), whole.context[:, t : t + 1].detach(), rtol=1e-12)
    assert_allclose(layer.score(query, key).detach(), whole.scores.detach(), rtol=1e-12)


@pytest.mark.parametrize("predicted", [True, False])
def test_local_layers_asked_step_by_step_give_the_same(predicted):
    layer = Attention(3, 3, score="general", window=PredictedWindow(1, 3) if predicted else 1).double()
    query, key, visible = normal(2, 6, 3), normal(2, 5, 3, seed=1), masks.padding(torch.tensor([5, 2]), 5)
    whole = layer(query, key, visible=visible)
    for t in range(6):
        step = layer(query[:, t : t + 1], key, visible=visible, position=t)
        assert_allclose(step.weights.detach(), whole.weights[:, t : t + 1].detach(), rtol=1e-12, atol=1e-15)
    assert not whole.weights[1, :, 2:].any()
    assert whole.context[1, 5].any()  # beyond the last word the window stays on it


@pytest.mark.parametrize("window", [None, np.int64(1), "predicted"])
def test_a_mask_may_be_a_list_or_of_numpy(window):
    layer = Attention(3, 3, window=PredictedWindow(1, 3) if window == "predicted" else window).double()
    query, key, visible = normal(2, 4, 3), normal(2, 5, 3, seed=1), masks.padding([5, 2], 5)
    expected = layer(query, key, visible=torch.tensor(visible), position=2).weights
    for mask in (visible, visible.tolist()):
        assert torch.equal(layer(query, key, visible=mask, position=2).weights, expected)


@pytest.mark.parametrize("score", ["dot", "general", "additive", "concat"])
def test_a_monotonic_window_takes_the_kernel(score, monkeypatch):
    called = []
    whole = regard.kernels.window_attention
    monkeypatch.setattr(regard.kernels, "window_attention", lambda *a, **o: called.append(o) or whole(*a, **o))
    layer = Attention(3, 3, score=score, window=2).double()
    query, key, visible = normal(2, 9, 3), normal(2, 6, 3, seed=1), masks.padding(torch.tensor([6, 4]), 6)
    by_kernel = layer(query, key, visible=visible)
    assert called[0]["lengths"].tolist() == [6, 4]
    gathered = layer(query, key, visible=visible, position=torch.arange(9))
    assert len(called) == 1
    assert_allclose(by_kernel.context.detach(), gathered.context.detach(), rtol=1e-10)
    assert_allclose(by_kernel.weights.detach(), gathered.weights.detach(), rtol=1e-10, atol=1e-15)


def test_hard_attention_looks_at_one_place_and_still_trains():
    layer = Attention(3, 3, score="general", normalize="hard").double()
    query, key = normal(2, 4, 3), normal(2, 5, 3, seed=1)
    attended = layer(query, key)
    assert_allclose(attended.weights.detach(), np.eye(5)[attended.scores.argmax(-1)], atol=1e-15)
    attended.context.sum().backward()
    assert layer.score.W.weight.grad.any()
    scores = normal(3, 5).requires_grad_()
    value = normal(5, seed=2)
    (hard_grad,) = torch.autograd.grad((straight_through(scores) @ value).sum(), scores)
    (soft_grad,) = torch.autograd.grad((torch.softmax(scores, -1) @ value).sum(), scores)
    assert_allclose(hard_grad, soft_grad, rtol=1e-12)


def test_sampled_attention_takes_a_generator():
    layer = Attention(3, 3, normalize=Sampled(torch.Generator().manual_seed(0)))
    weights = layer(normal(2, 4, 3).float(), normal(2, 5, 3).float()).weights
    assert (weights.sum(-1) == 1).all()
    assert (weights.max(-1).values == 1).all()


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (lambda: Attention(0, 3), InputError, "query_dim must be a whole number, 1 or more; it is 0"),
        (lambda: Attention(3, -1), InputError, "key_dim must be a whole number, 1 or more; it is -1"),
        (lambda: Attention(3.0, 3), InputError, r"query_dim must be a whole number, 1 or more; it is 3\.0"),
        (lambda: Attention(3, 3, hidden_dim=0), InputError, "hidden_dim must be a whole number, 1 or more; it is 0"),
        (lambda: Attention(3, 3, window="2"), InputError, "window must be None, a width or a Window"),
        (lambda: Attention(3, 3, window=0), InputError, "whole number >= 1, not 0"),
        (lambda: Attention(3, 3, score="aditive"), UnknownName, "Did you mean 'additive'"),
        (lambda: Attention(3, 3)(np.ones((2, 3)), np.ones((4, 3))), DtypeError, "query must be a torch tensor, not n"),
        (
            lambda: Attention(3, 3)(torch.ones(2, 4, 5), torch.ones(2, 4, 3)),
            ShapeError,
            r"query must be \(..., rows, 3\), as the layer was made with query_dim=3",
        ),
        (
            lambda: Attention(3, 3, window=1)(torch.ones(1, 2, 3), torch.ones(1, 2, 3), bias=torch.zeros(2, 2)),
            ShapeError,
            "Leave bias out",
        ),
    ],
)
def test_refused_before_torch_says_it_in_its_words(call, kind, text):
    with pytest.raises(kind, match=text):
        call()
