"""What a call of the API may ask, as pydantic models; whatever else comes is refused with 400, by name."""

from __future__ import annotations

import json
from typing import Annotated, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, field_validator
from starlette.requests import Request

from regard.explorer.limits import JSON_BYTES, LABELS, PROFILE_BINS, TILE_CELLS, Refused, read_body
from regard.settings import explain

R = TypeVar("R", bound=BaseModel)

CHARACTERS, WORDS, BEAM = 2000, 200, 10
CELLS = 4096  # of a photograph that are hidden at a time
ERRORS_SHOWN = 3

ModelName = Annotated[str, Field(max_length=1000)]
Place = Annotated[int, Field(ge=0, le=1 << 40)]
Span = tuple[Place, Place]
Axis = Literal["row", "column"]
HiddenNumber = Annotated[int, Field(ge=0, le=100_000)]


def _cells(text: object) -> object:
    """Cells as an address holds them: "3,4;3,5"."""
    if not isinstance(text, str):
        return text
    cells = [part.split(",") for part in text.split(";") if part]
    if not all(len(cell) == 2 and all(number.isdecimal() and len(number) < 7 for number in cell) for cell in cells):
        raise ValueError('cells are written "row,column" from 0, with a semicolon between two: "3,4;3,5"')
    return [(int(row), int(column)) for row, column in cells]


def _flag(text: object) -> object:
    """A switch as an address holds it."""
    return {"true": True, "false": False}.get(text, text) if isinstance(text, str) else text


Flag = Annotated[bool, BeforeValidator(_flag)]


class TranslateRequest(BaseModel):
    """The body of ``POST /api/translate``."""

    model_config = ConfigDict(strict=True, extra="forbid")

    model: ModelName
    text: str
    beam: Annotated[int, Field(ge=1, le=BEAM)] = 5
    hide: Annotated[list[HiddenNumber], Field(max_length=WORDS)] = []
    """source words by number, from 0"""
    hide_input: bool = False
    needed: bool = False
    """whether the answer says what each word needed too, which takes longer"""

    @field_validator("text")
    @classmethod
    def _short_enough(cls, text: str) -> str:
        return _short(text)


class CaptionRequest(BaseModel):
    """The query of ``POST /api/caption``; the body is the photograph."""

    model_config = ConfigDict(strict=True, extra="forbid")

    model: ModelName
    hide: Annotated[list[tuple[HiddenNumber, HiddenNumber]], BeforeValidator(_cells), Field(max_length=CELLS)] = []
    hide_input: Flag = False
    needed: Flag = False


class MapsRequest(BaseModel):
    """The body of ``POST /api/inspect/maps``: a recording, or a model and the text that it reads."""

    model_config = ConfigDict(strict=True, extra="forbid")

    recording: ModelName
    text: str = ""

    @field_validator("text")
    @classmethod
    def _short_enough(cls, text: str) -> str:
        return _short(text)


class MapRequest(MapsRequest):
    """The body of ``POST /api/inspect/heads``: all heads of one module."""

    map: ModelName


class ThumbnailsRequest(MapRequest):
    """The body of ``POST /api/inspect/thumbnails``."""

    batch: Place = 0
    size: Annotated[int, Field(ge=1, le=64)] = 48


class HeadsRequest(MapRequest):
    """Some heads of one module, whose mean is meant."""

    batch: Place = 0
    heads: Annotated[list[Place], Field(min_length=1, max_length=128)]


class TileRequest(HeadsRequest):
    """The body of ``POST /api/inspect/tile``."""

    rows: Span
    columns: Span
    cell: tuple[Annotated[int, Field(ge=1)], Annotated[int, Field(ge=1)]] = (1, 1)
    by: Literal["max", "mean"] = "max"
    sampled: bool = False
    precise: bool = False
    """float32 instead of float16"""


class ProfileRequest(HeadsRequest):
    """The body of ``POST /api/inspect/profile``."""

    axis: Axis
    place: Place
    span: Span
    bins: Annotated[int, Field(ge=1, le=PROFILE_BINS)] = TILE_CELLS


class LabelsRequest(MapRequest):
    """The body of ``POST /api/inspect/labels``."""

    axis: Axis
    span: Span

    @field_validator("span")
    @classmethod
    def _few(cls, span: tuple[int, int]) -> tuple[int, int]:
        if not 0 < span[1] - span[0] <= LABELS:
            raise ValueError(f"ask for 1 to {LABELS} labels at a time; these are {span[1] - span[0]}")
        return span


class SearchRequest(MapRequest):
    """The body of ``POST /api/inspect/search``."""

    axis: Axis
    find: Annotated[str, Field(min_length=1, max_length=200)]


def _short(text: str) -> str:
    words = len(text.split())
    if len(text) > CHARACTERS or words > WORDS:
        raise ValueError(
            f"the sentence has {words} words and {len(text)} characters; at most {WORDS} words and {CHARACTERS} "
            "characters are translated here. Split it, or use `regard translate`."
        )
    return text


async def read_json(request: Request, limit: int = JSON_BYTES) -> bytes:
    """The body of a request that says it is JSON: a form of a foreign page can send text/plain without asking first."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise Refused(415, f"send application/json; the request is {kind or 'of no type'!r}")
    return await read_body(request, limit)


def from_json(cls: type[R], body: bytes) -> R:
    """The request in a body of JSON."""
    try:
        return cls.model_validate_json(body)
    except ValidationError as error:
        raise _refused(cls, error) from None


def from_query(cls: type[R], request: Request) -> R:
    """The request in the query of an address."""
    try:
        return cls.model_validate(dict(request.query_params))
    except ValidationError as error:
        raise _refused(cls, error) from None


def _refused(cls: type[BaseModel], error: ValidationError) -> Refused:
    found = error.errors(include_url=False)
    if found[0]["type"] == "json_invalid":
        return Refused(400, f"this is not JSON: {found[0]['ctx']['error']}")
    lines = [explain(cls, dict(one), what="field", shown=_as_json) for one in found[:ERRORS_SHOWN]]
    more = [f"{len(found) - ERRORS_SHOWN} more."] if len(found) > ERRORS_SHOWN else []
    return Refused(400, " ".join(lines + more))


def _as_json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
