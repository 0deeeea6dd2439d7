"""Four pictures in one: what is joined where, drawn the same each time, and learned from."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from PIL import Image

from regard.captioning.batches import Captions
from regard.captioning.mosaic import WHOLE, Varied, joined, overlap, picture_of
from regard.captioning.task import CaptionTask
from regard.errors import ConfigError
from regard.training.config import load_config
from tests.captioning.conftest import run_file


class Numbered:
    """Pictures of rows x columns cells that say their number and their place."""

    def __init__(self, rows: int, columns: int) -> None:
        self.shape = rows, columns

    def rows(self, numbers):
        cells = torch.arange(self.shape[0] * self.shape[1])
        return torch.stack([torch.stack([torch.full_like(cells, n), cells], -1) for n in np.asarray(numbers)]).float()


def test_quarters_are_joined_as_one_reads():
    grid = joined(torch.arange(4).view(1, 4, 1, 1, 1).expand(1, 4, 2, 3, 1))[0, ..., 0]
    assert grid.tolist() == [[0, 0, 0, 1, 1, 1]] * 2 + [[2, 2, 2, 3, 3, 3]] * 2


def test_a_picture_of_four_has_each_in_its_quarter():
    colours = [(250, 0, 0), (0, 250, 0), (0, 0, 250), (250, 250, 0)]
    whole = picture_of([Image.new("RGB", (30, 50), colour) for colour in colours], side=8)
    corners = [whole.getpixel(place) for place in ((0, 0), (7, 0), (0, 7), (7, 7))]
    assert corners == colours


@pytest.mark.parametrize(("rows", "columns"), [(14, 14), (7, 7), (3, 4)])
def test_quarters_share_every_cell_out(rows, columns):
    parts = [overlap(place, rows, columns) for place in range(4)]
    np.testing.assert_allclose(sum(parts), 1)
    assert [part.sum() for part in parts] == pytest.approx([rows * columns / 4] * 4)
    assert parts[1][0, -1] == pytest.approx(1)
    assert parts[2][-1, 0] == pytest.approx(1)


def test_mosaics_hold_the_picture_that_is_told_and_others_beside_it():
    varied = Varied(
        Numbered(4, 4), (4, 4), share=1.0, quarters=Numbered(2, 2), usable=np.arange(100, 140), mirror=False
    )
    numbers = np.arange(30)
    grids = varied.rows(numbers).view(30, 4, 4, 2)
    places = set()
    for number, grid in zip(numbers, grids, strict=True):
        quarters = [grid[:2, :2], grid[:2, 2:], grid[2:, :2], grid[2:, 2:]]
        names = [int(quarter[0, 0, 0]) for quarter in quarters]
        assert all((quarter[..., 0] == name).all() for quarter, name in zip(quarters, names, strict=True))
        assert all(quarter[..., 1].flatten().tolist() == [0, 1, 2, 3] for quarter in quarters)
        assert names.count(number) == 1
        assert all(100 <= name < 140 for name in names if name != number)
        places.add(names.index(number))
    assert places == {0, 1, 2, 3}


def test_the_same_batch_is_drawn_the_same_and_another_one_otherwise():
    def rows(numbers, seed=0):
        varied = Varied(
            Numbered(4, 4), (4, 4), share=0.5, quarters=Numbered(2, 2), usable=np.arange(50), mirror=True, seed=seed
        )
        return varied.rows(np.array(numbers))

    first = rows([3, 4, 5, 6, 7, 8])
    assert torch.equal(first, rows([3, 4, 5, 6, 7, 8]))
    assert not torch.equal(first[1:], rows([4, 5, 6, 7, 8]))
    assert not torch.equal(first, rows([3, 4, 5, 6, 7, 8], seed=1))


def test_batches_say_which_quarter_is_told_and_where_the_words_are_that_it_teaches():
    varied = Varied(
        Numbered(4, 4), (4, 4), share=0.5, quarters=Numbered(2, 2), usable=np.arange(100, 140), mirror=False
    )
    captions = Captions(varied, [[[5, 6, 7]], [[8, 9]]] * 20)
    captions.content = [[1, 2], []] * 20
    batch = captions.batch(np.arange(40))
    grids = batch.pictures.view(40, 4, 4, 2)[..., 0]
    for number, quarter, grid in zip(batch.numbers, batch.lesson.quarter, grids, strict=True):
        quarters = [grid[:2, :2], grid[:2, 2:], grid[2:, :2], grid[2:, 2:]]
        there = [place for place, quarter in enumerate(quarters) if (quarter == number).all()]
        assert there == ([0, 1, 2, 3] if quarter == WHOLE else [quarter])
    assert {WHOLE, 0, 1, 2, 3} == set(batch.lesson.quarter.tolist())
    assert batch.lesson.content[:2].tolist() == [[False, True, True, False], [False] * 4]
    captions.content = None
    assert captions.batch(np.arange(4)).lesson is None


def test_a_mirror_turns_about_half_of_the_pictures():
    plain = Numbered(2, 3).rows(range(200)).view(200, 2, 3, 2)
    found = Varied(Numbered(2, 3), (2, 3), mirror=True).rows(np.arange(200)).view(200, 2, 3, 2)
    same, turned = ((found == one).flatten(1).all(1) for one in (plain, plain.flip(2)))
    assert (same | turned).all()
    assert 60 < int(turned.sum()) < 140


def test_a_grid_that_cannot_be_quartered_is_refused(scenes, tmp_path):
    task = CaptionTask(load_config(run_file(scenes, tmp_path / "run", data__mosaic=0.5)))
    with pytest.raises(ConfigError, match=r"data.mosaic = 0.5 joins four grids .*efficientnet-lite0-448"):
        task.prepare(tmp_path, begun=False, threads=1, report=lambda _: None)


def test_teaching_without_mosaics_is_refused(scenes, tmp_path):
    with pytest.raises(ConfigError, match=r"model.taught = 0.3 is what mosaics teach, and data.mosaic = 0 makes none"):
        load_config(run_file(scenes, tmp_path / "run", model__taught=0.3))
