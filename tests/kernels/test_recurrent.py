"""The gates of GRU and LSTM in one pass: those of plain torch, for every row, active or not."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch

from regard.kernels import recurrent
from regard.nn import cell_steps

ROWS, WIDTH = 5, 16
GATES, PARTS, TAPE = {"gru": 3, "lstm": 4}, {"gru": 1, "lstm": 2}, {"gru": 4, "lstm": 5}


def draw(*shape: int, dtype: Any, seed: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).to(dtype)


def run(module: Any, kind: str, active: torch.Tensor, dtype: torch.dtype, held: Any) -> list[torch.Tensor]:
    """Forward and backward by one of the two modules: all that they write."""
    gates, parts = GATES[kind], PARTS[kind]
    product, product_h = (draw(ROWS, gates * WIDTH, dtype=dtype, seed=seed) for seed in (0, 1))
    last = [draw(ROWS, WIDTH, dtype=dtype, seed=2 + part) for part in range(parts)]
    new, tape = [torch.empty_like(part) for part in last], torch.empty(ROWS, TAPE[kind] * WIDTH, dtype=dtype)
    getattr(module, f"{kind}_forward")(*map(held, (product, product_h, *last, active, *new, tape)))
    by_new = [draw(ROWS, WIDTH, dtype=dtype, seed=5 + part) for part in range(parts)]
    by_products = [torch.empty_like(product) for _ in range(2)]
    by_last = [torch.empty_like(part) for part in last]
    getattr(module, f"{kind}_backward")(*map(held, (*by_new, *last, active, tape, *by_products, *by_last)))
    return [*new, *by_products, *by_last]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("active", [[], [True, False, True, True, False]])
@pytest.mark.parametrize("kind", GATES)
def test_forward_and_backward_are_those_of_plain_torch(kind: str, active: list[bool], dtype: torch.dtype) -> None:
    rows = torch.tensor(active, dtype=torch.bool)
    compiled = run(recurrent, kind, rows, dtype, torch.Tensor.numpy)
    plain = run(cell_steps, kind, rows, dtype, lambda tensor: tensor)
    torch.testing.assert_close(compiled, plain)


def test_a_gru_step_by_hand() -> None:
    """reset = sigmoid(ln 3) = 3/4, update = sigmoid(0) = 1/2, candidate = tanh(1 + 3/4 * 2), from state 1."""
    product = np.repeat([math.log(3), 0.0, 1.0], 16)[None].copy()
    product_h = np.repeat([0.0, 0.0, 2.0], 16)[None].copy()
    last, new, tape = np.ones((1, 16)), np.empty((1, 16)), np.empty((1, 64))
    recurrent.gru_forward(product, product_h, last, np.empty(0, np.bool_), new, tape)
    np.testing.assert_allclose(new, (1 + math.tanh(2.5)) / 2, rtol=1e-14)
    np.testing.assert_allclose(tape[0, ::16], [0.75, 0.5, math.tanh(2.5), 2.0], rtol=1e-14)


@pytest.mark.parametrize("kind", GATES)
def test_a_row_that_is_not_active_keeps_its_state_and_passes_its_gradient_on(kind: str) -> None:
    found = run(recurrent, kind, torch.zeros(ROWS, dtype=torch.bool), torch.float64, torch.Tensor.numpy)
    parts = PARTS[kind]
    for part in range(parts):
        assert torch.equal(found[part], draw(ROWS, WIDTH, dtype=torch.float64, seed=2 + part))
        assert torch.equal(found[parts + 2 + part], draw(ROWS, WIDTH, dtype=torch.float64, seed=5 + part))
    assert not any(by_product.any() for by_product in found[parts : parts + 2])
