"""``regard attend``: attention on one's own numbers, every step shown."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from cyclopts import Parameter

import regard
from regard import masks
from regard.cli.numbers import read_numbers
from regard.errors import InputError, choose
from regard.scores import WITH_WEIGHTS, weights_of

NUMBERS = Parameter(allow_leading_hyphen=True)  # "-1 2" is a vector, not an option


def attend(
    *,
    query: Annotated[str, NUMBERS],
    keys: Annotated[str, NUMBERS],
    values: Annotated[str | None, NUMBERS] = None,
    score: str = "scaled_dot",
    normalize: str = "softmax",
    weight: Annotated[list[str] | None, Parameter(consume_multiple=True)] = None,
    visible: Annotated[str | None, NUMBERS] = None,
    causal: bool = False,
    json_: Annotated[bool, Parameter(name="--json")] = False,
    plot: Path | None = None,
) -> None:
    """Compute attention on your own numbers and see every step.

    Numbers are written out ("3 12 45; 59 2 5": a semicolon ends a row) or read from a .csv or .npy file.

    Parameters
    ----------
    query
        One vector, or a row for each query.
    keys
        A row for each key.
    values
        A row for each value; the keys themselves when left out.
    score
        dot, scaled_dot, cosine; or general, additive, concat, location with their --weight.
    normalize
        softmax, sparsemax or hard.
    weight
        A weight of the score: W="1 0; 0 1" for general and location; W and v for concat; W_q, W_k and v for additive.
    visible
        1 where a query may look and 0 where not: a number for each key, or a row for each query.
    causal
        Let query i see keys 0 to i only.
    json_
        Print one JSON object instead of tables (an infinite number is null).
    plot
        Write the steps as a figure (.png, .svg, .pdf) or as a page that stands alone (.html).
    """
    asked, looked_at = read_numbers(query, "query"), np.atleast_2d(read_numbers(keys, "keys"))
    attended = regard.attend(
        asked,
        looked_at,
        None if values is None else _rows(values, looked_at.shape[-2]),
        score=_score(score, weight or []),
        normalize=normalize,
        visible=_mask(visible, causal, asked, looked_at),
    )
    if plot is not None:
        from regard.show.html import is_html

        (attended.html if is_html(plot) else attended.plot)(plot)
    _print(attended, as_json=json_)
    if plot is not None and not json_:
        sys.stderr.write(f"wrote {plot}\n")


def _print(attended: regard.Attended, *, as_json: bool) -> None:
    """The steps as tables in the terminal, or one JSON object."""
    steps = attended.steps()
    if as_json:
        shown = [{"name": step.name, "formula": step.formula, "value": _plain(step.value.tolist())} for step in steps]
        result = {name: _plain(getattr(attended, name).tolist()) for name in ("scores", "weights", "context")}
        sys.stdout.write(json.dumps({**result, "steps": shown}, ensure_ascii=False) + "\n")
        return
    from rich.console import Console

    from regard.show.terminal import print_steps

    console = Console()
    if not console.is_terminal:
        console.width = 10**4  # a file has no edge to cut numbers off at
    print_steps(steps, console)


def _rows(values: str, keys: int) -> np.ndarray:
    table = read_numbers(values, "values")
    return table[:, None] if table.ndim == 1 and len(table) == keys else np.atleast_2d(table)


def _score(name: str, given: list[str]) -> Any:
    if name not in WITH_WEIGHTS:
        if given:
            raise InputError(
                f"the score {name!r} has no weights; leave --weight out, or choose {', '.join(WITH_WEIGHTS)}"
            )
        return name
    wanted = weights_of(name)
    weights: dict[str, np.ndarray] = {}
    for item in given:
        key, equals, text = item.partition("=")
        if not equals:
            raise InputError(f"--weight {item!r} must be NAME=NUMBERS, as in W='1 0; 0 1'")
        choose(f"weight of {name}", key, dict.fromkeys(wanted))
        if key in weights:
            raise InputError(f"--weight {key} is given twice; give it once")
        table = read_numbers(text, key)
        weights[key] = table if key == "v" else np.atleast_2d(table)
    if missing := [key for key in wanted if key not in weights]:
        raise InputError(f"the score {name!r} needs --weight {' and '.join(f'{key}=…' for key in missing)}")
    return WITH_WEIGHTS[name](**weights)


def _mask(visible: str | None, causal: bool, query: np.ndarray, keys: np.ndarray) -> np.ndarray | None:
    if causal and query.ndim < 2:
        raise InputError("--causal needs several queries; there is one. Give --query a row for each.")
    mask: np.ndarray | None = masks.causal(query.shape[-2], keys.shape[-2]) if causal else None
    if visible is None:
        return mask
    numbers = read_numbers(visible, "visible")
    if not np.isin(numbers, (0, 1)).all():
        raise InputError(f"--visible is made of 1 (may look) and 0 (hidden); it is {visible!r}")
    shown: np.ndarray = numbers == 1
    return shown if mask is None else np.logical_and(mask, shown)


def _plain(value: Any) -> Any:
    """Nested lists, with null for what JSON cannot say."""
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value if math.isfinite(value) else None
