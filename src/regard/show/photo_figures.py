"""Where a captioner looked: the photograph once for each word, as in figures 2 and 3 of Xu et al. 2015."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from regard.show.canvas import checked_path, drawing, save
from regard.show.labels import literal

ACROSS = 5  # panels in a row
PANEL = 2.0  # inches
DARK = 0.22  # of the light where the model did not look


def plot_caption(
    photo: Image.Image, words: Sequence[str], weights: NDArray[Any], path: str | os.PathLike[str], *, hard: bool = False
) -> Path:
    """The photograph, and again under each word: lit by the word's weights (rows, columns), or its one cell framed."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    target = checked_path(path)
    words = [literal(word) for word in words]
    down = math.ceil((len(words) + 1) / ACROSS)
    across = min(ACROSS, len(words) + 1)
    height = PANEL * min(2.0, photo.height / photo.width)
    with drawing(words) as families:
        figure = Figure(figsize=(across * PANEL, down * (height + 0.3)), layout="constrained")
        FigureCanvasAgg(figure)  # drawn without a display, whatever the caller's pyplot is set to
        axes = figure.subplots(down, across, squeeze=False).flatten()
        for axis in axes:
            axis.axis("off")
        axes[0].imshow(photo)
        for axis, word, look in zip(axes[1:], words, weights, strict=False):
            light = cell_light(look, photo.size) if hard else smooth_light(look, photo.size)
            axis.imshow(lit(photo, light))
            axis.set_title(word, fontsize=11, family=families, parse_math=False)
            if hard:
                _frame(axis, look, photo.size)
        return save(figure, target)


def smooth_light(look: NDArray[Any], size: tuple[int, int]) -> NDArray[np.float64]:
    """Weights (rows, columns) as light from 0 to 1 on every pixel of a picture of ``size`` (width, height).

    >>> smooth_light(np.array([[0.0, 1.0]]), (4, 2)) > 0.5
    array([[False, False,  True,  True],
           [False, False,  True,  True]])
    """
    small = Image.fromarray(np.asarray(look, np.float32))
    light = np.asarray(small.resize(size, Image.Resampling.BICUBIC), np.float64).clip(min=0)
    top = light.max()
    return light / top if top > 0 else light


def cell_light(look: NDArray[Any], size: tuple[int, int]) -> NDArray[np.float64]:
    """The same for hard attention: the cells as they are."""
    small = Image.fromarray(np.asarray(look, np.float32))
    return np.asarray(small.resize(size, Image.Resampling.NEAREST), np.float64)


def lit(photo: Image.Image, light: NDArray[np.float64]) -> NDArray[np.uint8]:
    """The photograph, dark where there is no light."""
    shade = DARK + (1 - DARK) * light[..., None]
    return np.asarray(np.asarray(photo, np.float64) * shade).round().astype(np.uint8)


def _frame(axis: Any, look: NDArray[Any], size: tuple[int, int]) -> None:
    """A frame around the cell of most weight."""
    from matplotlib.patches import Rectangle

    rows, columns = look.shape
    row, column = divmod(int(np.argmax(look)), columns)
    width, height = size[0] / columns, size[1] / rows
    corner = (column * width - 0.5, row * height - 0.5)
    axis.add_patch(Rectangle(corner, width, height, fill=False, edgecolor="white", linewidth=1.5))
