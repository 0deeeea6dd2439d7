"""Figures: PNG, SVG or PDF by the file's ending."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from itertools import cycle
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from regard.errors import InputError
from regard.scores import Step
from regard.show.cells import as_table, one_by_one, shades, short

ENDINGS = (".png", ".svg", ".pdf")
# Okabe and Ito's colours, told apart by every eye, and a marker each for print without colour.
_LINES = list(
    zip(("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000"), "osD^vPX", strict=True)
)
CELL = 0.62  # inches; room for a number of six characters


def plot_steps(steps: Sequence[Step], path: str | os.PathLike[str]) -> Path:
    """The steps side by side in one strip, each a heatmap with its numbers, its name and its formula."""
    target = checked_path(path)
    steps = one_by_one(steps)
    tables = [as_table(step.value, step.name) for step in steps]
    widths = [max(table.shape[1] * CELL, 1.6) for table in tables]
    height = max(table.shape[0] for table in tables) * CELL + 1.0
    figure, axes = _canvas(len(steps), (sum(widths) + 0.35 * len(widths), height), widths)
    for axis, step, table in zip(axes, steps, tables, strict=True):
        _heatmap(axis, table)
        axis.set_title(f"{step.name}\n{step.formula}", fontsize=8, loc="left")
        axis.set_anchor("NW")
    return save(figure, target)


def plot_map(weights: Any, rows: Sequence[str], columns: Sequence[str], path: str | os.PathLike[str]) -> Path:
    """Where each row looked among the columns: rows = output words, columns = input words, labels on top."""
    target = checked_path(path)
    table = as_table(weights, "weights")
    cell = min(0.42, 14 / max(table.shape))  # a long sentence gets smaller cells, not an endless sheet
    figure, (axis,) = _canvas(1, (table.shape[1] * cell + 2.0, table.shape[0] * cell + 1.6), [1])
    _draw(axis, table, table, [[_share(weight) if cell == 0.42 else "" for weight in row] for row in table])
    axis.set_xticks(range(len(columns)), columns, rotation=60, ha="left", rotation_mode="anchor", fontsize=21 * cell)
    axis.set_yticks(range(len(rows)), rows, fontsize=21 * cell)
    return save(figure, target)


class Curve(NamedTuple):
    """A named line through points."""

    name: str
    across: Sequence[float]
    up: Sequence[float]


def plot_curves(curves: Sequence[Curve], path: str | os.PathLike[str], *, across: str, up: str) -> Path:
    """The curves in one picture, each named where it ends."""
    target = checked_path(path)
    figure, (axis,) = _canvas(1, (6.4, 4.0), [1])
    for curve, (colour, marker) in zip(curves, cycle(_LINES), strict=False):
        axis.plot(curve.across, curve.up, color=colour, marker=marker, label=curve.name)
    axis.set(xlabel=across, ylabel=up)
    axis.set_ylim(bottom=0)
    axis.spines[["top", "right"]].set_visible(False)
    axis.legend(frameon=False)
    return save(figure, target)


def checked_path(path: str | os.PathLike[str]) -> Path:
    """Refuse an ending that cannot be drawn, before any work is done."""
    target = Path(path)
    if target.suffix.lower() not in ENDINGS:
        raise InputError(f"cannot draw {str(target)!r}: a figure's name ends in {', '.join(ENDINGS)}")
    if target.is_dir():
        raise InputError(f"cannot write {str(target)!r}: it is a folder")
    if not target.parent.is_dir():
        raise InputError(f"cannot write {str(target)!r}: there is no folder {str(target.parent)!r}")
    return target


def save(figure: Any, target: Path) -> Path:
    """Write the figure whole or not at all."""
    try:
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=".figure-", suffix=target.suffix)
    except OSError as error:
        raise InputError(f"cannot write {str(target)!r}: {error.strerror}") from None
    os.close(handle)
    try:
        figure.savefig(name, dpi=160, bbox_inches="tight", metadata={} if target.suffix == ".png" else None)
        os.chmod(name, 0o644)
        os.replace(name, target)
    except OSError as error:
        os.unlink(name)
        raise InputError(f"cannot write {str(target)!r}: {error.strerror}") from None
    except BaseException:
        os.unlink(name)
        raise
    return target


def _canvas(columns: int, size: tuple[float, float], widths: Sequence[float]) -> tuple[Any, Sequence[Any]]:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    FigureCanvasAgg(figure)  # drawn without a display, whatever the caller's pyplot is set to
    return figure, figure.subplots(1, columns, squeeze=False, width_ratios=widths)[0]


def _heatmap(axis: Any, table: np.ndarray) -> None:
    _draw(axis, table, shades(table), [[short(number) for number in row] for row in table])


def _share(weight: float) -> str:
    """A weight in hundredths; what rounds to none is left out."""
    return f"{weight:.2f}".lstrip("0") if weight >= 0.005 else ""


def _draw(axis: Any, table: np.ndarray, shade: np.ndarray, texts: list[list[str]]) -> None:
    """Cells on colours from 0 to 1, with a text in each."""
    axis.imshow(shade, cmap="cividis", vmin=0, vmax=1, aspect="equal")
    axis.set_xticks([])
    axis.set_yticks([])
    axis.xaxis.tick_top()
    axis.spines[:].set_visible(False)
    axis.tick_params(length=0)
    for row, column in np.ndindex(*table.shape):
        ink = "black" if shade[row, column] > 0.55 else "white"
        axis.text(column, row, texts[row][column], ha="center", va="center", fontsize=7, color=ink)
