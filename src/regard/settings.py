"""Settings: frozen pydantic models whose errors name the key, what came, what is allowed and the nearest name."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Literal, TypeVar, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field, RootModel, ValidationError
from pydantic.fields import FieldInfo

from regard.errors import ConfigError, did_you_mean

S = TypeVar("S", bound="Settings")

# Upper bounds far beyond what anyone trains: what is above is a slip of the pen, or an attack by a stranger's folder.
MOST_LAYERS = 256
MOST_WIDTH = 1 << 16
MOST_POSITIONS = 1 << 20
MOST_OF_A_COUNT = 10**12


class Settings(BaseModel):
    """A table of a config file: no unknown keys, no silent conversions, no changes afterwards."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, validate_default=True)


def setting(default: Any = ..., description: str = "", *, may_change: bool = False, **limits: Any) -> Any:
    """A field with its comment; ``may_change`` marks what ``--resume`` accepts with another value.

    A required field (no default) gives ``examples=[...]`` for the file that ``regard init`` writes.
    """
    return Field(default, description=description, json_schema_extra={"may_change": may_change}, **limits)


def may_change(field: FieldInfo) -> bool:
    """Whether a resumed run accepts another value of this field."""
    extra = field.json_schema_extra
    return isinstance(extra, dict) and extra.get("may_change") is True


def validate(cls: type[S], values: Mapping[str, Any], *, where: str = "") -> S:
    """The settings, or a ConfigError with a line for every key that is wrong."""
    try:
        return cls.model_validate(dict(values))
    except ValidationError as error:
        prefix = f"{where}: " if where else ""
        details = [dict(one) for one in error.errors(include_url=False)]
        lines = (prefix + explain(cls, one) for one in details if not _follows(one, details))
        raise ConfigError("\n".join(dict.fromkeys(lines))) from None


def override(values: Mapping[str, Any], assignments: Iterable[str]) -> dict[str, Any]:
    """``values`` with each ``a.b=c`` put in; c is read as TOML, and as plain text where it is not TOML.

    >>> override({"training": {"seed": 1}}, ["training.seed=7", "model.attention=dot"])
    {'training': {'seed': 7}, 'model': {'attention': 'dot'}}
    """
    result: dict[str, Any] = _copy(values)
    for assignment in assignments:
        key, equals, raw = assignment.partition("=")
        if not equals or not key.strip():
            raise ConfigError(f"--set takes key=value, such as training.seed=7; got {assignment!r}.")
        _put(result, key.strip().split("."), _parse_value(raw.strip()), assignment)
    return result


def differences(old: BaseModel, new: BaseModel) -> Iterator[tuple[str, Any, Any, bool]]:
    """Each key whose value differs: (key, old, new, whether a resumed run accepts it)."""
    for (key, before, fixed), (other, after, _) in _align(list(_leaves(old)), list(_leaves(new))):
        if before != after:
            yield key or other, before, after, not fixed


def _align(old: list[Any], new: list[Any]) -> Iterator[tuple[Any, Any]]:
    """Pair the leaves by key; a key on one side only meets an absent value."""
    left, right = {leaf[0]: leaf for leaf in old}, {leaf[0]: leaf for leaf in new}
    for key in dict.fromkeys([*left, *right]):
        absent = (key, None, True)
        yield left.get(key, absent), right.get(key, absent)


def _leaves(settings: BaseModel, prefix: str = "") -> Iterator[tuple[str, Any, bool]]:
    """(dotted key, value, whether it is fixed for the run) of every plain value."""
    for name, field in type(settings).model_fields.items():
        value = getattr(settings, name)
        if isinstance(value, BaseModel):
            yield from _leaves(value, f"{prefix}{name}.")
        elif isinstance(value, tuple | list) and value and all(isinstance(item, BaseModel) for item in value):
            for index, item in enumerate(value):
                yield from _leaves(item, f"{prefix}{name}.{index}.")
        else:
            yield f"{prefix}{name}", value, not may_change(field)


