"""Recurrent cells: over time as step by step, on both paths, and their gradients by finite differences."""

import pytest
import torch
from torch import nn

from regard.kernels import dispatch
from regard.nn.cells import CELLS, GRU, LSTM

TIME, BATCH, WIDTH = 5, 3, 8  # eight float64 numbers fill a SIMD vector of any processor


def draw(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def start(cell, seed=7):
    return tuple(draw(BATCH, WIDTH, seed=seed + part) for part in range(cell.parts))


@pytest.fixture(params=CELLS)
def cell(request):
    return CELLS[request.param](WIDTH).double()


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("padded", [False, True])
def test_over_time_equals_step_by_step(cell, reverse, padded):
    products = draw(TIME, BATCH, cell.gates * WIDTH)
    active = torch.arange(TIME)[:, None] < torch.tensor([5, 3, 1]) if padded else None
    state, shown = start(cell), {}
    for i in reversed(range(TIME)) if reverse else range(TIME):
        new = cell.step(products[i], state)
        if padded:
            new = tuple(torch.where(active[i, :, None], a, b) for a, b in zip(new, state, strict=True))
        state, shown[i] = new, new[0]
    expected = torch.stack([shown[i] for i in range(TIME)])
    torch.testing.assert_close(cell(products, start(cell), active, reverse=reverse), expected)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("padded", [False, True])
def test_gradient_over_time_by_finite_differences(cell, reverse, padded):
    active = torch.arange(TIME)[:, None] < torch.tensor([5, 3, 1]) if padded else None
    products, state = draw(TIME, BATCH, cell.gates * WIDTH).requires_grad_(), start(cell)

    def run(products, weight, bias, *state):
        return torch.func.functional_call(
            cell, {"weight": weight, "bias": bias}, (products, state, active), {"reverse": reverse}
        )

    weight, bias = (p.detach().clone().requires_grad_() for p in (cell.weight, cell.bias))
    inputs = (products, weight, bias, *(s.requires_grad_() for s in state))
    assert torch.autograd.gradcheck(run, inputs, fast_mode=True)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("series", [False, True])
def test_gradient_of_steps_by_finite_differences(cell, series):
    def run(weight, bias, products, *state):
        cell.weight, cell.bias = weight, bias
        step = cell.series() if series else cell.step
        for product in products:
            state = step(product, state)
        return state

    inputs = [cell.weight.detach(), cell.bias.detach(), draw(3, BATCH, cell.gates * WIDTH), *start(cell)]
    del cell.weight, cell.bias
    assert torch.autograd.gradcheck(run, [tensor.requires_grad_() for tensor in inputs], fast_mode=True)


@pytest.mark.usefixtures("way")
def test_a_series_equals_its_steps(cell):
    state = other = start(cell)
    step = cell.series()
    for product in draw(3, BATCH, cell.gates * WIDTH):
        state, other = step(product, state), cell.step(product, other)
    torch.testing.assert_close(state, other)


@pytest.mark.usefixtures("way")
def test_gates_far_from_zero_are_shut_or_open(cell):
    products = torch.tensor([-1e30, -200.0, 200.0, 1e30], dtype=torch.float64)
    state = cell(products[:, None, None].expand(4, 1, cell.gates * WIDTH), tuple(s[:1] for s in start(cell)))
    assert state.isfinite().all()


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("sign", [1, -1])
def test_a_weight_that_is_no_number_shows_in_the_state(cell, sign):
    nothing = cell.bias.detach().zero_()
    for gate in range(cell.gates):
        nothing.zero_()[gate * WIDTH] = sign * torch.nan
        state = cell(torch.zeros(1, 1, cell.gates * WIDTH, dtype=torch.float64), tuple(s[:1] for s in start(cell)))
        assert state.isnan().tolist() == [[[True, *[False] * (WIDTH - 1)]]]


def test_a_gru_step_by_hand():
    """Zero weights: both gates are sigmoid(0), the candidate is tanh(x), and the state their mean."""
    cell = GRU(1).double()
    nn.init.zeros_(cell.weight)
    product = torch.tensor([[0.0, 0.0, 0.5]], dtype=torch.float64)
    (new,) = cell.step(product, (torch.tensor([[0.2]], dtype=torch.float64),))
    torch.testing.assert_close(new, (0.2 + torch.tanh(product[:, 2:])) / 2)


def test_an_lstm_remembers_at_first():
    """The bias of its forget gate starts at 1: sigmoid(1) of the cell is kept."""
    cell = LSTM(1).double()
    nn.init.zeros_(cell.weight)
    zero, one = (torch.full((1, 1), value, dtype=torch.float64) for value in (0.0, 1.0))
    shown, inside = cell.step(torch.zeros(1, 4, dtype=torch.float64), (zero, one))
    torch.testing.assert_close(inside, torch.sigmoid(one))
    torch.testing.assert_close(shown, torch.tanh(inside) / 2)


def test_a_large_step_without_gradient_takes_the_kernels_and_gives_the_same(cell, monkeypatch):
    product, state = draw(BATCH, cell.gates * WIDTH), start(cell)
    expected = cell.step(product, state)
    monkeypatch.setattr(f"regard.nn.cell_steps.{cell.name}_step", None)
    with torch.no_grad(), dispatch.forced("compiled"):
        torch.testing.assert_close(cell.step(product, state), expected)
