"""Dropout by fewer random numbers: as many zeros as asked for, wherever they fall."""

from __future__ import annotations

import pytest
import torch

from regard.nn.dropout import BITS, Dropout


@pytest.mark.parametrize("share", [0.1, 0.3, 0.5, 0.999])
def test_as_many_zeros_as_asked_for_and_the_rest_made_larger(share):
    dropped = Dropout(share)(torch.full((1000, 1000), 2.0))
    deviation = (share * (1 - share) / 1e6) ** 0.5  # of the mean of a million draws
    assert abs(float((dropped == 0).double().mean()) - share) < 5 * deviation
    dropping = round(share * 2**BITS) / 2**BITS  # the mean stays as it was, to the last bit of this
    torch.testing.assert_close(dropped[dropped != 0].unique(), torch.tensor([2 / (1 - dropping)]))


def test_values_drawn_from_one_number_fall_apart_from_each_other():
    zeros = (Dropout(0.5)(torch.ones(100_000, 4)) == 0).double()
    together = torch.corrcoef(zeros.T) - torch.eye(4, dtype=torch.float64)
    assert float(together.abs().max()) < 5 / 100_000**0.5


def test_the_gradient_is_dropped_as_the_value_was():
    inputs = torch.ones(7, 11, 13, requires_grad=True)
    dropped = Dropout(0.3)(inputs)
    dropped.sum().backward()
    torch.testing.assert_close(inputs.grad, dropped.detach())


def test_the_same_each_time_by_the_seed():
    torch.manual_seed(7)
    first = Dropout(0.3)(torch.ones(50))
    torch.manual_seed(7)
    assert torch.equal(Dropout(0.3)(torch.ones(50)), first)
    assert not torch.equal(Dropout(0.3)(torch.ones(50)), first)


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
@pytest.mark.parametrize("shape", [(), (3,), (0, 5)])
def test_any_shape_and_precision(dtype, shape):
    dropped = Dropout(0.3)(torch.ones(shape, dtype=dtype))
    assert (dropped.shape, dropped.dtype) == (shape, dtype)


def test_nothing_is_dropped_in_use_or_for_0_and_all_for_1():
    ones = torch.ones(100)
    assert torch.equal(Dropout(0.5).eval()(ones), ones)
    assert torch.equal(Dropout(0.0)(ones), ones)
    assert not Dropout(1.0)(ones).any()


def test_nearly_all():
    assert int((Dropout(0.999999)(torch.ones(10_000)) != 0).sum()) < 10


def test_what_torchs_can_do_it_can_too():
    ones = torch.ones(3, 50)
    each = torch.vmap(Dropout(0.5), randomness="different")(ones)
    assert not torch.equal(each[0], each[1])
    assert (torch.compile(Dropout(0.5), backend="aot_eager", fullgraph=True)(ones) == 0).any()
    with torch.device("meta"):
        assert (Dropout(0.5)(ones) == 0).any()
    Dropout(0.5, inplace=True)(ones)
    assert (ones == 0).any()
