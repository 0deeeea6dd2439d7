"""Writing settings as TOML with a comment for every key, so that the file explains itself."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel

from regard.settings import may_change

_WIDTH = 110


def render(settings: BaseModel) -> str:
    """The settings as commented TOML; reading it back gives equal settings."""
    return "\n".join(_table(settings, "")).strip() + "\n"


def _table(settings: BaseModel, path: str) -> Iterator[str]:
    """A table's own values first, then its tables: TOML has no way back up."""
    fields = type(settings).model_fields
    values = {name: getattr(settings, name) for name in fields}
    for name, value in values.items():
        if not _is_table(value) and value is not None:
            yield from _comment(fields[name].description, may_change(fields[name]))
            yield f"{name} = {_value(value)}"
    for name, value in values.items():
        inner = f"{path}.{name}" if path else name
        if isinstance(value, BaseModel):
            yield from _heading(f"[{inner}]", fields[name].description)
            yield from _table(value, inner)
        elif _is_table(value):
            for item in value:
                yield from _heading(f"[[{inner}]]", fields[name].description)
                yield from _table(item, inner)


def _heading(heading: str, description: str | None) -> Iterator[str]:
    yield ""
    yield from _comment(description, False)
    yield heading


def _comment(description: str | None, changeable: bool) -> Iterator[str]:
    text = (description or "") + (" [may change on --resume]" if changeable else "")
    for line in textwrap.wrap(text, _WIDTH):
        yield f"# {line}"


def _is_table(value: Any) -> bool:
    if isinstance(value, tuple | list):
        return bool(value) and all(isinstance(item, BaseModel) for item in value)
    return isinstance(value, BaseModel)


def _value(value: Any) -> str:
    """A plain value; JSON's strings and booleans are TOML's, but for DEL, which TOML wants escaped."""
    if isinstance(value, tuple | list):
        return "[" + ", ".join(_value(item) for item in value) + "]"
    if isinstance(value, float):
        return repr(value)
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007F")
