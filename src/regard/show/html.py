"""One HTML file that needs no network: it holds the data, and the modules of ``viewer/`` that draw it."""

from __future__ import annotations

import base64
import hashlib
import json
import os
from collections.abc import Sequence
from functools import cache
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

from regard.errors import InputError
from regard.files import write_bytes
from regard.show.canvas import checked_path
from regard.show.data import Data, parts_of

ENDING = ".html"
VIEWER = Path(__file__).parent / "viewer"
_CHARACTERS = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"}


class Bundle(NamedTuple):
    """The viewer's modules as one script that has ``mount(element, data, options)``, and their style."""

    script: str
    style: str


@cache
def bundle() -> Bundle:
    """What the explorer, the single file and the notebook share, as ``viewer/manifest.json`` lists it.

    Its modules import each other in lines of their own and share no top-level name: joined in order, without these
    lines, they are one module.
    """
    manifest = json.loads((VIEWER / "manifest.json").read_text("utf-8"))
    lines = [line for line in _joined(manifest["modules"]).splitlines() if not line.startswith("import ")]
    return Bundle("\n".join(lines) + "\n", _joined(manifest["styles"]))


def _joined(names: Sequence[str]) -> str:
    return "".join((VIEWER / name).read_text("utf-8") for name in names)


def document(parts: Sequence[Data], *, title: str = "") -> str:
    """A whole page with these parts, one under the other."""
    shared = bundle()
    heading = title or TITLES.get(parts[0]["kind"], "Attention")
    script = shared.script + _MOUNT
    style = shared.style + _STYLE
    policy = (
        f"default-src 'none'; script-src {_digest(script)}; style-src {_digest(style)}; img-src data: blob:; "
        "base-uri 'none'; form-action 'none'"
    )
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f'<title>{escape(heading[:200])}</title>\n<link rel="icon" href="data:,">\n'
        f"<style>{style}</style>\n</head>\n<body>\n<h1>{escape(heading)}</h1>\n"
        '<main id="parts"><noscript>This page draws with JavaScript, which is switched off here.</noscript></main>\n'
        f'<script type="application/json" id="data">{embedded(parts)}</script>\n'
        f'<script type="module">{script}</script>\n</body>\n</html>\n'
    )


TITLES = {
    "map": "Where each word looked",
    "photo": "Where each word looked",
    "steps": "Attention, step by step",
}
_MOUNT = """for (const part of JSON.parse(document.getElementById("data").textContent)) {
  mount(document.getElementById("parts"), part);
}
"""
_STYLE = """:root { color-scheme: light dark; }
body { margin: 0 auto; max-width: 72rem; padding: 1rem; font-family: system-ui, sans-serif; }
h1 { font-size: 1.25rem; overflow-wrap: anywhere; }
main { display: grid; gap: 2rem; grid-template-columns: minmax(0, 1fr); }
"""


def embedded(data: Any) -> str:
    """JSON that can stand in a script element: nothing in it ends the element or a line.

    >>> embedded(["</script>", "a & b"])
    '["\\\\u003c/script\\\\u003e","a \\\\u0026 b"]'
    """
    text = json.dumps(data, allow_nan=False, separators=(",", ":"))  # all beyond ASCII is escaped, U+2028 too
    for character, code in _CHARACTERS.items():
        text = text.replace(character, code)
    return text


def write_html(result: Any, path: str | os.PathLike[str], *, needed: bool = False) -> Path:
    """Write the page of a result, whole or not at all; with what each word ``needed``, where it can say that."""
    target = checked_path(path, (ENDING,))
    page = document(parts_of(result, needed=needed)).encode()
    try:
        write_bytes(target, page)
    except OSError as error:
        raise InputError(f"cannot write {str(target)!r}: {error.strerror}") from None
    return target


def is_html(path: Path) -> bool:
    """Whether a name asks for a page rather than a figure."""
    return path.suffix.lower() == ENDING


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
