"""Steps of a computation as coloured tables in the terminal."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console, Group
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from regard.scores import Step
from regard.show.cells import as_table, one_by_one, shades, short

# From cividis: even steps for every eye, the last ones dark enough for white on the first and black on the last.
COLOURS = ["#00224e", "#123570", "#3b496c", "#575d6d", "#707173", "#8a8678", "#a59c74", "#c3b369", "#e1cc55", "#fee838"]


def print_steps(steps: Iterable[Step], console: Console) -> None:
    """Each step under its name and formula."""
    for step in one_by_one(steps):
        heading = Text.assemble((step.name, "bold"), "  ", (step.formula, "dim"))
        console.print(Group(heading, Padding(table_of(step), (0, 0, 1, 2), expand=False)))


def table_of(step: Step) -> Table:
    """The numbers of one step, each on a colour for its size."""
    numbers = as_table(step.value, step.name)
    table = Table(box=None, show_header=False, padding=(0, 0))
    for _ in range(numbers.shape[1]):
        table.add_column(justify="right", no_wrap=True)
    for row, row_shades in zip(numbers, shades(numbers), strict=True):
        table.add_row(*(_cell(number, shade) for number, shade in zip(row, row_shades, strict=True)))
    return table


def _cell(number: float, shade: float) -> Text:
    place = round(shade * (len(COLOURS) - 1))
    ink = "black" if place > 5 else "white"
    return Text(f" {short(number)} ", style=f"{ink} on {COLOURS[place]}")
