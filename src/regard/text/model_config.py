"""Settings that the models of several tasks share, and how they are checked."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator

from regard.errors import did_you_mean
from regard.scores import WITH_WEIGHTS, WITHOUT_WEIGHTS

MOST_DRAWS = 1000


def several_draws(count: int) -> int:
    """``count``, if it is 0 or leaves samples to compare with each other; else a ValueError."""
    if count == 1:
        raise ValueError("self_critical = 1 leaves no other text to compare with: draw 2 or more; 5 do well")
    return count


def known_score(what: str, name: str, *also: str) -> str:
    """``name``, if it is a score's or one of ``also``; else a ValueError that says what there is."""
    names: tuple[str, ...] = (*also, *WITHOUT_WEIGHTS, *WITH_WEIGHTS)
    if name in names:
        return name
    from regard.nn.scores import SCORES  # those that were added; the others are known without loading torch

    names = (*also, *SCORES)
    if name not in names:
        raise ValueError(f"no {what} is called {name!r}; choose from {', '.join(names)}.{did_you_mean(name, names)}")
    return name


Draws = Annotated[int, AfterValidator(several_draws)]
