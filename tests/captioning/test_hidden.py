"""Cells hidden from a captioner: without weight, grey in the photograph, and their cost by hand."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from PIL import Image

from regard.captioning.hidden import GREY, blocks_of, covered, hidden_cells
from regard.captioning.model import Grid
from regard.captioning.search import model_inputs
from regard.errors import InputError
from regard.text.padding import padded_targets
from tests.captioning.untrained import untrained

GRID = Grid(3, 4, 5)


@pytest.fixture(scope="module")
def captioner():
    return untrained()


@pytest.fixture(scope="module")
def photo():
    return Image.fromarray(np.random.default_rng(0).integers(0, 256, (60, 80, 3), np.uint8))


def test_cells_are_counted_row_by_row():
    assert hidden_cells(GRID, [(1, 2), (0, 0)]).nonzero().flatten().tolist() == [0, 6]


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        ((3, 0), r"no cell \(3, 0\) to hide; rows go from 0 to 2, columns from 0 to 3"),
        ((0, -1), r"no cell \(0, -1\)"),
        (5, r"hide takes cells, each \(row, column\); 5 came"),
        ((1, 2, 3), r"hide takes cells, each \(row, column\); \(1, 2, 3\) came"),
    ],
)
def test_cells_that_are_not_there_are_refused(cell, text):
    with pytest.raises(InputError, match=text):
        hidden_cells(GRID, [cell])


def test_hidden_cells_are_grey_and_the_others_as_they_were():
    photo = Image.new("RGB", (8, 6), (200, 10, 10))
    pixels = np.asarray(covered(photo, hidden_cells(GRID, [(1, 2)]), GRID))
    grey = (pixels == GREY).all(-1)
    assert np.argwhere(grey).tolist() == [[2, 4], [2, 5], [3, 4], [3, 5]]
    assert (pixels[~grey] == (200, 10, 10)).all()
    assert photo.getpixel((4, 2)) == (200, 10, 10)  # the photograph itself is left alone


def test_blocks_are_squares_of_cells_and_few():
    assert blocks_of(GRID, 2).view(3, 4).tolist() == [[0, 0, 1, 1], [0, 0, 1, 1], [2, 2, 3, 3]]
    assert blocks_of(Grid(7, 7, 1)).tolist() == list(range(49))
    fine = blocks_of(Grid(14, 14, 1)).view(14, 14)
    assert int(fine.max()) == 48
    assert (fine[:2, 2:4] == 1).all()


def test_what_is_hidden_has_no_weight(captioner, photo):
    found = captioner.caption(photo, beam=2, max_length=5, hide=[(0, 0), (3, 1)])
    assert (found.weights[:, [0, 3], [0, 1]] == 0).all()
    np.testing.assert_allclose(found.weights.sum((1, 2)), 1, rtol=1e-5)


def test_what_is_hidden_in_the_input_is_a_grey_photograph(captioner, photo):
    cells = [(1, 1), (1, 2)]
    hidden = captioner.caption(photo, beam=2, max_length=5, hide=cells, hide_input=True)
    by_hand = covered(photo, hidden_cells(captioner.model.grid, cells), captioner.model.grid)
    expected = captioner.caption(by_hand, beam=2, max_length=5)
    assert hidden.text == expected.text
    np.testing.assert_array_equal(hidden.weights, expected.weights)
    assert hidden.photo.getpixel((30, 20)) == GREY


@pytest.mark.parametrize("block", [None, 2])
def test_what_a_word_needed_is_what_it_loses_when_a_block_is_hidden(captioner, photo, block):
    found = captioner.caption(photo, beam=1, max_length=5)
    needed, grid = found.needed(block=block), captioner.model.grid
    assert needed.shape == found.weights.shape
    (ids,) = captioner.vocabulary.encode([found.text])
    target, _ = padded_targets([ids])
    with torch.no_grad():
        state = captioner.model.start(model_inputs(captioner.backbone, [photo]))
    plain = captioner.model.force_from(state, target).log_probs[0]
    blocks = blocks_of(grid, block)
    for number in range(int(blocks.max()) + 1):
        hidden = blocks[None] == number
        lost = plain - captioner.model.force_from(state.hide(hidden), target).log_probs[0]
        cells = hidden.view(grid.rows, grid.columns).numpy()
        for place, word in enumerate(captioner.vocabulary.words(ids)):
            np.testing.assert_allclose(needed[place][cells], float(lost[word.start : word.stop].sum()), atol=1e-5)


def test_blocks_of_no_size_are_refused(captioner, photo):
    found = captioner.caption(photo, beam=1, max_length=3)
    with pytest.raises(InputError, match="block is a number of cells each way, 1 or more; it is 0"):
        found.needed(block=0)
