"""Photographs as the networks take them."""

from __future__ import annotations

import numpy as np
import torch
from PIL import Image
from torch import Tensor


def stretched(photo: Image.Image, height: int, width: int) -> Tensor:
    """All of the photograph at that size, (3, height, width), values 0 to 255.

    Stretched rather than cropped: what a caption tells of may be at the edge, and a cell's place in the grid is then
    its place in the photograph. Bicubic with Pillow's antialiasing, as EfficientNet was trained with.
    """
    small = photo.resize((width, height), Image.Resampling.BICUBIC)
    return torch.from_numpy(np.asarray(small, np.float32)).permute(2, 0, 1)
