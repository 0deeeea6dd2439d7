"""The fused output layer against torch's own cross-entropy."""

import pytest
import torch
from torch.nn import functional as F

from regard.nn import output
from regard.nn.output import Output, cross_entropy

VOCABULARY, WIDTH, WORDS = 31, 7, 53


@pytest.fixture
def chance():
    return torch.Generator().manual_seed(3)


@pytest.fixture
def problem(chance):
    def draw(*shape):
        return torch.randn(*shape, generator=chance, dtype=torch.float64).requires_grad_()

    target = torch.randint(VOCABULARY, (WORDS,), generator=chance)
    return draw(WORDS, WIDTH), draw(VOCABULARY, WIDTH), draw(VOCABULARY), target


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("label_smoothing", [0.0, 0.1])
@pytest.mark.parametrize("rows", [1, 10, WORDS, 100])
def test_equals_cross_entropy_whatever_the_chunk(problem, monkeypatch, label_smoothing, rows):
    monkeypatch.setattr(output, "CHUNK", rows * VOCABULARY)
    features, weight, bias, target = problem
    objective, nll = cross_entropy(features, weight, bias, target, label_smoothing=label_smoothing)
    logits = features @ weight.T + bias
    expected = F.cross_entropy(logits, target, label_smoothing=label_smoothing, reduction="sum")
    torch.testing.assert_close(objective, expected)
    torch.testing.assert_close(nll, F.cross_entropy(logits, target, reduction="sum"))
    ours = torch.autograd.grad(objective * 0.3, problem[:3])
    for got, want in zip(ours, torch.autograd.grad(expected * 0.3, problem[:3]), strict=True):
        torch.testing.assert_close(got, want)


def test_gradient_by_finite_differences(problem):
    features, *inputs, target = problem
    features = features.detach()[:5].requires_grad_()
    assert torch.autograd.gradcheck(
        lambda *a: cross_entropy(a[0], a[1], a[2], target[:5], label_smoothing=0.1)[0],
        (features, *inputs),
        fast_mode=True,
    )


def test_only_the_objective_has_a_gradient(problem):
    objective, nll = cross_entropy(*problem)
    assert objective.requires_grad
    assert not nll.requires_grad


def test_no_gradients_are_made_when_none_are_wanted(problem, monkeypatch):
    monkeypatch.setattr(torch, "addmm", lambda *_, **__: pytest.fail("made a gradient"))
    with torch.no_grad():
        cross_entropy(*problem)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("vocabulary", range(2, 20))
def test_every_width_of_vocabulary(vocabulary, chance):
    features = torch.randn(3, 2, generator=chance).requires_grad_()
    weight, target = torch.randn(vocabulary, 2, generator=chance), torch.tensor([0, 1, vocabulary - 1])
    objective, _ = cross_entropy(features, weight, torch.zeros(vocabulary), target, label_smoothing=0.3)
    expected = F.cross_entropy(features @ weight.T, target, label_smoothing=0.3, reduction="sum")
    torch.testing.assert_close(objective, expected)
    for got, want in zip(*(torch.autograd.grad(loss, features) for loss in (objective, expected)), strict=True):
        torch.testing.assert_close(got, want, atol=1e-5, rtol=1e-5)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("bad", [torch.nan, torch.inf, -torch.inf])
@pytest.mark.parametrize("word", range(9))
def test_what_is_not_finite_shows_in_the_loss(bad, word):
    weight = torch.zeros(9, 1)
    weight[word] = bad
    _, nll = cross_entropy(torch.ones(1, 1), weight, torch.zeros(9), torch.tensor([4]))
    assert not nll.isfinite() or (bad == -torch.inf and word != 4)


@pytest.mark.usefixtures("way")
def test_scores_far_from_zero_stay_finite():
    weight = torch.tensor([[1e4], [-1e4]], requires_grad=True)
    objective, nll = cross_entropy(torch.ones(2, 1), weight, torch.zeros(2), torch.tensor([0, 1]))
    objective.backward()
    assert nll.item() == 2e4
    assert weight.grad.flatten().tolist() == [1.0, -1.0]


def test_log_probs_of_each_word(problem, monkeypatch):
    monkeypatch.setattr(output, "CHUNK", 10 * VOCABULARY)
    features, weight, bias, target = problem
    layer = Output(WIDTH, VOCABULARY).double()
    layer.load_state_dict({"weight": weight, "bias": bias})
    expected = torch.log_softmax(features @ weight.T + bias, -1)[torch.arange(WORDS), target]
    torch.testing.assert_close(layer.log_probs(features, target), expected)


def test_tied_weight_gathers_both_gradients(chance):
    embedding = torch.nn.Embedding(VOCABULARY, WIDTH).double()
    layer = Output(WIDTH, VOCABULARY, weight=embedding.weight).double()
    words = torch.randint(VOCABULARY, (WORDS,), generator=chance)
    layer.loss(embedding(words), words)[0].backward()
    both = embedding.weight.grad
    plain = embedding.weight.detach().clone().requires_grad_()
    F.cross_entropy(plain[words] @ plain.T, words, reduction="sum").backward()
    torch.testing.assert_close(both, plain.grad)
