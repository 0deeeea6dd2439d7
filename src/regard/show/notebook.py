"""Results in notebooks: as plain tables wherever HTML is shown, and as a widget with the modules of ``viewer/``."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from regard.errors import RegardError
from regard.show.colours import colours_of, hexadecimal, ink_on, signed_shades
from regard.show.data import Data, data_url, parts_of
from regard.show.formatting import short
from regard.show.html import bundle
from regard.show.map_figures import scale_top

if TYPE_CHECKING:
    from PIL.Image import Image

MOST = 40  # rows, columns, words or tables that are written out; the rest is counted
THUMBNAIL = 112

_RENDER = """export default {
  render({ model, el }) {
    const mounted = model.get("parts").map((part) => mount(el, part));
    return () => mounted.forEach((one) => one.destroy());
  },
};
"""


def repr_html(result: Any) -> str:
    """A result as static HTML, every word in it escaped: it needs no script, and reads as a table without styles.

    >>> repr_html(regard.attend([1, 0], [[1, 0], [0, 1]], score="dot")).count("<strong>")
    7
    """
    try:
        parts = parts_of(result)
    except RegardError as error:  # a result that cannot be drawn is still one
        return f"<p>{escape(repr(result)[:2000])}</p>\n<p>{escape(str(error))}</p>\n"
    if parts[0]["kind"] == "steps" and any(table["id"] == "weights" for table in parts[0]["tables"]):
        parts = parts[:1]  # the map would say the same once more
    return "".join(_shown(part, result) for part in parts)


def widget(result: Any) -> Any:
    """What ``regard.show.widget`` gives."""
    try:
        import anywidget
        import traitlets
    except ImportError:
        raise RegardError("widgets need anywidget: pip install 'regard[notebook]'") from None

    class AttentionWidget(anywidget.AnyWidget):
        _esm = bundle().script + _RENDER
        _css = bundle().style
        parts: Any = traitlets.List().tag(sync=True)

    return AttentionWidget(parts=parts_of(result))


def _shown(part: Data, result: Any) -> str:
    if part["kind"] == "photo":
        return _photo(part, result.photo)
    return _map(part) if part["kind"] == "map" else _steps(part)


def _map(part: Data) -> str:
    title = f"<p>{escape(part['source'])}<br><strong>{escape(part['text'])}</strong></p>\n" if part.get("text") else ""
    return title + _table(part["weights"], part["rows"], part["columns"])


def _steps(part: Data) -> str:
    tables = part["tables"]
    written = [
        f'<td style="vertical-align:top;text-align:left"><strong>{escape(table["name"])}</strong> '
        f"{escape(table['formula'])}<br>\n{_table(table['values'])}</td>"
        for table in tables[:MOST]
    ]
    return _side_by_side(written, 4) + _more(len(tables), "tables")


def _side_by_side(cells: Sequence[str], across: int) -> str:
    """A table around them: it holds where styles are taken away."""
    rows = (f"<tr>{''.join(cells[at : at + across])}</tr>\n" for at in range(0, len(cells), across))
    return f"<table>{''.join(rows)}</table>\n"


def _photo(part: Data, photo: Image) -> str:
    words = part["words"]
    seen = []
    for word, grid in zip(words[:MOST], part["weights"], strict=False):
        image = f'<img src="{data_url(_lit(photo, grid), THUMBNAIL)}" alt="">'
        seen.append(f'<td style="text-align:center">{image}<br>{escape(word)}</td>')
    alt = escape(f"the photograph: {part['text']}", quote=True)
    return (
        f'<p><img src="{part["image"]}" alt="{alt}" width="320"><br><strong>{escape(part["text"])}</strong></p>\n'
        f"{_side_by_side(seen, 6)}{_more(len(words), 'words')}"
    )


def _lit(photo: Image, grid: Sequence[Sequence[float]]) -> Image:
    """The photograph, darkened where the model did not look, as in the figures."""
    from PIL import Image

    from regard.show.photo_figures import lit, smooth_light

    small = photo.convert("RGB")
    small.thumbnail((THUMBNAIL, THUMBNAIL))
    return Image.fromarray(lit(small, smooth_light(np.asarray(grid), small.size)))


def _table(
    values: Sequence[Sequence[float | str | None]], rows: Sequence[str] = (), columns: Sequence[str] = ()
) -> str:
    table = np.array(values, dtype=float)  # None becomes NaN, "-Infinity" infinite
    colours = colours_of(table / scale_top(table) if rows else signed_shades(table))  # names of rows make it a map
    inks = ink_on(colours)
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in columns[:MOST])
    body = []
    for i, row in enumerate(table[:MOST]):
        name = f'<th scope="row">{escape(rows[i])}</th>' if rows else ""
        cells = (_cell(number, colours[i, j], inks[i, j]) for j, number in enumerate(row[:MOST]))
        body.append(f"<tr>{name}{''.join(cells)}</tr>\n")
    top = f"<thead><tr><td></td>{head}</tr></thead>\n" if head else ""
    left_out = _more(len(table), "rows") + _more(table.shape[1], "columns")
    return f"<table>{top}<tbody>{''.join(body)}</tbody></table>\n{left_out}"


def _cell(number: float, colour: np.ndarray, ink: str) -> str:
    style = f"background:{hexadecimal(colour)};color:{ink};text-align:right;padding:2px 6px"
    return f'<td style="{style}">{short(number)}</td>'


def _more(count: int, what: str) -> str:
    return f"<p>… and {count - MOST} more {what}.</p>\n" if count > MOST else ""
