"""Where each number of a step came from, by the axes that the step shares with those it was made from."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from regard.scores import Step
from regard.show.formatting import as_table, by_query, short

MOST_LINKS = 20_000  # between the numbers of tables
MOST_TERMS = 6  # of a sum, or numbers in brackets, that are written out

Cell: TypeAlias = tuple[str, int, int]
"""a table's id, row and column"""
Origins: TypeAlias = list[list[list[list[Cell]]]]
"""for each row and column of a table, the cells of each of its sources"""


class Table(NamedTuple):
    """A step, or the part of it that belongs to one query, as rows and columns."""

    id: str
    step: Step
    axes: tuple[str, ...]
    """of rows and columns; "" where there is no name"""
    query: int | None
    numbers: np.ndarray

    def place(self, row: int, column: int) -> dict[str, int]:
        """Where a number stands on each axis that its sources are followed along."""
        named = [("q", self.query), *zip(self.axes, (row, column), strict=True)]
        return {axis: at for axis, at in named if axis and at is not None and axis not in self.step.over}

    def cells(self, place: dict[str, int], axes: Sequence[str]) -> list[Cell]:
        """The numbers at a place; along those of ``axes`` that it does not name, all."""
        if self.query not in (None, place.get("q", self.query)):
            return []
        rows, columns = (
            [place[axis]] if axis in place else range(size) for axis, size in zip(axes, self.numbers.shape, strict=True)
        )
        return [(self.id, row, column) for row in rows for column in columns]


def tables_of(steps: Iterable[Step]) -> list[Table]:
    """The steps as tables, one that has a table for each query as that many."""
    return [
        Table(part.name, step, ("", "", *part.axes)[-2:], query, as_table(part.value, part.name))
        for step in steps
        for query, part in by_query(step)
    ]


class Provenance:
    """The tables of one computation, each number tied to those it was computed from."""

    def __init__(self, tables: Sequence[Table]) -> None:
        self._numbers = {table.id: table.numbers for table in tables}
        self._parts: dict[str, list[Table]] = {}
        for table in tables:
            self._parts.setdefault(table.step.name, []).append(table)

    def origins(self, table: Table) -> Origins | None:
        """The cells behind each number; None where some of its sources are not shown, or the cells too many."""
        made_from = table.step.made_from
        if not (made_from and table.numbers.size and all(name in self._parts for name in made_from)):
            return None
        if table.numbers.size * sum(map(len, self._behind(table, 0, 0))) > MOST_LINKS:
            return None
        rows, columns = map(range, table.numbers.shape)
        return [[self._behind(table, row, column) for column in columns] for row in rows]

    def _behind(self, table: Table, row: int, column: int) -> list[list[Cell]]:
        place = table.place(row, column)
        return [
            [
                cell
                for part in self._parts[name]
                # One that is its source, as values that are the keys, is so number by number.
                for cell in part.cells(place, table.axes if part.step.value is table.step.value else part.axes)
            ]
            for name in table.step.made_from
        ]

    def sums(self, table: Table, origins: Origins) -> list[list[str]] | None:
        """Each number written out as 5·3 + 1·12 = 27, or by the formula; None where it says nothing more."""
        texts = self._products(table, origins) or self._by_formula(table, origins)
        if texts is None:
            return None
        numbers = table.numbers.tolist()
        return [
            [f"{text} = {short(number)}" for text, number in zip(*row, strict=True)]
            for row in zip(texts, numbers, strict=True)
        ]

    def _products(self, table: Table, origins: Origins) -> list[list[str]] | None:
        """The numbers as sums of products of their sources, if that is what all of them are."""
        first = origins[0][0]
        if table.step.over or len({len(cells) for cells in first}) != 1 or sum(map(len, first)) == 1:
            return None
        for row, numbers in zip(origins, table.numbers, strict=True):
            for behind, number in zip(row, numbers, strict=True):
                terms = np.prod([self._read(cells) for cells in behind], axis=0)
                if not abs(terms.sum() - number) <= 1e-5 * np.abs(terms).sum():  # also where one is no number
                    return None
        return [[self._written_products(behind) for behind in row] for row in origins]

    def _written_products(self, behind: list[list[Cell]]) -> str:
        factors = zip(*(self._read(cells) for cells in behind), strict=True)
        return _listed(["·".join(map(_bracketed, term)) for term in factors], " + ")

    def _by_formula(self, table: Table, origins: Origins) -> list[list[str]] | None:
        """The formula with numbers in the place of the steps it names, if it names all."""
        formula, made_from = table.step.formula, table.step.made_from
        names = re.compile("|".join(rf"(?<!\w){re.escape(name)}(?!\w)" for name in made_from))
        copied = any(part.step.value is table.step.value for name in made_from for part in self._parts[name])
        if copied or {found[0] for found in names.finditer(formula)} != set(made_from):
            return None

        def filled(behind: list[list[Cell]]) -> str:
            numbers = dict(zip(made_from, map(self._read, behind), strict=True))
            return names.sub(lambda found: _in_place(found, numbers[found[0]]), formula)

        return [[filled(behind) for behind in row] for row in origins]

    def _read(self, cells: list[Cell]) -> list[float]:
        return [float(self._numbers[name][row, column]) for name, row, column in cells]


def interleaved(behind: list[list[Cell]]) -> list[Cell]:
    """The cells of all sources, those that belong together beside each other."""
    if len({len(cells) for cells in behind}) == 1:
        return [cell for together in zip(*behind, strict=True) for cell in together]
    return [cell for cells in behind for cell in cells]


def _in_place(found: re.Match[str], numbers: list[float]) -> str:
    """The numbers of a step, to stand in a formula where its name did."""
    if len(numbers) == 1:
        return _bracketed(numbers[0])
    listed = _listed([short(number) for number in numbers], ", ")
    return listed if found.string[: found.start()].endswith("(") else f"({listed})"


def _listed(texts: list[str], between: str) -> str:
    return between.join(texts if len(texts) <= MOST_TERMS else [*texts[: MOST_TERMS - 1], "…"])


def _bracketed(number: float) -> str:
    return f"({short(number)})" if number < 0 else short(number)
