"""Tiles, profiles and thumbnails hold the numbers of the map's own weights."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose

from regard.errors import InputError
from regard.explorer import tiles
from regard.explorer.tiles import mean_weights, profile, thumbnails, tile
from tests.explorer.recorded_model import record

SIZE = 61


@pytest.fixture(scope="module")
def found():
    return record(SIZE)["attention"]


def naive(table, cell, pool):
    """Cell by cell, the last ones smaller."""
    height, width = (-(-size // step) for size, step in zip(table.shape, cell, strict=True))
    return [
        [pool(table[i * cell[0] : (i + 1) * cell[0], j * cell[1] : (j + 1) * cell[1]]) for j in range(width)]
        for i in range(height)
    ]


@pytest.mark.parametrize("by", ["max", "mean"])
@pytest.mark.parametrize("cell", [(1, 1), (4, 8), (16, 1), (64, 64)])
def test_a_tile_pools_the_weights(found, by, cell, monkeypatch):
    monkeypatch.setattr(tiles, "AT_ONCE", 200)  # a few rows at a time
    head = found[0, 1]
    got = tile([head], (5, 58), (3, 50), cell, by)
    wanted = naive(head.weights(slice(5, 58), slice(3, 50)).numpy(), cell, np.max if by == "max" else np.mean)
    assert_allclose(got.numpy(), wanted, rtol=1e-6)


def test_several_heads_are_averaged_before_they_are_pooled(found):
    heads = [found[0, 0], found[0, 1]]
    mean = (heads[0].weights() + heads[1].weights()).numpy() / 2
    assert_allclose(tile(heads, (0, SIZE), (0, SIZE), (8, 8), "max").numpy(), naive(mean, (8, 8), np.max), rtol=1e-6)
    assert_allclose(mean_weights(heads, 7, None)[0].numpy(), mean[7], rtol=1e-6)


def test_sampled_rows_are_the_middle_ones_of_their_cells(found):
    head = found[0, 0]
    got = tile([head], (0, SIZE), (0, SIZE), (8, 4), "max", sampled=True)
    rows = [4, 12, 20, 28, 36, 44, 52, 60]
    assert_allclose(got.numpy(), naive(head.weights(rows).numpy(), (1, 4), np.max), rtol=1e-6)


def test_tiles_that_are_refused(found, monkeypatch):
    head = found[0, 0]
    with pytest.raises(InputError, match="rows 0 to 62 are not in the map, which has rows 0 to 61"):
        tile([head], (0, 62), (0, 4), (1, 1), "max")
    with pytest.raises(InputError, match="columns 4 to 4 are not in the map"):
        tile([head], (0, 4), (4, 4), (1, 1), "max")
    monkeypatch.setattr(tiles, "TILE_CELLS", 16)
    with pytest.raises(InputError, match="at most 16 x 16 cells; this one has 20 x 3"):
        tile([head], (0, 20), (0, 3), (1, 1), "max")
    monkeypatch.setattr(tiles, "TILE_WEIGHTS", 100)
    with pytest.raises(InputError, match="takes 160 weights, and at most 100"):
        tile([head], (0, 16), (0, 10), (4, 4), "max")
    assert tile([head], (0, 16), (0, 10), (4, 4), "max", sampled=True).shape == (4, 3)


def test_profiles_of_a_row_and_a_column(found):
    head = found[0, 1]
    row: Any = profile([head], "row", 40, (10, 50), 64)
    assert row["cell"] == 1
    assert_allclose(row["values"], head.row(40)[10:50].numpy(), rtol=1e-6)
    assert row["total"] == pytest.approx(1, abs=1e-5)
    column: Any = profile([head], "column", 3, (0, SIZE), 16)
    weights = head.column(3)
    assert column["cell"] == 4
    assert_allclose(column["values"], naive(weights[None].numpy(), (1, 4), np.max)[0], rtol=1e-6)
    assert column["total"] == pytest.approx(float(weights.sum()), rel=1e-5)
    place, weight = column["strongest"][0]
    assert (place, weight) == (int(weights.argmax()), float(weights.max()))


def test_thumbnails_of_all_heads_say_when_they_are_sampled(found, monkeypatch):
    small, sampled = thumbnails(found, 0, 16)
    assert not sampled
    assert small.shape == (2, 16, 16)
    assert_allclose(small[1].numpy(), naive(found[0, 1].weights().numpy(), (4, 4), np.max), rtol=1e-6)
    monkeypatch.setattr(tiles, "AT_ONCE", 1000)
    rough, sampled = thumbnails(found, 0, 16)
    assert sampled
    assert bool((rough <= small).all())
    assert not torch.equal(rough, small)
