"""A map in the terminal: coloured blocks, or shades and digits where there is no colour."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from regard.show.colours import colours_of, hexadecimal, ink_on
from regard.show.formatting import share
from regard.show.labels import clusters, literal, right_to_left, shorten
from regard.show.map_figures import checked_map, scale_top

_SHADES = " ░▒▓█"
_DIGITS = " 123456789"
_NUMBER, _BLOCK = 4, 2  # characters of a cell with its number, and of one without
_TALLEST = 14  # lines of upright words


def ink_and_colour(shade: float) -> str:
    """The style of a cell whose number is at ``shade`` between -1 and 1: the figures' scale, deep for much.

    >>> ink_and_colour(0.0), ink_and_colour(1.0)
    ('#000000 on #f6f9fb', '#ffffff on #0f286e')
    """
    colour = colours_of(np.array(shade))
    ink = "#ffffff" if ink_on(colour) == "white" else "#000000"
    return f"{ink} on {hexadecimal(colour)}"


@dataclass(frozen=True)
class TerminalMap:
    """Where each row (output word) looked among the columns (input words); rich prints it as wide as there is room.

    Words stand upright above narrow cells. Where they run from right to left, which cannot stand upright, the columns
    are numbered and the words listed below. More columns than fit go on further down.
    """

    weights: Any
    rows: Sequence[str]
    columns: Sequence[str]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        table = checked_map(self.weights, self.rows, self.columns)
        words = [literal(word) for word in self.columns]
        side = min(max(cell_len(literal(word)) for word in self.rows), max(6, options.max_width // 3))
        labels = [_padded(literal(word), side) for word in self.rows]
        room = max(options.max_width - side - 2, _BLOCK)
        paint = _Paint(
            coloured=console.color_system is not None and not console.no_color,
            ascii_only=options.ascii_only,
            top=scale_top(table),
        )
        widest = max(map(cell_len, words))
        width = next((w for w in (max(widest + 1, _NUMBER), _NUMBER) if w * len(words) <= room), _BLOCK)
        numbered = widest >= width and any(map(right_to_left, words))
        heads = [str(number) for number in range(1, len(words) + 1)] if numbered else words
        for start in range(0, len(words), room // width):
            part = slice(start, start + room // width)
            if start:
                yield Text("")
            for line in _header(heads[part], width):
                yield Text(" " * (side + 1) + line, no_wrap=True)
            for label, row in zip(labels, table[:, part], strict=True):
                yield Text.assemble(f"{label} ", *(paint.cell(weight, width) for weight in row), no_wrap=True)
        if numbered:
            yield Text("  ".join(f"{head} {word}" for head, word in zip(heads, words, strict=True)), style="dim")


@dataclass(frozen=True)
class _Paint:
    coloured: bool
    ascii_only: bool
    top: float

    def cell(self, weight: float, width: int) -> tuple[str, str]:
        """A cell's characters and style."""
        shade = weight / self.top if np.isfinite(weight) else 0.0
        number = share(weight).center(width) if width >= _NUMBER else ""
        if self.coloured:
            return number or " " * width, ink_and_colour(weight / self.top)
        if number:
            return number, ""
        levels = _DIGITS if self.ascii_only else _SHADES
        level = levels[min(round(shade * (len(levels) - 1)), len(levels) - 1)]
        return level * width if not self.ascii_only else level.rjust(width), ""


def _header(words: Sequence[str], width: int) -> Iterator[str]:
    """Lines of column labels: one where they fit above their cells, else the words upright, ending at the cells."""
    if all(cell_len(word) < width for word in words):
        yield "".join(_centred(word, width) for word in words)
        return
    upright = [clusters(shorten(word, lambda text: len(clusters(text)) <= _TALLEST)) for word in words]
    height = max(map(len, upright))
    for line in range(height):
        letters = (word[line - height] if len(word) >= height - line else "" for word in upright)
        yield "".join(_centred(letter, width) for letter in letters).rstrip()


def _centred(text: str, width: int) -> str:
    free = max(width - cell_len(text), 0)
    return " " * (free // 2) + text + " " * (free - free // 2)


def _padded(word: str, width: int) -> str:
    """The word at the right of ``width`` terminal cells, of which a wide character takes two."""
    word = shorten(word, lambda text: cell_len(text) <= width)
    return " " * (width - cell_len(word)) + word
