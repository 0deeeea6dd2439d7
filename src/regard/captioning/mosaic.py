"""Mosaics: four photographs in one picture, 2 x 2, of which the caption describes one. Attention that works finds it.

In training the grids of four photographs are joined; to measure, the photographs themselves are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor

from regard.training.order import Rows

QUARTERS = 4
"""upper left, upper right, lower left, lower right"""
SIDE = 448  # pixels of a mosaic that is drawn to measure by
WHOLE = -1
"""in the place of a quarter: the picture is one photograph, all of which the caption describes"""


class Pictures(Protocol):
    """What a model attends over, by number."""

    def rows(self, numbers: Rows) -> Tensor:
        """These pictures, as the model takes them."""


class Drawn(NamedTuple):
    """Pictures as they are learned from."""

    pictures: Tensor
    quarter: Tensor
    """(b,): the quarter that the caption describes, or WHOLE"""


class Varied:
    """Pictures as they are learned from: mirrored at random, and a share of them a quarter of a mosaic.

    What is drawn depends on the seed and the numbers of the batch alone, so that a resumed training draws the same.
    """

    def __init__(
        self,
        pictures: Pictures,
        shape: tuple[int, int],
        *,
        mirror: bool = False,
        share: float = 0.0,
        quarters: Pictures | None = None,
        usable: NDArray[np.int64] | None = None,
        seed: int = 0,
    ) -> None:
        """Pictures of ``shape`` (rows, columns); a ``share`` in mosaics of ``quarters``, by ``usable`` numbers."""
        self._pictures, self._shape, self._mirror, self._seed = pictures, shape, mirror, seed
        self._share, self._quarters, self._usable = share, quarters, usable

    def rows(self, numbers: Rows) -> Tensor:
        return self.drawn(numbers).pictures

    def drawn(self, numbers: Rows) -> Drawn:
        """These pictures, varied, and the quarter of each that its caption describes."""
        generator = np.random.default_rng([self._seed, *np.asarray(numbers).tolist()])
        plain = self._pictures.rows(numbers)
        grids = plain.view(len(plain), *self._shape, -1) if plain.ndim == 3 else plain.permute(0, 2, 3, 1)
        if self._mirror:
            grids = _mirrored(grids, generator)
        chosen = torch.from_numpy(np.flatnonzero(generator.random(len(numbers)) < self._share))
        quarter = torch.full((len(numbers),), WHOLE)
        if len(chosen):
            grids[chosen], quarter[chosen] = self._mosaics(np.asarray(numbers)[chosen.numpy()], generator)
        return Drawn(grids.flatten(1, 2) if plain.ndim == 3 else grids.permute(0, 3, 1, 2), quarter)

    def _mosaics(self, numbers: Rows, generator: np.random.Generator) -> Drawn:
        """A grid with each of the pictures in one quarter, others in the rest."""
        assert self._quarters is not None
        assert self._usable is not None
        members = generator.choice(self._usable, size=(len(numbers), QUARTERS))
        quarter = generator.integers(QUARTERS, size=len(numbers))
        members[np.arange(len(numbers)), quarter] = numbers
        half = self._shape[0] // 2, self._shape[1] // 2
        grids = self._quarters.rows(members.flatten()).view(members.size, *half, -1)
        if self._mirror:
            grids = _mirrored(grids, generator)
        return Drawn(joined(grids.view(len(numbers), QUARTERS, *grids.shape[1:])), torch.from_numpy(quarter))


def _mirrored(grids: Tensor, generator: np.random.Generator) -> Tensor:
    """Each grid (n, rows, columns, d), or by an even chance what a mirror shows of it."""
    turned = torch.from_numpy(generator.random(len(grids)) < 0.5)
    return torch.where(turned[:, None, None, None], grids.flip(2), grids)


def joined(quarters: Tensor) -> Tensor:
    """Four grids each, (n, 4, r, c, d), as one: (n, 2r, 2c, d)."""
    upper, lower = (torch.cat([quarters[:, left], quarters[:, left + 1]], 2) for left in (0, 2))
    return torch.cat([upper, lower], 1)


def picture_of(photos: Sequence[Image.Image], side: int = SIDE) -> Image.Image:
    """Four photographs, each stretched to a quarter of one square picture."""
    whole, half = Image.new("RGB", (side, side)), side // 2
    for place, photo in enumerate(photos):
        whole.paste(photo.convert("RGB").resize((half, half), Image.Resampling.BICUBIC), quarter_corner(place, half))
    return whole


def quarter_corner(place: int, half: int) -> tuple[int, int]:
    """Where a quarter begins, (x, y).

    >>> [quarter_corner(place, 7) for place in range(4)]
    [(0, 0), (7, 0), (0, 7), (7, 7)]
    """
    return half * (place % 2), half * (place // 2)


def overlap(place: int, rows: int, columns: int) -> NDArray[np.float64]:
    """What share of each cell (rows, columns) lies in that quarter: a middle row or column of an odd grid lies in two.

    >>> overlap(0, 1, 4)
    array([[0.5, 0.5, 0. , 0. ]])
    """
    down, across = (_half_overlap(side, size) for side, size in ((place // 2, rows), (place % 2, columns)))
    return np.outer(down, across)


def _half_overlap(second: int, size: int) -> NDArray[np.float64]:
    edges = np.arange(size + 1) / size
    low, high = (0.5, 1.0) if second else (0.0, 0.5)
    inside = np.clip(np.minimum(edges[1:], high) - np.maximum(edges[:-1], low), 0, None)
    return np.asarray(inside * size)
