"""The errors people meet. Each says what is wrong, what came, what is allowed and what to do.

RegardError
├── InputError          a value that attend(), a layer or a verb cannot take  (also a ValueError)
│   ├── ShapeError      sizes that do not fit together
│   ├── DtypeError      numbers of the wrong kind: strings, ragged lists, a mask that is not boolean
│   └── UnknownName     no score, mask, model or setting of that name; suggests the nearest
├── DataError           a line, file or photograph that cannot be read; names file and line
├── ConfigError         a setting that is unknown, of the wrong type, or that contradicts another
├── CheckpointError     a run directory that is incomplete, damaged, or of another configuration
└── TrainingError       a training that cannot continue: a loss that is not finite, processes that disagree
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import TypeVar

T = TypeVar("T")


class RegardError(Exception):
    """What a person can mend; a command prints its text and exits with 2."""


class InputError(RegardError, ValueError):
    """A value that cannot be taken."""


class ShapeError(InputError):
    """Sizes that do not fit together."""


class DtypeError(InputError, TypeError):
    """Numbers of the wrong kind."""


class UnknownName(InputError, LookupError):  # noqa: N818 - reads as what it is
    """Nothing of that name; the text lists the names there are and the nearest."""


class DataError(RegardError):
    """A line, file or photograph that cannot be read."""


class ConfigError(RegardError, ValueError):
    """A setting that cannot be used."""


class CheckpointError(RegardError):
    """A run directory that cannot be taken up."""


class TrainingError(RegardError):
    """A training that cannot continue."""


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """The end of an error's sentence, when one of ``names`` is near ``name``.

    >>> did_you_mean("aditive", ["dot", "additive"])
    " Did you mean 'additive'?"
    >>> did_you_mean("xyz", ["dot", "additive"])
    ''
    """
    nearest = difflib.get_close_matches(name, list(names), n=1)
    return f" Did you mean {nearest[0]!r}?" if nearest else ""


def choose(what: str, name: str, options: Mapping[str, T]) -> T:
    """The option of that name, or an error that lists the options.

    >>> choose("score", "aditive", {"dot": 1, "additive": 2})
    Traceback (most recent call last):
    regard.errors.UnknownName: no score is called 'aditive'; choose from dot, additive. Did you mean 'additive'?
    """
    if name in options:
        return options[name]
    raise UnknownName(
        f"no {what} is called {name!r}; choose from {', '.join(options)}.{did_you_mean(str(name), options)}"
    )
