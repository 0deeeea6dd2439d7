"""A translation or caption on stdout, and as a picture: what the verbs that write texts share."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from regard.captioning.results import Caption
    from regard.translation.results import Translation


def write_result(found: Translation | Caption, *, as_json: bool, needed: bool) -> None:
    """The text and its alternatives, a line each; or a line of JSON, with what each word needed where asked."""
    if as_json:
        shown = found.to_json() | ({"needed": found.needed().round(6).tolist()} if needed else {})
        sys.stdout.write(json.dumps(shown, ensure_ascii=False) + "\n")
    else:
        sys.stdout.write("\n".join([found.text, *(other.text for other in found.alternatives)]) + "\n")
    sys.stdout.flush()


def check_plot(path: Path) -> None:
    """Refuse a picture that could not be written, before anything is computed for it."""
    from regard.show.figures import ENDINGS, checked_path
    from regard.show.html import ENDING

    checked_path(path, (*ENDINGS, ENDING))


def draw(found: Translation | Caption, path: Path, *, needed: bool) -> None:
    """The map of a result as a figure, by its weights or by what each word needed; a page may hold both."""
    from regard.show.html import is_html

    if is_html(path):
        found.html(path, needed=needed)
    else:
        found.plot(path, by="needed" if needed else "weights")
    sys.stderr.write(f"wrote {path}\n")
