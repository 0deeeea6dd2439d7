"""Write reference.md from the package: every public name, how it is called, and what its docstring says first."""

from __future__ import annotations

import inspect
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import regard
from regard import errors, kernels, masks, nn, normalizers, positions, scores, show

PAGE = Path(__file__).parent / "reference.md"
TOP = """# Reference

Every public name. This page is written by `python docs/reference.py` from the package itself; a test sees that it is up
to date. Shape letters: b batch, h heads, q queries, k keys, d width of query and key, v width of value. A mask is True
where a query may look.
"""
GIVEN = ("Alignment", "Attended", "Caption", "Captioner", "Translation", "Translator")  # not made by calling them
ROOMS: dict[ModuleType, tuple[str, ...]] = {
    scores: ("Dot", "ScaledDot", "Cosine", "General", "Additive", "Concat", "Location", "Score"),
    normalizers: ("softmax", "sparsemax", "hard", "Sampled"),
    masks: ("causal", "padding", "window"),
    positions: ("sinusoidal", "learned", "rotary", "alibi", "equivariance", "Equivariance"),
    nn: tuple(nn.__all__),
    kernels: tuple(kernels.__all__),
    show: tuple(show.__all__),
    errors: tuple(name for name, kind in vars(errors).items() if inspect.isclass(kind) and issubclass(kind, Exception)),
}


def page() -> str:
    own = [name for name in regard.__all__ if not name.startswith("_") and not inspect.ismodule(getattr(regard, name))]
    parts = [TOP, "## regard\n", *(_entry("regard", name, getattr(regard, name)) for name in own)]
    for room, names in ROOMS.items():
        parts.append(f"## {room.__name__}\n\n{_told(room)}\n")
        parts += [_entry(room.__name__, name, getattr(room, name)) for name in names]
    return "\n".join(parts)


def _entry(home: str, name: str, thing: Any) -> str:
    called = "" if not callable(thing) or _is_error(thing) or name in GIVEN else _called(thing)
    lines = [f"### `{home}.{name}{called}`\n", f"{_told(thing, whole=True)}\n"]
    if inspect.isclass(thing) and home == "regard":
        ours = [kind for kind in thing.__mro__ if kind.__module__.startswith("regard")]
        for method, function in (one for kind in ours for one in vars(kind).items()):
            plain = inspect.unwrap(getattr(function, "__func__", function))
            if not method.startswith("_") and inspect.isfunction(plain):
                lines.append(f"* `.{method}{_called(plain, method=True)}`: {_told(plain)}")
        lines.append("")
    return "\n".join(lines)


def _is_error(thing: Any) -> bool:
    return inspect.isclass(thing) and issubclass(thing, Exception)


def _called(thing: Any, *, method: bool = False) -> str:
    """The arguments with their defaults, without types."""
    parts: list[str] = []
    starred = False
    for place, (name, parameter) in enumerate(inspect.signature(thing).parameters.items()):
        if method and not place:
            continue
        if parameter.kind is parameter.KEYWORD_ONLY and not starred:
            parts.append("*")
            starred = True
        default = "" if parameter.default is parameter.empty else f"={parameter.default!r}".replace("'", '"')
        parts.append(f"{name}{default}")
    return f"({', '.join(parts)})"


def _told(thing: Any, *, whole: bool = False) -> str:
    """What the docstring says first, or up to its examples."""
    if not callable(thing) and not inspect.ismodule(thing):
        return f"{', '.join(f'`{name}`' for name in thing)}: the kinds by name."
    text = (inspect.getdoc(thing) or "").split(">>>")[0].strip().replace("``", "`")
    return text if whole else " ".join(text.split("\n\n")[0].split())


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    sys.stdout.write(f"wrote {PAGE}\n")
