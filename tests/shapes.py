"""Shapes in signatures, checked at every call while the tests run.

``install`` makes the modules below check, after each call, that what came in and what goes out have the shapes that the
signature says, with the same letter for the same size. It is after the call so that a function may first refuse what
does not fit by an error of its own, which is what users see and other tests match; what it does not refuse must fit.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, get_args

from beartype import BeartypeConf, beartype
from jaxtyping import AbstractArray, install_import_hook

MODULES = [
    "regard.attention",
    "regard.computation",
    "regard.local",
    "regard.masks",
    "regard.normalizers",
    "regard.positions",
    "regard.scores",
    "regard.nn.additive_attention",
    "regard.nn.attention",
    "regard.nn.cells",
    "regard.nn.decoder",
    "regard.nn.loop_gradients",
    "regard.nn.multi_head",
    "regard.nn.output",
    "regard.nn.reinforce",
    "regard.nn.rnn",
    "regard.nn.scores",
    "regard.nn.self_attention",
    "regard.nn.transformer",
    "regard.nn.windows",
    "regard.translation.model",
]
"""Those that have shapes in their signatures; not Dropout, which must compile to one graph, as no check does."""

_check = beartype(conf=BeartypeConf(is_pep484_tower=True))


def install() -> None:
    """Before the modules are imported."""
    install_import_hook(MODULES, "tests.shapes.checked")


def checked(function: Callable[..., Any]) -> Callable[..., Any]:
    """What jaxtyping calls to have a signature checked: once for the arguments alone, and once for all of it.

    The former comes before the call, and is left out. The latter has one argument more, for what was returned.
    """
    hints = {name: hint for name, hint in function.__annotations__.items() if _has_shape(hint)}
    returned = [name for name in inspect.signature(function).parameters if name.startswith("ret")]
    if not hints or not returned:
        return function
    function.__annotations__ = hints  # ints, names and the like are checked by mypy, and refused by the functions
    return _check(function)


def _has_shape(hint: Any) -> bool:
    if inspect.isclass(hint) and issubclass(hint, AbstractArray):
        return True
    return any(_has_shape(part) for part in get_args(hint))
