"""Figures: PNG, SVG or PDF by the file's ending."""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import cycle
from pathlib import Path
from typing import NamedTuple

from regard.show.canvas import ENDINGS, FAINT, Sheet, checked_path, drawing, save
from regard.show.labels import literal
from regard.show.map_figures import plot_map
from regard.show.step_figures import plot_steps

__all__ = ["ENDINGS", "Curve", "checked_path", "plot_curves", "plot_map", "plot_steps", "save"]

# Okabe and Ito's colours, told apart by every eye, and a marker each for print without colour.
_LINES = list(
    zip(("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000"), "osD^vPX", strict=True)
)


class Curve(NamedTuple):
    """A named line through points."""

    name: str
    across: Sequence[float]
    up: Sequence[float]


def plot_curves(curves: Sequence[Curve], path: str | os.PathLike[str], *, across: str, up: str) -> Path:
    """The curves in one picture, named in a legend below it in the order of their colours."""
    target = checked_path(path)
    names = [literal(curve.name) for curve in curves]
    with drawing([*names, across, up]) as families:
        sheet = Sheet(6.4, 4.0, families)
        axes = sheet.figure.add_axes((0.1, 0.13, 0.88, 0.85))
        for name, curve, (colour, marker) in zip(names, curves, cycle(_LINES), strict=False):
            axes.plot(curve.across, curve.up, color=colour, marker=marker, markersize=5, linewidth=1.8, label=name)
        axes.set_xlabel(across, family=families, parse_math=False)
        axes.set_ylabel(up, family=families, parse_math=False)
        axes.set_ylim(bottom=0)
        axes.grid(axis="y", color="#e3e6ea", linewidth=0.8)
        axes.set_axisbelow(True)
        axes.spines[["top", "right", "left"]].set_visible(False)
        axes.tick_params(length=0, labelcolor=FAINT)
        legend = axes.legend(
            frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3, prop={"family": families}
        )
        for text in legend.get_texts():
            text.set_parse_math(False)
        return save(sheet.figure, target)
