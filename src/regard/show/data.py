"""Results as the data that the page's modules show: {"kind": "map" | "photo" | "steps", ...}."""

from __future__ import annotations

import base64
import io
import math
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np

from regard.errors import DtypeError, InputError
from regard.show.formatting import as_table
from regard.show.provenance import Provenance, Table, interleaved, tables_of

if TYPE_CHECKING:
    from PIL.Image import Image

    from regard.attention import Attended
    from regard.translation.results import Alignment, Translation
    from regard.translation.watched import Watched

MOST_NUMBERS = 5000  # of a table
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


def parts_of(result: Any, *, needed: bool = False) -> list[Data]:
    """What is shown of a result, one part under the other; with what each word ``needed``, where it can say that."""
    from regard.attention import Attended
    from regard.translation.results import weights_to_draw

    if isinstance(result, Attended):
        return attended_data(result)
    if hasattr(result, "part"):
        return [result.part()]
    if hasattr(result, "translation"):
        weights_to_draw(result.translation)
        return [watched_data(result, needed=needed)]
    if hasattr(result, "target_words"):
        return [map_data(result) | _needed(result, needed)]
    if hasattr(result, "photo"):
        return [photo_data(result, needed=needed)]
    raise DtypeError(
        f"a {type(result).__name__} cannot be shown; give an Attended, a Translation, an Alignment or a Caption, "
        "or what Translator.watch() gave"
    )


def map_data(result: Translation | Alignment) -> Data:
    """Where each word of a translation looked."""
    from regard.translation.results import weights_to_draw

    text, source = getattr(result, "text", None), getattr(result, "source", None)
    return {
        "kind": "map",
        "rows": result.target_words,
        "columns": result.source_words,
        "weights": numbers(weights_to_draw(result)),
        "text": " ".join(result.target_words) if text is None else text,
        "source": " ".join(result.source_words) if source is None else source,
    }


def watched_data(watched: Watched, *, needed: bool = False) -> Data:
    """A translation and its making; weights null, scores and weights of the steps empty, where there are none."""
    found, steps = watched.translation, watched.steps
    has_scores = bool(steps) and steps[0].scores is not None
    return {
        "kind": "map",
        "rows": found.target_words,
        "columns": found.source_words,
        "weights": None if found.weights is None else numbers(found.weights),
        "scores": [numbers(step.scores) for step in steps] if has_scores else None,
        "text": found.text,
        "source": found.source,
        "score": numbers(found.score),
        "heads": [{"name": name, "weights": numbers(table)} for name, table in watched.heads.items()] or None,
        "steps": [
            {
                "word": step.word,
                "scores": [] if step.scores is None else numbers(step.scores),
                "weights": [] if step.weights is None else numbers(step.weights),
                "context": numbers(step.context[:CONTEXT]),
                "context_size": len(step.context),
            }
            for step in steps
        ],
        "pieces": {
            "rows": watched.pieces.target,
            "columns": watched.pieces.source,
            "weights": None if watched.pieces.weights is None else numbers(watched.pieces.weights),
        },
    } | _needed(found, needed)


def photo_data(caption: Captioned, *, needed: bool = False) -> Data:
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
    } | _needed(caption, needed)


def _needed(result: Any, wanted: bool) -> Data:
    """What each word needed, in nats, where it is ``wanted``."""
    return {"needed": numbers(result.needed())} if wanted else {}


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
    shown = tables_of(step for step in attended.steps() if np.prod(step.value.shape) <= MOST_NUMBERS)
    provenance = Provenance(shown)
    tables = [_table(table, provenance) for table in shown]
    parts: list[Data] = [{"kind": "steps", "tables": tables}] if tables else []
    weights = as_table(attended.weights, "weights")
    if len(weights) > 1 or not tables:
        rows, columns = (
            [f"{name} {n}" for n in range(1, size + 1)]
            for name, size in zip(("query", "key"), weights.shape, strict=True)
        )
        parts.append({"kind": "map", "rows": rows, "columns": columns, "weights": numbers(weights)})
    return parts


def _table(table: Table, provenance: Provenance) -> Data:
    step = table.step
    written: Data = {
        "id": table.id,
        "name": table.id,
        "formula": step.formula,
        "axes": list(table.axes),
        "made_from": list(step.made_from),
        "values": numbers(table.numbers, spelled=True),
    }
    origins = provenance.origins(table)
    if origins is not None:
        written["from"] = [[[list(cell) for cell in interleaved(behind)] for behind in row] for row in origins]
        if sums := provenance.sums(table, origins):
            written["why"] = sums
    return written


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
