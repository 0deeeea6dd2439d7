"""R-Drop: two passes that dropout made differ, and how far apart they are."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional as F

from regard.nn import r_drop
from regard.nn.output import Output
from regard.nn.r_drop import agreeing_cross_entropy


@pytest.fixture
def case():
    torch.manual_seed(0)
    output = Output(6, 11).double()
    torch.nn.init.normal_(output.bias)
    first, second = torch.randn(2, 9, 6, dtype=torch.float64).requires_grad_().unbind(0)
    return output, first, second, torch.randint(11, (9,))


def plain(output, first, second, target, *, weight, label_smoothing):
    p, q = (output(part).log_softmax(-1) for part in (first, second))
    likelihood = sum(F.cross_entropy(x, target, reduction="sum", label_smoothing=label_smoothing) for x in (p, q))
    divergence = sum(F.kl_div(x, y, reduction="sum", log_target=True) for x, y in ((p, q), (q, p)))
    return (likelihood + weight * divergence / 2) / 2


@pytest.mark.parametrize("chunk", [2**22, 60])
@pytest.mark.parametrize("label_smoothing", [0.0, 0.2])
def test_loss_and_gradients_are_those_of_the_paper(case, monkeypatch, chunk, label_smoothing):
    monkeypatch.setattr(r_drop, "CHUNK", chunk)
    output, first, second, _ = case
    inputs = (first, second, output.weight, output.bias)
    objective, nll = agreeing_cross_entropy(*case, weight=3.0, label_smoothing=label_smoothing)
    expected = plain(*case, weight=3.0, label_smoothing=label_smoothing)
    torch.testing.assert_close(objective, expected)
    torch.testing.assert_close(nll, plain(*case, weight=0.0, label_smoothing=0.0), check_dtype=True)
    assert not nll.requires_grad
    for ours, theirs in zip(
        torch.autograd.grad(2 * objective, inputs), torch.autograd.grad(2 * expected, inputs), strict=True
    ):
        torch.testing.assert_close(ours, theirs)


def test_equal_passes_cost_what_one_does(case):
    output, first, _, target = case
    objective, nll = agreeing_cross_entropy(output, first, first, target, weight=5.0, label_smoothing=0.1)
    for ours, theirs in zip((objective, nll), output.loss(first, target, label_smoothing=0.1), strict=True):
        torch.testing.assert_close(ours, theirs)
