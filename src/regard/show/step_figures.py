"""The steps of a computation in one strip: each a table of cells with its numbers, under its name and formula."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from regard.scores import Step
from regard.show.canvas import FAINT, POINTS, Sheet, checked_path, drawing, save, width_of
from regard.show.colours import colours_of, ink_on, signed_shades
from regard.show.formatting import as_table, by_query, one_by_one, short

CELL = 0.62, 0.36  # inches; room for a number of nine characters
WIDEST, HIGHEST = 6.5, 8.0  # inches of one table; a larger one gets smaller cells
LINE = 13.5  # inches; what does not fit goes on in the next line
GAP = 0.42, 0.4  # inches between tables, and between lines
HEAD = 0.46  # inches above a table, for its name and formula
NAME, FORMULA = 10.0, 8.0  # points
LARGEST_NUMBER, SMALLEST_NUMBER = 8.0, 5.0
QUERIES = 4  # up to so many have their weighted values drawn


class Panel(NamedTuple):
    """A step made ready to be drawn."""

    name: str
    formula: str
    table: np.ndarray
    cell: tuple[float, float]
    width: float
    """inches, at least those of its heading"""

    @property
    def height(self) -> float:
        return HEAD + float(self.table.shape[0] * self.cell[1])


def plot_steps(steps: Sequence[Step], path: str | os.PathLike[str]) -> Path:
    """The steps side by side, each a heatmap with its numbers, its name and its formula.

    White is 0, blue above and orange below it, deeper the larger in its own table. Of a single query, the numbers that
    belong to a key (scores, weights) stand in the row of that key. Tables that there are for each query (weighted
    values, hidden layers) are left out where there are more than four queries.
    """
    target = checked_path(path)
    with drawing(text for step in steps for text in (step.name, step.formula)) as families:
        return save(draw_steps(steps, families).figure, target)


def draw_steps(steps: Sequence[Step], families: Sequence[str]) -> Sheet:
    """The sheet with the strip on it."""
    lines = _lines([_panel(step, families) for step in _shown(steps)])
    widths = [sum(panel.width for panel in line) + GAP[0] * (len(line) - 1) for line in lines]
    heights = [max(panel.height for panel in line) for line in lines]
    sheet = Sheet(max(widths), sum(heights) + GAP[1] * (len(lines) - 1), families)
    y = 0.0
    for line, height in zip(lines, heights, strict=True):
        x = 0.0
        for panel in line:
            _draw(sheet, panel, x, y)
            x += panel.width + GAP[0]
        y += height + GAP[1]
    return sheet


def _shown(steps: Sequence[Step]) -> list[Step]:
    """One query's scores and weights as a column beside the keys; values that are the keys are not drawn twice."""
    few = [step for step in steps if len(by_query(step)) <= QUERIES]
    known = {step.name: step.value for step in steps}
    shown = []
    for step in one_by_one(few):
        if step.axes[:1] == ("k",) and any(known.get(name) is step.value for name in step.made_from):
            continue
        column = step.axes == ("k",) and step.value.ndim == 1
        shown.append(step._replace(value=as_table(step.value, step.name).T if column else step.value))
    return shown


def _panel(step: Step, families: Sequence[str]) -> Panel:
    table = as_table(step.value, step.name)
    rows, columns = max(table.shape[0], 1), max(table.shape[1], 1)
    cell = min(CELL[0], WIDEST / columns), min(CELL[1], HIGHEST / rows)
    # 1.15: bold is wider
    heading = max(1.15 * width_of(step.name, NAME, families), width_of(step.formula, FORMULA, families))
    return Panel(step.name, step.formula, table, cell, max(columns * cell[0], heading))


def _lines(panels: list[Panel]) -> list[list[Panel]]:
    """The fewest lines that hold the panels, and these as even as they can be."""
    fewest = len(_broken(panels, LINE))
    widths = np.arange(0.5, LINE, 0.25)
    return next((lines for width in widths if len(lines := _broken(panels, width)) == fewest), _broken(panels, LINE))


def _broken(panels: list[Panel], width: float) -> list[list[Panel]]:
    lines: list[list[Panel]] = [[]]
    for panel in panels:
        taken = sum(before.width + GAP[0] for before in lines[-1])
        if lines[-1] and taken + panel.width > width:
            lines.append([])
        lines[-1].append(panel)
    return lines


def _draw(sheet: Sheet, panel: Panel, x: float, y: float) -> None:
    sheet.text(x, y + 0.12, panel.name, NAME, ha="left", va="center", weight="bold")
    sheet.text(x, y + 0.31, panel.formula, FORMULA, ha="left", va="center", color=FAINT)
    if not panel.table.size:
        return
    colours = colours_of(signed_shades(panel.table))
    top, inks = y + HEAD, ink_on(colours)
    sheet.cells(colours, x, top, panel.cell, gap=1.0)
    width, height = panel.cell
    texts, size = _fitting(sheet, panel)
    for (row, column), text in np.ndenumerate(texts):
        place = x + (column + 0.5) * width, top + (row + 0.5) * height
        sheet.text(*place, text, size, ha="center", va="center", color=inks[row, column])


def _fitting(sheet: Sheet, panel: Panel) -> tuple[np.ndarray, float]:
    """The numbers and their size, with fewer digits where many do not fit; no numbers where none would."""
    width, height = panel.cell
    if height < SMALLEST_NUMBER * 1.3 / POINTS or panel.table.size > 2000:
        return np.empty((0, 0), dtype=str), 0.0
    for write in (short, _shorter):
        texts = np.array([[write(number) for number in row] for row in panel.table])
        widest = max(width_of(text, 1, sheet.families) for text in set(texts.flat))
        size = min(LARGEST_NUMBER, 0.86 * width / widest, height / 1.5 * POINTS)
        if size >= SMALLEST_NUMBER:
            return texts, size
    return np.empty((0, 0), dtype=str), 0.0


def _shorter(number: float) -> str:
    return short(number) if not np.isfinite(number) else f"{number:.2g}"
