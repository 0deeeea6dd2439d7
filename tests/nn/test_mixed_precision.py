"""Products of mixed precision: bfloat16 goes in and comes out, what it is added to is not rounded."""

from __future__ import annotations

from contextlib import nullcontext

import pytest
import torch
from torch.nn import functional as F
from torch.utils._python_dispatch import TorchDispatchMode

from regard.nn.cells import CELLS
from regard.nn.loop_gradients import DeferredLinear
from regard.nn.mixed_precision import Products
from regard.nn.output import cross_entropy


def draw(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def mixed():
    return torch.autocast("cpu", torch.bfloat16)


def rounded(tensor):
    return tensor.bfloat16().float()


def test_products_round_what_is_multiplied_and_nothing_that_is_added():
    left, right, to = draw(3, 64), draw(64, 5, seed=1), 1000 + draw(3, 5, seed=2)
    product = (left.bfloat16() @ right.bfloat16()).float()
    half = Products(halved=True)
    assert torch.equal(half(left, right), product)
    assert torch.equal(half(half.ready(left), half.ready(right)), product)
    assert torch.equal(half(left, right, out=torch.empty(3, 5)), product)
    total = to + product
    assert torch.equal(half.add(to, left, right), total)
    half.add(to, left, right, out=to)
    assert torch.equal(to, total)
    torch.testing.assert_close(Products()(left, right), left @ right)
    assert not torch.equal(Products()(left, right), product)


def by_output(features, weight, bias):
    target = torch.arange(len(features)) % len(weight)
    return cross_entropy(features, weight, bias, target, label_smoothing=0.1)[0]


def by_steps(features, weight, bias):
    linear = DeferredLinear(weight, bias)
    return torch.stack([linear(part).tanh() for part in features.split(3)]).sum()


class Multiplied(TorchDispatchMode):
    """The precisions of all products of two matrices made under it."""

    def __init__(self):
        super().__init__()
        self.precisions = set()

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        if function.overloadpacket in (torch.ops.aten.mm, torch.ops.aten.addmm):
            self.precisions |= {arg.dtype for arg in args if isinstance(arg, torch.Tensor) and arg.ndim == 2}
        return function(*args, **(kwargs or {}))


def by_cell(kind, *, one_by_one):
    def run(features, weight, bias):
        cell = CELLS[kind](weight.shape[1])
        cell.weight, cell.bias = weight, bias
        products, state = features.view(-1, 3, len(weight)), (features.new_zeros(3, cell.dim),) * cell.parts
        if not one_by_one:
            return cell(products, state).sum()
        step, shown = cell.series(), torch.zeros(())
        for product in products:
            state = step(product, state)
            shown = shown + state[0].sum()
        return shown

    return run


RUNS = {
    "output": (by_output, (12, 32), (40, 32)),
    "steps": (by_steps, (12, 32), (40, 32)),
    **{
        f"{kind}, {how}": (by_cell(kind, one_by_one=how == "one by one"), (12, gates * 16), (gates * 16, 16))
        for kind, gates in (("gru", 3), ("lstm", 4))
        for how in ("one by one", "over time")
    },
}


def objective_and_gradients(run, shapes, precision, autocast):
    """Gradients are made outside autocast, as in training; also the precisions of their products."""
    drawn = (draw(*shape, seed=seed) for seed, shape in enumerate((*shapes, shapes[1][:1])))
    given = [torch.nn.Parameter(part.to(precision)) for part in drawn]
    with autocast:
        objective = run(*given)
    with Multiplied() as multiplied:
        gradients = torch.autograd.grad(objective, given)
    return [objective.detach(), *gradients], multiplied.precisions


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("name", RUNS)
def test_functions_take_products_of_mixed_precision_both_ways(name):
    run, *shapes = RUNS[name]
    whole, _ = objective_and_gradients(run, shapes, torch.float32, nullcontext())
    half, precisions = objective_and_gradients(run, shapes, torch.float32, mixed())
    for got, want in zip(half, whole, strict=True):
        assert got.dtype == torch.float32
        assert 0 < float((got - want).norm() / want.norm()) < 0.02
    assert precisions == (set() if name == "output" else {torch.bfloat16})  # the output's are made on the way there


@pytest.mark.parametrize("name", RUNS)
def test_mixed_precision_leaves_double_precision_alone(name):
    run, *shapes = RUNS[name]
    whole, _ = objective_and_gradients(run, shapes, torch.float64, nullcontext())
    assert all(map(torch.equal, objective_and_gradients(run, shapes, torch.float64, mixed())[0], whole))


@pytest.mark.parametrize("kind", CELLS)
@torch.no_grad()
def test_a_step_of_halved_products_goes_on_from_a_whole_state(kind):
    cell = CELLS[kind](16)
    product, state = draw(3, cell.gates * 16), tuple(draw(3, 16, seed=seed) for seed in range(cell.parts))
    with mixed():
        new = cell.step(product.bfloat16(), state)
    for got, want in zip(new, cell.step(product, state), strict=True):
        assert got.dtype == torch.float32
        torch.testing.assert_close(got, want, rtol=0.05, atol=0.05)


@pytest.mark.parametrize("kind", CELLS)
@torch.no_grad()
def test_a_step_makes_a_halved_state_whole(kind):
    """As the first one is, which a product made; it would be rounded at every step."""
    cell = CELLS[kind](16)
    state = tuple(draw(3, 16, seed=seed).bfloat16() for seed in range(cell.parts))
    with mixed():
        assert {part.dtype for part in cell.step(draw(3, cell.gates * 16), state)} == {torch.float32}


def test_the_loss_of_mixed_precision_is_that_of_rounded_features_weights_and_logits():
    features, weight, target = draw(12, 32), draw(40, 32, seed=1), torch.arange(12)
    with mixed():
        _, nll = cross_entropy(features, weight, torch.zeros(40), target)
    logits = (rounded(features) @ rounded(weight).T).bfloat16().float()
    torch.testing.assert_close(nll, F.cross_entropy(logits, target, reduction="sum"))
