"""Drawn scenes whose captions and places are known, so that attention can be scored.

One or two coloured shapes on a grey ground: "a red circle", "a red circle left of a blue square". Each scene follows
from the seed and its number alone.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from PIL import Image

from regard.errors import InputError, ShapeError
from regard.files import write_text

COLOURS = {
    "red": (220, 40, 40),
    "green": (40, 160, 60),
    "blue": (50, 80, 220),
    "yellow": (235, 210, 50),
    "purple": (150, 60, 180),
    "orange": (240, 140, 30),
}
SHAPES = ("circle", "square", "triangle", "cross")
SIDE = 64  # pixels
_RADII = (12.0, 15.0)  # half a shape's width, in pixels
_FINE = 4  # points a pixel each way, whose mean smooths the edges
_LONE = 0.2  # share of scenes with one shape
_OPPOSITE = {"left of": "right of", "right of": "left of", "above": "below", "below": "above"}


class Thing(NamedTuple):
    """A shape, and where it is: left, top, right, bottom, as shares of the picture's width and height."""

    color: str
    shape: str
    box: tuple[float, float, float, float]


class Scene(NamedTuple):
    """A picture (SIDE, SIDE, 3), all captions that are right, and what is in it."""

    picture: NDArray[np.uint8]
    captions: tuple[str, ...]
    things: tuple[Thing, ...]


class _Place(NamedTuple):
    """The middle and half the width of a shape, in pixels."""

    x: float
    y: float
    radius: float

    @property
    def box(self) -> tuple[float, float, float, float]:
        x, y, r = self
        left, top, right, bottom = (round(edge / SIDE, 4) for edge in (x - r, y - r, x + r, y + r))
        return left, top, right, bottom


def make_scene(generator: np.random.Generator) -> Scene:
    """A scene drawn from the generator.

    >>> make_scene(np.random.default_rng(1)).captions
    ('a red triangle above a blue square', 'a blue square below a red triangle')
    """
    picture = generator.uniform(90, 170) + generator.normal(0, 6, (SIDE, SIDE, 3))
    if generator.random() < _LONE:
        kinds = _kinds(generator)[:1]
        places = [_place(generator)]
        captions: tuple[str, ...] = (_named(kinds[0]),)
    else:
        kinds = _kinds(generator)
        relation, places = _related_places(generator)
        first, second = map(_named, kinds)
        captions = f"{first} {relation} {second}", f"{second} {_OPPOSITE[relation]} {first}"
    for kind, place in zip(kinds, places, strict=True):
        _draw(picture, kind, place, generator)
    things = tuple(Thing(*kind, place.box) for kind, place in zip(kinds, places, strict=True))
    return Scene(np.rint(picture).clip(0, 255).astype(np.uint8), captions, things)


def write_scenes(folder: str | os.PathLike[str], count: int, seed: int = 0) -> Path:
    """Write ``count`` scenes as PNG files, and a ``captions.jsonl`` (its path is returned) with their boxes."""
    if count < 1:
        raise InputError(f"the number of scenes must be at least 1; got {count}")
    if seed < 0:
        raise InputError(f"the seed must be at least 0; got {seed}")
    folder = Path(folder)
    (folder / "images").mkdir(parents=True, exist_ok=True)
    lines = []
    for number in range(count):
        scene = make_scene(np.random.default_rng([seed, number]))
        name = f"images/{number:06d}.png"
        Image.fromarray(scene.picture).save(folder / name)
        things = [{"color": t.color, "shape": t.shape, "box": t.box} for t in scene.things]
        lines.append(json.dumps({"image": name, "captions": scene.captions, "things": things}) + "\n")
    write_text(folder / "captions.jsonl", "".join(lines))
    return folder / "captions.jsonl"


def read_things(path: str | os.PathLike[str]) -> list[tuple[Thing, ...]]:
    """What is in each scene of a ``captions.jsonl`` that :func:`write_scenes` wrote, line for line."""
    rows = [json.loads(line) for line in Path(path).read_text(encoding="utf-8").splitlines()]
    return [tuple(Thing(t["color"], t["shape"], tuple(t["box"])) for t in row["things"]) for row in rows]


