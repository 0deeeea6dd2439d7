"""The best continuations of each sentence, beside torch's topk."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from regard import decoding
from regard.kernels import dispatch
from regard.kernels.top_k import top_k


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("beam", [1, 3])
@pytest.mark.parametrize(("width", "count"), [(1, 1), (3, 3), (16, 5), (17, 2), (100, 10), (1000, 10), (70, 70)])
def test_the_same_as_topk(width, count, beam, dtype):
    rng = np.random.default_rng(width)
    rows = rng.standard_normal((37 * beam, width)).astype(dtype)
    offsets = rng.standard_normal((37, beam))
    values, places = top_k(rows, offsets, count, threads=2)
    expected = (torch.from_numpy(rows).double().view(37, beam, width) + torch.from_numpy(offsets)[..., None]).flatten(1)
    np.testing.assert_array_equal(values, expected.topk(count).values.numpy())
    np.testing.assert_array_equal(places, expected.topk(count).indices.numpy())


def test_rows_may_lie_apart():
    held = np.random.default_rng(0).standard_normal((5, 48)).astype(np.float32)
    values, places = top_k(held[:, :41], np.zeros((5, 1)), 4, threads=1)
    np.testing.assert_array_equal(values, -np.sort(-held[:, :41], axis=1)[:, :4])
    np.testing.assert_array_equal(np.take_along_axis(held, places, 1), values)


def test_equal_numbers_infinities_and_what_is_no_number():
    row = np.array([[np.nan, 2, -np.inf, 2, np.inf, np.nan, 1] + [0] * 20], np.float32)
    values, places = top_k(row, np.zeros((1, 1)), 5, threads=1)
    assert values.tolist() == [[np.inf, 2, 2, 1, 0]]
    assert places.tolist() == [[4, 1, 3, 6, 7]]


def test_numbers_that_only_their_offsets_tell_apart():
    """In float32 the two sums are the same."""
    rows = np.full((2, 16), -np.inf, np.float32)
    rows[:, 3] = 20_000.0
    values, places = top_k(rows, np.array([[-20_000.0, -20_000.0 + 1e-9]]), 1, threads=1)
    assert places.tolist() == [[16 + 3]]
    assert values[0, 0] > 0


def test_a_hypothesis_that_cannot_be_is_never_chosen():
    rows = np.zeros((2, 40), np.float32)
    rows[0] = 5.0
    values, places = top_k(rows, np.array([[-np.inf, -1.0]]), 3, threads=1)
    assert values.tolist() == [[-1.0, -1.0, -1.0]]
    assert places.tolist() == [[40, 41, 42]]


def test_a_large_search_step_takes_the_kernel_and_finds_the_same(monkeypatch):
    held = torch.randn(2, 3, 112, generator=torch.Generator().manual_seed(0))
    logits, offsets = held[..., :101], torch.tensor([[0.0, -0.5, -3.0], [-1.0, 0.0, -0.1]], dtype=torch.float64)
    expected = decoding._top_k(logits, offsets, 7)
    monkeypatch.setattr(torch.Tensor, "topk", None)
    with dispatch.forced("compiled"):
        for found, wanted in zip(decoding._top_k(logits, offsets, 7), expected, strict=True):
            np.testing.assert_array_equal(found, wanted)
