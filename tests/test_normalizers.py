import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose

from regard import normalizers
from regard.normalizers import Sampled, hard, softmax, sparsemax

rows = arrays(np.float64, (3, 5), elements=st.floats(-50, 50))
visibility = arrays(np.bool_, (3, 5))


@pytest.mark.parametrize("normalize", [softmax, sparsemax, hard])
@given(rows, visibility)
def test_weights_are_a_distribution_over_the_visible_keys(normalize, scores, visible):
    weights = normalize(scores, visible=visible)
    assert_allclose(weights.sum(-1), visible.any(-1), rtol=1e-12)
    assert (weights[~visible] == 0).all()
    assert (weights >= 0).all()


@pytest.mark.parametrize("normalize", [softmax, sparsemax])
@given(rows, st.floats(-1e3, 1e3))
def test_adding_the_same_to_every_score_changes_nothing(normalize, scores, shift):
    assert_allclose(normalize(scores + shift), normalize(scores), atol=1e-11)


# The values printed for these scores by the authors' package for PyTorch ("entmax" 1.3, Martins and colleagues).
PUBLISHED = {
    (-2.0, 0.0, 0.5): (0.0, 0.25, 0.75),
    (1.0, 1.0, 1.0): (1 / 3, 1 / 3, 1 / 3),
    (0.1, 1.1, 0.2, 0.3): (0.0, 0.9, 0.0, 0.1),
    (2.1, 1.9, 1.3, -0.4, 1.85): (29 / 60, 17 / 60, 0.0, 0.0, 14 / 60),
}


@pytest.mark.parametrize("scores", PUBLISHED)
def test_sparsemax_gives_the_published_values(scores):
    assert_allclose(sparsemax(scores), PUBLISHED[scores], atol=1e-15)
    assert_allclose(sparsemax(torch.tensor(scores)), PUBLISHED[scores], atol=1e-7)


@given(rows)
def test_sparsemax_is_the_nearest_point_of_the_simplex(scores):
    """Among all distributions none is nearer to the scores: the variational inequality of a projection."""
    p = sparsemax(scores)
    for corner in np.eye(5):
        assert (((scores - p) * (corner - p)).sum(-1) <= 1e-9).all()


def test_softmax_over_any_axis_and_over_all_entries():
    scores = np.arange(6.0).reshape(2, 3)
    assert_allclose(softmax(scores, axis=0).sum(0), 1)
    assert_allclose(softmax(scores, axis=None), np.exp(scores) / np.exp(scores).sum())
    hidden = softmax(scores, axis=None, visible=scores > 3)
    assert_allclose(hidden, np.array([[0, 0, 0], [0, 1 / (1 + np.e), np.e / (1 + np.e)]]))


@pytest.mark.parametrize("axis", [-1, None])
def test_nothing_visible_is_zeros_in_every_library(axis):
    hidden = np.zeros((2, 3), bool)
    assert not softmax(np.ones((2, 3)), axis=axis, visible=hidden).any()
    scores = torch.ones(2, 3, requires_grad=True)
    weights = softmax(scores, axis=axis, visible=torch.tensor(hidden))
    weights.sum().backward()
    assert not weights.any()
    assert not scores.grad.any()


def test_a_draw_rounded_up_to_the_whole_takes_the_last_visible_key(monkeypatch):
    monkeypatch.setattr(normalizers, "_uniform", lambda _, like: np.ones_like(like))
    drawn = Sampled(np.random.default_rng(0))(np.array([[-np.inf, 0, 1, -np.inf], [-np.inf] * 4], np.float32))
    assert drawn.tolist() == [[0, 0, 1, 0], [0, 0, 0, 0]]


def test_softmax_agrees_with_torchs_and_differentiates():
    scores = torch.randn(4, 7, dtype=torch.float64, generator=torch.Generator().manual_seed(0), requires_grad=True)
    assert_allclose(softmax(scores).detach(), torch.softmax(scores, -1).detach(), rtol=1e-13)
    assert torch.autograd.gradcheck(softmax, scores)
    assert torch.autograd.gradcheck(sparsemax, scores)
