"""Results as the data that the page's modules show: {"kind": "map" | "photo" | "steps", ...}."""

from __future__ import annotations

import base64
import io
import math
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np

from regard.errors import DtypeError, InputError
from regard.normalizers import NORMALIZERS
from regard.show.cells import as_table, one_by_one

if TYPE_CHECKING:
    from PIL.Image import Image

    from regard.attention import Attended
    from regard.translation.results import Alignment, Translation
    from regard.translation.watched import Watched

MOST_NUMBERS = 5000  # of a table
MOST_LINKS = 20_000  # between the numbers of tables
LONGEST_SIDE = 640  # pixels of a photograph that is shown; beyond it a file only grows
CONTEXT = 64  # numbers of a decoder's context that are shown

Data: TypeAlias = dict[str, Any]


class Captioned(Protocol):
    """What is shown of a caption."""

    @property
    def text(self) -> str: ...
    @property
    def words(self) -> list[str]: ...
    @property
    def weights(self) -> Any: ...
    @property
    def hard(self) -> bool: ...
    @property
    def photo(self) -> Image: ...
    @property
    def score(self) -> float: ...


def parts_of(result: Any) -> list[Data]:
    """What is shown of a result, one part under the other."""
    from regard.attention import Attended
    from regard.translation.results import drawn

    if isinstance(result, Attended):
        return attended_data(result)
    if hasattr(result, "looks"):
        drawn(result.translation)
        return [watched_data(result)]
    if hasattr(result, "target_words"):
        return [map_data(result)]
    if hasattr(result, "photo"):
        return [photo_data(result)]
    raise DtypeError(
        f"a {type(result).__name__} cannot be shown; give an Attended, a Translation, an Alignment or a Caption, "
        "or what Translator.watch() gave"
    )


def map_data(result: Translation | Alignment) -> Data:
    """Where each word of a translation looked."""
    from regard.translation.results import drawn

    text, source = getattr(result, "text", None), getattr(result, "source", None)
    return {
        "kind": "map",
        "rows": result.target_words,
        "columns": result.source_words,
        "weights": numbers(drawn(result)),
        "text": " ".join(result.target_words) if text is None else text,
        "source": " ".join(result.source_words) if source is None else source,
    }


def watched_data(watched: Watched) -> Data:
    """A translation and its making; weights null, scores and weights of the steps empty, where there are none."""
    found, looks = watched.translation, watched.looks
    has_scores = bool(looks) and looks[0].scores is not None
    return {
        "kind": "map",
        "rows": found.target_words,
        "columns": found.source_words,
        "weights": None if found.weights is None else numbers(found.weights),
        "scores": [numbers(look.scores) for look in looks] if has_scores else None,
        "text": found.text,
        "source": found.source,
        "score": numbers(found.score),
        "heads": [{"name": name, "weights": numbers(table)} for name, table in watched.heads.items()] or None,
        "steps": [
            {
                "word": look.word,
                "scores": [] if look.scores is None else numbers(look.scores),
                "weights": [] if look.weights is None else numbers(look.weights),
                "context": numbers(look.context[:CONTEXT]),
                "context_size": len(look.context),
            }
            for look in looks
        ],
    }


def photo_data(caption: Captioned) -> Data:
    """Where each word of a caption looked."""
    if not caption.words:
        raise InputError("there are no words to draw")
    return {
        "kind": "photo",
        "image": data_url(caption.photo),
        "words": list(caption.words),
        "weights": numbers(np.asarray(caption.weights, dtype=float)),
        "hard": caption.hard,
        "text": caption.text,
        "score": numbers(caption.score),
    }


def data_url(picture: Image, longest_side: int = LONGEST_SIDE) -> str:
    """A picture as an address that holds all of it."""
    shown = picture.convert("RGB")
    shown.thumbnail((longest_side, longest_side))
    written = io.BytesIO()
    shown.save(written, "JPEG", quality=85)
    return f"data:image/jpeg;base64,{base64.b64encode(written.getvalue()).decode()}"


def attended_data(attended: Attended) -> list[Data]:
    """Every intermediate as a table whose numbers point to those they came from; for several queries also the map.

    Tables too large to be read number by number are left to the map.
    """
    shown = one_by_one(step for step in attended.steps() if np.prod(step.value.shape) <= MOST_NUMBERS)
    tables = [
        {
            "id": step.name,
            "name": step.name,
            "formula": step.formula,
            "values": numbers(as_table(step.value, step.name), spelled=True),
        }
        for step in shown
    ]
    for table, before in zip(tables, [None, *tables], strict=False):
        if origins := _origins(table, before, {known["id"]: known for known in tables}):
            table["from"] = origins
    parts: list[Data] = [{"kind": "steps", "tables": tables}] if tables else []
    weights = as_table(attended.weights, "weights")
    if len(weights) > 1 or not tables:
        rows, columns = (
            [f"{name} {n}" for n in range(1, size + 1)]
            for name, size in zip(("query", "key"), weights.shape, strict=True)
        )
        parts.append({"kind": "map", "rows": rows, "columns": columns, "weights": numbers(weights)})
    return parts


def _origins(table: Data, before: Data | None, by_id: dict[str, Data]) -> list[list[list[list[Any]]]] | None:
    """For each number the [table, row, column] of those it was computed from, where the step is one of attend's own."""
    values = table["values"]
    reach = max(len(known["values"][0]) for known in by_id.values())
    if before is None or len(values) * len(values[0]) * reach > MOST_LINKS:
        return None
    links = [[_origin(table, i, j, before, by_id) for j in range(len(row))] for i, row in enumerate(values)]
    return links if links[0][0] else None


def _origin(table: Data, i: int, j: int, before: Data, by_id: dict[str, Data]) -> list[list[Any]]:
    name, rule = table["id"], table["formula"].partition("(")[0]
    if name == "scores" and before["id"] == "values" and "query" in by_id and "keys" in by_id:
        width = len(by_id["query"]["values"][0])
        return [[part, row, n] for n in range(width) for part, row in (("query", i), ("keys", j))]
    if name in ("scaled", "biased", "masked"):
        return [[before["id"], i, j]]
    if name == "weights" and rule in NORMALIZERS:
        return [[before["id"], i, n] for n in range(len(table["values"][0]))]
    if name.startswith("weighted values"):
        query = int(name.rpartition(" ")[2]) - 1 if name[-1].isdigit() else 0
        return [["weights", query, i], ["values", i, j]]
    if name == "context":
        part = by_id.get("weighted values") or by_id.get(f"weighted values of query {i + 1}")
        return [[part["id"], n, j] for n in range(len(part["values"]))] if part else []
    return []


def numbers(array: Any, *, spelled: bool = False) -> Any:
    """Nested lists of an array, six digits each; null for what JSON cannot say, or infinity ``spelled`` out.

    >>> numbers(np.array([[1 / 3, -np.inf]])), numbers(np.array([-np.inf]), spelled=True)
    ([[0.333333, None]], ['-Infinity'])
    """
    if isinstance(array, np.ndarray):
        array = array.tolist()
    if isinstance(array, list):
        return [numbers(item, spelled=spelled) for item in array]
    if math.isfinite(array):
        return float(f"{array:.6g}")
    return ("Infinity" if array > 0 else "-Infinity") if spelled and not math.isnan(array) else None
