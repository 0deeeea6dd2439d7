"""Drawn scenes: what the caption says is what is there, and attention is scored by where it is."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from PIL import Image

from regard.captioning.corpus import CaptionCorpus
from regard.captioning.scenes import COLOURS, SHAPES, SIDE, Thing, make_scene, peak_share, read_things, write_scenes
from regard.errors import InputError, ShapeError

SCENES = [make_scene(np.random.default_rng([11, number])) for number in range(200)]
AREAS = {"circle": np.pi / 4, "square": 1.0, "triangle": 0.5, "cross": 2 * 0.35 - 0.35**2}  # shares of the box
CAPTION = re.compile(r"an? (\w+) (\w+)(?: (left of|right of|above|below) an? (\w+) (\w+))?")


def middle(thing):
    left, top, right, bottom = thing.box
    return (left + right) / 2, (top + bottom) / 2


def test_captions_say_what_is_there_and_how_it_lies():
    seen = set()
    for scene in SCENES:
        for caption in scene.captions:
            color, shape, relation, other_color, other_shape = CAPTION.fullmatch(caption).groups()
            first = next(t for t in scene.things if (t.color, t.shape) == (color, shape))
            seen.add(relation)
            if relation is None:
                assert len(scene.things) == 1
                continue
            second = next(t for t in scene.things if (t.color, t.shape) == (other_color, other_shape))
            (x, y), (u, v) = middle(first), middle(second)
            assert {"left of": x < u, "right of": x > u, "above": y < v, "below": y > v}[relation]
            along, beside = (abs(x - u), abs(y - v)) if relation.endswith("of") else (abs(y - v), abs(x - u))
            assert along >= 2 * beside - 1e-3  # never in doubt
    assert seen == {None, "left of", "right of", "above", "below"}
    assert {t.shape for scene in SCENES for t in scene.things} == set(SHAPES)
    assert {t.color for scene in SCENES for t in scene.things} == set(COLOURS)


def test_the_shape_fills_its_box_and_nothing_is_outside():
    for scene in SCENES:
        picture = scene.picture.astype(float)
        coloured = picture.max(-1) - picture.min(-1) > 60  # the ground is grey
        boxed = np.zeros_like(coloured)
        for thing in scene.things:
            left, top, right, bottom = (edge * SIDE for edge in thing.box)
            assert min(left, top) >= -1e-9
            assert max(right, bottom) <= SIDE + 1e-9
            inside = (slice(int(top), int(np.ceil(bottom))), slice(int(left), int(np.ceil(right))))
            boxed[inside] = True
            share = coloured[inside].sum() / ((right - left) * (bottom - top))
            assert share == pytest.approx(AREAS[thing.shape], abs=0.13), thing
        assert not (coloured & ~boxed).any()


def test_the_middle_has_the_colour():
    for scene in SCENES:
        for thing in scene.things:
            x, y = (int(at * SIDE) for at in middle(thing))
            apart = {c: np.abs(scene.picture[y, x] - np.array(rgb)).sum() for c, rgb in COLOURS.items()}
            assert min(apart, key=apart.get) == thing.color


def test_triangles_point_every_way():
    """The middle of what is coloured lies on the side of the base."""
    ways = set()
    for scene in SCENES:
        if [thing.shape for thing in scene.things] == ["triangle"]:
            picture = scene.picture.astype(float)
            rows, columns = np.nonzero(picture.max(-1) - picture.min(-1) > 60)
            x, y = middle(scene.things[0])
            across, down = columns.mean() + 0.5 - x * SIDE, rows.mean() + 0.5 - y * SIDE
            ways.add((round(across / 5), round(down / 5)))
    assert ways == {(1, 0), (-1, 0), (0, 1), (0, -1)}


def test_scenes_follow_from_the_seed(tmp_path):
    few, more, other = (write_scenes(tmp_path / str(n), n, seed) for n, seed in ((3, 1), (5, 1), (4, 2)))
    assert few.read_text().splitlines() == more.read_text().splitlines()[:3]
    assert other.read_text().splitlines()[0] != few.read_text().splitlines()[0]
    for number in range(3):
        name = f"images/{number:06d}.png"
        assert (few.parent / name).read_bytes() == (more.parent / name).read_bytes()


def test_a_folder_of_scenes_is_a_corpus(tmp_path):
    file = write_scenes(tmp_path, 6, seed=3)
    scenes = [make_scene(np.random.default_rng([3, number])) for number in range(6)]
    examples = list(CaptionCorpus(tmp_path))
    assert file == tmp_path / "captions.jsonl"
    assert [example.captions for example in examples] == [scene.captions for scene in scenes]
    assert read_things(file) == [scene.things for scene in scenes]
    for example, scene in zip(examples, scenes, strict=True):
        assert (np.asarray(Image.open(example.image)) == scene.picture).all()
    assert json.loads(file.read_text().splitlines()[0])["things"][0].keys() == {"color", "shape", "box"}


RED, BLUE = Thing("red", "circle", (0.0, 0.0, 0.5, 0.5)), Thing("blue", "circle", (0.6, 0.0, 1.0, 0.5))
SQUARE = Thing("blue", "square", (0.5, 0.7, 1.0, 1.0))


def looking_at(*cells, rows=3, columns=5):
    weights = np.full((len(cells), rows, columns), 0.01)
    for number, cell in enumerate(cells):
        weights[(number, *cell)] = 0.5
    return weights


def test_peak_share_by_hand():
    words = ["a", "red", "circle", "above", "a", "blue", "square"]
    away = (1, 2)
    on_both = looking_at(away, away, (0, 1), away, away, away, (2, 4))
    on_one = looking_at(away, away, (0, 1), away, away, (2, 4), (0, 4))
    assert peak_share([words], [on_both], [[RED, SQUARE]]) == 1
    assert peak_share([words], [on_one], [[RED, SQUARE]]) == 0.5
    assert peak_share([words, words], [on_both, on_one], [[RED, SQUARE]] * 2) == 0.75


def test_rows_are_heights_and_columns_widths():
    corner = Thing("red", "circle", (0.8, 0.0, 1.0, 0.3))  # upper right
    assert peak_share([["circle"]], [looking_at((0, 4))], [[corner]]) == 1
    assert peak_share([["circle"]], [looking_at((2, 0))], [[corner]]) == 0


def test_the_colour_says_which_of_two_circles():
    assert peak_share([["red", "circle"]], [looking_at((1, 2), (0, 1))], [[RED, BLUE]]) == 1
    assert peak_share([["blue", "circle"]], [looking_at((1, 2), (0, 1))], [[RED, BLUE]]) == 0


def test_a_shape_that_is_not_there_is_missed():
    assert peak_share([["red", "square"]], [looking_at((2, 3), (2, 3))], [[RED, SQUARE]]) == 0


def test_what_cannot_be_scored(tmp_path):
    with pytest.raises(InputError, match="no caption names a shape"):
        peak_share([["a", "dog"]], [looking_at((0, 0), (0, 0))], [[RED]])
    with pytest.raises(ShapeError, match=r"2 words need weights \(2, rows, columns\); got shape \(1, 3, 5\)"):
        peak_share([["red", "circle"]], [looking_at((0, 0))], [[RED]])
    with pytest.raises(InputError, match="at least 1; got 0"):
        write_scenes(tmp_path, 0)