def _copy(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _copy(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_copy(item) for item in value]
    return value


def _parse_value(raw: str) -> Any:
    try:
        parsed = tomllib.loads(f"value = {raw}")
    except (ValueError, RecursionError):  # no TOML, a number of thousands of digits, or nested too deep
        return raw
    return parsed["value"] if len(parsed) == 1 else raw


def _put(values: dict[str, Any], keys: list[str], value: Any, assignment: str) -> None:
    here: Any = values
    for depth, key in enumerate(keys):
        last = depth == len(keys) - 1
        if isinstance(here, list):
            if not key.isdigit() or int(key) >= len(here):
                path = ".".join(keys[:depth])
                raise ConfigError(f"--set {assignment}: {path} has entries 0 to {len(here) - 1}, not {key!r}.")
            if last:
                here[int(key)] = value
            else:
                here = here[int(key)]
        elif isinstance(here, dict):
            if last:
                here[key] = value
            else:
                here = here.setdefault(key, {})
        else:
            raise ConfigError(f"--set {assignment}: {'.'.join(keys[:depth])} is {here!r}, not a table.")


def _follows(error: dict[str, Any], others: list[dict[str, Any]]) -> bool:
    """Whether a list is called too short only because its entries are wrong, which is said of the entries."""
    loc = error["loc"]
    return error["type"] == "too_short" and any(o["loc"][: len(loc)] == loc and o is not error for o in others)


def explain(
    cls: type[BaseModel], error: dict[str, Any], *, what: str = "setting", shown: Callable[[Any], str] = repr
) -> str:
    """One sentence for one of pydantic's errors: the key, what came (as ``shown`` writes it), what is allowed.

    >>> class Search(Settings):
    ...     beam: int = setting(5, le=10)
    >>> explain(Search, {"type": "extra_forbidden", "loc": ("bean",), "input": 3}, what="field")
    "there is no field bean; choose from beam. Did you mean 'beam'?"
    """
    key, siblings = _locate(cls, error["loc"])
    kind, came = error["type"], error.get("input")
    if kind == "extra_forbidden":
        name = key.rpartition(".")[2]
        choices = f"; choose from {', '.join(siblings)}" if siblings else ""
        return f"there is no {what} {key}{choices}.{did_you_mean(name, siblings)}"
    if kind == "union_tag_not_found":
        kind, key = "missing", _tagged(key, error)
    if kind == "missing":
        return f"{key} is missing; give it a value."
    if kind == "too_short":
        return f"{key} is empty; give it at least one entry."
    message = str(error["msg"])
    if kind == "value_error":  # a check of the settings' own, which says what came and what is allowed
        message = message.removeprefix("Value error, ")
        return (f"{key}: " if key else "") + message + ("" if message.endswith((".", "?")) else ".")
    if kind == "union_tag_invalid":
        key = _tagged(key, error)
        came, message = error["ctx"]["tag"], f"Input should be {error['ctx']['expected_tags']}"
        error["ctx"]["expected"] = error["ctx"]["expected_tags"]
    allowed = re.sub("^[A-Z][a-z]+ should", "it should", message)
    expected = error.get("ctx", {}).get("expected", "")
    options = [option.strip(" '") for option in str(expected).replace(" or ", ",").split(",")]
    hint = did_you_mean(came, options) if isinstance(came, str) else ""
    text = shown(came)
    short = text if len(text) <= 80 else text[:77] + "..."
    return f"{key + ' = ' if key else ''}{short} cannot be used: {allowed}.{hint}"


def _tagged(key: str, error: dict[str, Any]) -> str:
    """The key of the field that says which member of a union a table is."""
    field = str(error["ctx"]["discriminator"]).strip("'")
    return f"{key}.{field}" if key else field


def _locate(cls: type[BaseModel], location: tuple[int | str, ...]) -> tuple[str, list[str]]:
    """The dotted key of an error, and the names there are beside it.

    pydantic puts the tag of a union's member into the location; it is no key of the file, so it is left out.
    """
    here: list[type[BaseModel]] = _models(cls.model_fields["root"].annotation) if issubclass(cls, RootModel) else [cls]
    key = []
    for depth, element in enumerate(location):
        last = depth == len(location) - 1
        if len(here) > 1 and not last and (tagged := [c for c in here if element in _tags(c)]):
            here = tagged
            continue
        field = next((named[element] for named in map(_fields, here) if element in named), None)
        if field is None and not last and isinstance(element, str):
            continue
        key.append(str(element))
        if last:
            break
        if field is not None:
            here = _models(field.annotation)
    names = dict.fromkeys(name for c in here for name in _fields(c))
    return ".".join(key), list(names)


def _fields(cls: type[BaseModel]) -> dict[Any, FieldInfo]:
    """The fields by the names they have in a file or a request."""
    return {field.alias or name: field for name, field in cls.model_fields.items()}


def _tags(cls: type[BaseModel]) -> set[Any]:
    literals = (f.annotation for f in cls.model_fields.values() if get_origin(f.annotation) is Literal)
    return {tag for literal in literals for tag in get_args(literal)}


def _models(annotation: Any) -> list[type[BaseModel]]:
    """The settings classes inside an annotation such as ``tuple[CorpusConfig, ...]`` or ``A | B``."""
    if isinstance(annotation, type) and get_origin(annotation) is None:
        return [annotation] if issubclass(annotation, BaseModel) else []
    return [model for argument in get_args(annotation) for model in _models(argument)]
