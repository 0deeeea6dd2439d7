"""Batches of captions, each with its picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from regard.captioning.mosaic import Pictures, Varied
from regard.text.padding import padded_targets
from regard.training.order import Rows, Section


class Lesson(NamedTuple):
    """What mosaics teach the attention."""

    quarter: Tensor
    """(b,): the quarter that the caption describes, or WHOLE"""
    content: Tensor
    """(b, q): True at the content words after the first"""


@dataclass(frozen=True)
class CaptionBatch:
    """Captions ``target`` (b, t): BOS, tokens, EOS, PAD; and the picture of each."""

    pictures: Tensor
    """(b, cells, width): features; or (b, 3, height, width) for a CNN that is trained"""
    target: Tensor
    numbers: Tensor | None = None
    """(b,): the number of each picture among all; on the CPU"""
    lesson: Lesson | None = None

    def __len__(self) -> int:
        return int(self.target.shape[0])

    def to(self, device: torch.device | str) -> CaptionBatch:
        """The batch on another device."""
        pictures, target = (part.to(device, non_blocking=True) for part in (self.pictures, self.target))
        lesson = self.lesson and Lesson(*(part.to(device, non_blocking=True) for part in self.lesson))
        return CaptionBatch(pictures, target, self.numbers, lesson)


class Captions:
    """Every caption of every picture, as `regard.training.order` takes them."""

    def __init__(self, pictures: Pictures, captions: Sequence[Sequence[Sequence[int]]]) -> None:
        """``captions[i]`` are those of picture i, as ids without BOS and EOS."""
        self.pictures, self.by_picture = pictures, captions
        self.ids = [ids for several in captions for ids in several]
        self.picture_of = np.repeat(np.arange(len(captions)), [len(several) for several in captions])
        self._lengths = np.array([len(ids) for ids in self.ids], np.int64)
        self.sections = [Section(len(self.ids))]
        self.content: Sequence[Sequence[int]] | None = None
        """of each caption, where its content words after the first stand; None where mosaics teach nothing"""

    def __len__(self) -> int:
        return len(self.ids)

    def sizes(self, rows: Rows) -> NDArray[np.int64]:
        """(n, 1): tokens of each, EOS included."""
        return self._lengths[rows, None] + 1

    def batch(self, rows: Rows) -> CaptionBatch:
        """The rows as padded tensors."""
        target, _ = padded_targets([self.ids[row] for row in rows])
        numbers = self.picture_of[rows]
        if self.content is None or not isinstance(self.pictures, Varied):
            return CaptionBatch(self.pictures.rows(numbers), target, torch.from_numpy(numbers))
        pictures, quarter = self.pictures.drawn(numbers)
        content = torch.zeros(len(target), target.shape[1] - 1, dtype=torch.bool)
        for place, row in enumerate(rows):
            content[place, list(self.content[row])] = True
        return CaptionBatch(pictures, target, torch.from_numpy(numbers), Lesson(quarter, content))
