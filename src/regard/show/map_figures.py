"""The map of an alignment: rows = output, columns = input, labels on top."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from regard.errors import ShapeError
from regard.show.canvas import FAINT, POINTS, Sheet, checked_path, drawing, save, width_of
from regard.show.colours import colours_of, ink_on
from regard.show.formatting import as_table, share
from regard.show.labels import literal, shorten

LARGEST_CELL, SMALLEST_CELL = 0.46, 0.13  # inches
SIDE = 10.0  # inches that a map grows to before its cells shrink
LONGEST_SIDE = 20.0  # and before words are left out of the labels
LONGEST_LABEL = 1.7  # inches
SMALLEST_NUMBER = 5.5  # points; smaller ones are not written
SLANTED = 45  # up to this many labels are slanted rather than upright
FEW, WIDEST_CELL = 8, 1.0  # up to so many columns, cells are widened to hold their labels, up to so many inches


def plot_map(weights: Any, rows: Sequence[str], columns: Sequence[str], path: str | os.PathLike[str]) -> Path:
    """Where each row looked among the columns: rows = output words, columns = input words, labels on top.

    Words stand in the order of the sentence, the first on top and on the left, also where the script runs from
    right to left. Beyond 150 words only every second, third, … is labelled.
    """
    target = checked_path(path)
    table = checked_map(weights, rows, columns)
    rows, columns = [literal(word) for word in rows], [literal(word) for word in columns]
    with drawing([*rows, *columns, "…"]) as families:
        return save(draw_map(table, rows, columns, families).figure, target)


def draw_map(table: np.ndarray, rows: Sequence[str], columns: Sequence[str], families: Sequence[str]) -> Sheet:
    """The sheet with the map on it."""
    layout = _layout(max(table.shape))
    shown_rows, shown_columns = (_shown(words, layout, families) for words in (rows, columns))
    layout = _widened(layout, shown_columns, families)
    sheet = Sheet(table.shape[1] * layout.width, table.shape[0] * layout.height, families)
    top = scale_top(table)
    colours = colours_of(table / top)
    sheet.cells(colours, 0, 0, (layout.width, layout.height))
    _numbers(sheet, table, ink_on(colours), layout)
    for row, word in shown_rows.items():
        sheet.text(-0.08, (row + 0.5) * layout.height, word, layout.size, ha="right", va="center")
    _column_labels(sheet, shown_columns, layout)
    _scale(sheet, top, table.shape[1] * layout.width, table.shape[0] * layout.height)
    return sheet


def scale_top(table: np.ndarray) -> float:
    """The weight of the deepest colour: 1, or a round number above the largest where all are small.

    >>> [scale_top(np.array([[largest]])) for largest in (0.8, 0.31, 0.04, 0.0)]
    [1.0, 0.4, 0.04, 1.0]
    """
    finite = table[np.isfinite(table)]
    largest = float(finite.max()) if finite.size else 0.0
    if largest <= 0 or largest >= 0.5:
        return max(1.0, largest)
    unit = 10.0 ** np.floor(np.log10(largest))
    return float(np.ceil(round(largest / unit, 6)) * unit)


class _Layout(NamedTuple):
    width: float
    height: float
    """inches, of a cell"""
    size: float
    """points, of the labels"""
    every: int
    """each how-many-th word is labelled"""


def _layout(longest: int) -> _Layout:
    cell = min(LARGEST_CELL, max(SMALLEST_CELL, SIDE / longest))
    cell = min(cell, LONGEST_SIDE / longest)
    every = max(1, int(np.ceil(SMALLEST_CELL / cell - 1e-9)))
    return _Layout(cell, cell, min(10.0, 0.68 * cell * every * POINTS), every)


def _widened(layout: _Layout, columns: dict[int, str], families: Sequence[str]) -> _Layout:
    """Wider cells where a few short words can then stand above them unturned."""
    widest = max(width_of(word, layout.size, families) for word in columns.values()) / 0.88
    if len(columns) <= FEW and layout.width < widest <= WIDEST_CELL:
        return layout._replace(width=widest)
    return layout


def _shown(words: Sequence[str], layout: _Layout, families: Sequence[str]) -> dict[int, str]:
    """The words that are labelled, by their place, none longer than there is room."""

    def fits(text: str) -> bool:
        return width_of(text, layout.size, families) <= LONGEST_LABEL

    return {place: shorten(words[place], fits) for place in range(0, len(words), layout.every)}


def checked_map(weights: Any, rows: Sequence[str], columns: Sequence[str]) -> np.ndarray:
    """The weights as a table, refused where it is not one of these rows and columns."""
    table = as_table(weights, "weights")
    if table.shape != (len(rows), len(columns)):
        raise ShapeError(
            f"a map has a row for each output word and a column for each input word: there are {len(rows)} and "
            f"{len(columns)} words, and weights {table.shape}"
        )
    if not table.size:
        raise ShapeError(f"there is nothing to draw: the map has {len(rows)} rows and {len(columns)} columns")
    return table


def _numbers(sheet: Sheet, table: np.ndarray, inks: np.ndarray, layout: _Layout) -> None:
    def size_for(text: str) -> float:
        return min(8.0, 0.84 * layout.width / width_of(text, 1, sheet.families), 0.5 * layout.height * POINTS)

    if size_for(".00") < SMALLEST_NUMBER:
        return
    texts = np.array([[share(weight) for weight in row] for row in table])
    size = min(map(size_for, {*texts.flat, ".00"} - {""}))
    if size < SMALLEST_NUMBER:
        return
    for row, column in np.argwhere(texts != ""):
        place = (column + 0.5) * layout.width, (row + 0.5) * layout.height
        sheet.text(*place, texts[row, column], size, ha="center", va="center", color=inks[row, column])


def _column_labels(sheet: Sheet, columns: dict[int, str], layout: _Layout) -> None:
    room = 0.9 * layout.width * layout.every
    flat = all(width_of(word, layout.size, sheet.families) <= room for word in columns.values())
    slanted = not flat and len(columns) <= SLANTED
    turn: dict[str, Any] = {"ha": "center", "va": "bottom"}
    if slanted:
        turn = {"ha": "left", "va": "baseline", "rotation": 50, "rotation_mode": "anchor"}
    elif not flat:
        turn["rotation"] = 90
    for column, word in columns.items():
        sheet.text((column + 0.5 + 0.12 * slanted) * layout.width, -0.07, word, layout.size, **turn)


def _scale(sheet: Sheet, top: float, right: float, bottom: float) -> None:
    """A thin bar of the colours beside the map, with the weights of its ends."""
    steps, height = 64, min(0.84, max(bottom, 0.4))
    left = right + 0.18
    sheet.cells(colours_of(np.linspace(1, 0, steps))[:, None], left, 0, (0.09, height / steps), gap=0)
    for text, y, va in ((f"{top:g}", 0.0, "top"), ("0", height, "bottom")):
        sheet.text(left + 0.14, y, text, 7, ha="left", va=va, color=FAINT)
