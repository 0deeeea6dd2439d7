"""What tests of pictures share: maps to draw, and what was drawn."""

from __future__ import annotations

from itertools import combinations

import numpy as np

SOURCE = ["The", "agreement", "on", "the", "European", "Economic", "Area", "was", "signed", "in", "August", "1992", "."]
TARGET = [
    "L'",
    "accord",
    "sur",
    "la",
    "zone",
    "économique",
    "européenne",
    "a",
    "été",
    "signé",
    "en",
    "août",
    "1992",
    ".",
]


def diagonal(rows: int, columns: int) -> np.ndarray:
    """A map that looks along its diagonal, never quite alike."""
    down, across = np.arange(rows)[:, None] / rows, np.arange(columns)[None] / columns
    scores = np.random.default_rng(0).normal(size=(rows, columns)) - ((down - across) * max(rows, columns)) ** 2 / 2
    weights: np.ndarray = np.exp(scores)
    shares: np.ndarray = weights / weights.sum(1, keepdims=True)
    return shares


def texts(sheet) -> dict[str, object]:
    """The drawn text artists by what they say (the last of those that say the same)."""
    return {text.get_text(): text for text in sheet.axes.texts}


def extent(sheet, text):
    """A text's box in inches from the sheet's lower left corner."""
    box = text.get_window_extent(sheet.figure.canvas.get_renderer())
    return box.transformed(sheet.figure.dpi_scale_trans.inverted())


def overlapping(boxes) -> list[tuple[object, object]]:
    """Pairs of upright boxes that share more than a hair's breadth."""
    return [
        (one, two)
        for one, two in combinations(boxes, 2)
        if min(one.x1, two.x1) - max(one.x0, two.x0) > 0.01 and min(one.y1, two.y1) - max(one.y0, two.y0) > 0.01
    ]
