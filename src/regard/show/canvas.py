"""The sheet every figure is drawn on: inches from the top left corner, written as PNG, SVG or PDF."""

from __future__ import annotations

import os
import tempfile
import threading
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from regard.errors import InputError
from regard.show.colours import Colours
from regard.show.fonts import BASE, families_for

ENDINGS = (".png", ".svg", ".pdf")
POINTS = 72  # to the inch
DOTS = 160  # to the inch, in a PNG
VECTOR_CELLS = 6400  # more than these are drawn as one image, also in SVG and PDF
TEXT, FAINT = "#1b1f24", "#5c6670"

_lock = threading.Lock()  # matplotlib's settings are one for the process


class Sheet:
    """An empty sheet of a size in inches; x runs to the right, y down. What stands out of it is kept."""

    def __init__(self, width: float, height: float, families: Sequence[str] = (BASE,)) -> None:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        self.families = list(families)
        self.figure = Figure(figsize=(width, height), facecolor="white")
        FigureCanvasAgg(self.figure)  # drawn without a display, whatever the caller's pyplot is set to
        self.axes = self.figure.add_axes((0, 0, 1, 1))
        self.axes.set(xlim=(0, width), ylim=(height, 0), autoscale_on=False)
        self.axes.set_axis_off()

    def text(self, x: float, y: float, text: str, size: float, **settings: Any) -> Any:
        """A line of text, every character of it as it is (no formulas in dollars)."""
        settings = {"color": TEXT, "family": self.families, "parse_math": False, **settings}
        return self.axes.text(x, y, text, fontsize=size, **settings)

    def cells(self, colours: Colours, x: float, y: float, cell: tuple[float, float], gap: float = 0.6) -> None:
        """A table of colours with its corner at (x, y); ``gap`` is the white line between cells, in points."""
        rows, columns = colours.shape[:2]
        width, height = cell
        if rows * columns > VECTOR_CELLS:
            extent = (x, x + columns * width, y + rows * height, y)
            self.axes.imshow(colours, extent=extent, aspect="auto", interpolation="auto", interpolation_stage="rgba")
            return
        from matplotlib.collections import PolyCollection

        across, down = x + width * np.arange(columns + 1), y + height * np.arange(rows + 1)
        corners = [
            [(left, top), (right, top), (right, bottom), (left, bottom)]
            for top, bottom in pairwise(down)
            for left, right in pairwise(across)
        ]
        line = gap if min(cell) > 0.1 else 0.0
        edges = "white" if line else colours.reshape(-1, 3)
        filled = PolyCollection(corners, facecolors=colours.reshape(-1, 3), edgecolors=edges, linewidths=line or 0.1)
        filled.set_clip_on(False)  # the scale stands beside the sheet
        self.axes.add_collection(filled, autolim=False)


def width_of(text: str, size: float, families: Sequence[str]) -> float:
    """Inches that a line of text of this size (points) takes."""
    return _points_wide(text, tuple(families)) * size / POINTS


@lru_cache(maxsize=65536)
def _points_wide(text: str, families: tuple[str, ...]) -> float:
    """The width of a text of size 1."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import TextToPath

    measured = TextToPath().get_text_width_height_descent(text, FontProperties(family=list(families), size=100), False)
    return float(measured[0]) / 100


@contextmanager
def drawing(texts: Iterable[str] = ()) -> Iterator[list[str]]:
    """Draw with settings of our own, whatever the caller's are; gives the families that draw the texts."""
    import matplotlib

    settings: Any = {
        "svg.hashsalt": "regard",  # the same picture gives the same file
        "svg.fonttype": "path",  # every script looks the same wherever it is opened
        "pdf.fonttype": 42,
        "text.usetex": False,
        "text.color": TEXT,
        "path.sketch": None,
        "savefig.transparent": False,
        "savefig.facecolor": "auto",
    }
    with _lock, matplotlib.rc_context(settings):
        families = families_for(texts)
        with warnings.catch_warnings():
            # What no font draws was said once, with what to install.
            warnings.filterwarnings("ignore", message=r"Glyph \d+ .* missing from")
            yield families


def checked_path(path: str | os.PathLike[str], endings: Sequence[str] = ENDINGS) -> Path:
    """Refuse an ending that cannot be drawn, or a place that cannot be written, before any work is done."""
    target = Path(path)
    if target.suffix.lower() not in endings:
        raise InputError(f"cannot draw {str(target)!r}: a figure's name ends in {', '.join(endings)}")
    try:
        os.lstat(target)
    except FileNotFoundError:
        pass
    except (OSError, ValueError) as error:  # too long a name, a file among the folders, a zero byte
        raise _cannot_write(target, error) from None
    if target.is_dir():
        raise InputError(f"cannot write {str(target)!r}: it is a folder")
    if not target.parent.is_dir():
        raise InputError(f"cannot write {str(target)!r}: there is no folder {str(target.parent)!r}")
    return target


def save(figure: Any, target: Path) -> Path:
    """Write the figure whole or not at all; the same figure always gives the same bytes."""
    undated: dict[str, Any] = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}.get(target.suffix.lower(), {})
    try:
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=".figure-", suffix=target.suffix)
    except OSError as error:
        raise _cannot_write(target, error) from None
    os.close(handle)
    try:
        figure.savefig(name, dpi=DOTS, bbox_inches="tight", pad_inches=0.12, metadata=undated)
        os.chmod(name, 0o644)
        os.replace(name, target)
    except OSError as error:
        os.unlink(name)
        raise _cannot_write(target, error) from None
    except BaseException:
        os.unlink(name)
        raise
    return target


def _cannot_write(target: Path, error: OSError | ValueError) -> InputError:
    reason = error.strerror if isinstance(error, OSError) else str(error)
    name = str(target) if len(str(target)) < 120 else f"{str(target)[:80]}…{target.suffix}"
    return InputError(f"cannot write {name!r}: {reason}. Choose another name or folder.")
