"""What results have in common: a file to open in a browser, and a picture of themselves in a notebook."""

from __future__ import annotations

import os
from pathlib import Path


class _InNotebooks:
    def _repr_html_(self) -> str:
        from regard.show.notebook import repr_html

        return repr_html(self)


class Displayable(_InNotebooks):
    """A result that the page's modules can show."""

    def html(self, path: str | os.PathLike[str]) -> Path:
        """As one HTML file that needs nothing else: point at a part to see what it is, click to keep it."""
        from regard.show.html import write_html

        return write_html(self, path)


class DisplayableWithNeeds(_InNotebooks):
    """A result that can also say what each of its words needed."""

    def html(self, path: str | os.PathLike[str], *, needed: bool = False) -> Path:
        """As one HTML file that needs nothing else: point at a part to see what it is, click to keep it.

        With ``needed=True`` it holds both maps and a switch between them: where it looked, what it needed.
        """
        from regard.show.html import write_html

        return write_html(self, path, needed=needed)
