"""Cells hidden from a captioner: what it writes without them, and what each word that it wrote needed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor

from regard.errors import InputError, UnknownName
from regard.text.interventions import left_out
from regard.text.padding import padded_targets

if TYPE_CHECKING:
    from regard.captioning.model import CaptionModel, Grid
    from regard.text.vocabulary import Word

Hide = Sequence[tuple[int, int]]
"""cells, each (row, column) from 0"""
GREY = (127, 127, 127)
BLOCKS = 7
"""blocks of cells each way, at most, that are left out one by one"""


def hidden_cells(grid: Grid, hide: Hide) -> Tensor:
    """True at the cells to hide, (cells,)."""
    mask = torch.zeros(grid.rows, grid.columns, dtype=torch.bool)
    for cell in hide:
        try:
            row, column = cell
        except (TypeError, ValueError):
            raise InputError(f"hide takes cells, each (row, column); {cell!r} came") from None
        if not (0 <= row < grid.rows and 0 <= column < grid.columns):
            raise UnknownName(
                f"there is no cell {(row, column)} to hide; rows go from 0 to {grid.rows - 1}, columns from 0 to "
                f"{grid.columns - 1}"
            )
        mask[row, column] = True
    return mask.flatten()


def covered(photo: Image.Image, hidden: Tensor, grid: Grid) -> Image.Image:
    """The photograph with grey in the place of the hidden cells (cells,)."""
    mask = Image.fromarray(np.uint8(255) * hidden.view(grid.rows, grid.columns).numpy().astype(np.uint8))
    grey = Image.new("RGB", photo.size, GREY)
    return Image.composite(grey, photo.convert("RGB"), mask.resize(photo.size, Image.Resampling.NEAREST))


def blocks_of(grid: Grid, side: int | None = None) -> Tensor:
    """Which block each cell belongs to, (cells,): squares of ``side`` cells; None = so that there are few of them."""
    side = side or -(-max(grid.rows, grid.columns) // BLOCKS)
    rows, columns = torch.arange(grid.rows) // side, torch.arange(grid.columns) // side
    return (rows[:, None] * -(-grid.columns // side) + columns).flatten()


def needed_cells(
    model: CaptionModel,
    picture: Tensor,
    tokens: Sequence[int],
    words: Sequence[Word],
    hidden: Tensor | None,
    side: int | None,
) -> NDArray[np.float64]:
    """The log-probability that each word loses when a block of cells is hidden: (words, rows, columns).

    ``picture`` (1, ...) as the model takes it. Every cell has the cost of its block. The cells ``hidden`` (cells,)
    while it was written are hidden throughout.
    """
    grid, blocks = model.grid, blocks_of(model.grid, side)
    target, _ = padded_targets([tokens])
    with torch.no_grad():
        state = model.start(picture)
        if hidden is not None:
            state = state.hide(hidden[None].to(picture.device))
    costs = left_out(model, state, target, blocks[None])[0].T.double().numpy()
    by_word = [costs[word.start : word.stop].sum(0)[blocks.numpy()] for word in words]
    return np.reshape(by_word, (len(words), grid.rows, grid.columns))
