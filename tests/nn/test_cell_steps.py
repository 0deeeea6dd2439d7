"""The plain steps of GRU and LSTM: torch's own cells, and backward passes that are autograd's."""

import pytest
import torch
from torch import nn

from regard.nn import cell_steps

ROWS, WIDTH = 4, 3  # no width that a kernel would take
GATES, PARTS, TAPE = {"gru": 3, "lstm": 4}, {"gru": 1, "lstm": 2}, {"gru": 4, "lstm": 5}


def draw(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def given(kind):
    products = [draw(ROWS, GATES[kind] * WIDTH, seed=seed).requires_grad_() for seed in range(2)]
    return products, [draw(ROWS, WIDTH, seed=2 + part).requires_grad_() for part in range(PARTS[kind])]


def test_steps_are_those_of_torchs_cells():
    """With unit weights torch's cells get the products themselves; its LSTM's gates are i f g o, ours i f o g."""
    (x, _), (last,) = given("gru")
    gru = nn.GRUCell(3 * WIDTH, WIDTH).double()
    recurrent = gru.weight_hh @ last.mT + gru.bias_hh[:, None]
    product = gru.weight_ih @ x.mT + gru.bias_ih[:, None]
    torch.testing.assert_close(cell_steps.gru_step(product.mT, recurrent.mT, last)[0], gru(x, last))
    (x, _), (last, inside) = given("lstm")
    lstm = nn.LSTMCell(4 * WIDTH, WIDTH).double()

    def ours(rows):
        write, keep, candidate, show = rows.mT.chunk(4, -1)
        return torch.cat([write, keep, show, candidate], -1)

    recurrent = ours(lstm.weight_hh @ last.mT + lstm.bias_hh[:, None])
    product = ours(lstm.weight_ih @ x.mT + lstm.bias_ih[:, None])
    torch.testing.assert_close(cell_steps.lstm_step(product, recurrent, last, inside)[:2], lstm(x, (last, inside)))


@pytest.mark.parametrize("active", [[], [True, False, True, False]])
@pytest.mark.parametrize("kind", GATES)
def test_the_backward_pass_is_that_of_autograd(kind, active):
    products, last = given(kind)
    rows = torch.tensor(active, dtype=torch.bool)
    fresh = getattr(cell_steps, f"{kind}_step")(*products, *last)[: PARTS[kind]]
    new = [torch.where(rows[:, None], a, b) if active else a for a, b in zip(fresh, last, strict=True)]
    by_new = [draw(ROWS, WIDTH, seed=7 + part) for part in range(PARTS[kind])]
    expected = torch.autograd.grad(new, [*products, *last], by_new, materialize_grads=True)

    with torch.no_grad():
        found, tape = [torch.empty_like(part) for part in last], draw(ROWS, TAPE[kind] * WIDTH)
        getattr(cell_steps, f"{kind}_forward")(*products, *last, rows, *found, tape)
        torch.testing.assert_close(found, [part.detach() for part in new])
        gradients = [torch.empty_like(part) for part in (*products, *last)]
        getattr(cell_steps, f"{kind}_backward")(*by_new, *last, rows, tape, *gradients)
    torch.testing.assert_close(tuple(gradients), expected)
