"""What was computed, in the terminal: steps as coloured tables of numbers, translations with their maps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from rich.console import Console, Group
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from regard.scores import Step
from regard.show.colours import signed_shades
from regard.show.formatting import as_table, one_by_one, short
from regard.show.terminal_map import TerminalMap, ink_and_colour

__all__ = ["TerminalMap", "print_steps"]


def print_steps(steps: Iterable[Step], console: Console) -> None:
    """Each step under its name and formula; a table too wide for the terminal goes on below."""
    for step in one_by_one(steps):
        heading = Text.assemble((step.name, "bold"), "  ", (step.formula, "dim"))
        numbers = as_table(step.value, step.name)
        parts = list(_parts(numbers, console.width - 2))
        shade = signed_shades(numbers)
        console.print(heading)
        for part in parts:
            place = Text(f"  columns {part.start + 1} to {min(part.stop, numbers.shape[1])}", style="dim")
            table = Padding(_table(numbers[:, part], shade[:, part]), (0, 0, 0, 2), expand=False)
            console.print(Group(place, table) if len(parts) > 1 else table)
        console.print()


def _table(numbers: np.ndarray, shade: np.ndarray) -> Table:
    """Numbers, each on a colour for its size."""
    table = Table(box=None, show_header=False, padding=(0, 0))
    for _ in range(numbers.shape[1]):
        table.add_column(justify="right", no_wrap=True)
    for row, row_shades in zip(numbers, shade, strict=True):
        cells: Sequence[Text] = [
            Text(f" {short(number)} ", style=ink_and_colour(place))
            for number, place in zip(row, row_shades, strict=True)
        ]
        table.add_row(*cells)
    return table


def _parts(numbers: np.ndarray, width: int) -> Iterator[slice]:
    """Runs of columns that fit side by side, at least one in each."""
    start, taken = 0, 0
    for column in range(numbers.shape[1]):
        wide = max((len(short(number)) for number in numbers[:, column]), default=0) + 2
        if column > start and taken + wide > width:
            yield slice(start, column)
            start, taken = column, 0
        taken += wide
    yield slice(start, numbers.shape[1])
