"""What every picture of numbers needs: rows and columns, and numbers short enough for a cell."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from regard.errors import ShapeError
from regard.scores import Step


def as_table(value: Any, name: str) -> np.ndarray:
    """A vector as one row, a matrix as it is; more dimensions cannot be shown on paper."""
    if hasattr(value, "detach"):
        value = value.detach().cpu().double()  # also from bfloat16, which NumPy does not know
    array = np.asarray(value, dtype=float)
    if array.ndim > 2:
        raise ShapeError(
            f"one table is shown at a time: {name} {array.shape} has {array.ndim} dimensions. "
            "Attend to one of the batch."
        )
    return np.atleast_2d(array)


def one_by_one(steps: Iterable[Step]) -> list[Step]:
    """Steps as tables: one that has a table for each query (hidden, weighted values) becomes a step for each.

    >>> steps = regard.attend([[1, 0], [0, 1]], [[1, 0], [0, 1]]).steps()
    >>> [step.name for step in one_by_one(steps)][-3:]
    ['weighted values of query 1', 'weighted values of query 2', 'context']
    """
    return [part for step in steps for _, part in by_query(step)]


def by_query(step: Step) -> list[tuple[int | None, Step]]:
    """The table of each query, where a step has one for each; else the step."""
    if step.value.ndim != 3 or step.axes[:-2] != ("q",):
        return [(None, step)]
    axes = step.axes[1:]
    return [
        (number, step._replace(name=f"{step.name} of query {number + 1}", value=table, axes=axes))
        for number, table in enumerate(step.value)
    ]


def short(number: float) -> str:
    """Four decimals, or the power of ten where that would say little.

    >>> [short(x) for x in (927.0, 0.11920292, 7.94715151e-232, -0.0, float("-inf"))]
    ['927', '0.1192', '7.9e-232', '0', '-∞']
    """
    if np.isnan(number):
        return "NaN"
    if np.isinf(number):
        return "∞" if number > 0 else "-∞"
    if number and not 1e-3 <= abs(number) < 1e6:
        return f"{number:.1e}"
    return f"{number + 0.0:.4f}".rstrip("0").rstrip(".")  # + 0.0: there is no "-0"


def share(weight: float) -> str:
    """A weight in hundredths; what rounds to none is left out.

    >>> [share(weight) for weight in (1.0, 0.874, 0.004, float("nan"))]
    ['1', '.87', '', '?']
    """
    if not np.isfinite(weight):
        return "?"
    if abs(weight) < 0.005:
        return ""
    hundredths = f"{weight:.2f}"
    if hundredths == "1.00":
        return "1"
    return f"{'-' if weight < 0 else ''}.{hundredths[-2:]}" if abs(weight) < 0.995 else hundredths
