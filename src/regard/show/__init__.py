"""Seeing: anything computed, in the terminal, as a figure, as a page of its own or in a notebook."""

from __future__ import annotations

from typing import Any

__all__ = ["widget"]


def widget(result: Any) -> Any:
    """A result to point at and to pin rows of in a notebook, as on the page; needs the extra ``notebook``.

    >>> regard.show.widget(translator.watch("a red house"))  # doctest: +SKIP
    """
    from regard.show.notebook import widget as made

    return made(result)
