"""Write reference.md from the package: every public name, how it is called, and what its docstring says first."""

from __future__ import annotations

import ast
import inspect
import sys
import textwrap
from functools import cached_property
from itertools import zip_longest
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
GIVEN = (  # not made by calling them
    "Alignment", "Attended", "Caption", "Captioner", "RunResult", "Translation", "Translator", "Watched",
)  # fmt: skip
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
        parts.append(f"## {room.__name__}\n\n{_description(room)}\n")
        parts += [_entry(room.__name__, name, getattr(room, name)) for name in names]
    return "\n".join(parts)


def _entry(home: str, name: str, thing: Any) -> str:
    called = "" if not callable(thing) or _is_error(thing) or name in GIVEN else _called(thing)
    lines = [f"### `{home}.{name}{called}`\n", f"{_description(thing, whole=True)}\n"]
    if inspect.isclass(thing) and not _is_error(thing):
        members = _members(thing) if home == "regard" else _fields(thing) if hasattr(thing, "_fields") else []
        lines += [*members, ""] if members else []
    return "\n".join(lines)


def _members(thing: type) -> list[str]:
    """A line for each field, property and method, those of base classes after the class' own."""
    lines = []
    for kind in thing.__mro__:
        if not kind.__module__.startswith("regard"):
            continue
        lines += _fields(kind)
        public = {name: member for name, member in vars(kind).items() if not name.startswith("_")}
        for name, member in public.items():
            if isinstance(member, property | cached_property):
                lines.append(
                    f"* `.{name}`: {_description(member.func if isinstance(member, cached_property) else member.fget)}"
                )
        for name, member in public.items():
            plain = inspect.unwrap(getattr(member, "__func__", member))
            if inspect.isfunction(plain):
                lines.append(f"* `.{name}{_called(plain, method=True)}`: {_description(plain)}")
    return lines


def _fields(kind: type) -> list[str]:
    """A line for each annotated field, with the docstring below it in the source."""
    (tree,) = ast.parse(textwrap.dedent(inspect.getsource(kind))).body
    assert isinstance(tree, ast.ClassDef)
    lines = []
    for statement, after in zip_longest(tree.body, tree.body[1:]):
        if not isinstance(statement, ast.AnnAssign) or not isinstance(statement.target, ast.Name):
            continue
        text = ""
        if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant) and isinstance(after.value.value, str):
            text = ": " + " ".join(after.value.value.split()).replace("``", "`")
        if not statement.target.id.startswith("_"):
            lines.append(f"* `.{statement.target.id}`{text}")
    return lines


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
        stars = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
        parts.append(f"{stars}{name}{default}")
    return f"({', '.join(parts)})"


def _description(thing: Any, *, whole: bool = False) -> str:
    """What the docstring says first, or up to its examples."""
    if not callable(thing) and not inspect.ismodule(thing):
        return f"{', '.join(f'`{name}`' for name in thing)}: the kinds by name."
    text = (inspect.getdoc(thing) or "").split(">>>")[0].strip().replace("``", "`")
    return text if whole else " ".join(text.split("\n\n")[0].split())


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    sys.stdout.write(f"wrote {PAGE}\n")