def peak_share(
    words: Sequence[Sequence[str]], weights: Sequence[ArrayLike], things: Sequence[Sequence[Thing]]
) -> float:
    """The share of shape words whose attention is highest on the shape that they name.

    Of each scene: the caption's ``words``, their ``weights`` (words, rows, columns), and its ``things``. The middle of
    the cell with the highest weight must lie in the box of the thing with that colour and shape; where the scene has no
    such thing, the word counts as missed.

    >>> here = [[[0.9, 0.1], [0.0, 0.0]]]  # one word on a grid of 2 x 2: it looks at the upper left
    >>> peak_share([["circle"]], [here], [[Thing("red", "circle", (0.1, 0.2, 0.4, 0.5))]])
    1.0
    """
    hits = [hit for scene in zip(words, weights, things, strict=True) for hit in _hits(*scene)]
    if not hits:
        raise InputError(f"no caption names a shape ({', '.join(SHAPES)}), so there is no attention to score")
    return sum(hits) / len(hits)


def _hits(words: Sequence[str], weights: ArrayLike, things: Sequence[Thing]) -> list[bool]:
    """For each shape word of one caption, whether its highest weight is on what it names."""
    maps = np.asarray(weights)
    if maps.ndim != 3 or len(maps) != len(words):
        raise ShapeError(f"{len(words)} words need weights ({len(words)}, rows, columns); got shape {maps.shape}")
    hits = []
    for number, word in enumerate(words):
        if word not in SHAPES:
            continue
        before = words[number - 1] if number else ""
        named = [t for t in things if t.shape == word and (before not in COLOURS or t.color == before)]
        row, column = np.unravel_index(int(maps[number].argmax()), maps.shape[1:])
        x, y = (column + 0.5) / maps.shape[2], (row + 0.5) / maps.shape[1]
        hits.append(
            any(left <= x <= right and top <= y <= bottom for left, top, right, bottom in (t.box for t in named))
        )
    return hits


def _kinds(generator: np.random.Generator) -> list[tuple[str, str]]:
    """The colours and shapes of two things that are not alike."""
    colours = list(COLOURS)
    numbers = generator.choice(len(colours) * len(SHAPES), 2, replace=False)
    return [(colours[n // len(SHAPES)], SHAPES[n % len(SHAPES)]) for n in numbers.tolist()]


def _named(kind: tuple[str, str]) -> str:
    color, shape = kind
    return f"{'an' if color[0] in 'aeiou' else 'a'} {color} {shape}"


def _place(generator: np.random.Generator) -> _Place:
    radius = float(generator.uniform(*_RADII))
    x, y = generator.uniform(radius, SIDE - radius, 2).tolist()
    return _Place(x, y, radius)


def _related_places(generator: np.random.Generator) -> tuple[str, list[_Place]]:
    """Two places, and how the first lies to the second: clearly so, with nothing of one beside the other."""
    while True:
        first, second = _place(generator), _place(generator)
        across, down = second.x - first.x, second.y - first.y
        apart = first.radius + second.radius + 1
        if abs(across) >= max(apart, 2 * abs(down)):
            return ("left of" if across > 0 else "right of"), [first, second]
        if abs(down) >= max(apart, 2 * abs(across)):
            return ("above" if down > 0 else "below"), [first, second]


def _draw(picture: NDArray[np.float64], kind: tuple[str, str], place: _Place, generator: np.random.Generator) -> None:
    """Lay a shape on the picture; each pixel takes the colour by the share of it that the shape covers."""
    color, shape = kind
    points = (np.arange(SIDE * _FINE) + 0.5) / _FINE
    across, down = (points - place.x) / place.radius, (points[:, None] - place.y) / place.radius
    for _ in range(generator.integers(4)):  # quarter turns: no side of a thing tells its shape more than the others
        across, down = down, -across
    inside = _inside(shape, across, down)
    cover = inside.reshape(SIDE, _FINE, SIDE, _FINE).mean((1, 3))[..., None]
    paint = np.array(COLOURS[color]) * generator.uniform(0.85, 1.1)
    picture += cover * (paint - picture)


def _inside(shape: str, x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Where the points are in the shape; it reaches from -1 to 1 both ways."""
    if shape == "circle":
        return x**2 + y**2 <= 1
    if shape == "square":
        return np.maximum(abs(x), abs(y)) <= 1
    if shape == "triangle":
        return (abs(x) <= (y + 1) / 2) & (y <= 1)
    bar = 0.35
    return np.maximum(abs(x), abs(y)) <= np.where(np.minimum(abs(x), abs(y)) <= bar, 1.0, 0.0)
