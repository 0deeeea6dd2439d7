"""BLEU against the length of the source sentence, as a figure."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from regard.show.figures import Curve, plot_curves

if TYPE_CHECKING:
    from regard.translation.evaluation import Evaluation


def plot_by_length(evaluations: Mapping[str, Evaluation], path: str | os.PathLike[str]) -> Path:
    """BLEU against the length of the source, a curve for each model: the reason attention exists."""
    curves = [
        Curve(name, [(b.first + b.last) / 2 for b in e.buckets], [b.bleu for b in e.buckets])
        for name, e in evaluations.items()
    ]
    return plot_curves(curves, path, across="words in the source sentence", up="BLEU")
