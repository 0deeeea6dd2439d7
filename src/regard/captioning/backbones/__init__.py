"""What makes a grid of features from photographs. Add one: a file here, and a line in ``BACKBONES``."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from regard.errors import UnknownName, did_you_mean
from regard.training.config import load

if TYPE_CHECKING:
    from PIL import Image
    from torch import Tensor

BACKBONES = {
    "efficientnet-lite0": "regard.captioning.backbones.efficientnet:EfficientNetLite0",
    "efficientnet-lite0-448": "regard.captioning.backbones.efficientnet:fine",
    "small-cnn": "regard.captioning.backbones.small_cnn:SmallCNN",
}
_DIRECTORY = "regard.captioning.backbones.huggingface:HuggingFace"


class Backbone(Protocol):
    """Cell (r, c) of a grid is about the part of the photograph in row r of ``rows``, column c of ``columns``.

    Photographs are stretched to the size that the network takes, not cropped: the grid covers all of them.
    """

    @property
    def name(self) -> str:
        """What ``load_backbone`` knows it by."""

    @property
    def identity(self) -> str:
        """Changes whenever the same photograph would give another grid: the key of cached features."""

    @property
    def dim(self) -> int:
        """The width of a cell's features."""

    @property
    def rows(self) -> int:
        """The height of the grid, in cells."""

    @property
    def columns(self) -> int:
        """The width of the grid, in cells."""

    @property
    def trainable(self) -> bool:
        """Whether it is an nn.Module to be trained with the caption model: not its grids are cached, but its inputs."""

    def prepare(self, photo: Image.Image) -> Tensor:
        """An RGB photograph as the network takes it: (3, height, width), float32."""

    def grid(self, batch: Tensor) -> Tensor:
        """Prepared photographs (b, 3, height, width) to features (b, rows, columns, dim)."""


def load_backbone(name: str | os.PathLike[str]) -> Backbone:
    """The backbone of that name, or the Hugging Face model in that directory."""
    backbone: Any
    if str(name) in BACKBONES:
        backbone = load(BACKBONES[str(name)])()
    elif Path(name).is_dir():
        backbone = load(_DIRECTORY)(Path(name))
    else:
        raise UnknownName(
            f"no backbone is called {str(name)!r}, and there is no such directory; choose from {', '.join(BACKBONES)}, "
            f"or name the directory of a Hugging Face model.{did_you_mean(str(name), BACKBONES)}"
        )
    made: Backbone = backbone
    return made
