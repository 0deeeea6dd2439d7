"""The few largest of each row, beside torch's topk."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from regard import decoding
from regard.kernels.largest import largest


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("width", "count"), [(1, 1), (3, 3), (16, 5), (17, 2), (100, 10), (1000, 10), (70, 70)])
def test_the_same_as_topk(width, count, dtype):
    rows = np.random.default_rng(width).standard_normal((37, width)).astype(dtype)
    values, places = largest(rows, count, threads=2)
    expected = torch.from_numpy(rows).topk(count)
    np.testing.assert_array_equal(values, expected.values.numpy())
    np.testing.assert_array_equal(places, expected.indices.numpy())


def test_rows_may_lie_apart():
    held = np.random.default_rng(0).standard_normal((5, 48)).astype(np.float32)
    values, places = largest(held[:, :41], 4, threads=1)
    np.testing.assert_array_equal(values, -np.sort(-held[:, :41], axis=1)[:, :4])
    np.testing.assert_array_equal(np.take_along_axis(held, places, 1), values)


def test_equal_numbers_infinities_and_what_is_no_number():
    row = np.array([[np.nan, 2, -np.inf, 2, np.inf, np.nan, 1] + [0] * 20], np.float32)
    values, places = largest(row, 5, threads=1)
    assert values.tolist() == [[np.inf, 2, 2, 1, 0]]
    assert places.tolist() == [[4, 1, 3, 6, 7]]


def test_a_large_search_step_takes_the_kernel_and_finds_the_same(monkeypatch):
    held = torch.randn(2, 3, 112, generator=torch.Generator().manual_seed(0))
    logits = held[..., :101]
    expected = logits.topk(7)
    monkeypatch.setattr(decoding, "WORTH_A_KERNEL", 1)
    monkeypatch.setattr(torch.Tensor, "topk", None)
    values, places = decoding._largest(logits, 7)
    assert torch.equal(values, expected.values)
    assert torch.equal(places, expected.indices)
