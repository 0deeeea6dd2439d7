"""What the page sends to be written as a file of its own, checked."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, model_validator

from regard.explorer.limits import Refused
from regard.show.html import document

Number = Annotated[float, Field(allow_inf_nan=False)]
Label = Annotated[str, Field(max_length=200)]
Labels = Annotated[list[Label], Field(min_length=1, max_length=1000)]
Rows = list[list[Number]]
Text = Annotated[str, Field(max_length=20_000)]

Origin = Annotated[tuple[Label, int, int], Field(strict=False)]
"""a table, a row and a column; strictly a tuple would be no JSON list"""


class _Data(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")


class Head(_Data):
    """The map of one head."""

    name: Label
    weights: Rows


class Look(_Data):
    """One step of the decoder."""

    word: Label
    scores: list[Number | None]
    weights: list[Number]
    context: list[Number]
    context_size: int = 0


class MapData(_Data):
    """Where each row looked among the columns; no weights for a model without attention."""

    kind: Literal["map"]
    title: Text = ""
    rows: Labels
    columns: Labels
    weights: Rows | None
    scores: list[list[Number | None]] | None = None
    text: Text = ""
    source: Text = ""
    score: Number | None = None
    heads: list[Head] | None = None
    steps: list[Look] | None = None

    @model_validator(mode="after")
    def _fits(self) -> Self:
        wanted = [len(self.columns)] * len(self.rows)
        for name, table in self._tables():
            if table is not None and [len(row) for row in table] != wanted:
                raise ValueError(f"{name} must have {len(self.rows)} rows of {len(self.columns)} numbers")
        return self

    def _tables(self) -> list[tuple[str, Any]]:
        tables: list[tuple[str, Any]] = [("weights", self.weights), ("scores", self.scores)]
        return tables + [(head.name, head.weights) for head in self.heads or []]


class PhotoData(_Data):
    """Where each word looked in a photograph."""

    kind: Literal["photo"]
    title: Text = ""
    image: Annotated[str, Field(pattern=r"^data:image/(png|jpeg|webp);base64,[A-Za-z0-9+/]+={0,2}$")]
    words: Labels
    weights: list[Rows]
    hard: bool = False
    text: Text = ""
    score: Number | None = None

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if len(self.weights) != len(self.words):
            raise ValueError(f"there are {len(self.words)} words, but weights for {len(self.weights)}")
        shapes = {(len(grid), *(len(row) for row in grid)) for grid in self.weights}
        rows, *columns = shapes.pop()
        if shapes or not rows or len(set(columns)) != 1 or not columns[0]:
            raise ValueError("the weights of every word must be one grid, of the same rows and columns for all")
        return self


class Table(_Data):
    """One table of numbers, with what each came from."""

    id: Label
    name: Label
    formula: Text | None = None
    note: Text | None = None
    rows: Labels | None = None
    columns: Labels | None = None
    values: Annotated[list[list[Number | None]], Field(min_length=1)]
    origin: list[list[list[Origin] | None]] | None = Field(None, alias="from")
    why: list[list[Text | None]] | None = None


class StepsData(_Data):
    """Tables of numbers."""

    kind: Literal["steps"]
    title: Text = ""
    tables: Annotated[list[Table], Field(min_length=1, max_length=500)]


class SeveralData(_Data):
    """Some of these side by side."""

    kind: Literal["several"]
    title: Text = ""
    parts: Annotated[list[_One], Field(min_length=1, max_length=24)]


_One = Annotated[MapData | PhotoData | StepsData, Field(discriminator="kind")]
SeveralData.model_rebuild()
_ANY: TypeAdapter[MapData | PhotoData | StepsData | SeveralData] = TypeAdapter(
    Annotated[MapData | PhotoData | StepsData | SeveralData, Field(discriminator="kind")]
)


def exported(given: dict[str, Any]) -> tuple[str, str]:
    """A file's name and its HTML."""
    try:
        data = _ANY.validate_python(given)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"]))
        raise Refused(422, f"this cannot be exported: {place + ': ' if place else ''}{first['msg']}"[:500]) from None
    shown = data.model_dump(by_alias=True, exclude_none=True)
    title = shown.pop("title")  # it is the page's heading then
    return f"regard-{data.kind}.html", document([shown], title=title)
