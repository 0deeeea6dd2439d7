"""Weights of a loop that get their gradient once: what autograd would have added up, step by step."""

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from regard.kernels import dispatch
from regard.nn.loop_gradients import DeferredLinear, Notes
from tests.nn.test_decoder import BATCH, TARGET, WORD, attention, decoder, draw, memory


@pytest.mark.parametrize("bias", [True, False])
def test_gradients_are_those_of_a_layer_called_at_every_step(bias):
    layer, inputs = nn.Linear(3, 4, bias=bias).double(), draw(5, 2, 3).requires_grad_()

    def gradients(step):
        shown = torch.zeros(2, 4, dtype=torch.float64)
        for part in inputs:
            shown = torch.tanh(step(part) + shown)
        return torch.autograd.grad(shown.square().sum(), [inputs, *layer.parameters()])

    torch.testing.assert_close(gradients(DeferredLinear(layer.weight, layer.bias)), gradients(layer))


def test_the_gradient_of_the_weight_is_one_product(monkeypatch):
    weight, made = draw(4, 3).requires_grad_(), []
    step = DeferredLinear(weight)
    total = sum(step(part).sum() for part in draw(6, 2, 3))
    whole = torch.mm
    monkeypatch.setattr(torch, "mm", lambda *given, **options: made.append(1) or whole(*given, **options))
    total.backward()
    assert len(made) == 1
    torch.testing.assert_close(weight.grad, draw(6, 2, 3).flatten(0, 1).sum(0).expand(4, 3))


def test_a_weight_that_does_not_train_gets_none():
    weight, inputs = draw(4, 3), draw(2, 3).requires_grad_()
    DeferredLinear(weight)(inputs).sum().backward()
    torch.testing.assert_close(inputs.grad, weight.sum(0).expand(2, 3))


def test_a_step_of_no_rows():
    assert DeferredLinear(draw(5, 4).requires_grad_())(torch.ones(0, 4).double()).shape == (0, 5)


def test_notes_of_a_pass_that_did_not_end_are_forgotten(monkeypatch):
    notes, one = Notes(), torch.ones(1)
    for number, step in ((1, one), (2, 2 * one), (2, 3 * one)):
        monkeypatch.setattr("regard.nn.loop_gradients._current_pass", lambda number=number: number)
        notes.add(step)
    assert notes.take() == [(2 * one, 3 * one)]
    assert notes.take() == []


def test_two_passes_at_once_are_told_apart():
    """torch's number of the running pass, which has no public name: it must differ from pass to pass."""
    weight = draw(4, 3).requires_grad_()
    step = DeferredLinear(weight)
    first, second = step(draw(2, 3)).sum(), step(draw(2, 3, seed=1)).sum()
    for part, inputs in ((first, draw(2, 3)), (second, draw(2, 3, seed=1))):
        (found,) = torch.autograd.grad(part, weight, retain_graph=True)
        torch.testing.assert_close(found, inputs.sum(0).expand(4, 3))


def test_without_torchs_number_of_the_pass_a_decoder_trains_by_ordinary_layers(monkeypatch):
    """What breaks when ``torch._C._current_graph_task_id`` disappears: the speed of a training, and nothing else."""
    kind, words = decoder(attention()), draw(BATCH, TARGET, WORD, seed=2)

    def gradients():
        features = kind(words, kind.start(*memory())).features
        return torch.autograd.grad(features.square().sum(), list(kind.parameters()))

    assert dispatch.defers_gradients(), "torch has no _current_graph_task_id any more: loops train more slowly"
    expected = gradients()
    monkeypatch.delattr(torch._C, "_current_graph_task_id")
    assert not dispatch.defers_gradients()
    torch.testing.assert_close(gradients(), expected)


def test_the_forward_pass_is_the_linear_layer():
    layer, inputs = nn.Linear(3, 4).double(), draw(2, 5, 3)
    torch.testing.assert_close(
        DeferredLinear(layer.weight, layer.bias)(inputs), F.linear(inputs, layer.weight, layer.bias)
    )
