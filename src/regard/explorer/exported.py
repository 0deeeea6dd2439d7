"""What the page sends to be written as a file of its own, checked."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, RootModel, model_validator

from regard.explorer.requests import CELLS, from_json
from regard.show.html import document

Number = Annotated[float, Field(allow_inf_nan=False)]
Label = Annotated[str, Field(max_length=200)]
Labels = Annotated[list[Label], Field(min_length=1, max_length=1000)]
Rows = list[list[Number]]
Text = Annotated[str, Field(max_length=20_000)]

By = Literal["weights", "needed"]
"""which of two maps is shown: where it looked, what it needed"""
Origin = tuple[Label, int, int]
"""a table, a row and a column"""


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


class Pieces(_Data):
    """What the words of a map were joined from."""

    rows: Labels
    columns: Labels
    weights: Rows | None


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
    pieces: Pieces | None = None
    needed: Rows | None = None
    by: By = "weights"
    hidden: Annotated[list[int], Field(max_length=1000)] | None = None
    """columns that the attention could not see"""

    @model_validator(mode="after")
    def _fits(self) -> Self:
        wanted = [len(self.columns)] * len(self.rows)
        for name, table in self._tables():
            if table is not None and [len(row) for row in table] != wanted:
                raise ValueError(f"{name} must have {len(self.rows)} rows of {len(self.columns)} numbers")
        return self

    def _tables(self) -> list[tuple[str, Any]]:
        tables: list[tuple[str, Any]] = [("weights", self.weights), ("scores", self.scores), ("needed", self.needed)]
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
    needed: list[Rows] | None = None
    by: By = "weights"
    hidden: Annotated[list[tuple[int, int]], Field(max_length=CELLS)] | None = None
    """cells that the attention could not see"""

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if len(self.weights) != len(self.words):
            raise ValueError(f"there are {len(self.words)} words, but weights for {len(self.weights)}")
        if self.needed is not None and len(self.needed) != len(self.words):
            raise ValueError(f"there are {len(self.words)} words, but needed for {len(self.needed)}")
        grids = [*self.weights, *(self.needed or [])]
        shapes = {(len(grid), *(len(row) for row in grid)) for grid in grids}
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
    axes: list[Label] | None = None
    made_from: list[Label] | None = None
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


class ExportRequest(RootModel[Annotated[MapData | PhotoData | StepsData | SeveralData, Field(discriminator="kind")]]):
    """The body of ``POST /api/export``."""


def single_file(body: bytes) -> tuple[str, str]:
    """The name of the file that a request asks for, and its HTML."""
    data = from_json(ExportRequest, body).root
    shown = data.model_dump(by_alias=True, exclude_none=True)
    title = shown.pop("title")  # it is the page's heading then
    return f"regard-{data.kind}.html", document([shown], title=title)
