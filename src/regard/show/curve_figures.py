"""Curves of evaluations: BLEU by length; what hiding what was attended to costs."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from regard.show.figures import Curve, plot_curves

if TYPE_CHECKING:
    from regard.text.faithfulness import Faithfulness
    from regard.translation.evaluation import Evaluation


def plot_by_length(evaluations: Mapping[str, Evaluation], path: str | os.PathLike[str]) -> Path:
    """BLEU against the length of the source, a curve for each model: the reason attention exists."""
    curves = [
        Curve(name, [(b.first + b.last) / 2 for b in e.buckets], [b.bleu for b in e.buckets])
        for name, e in evaluations.items()
    ]
    return plot_curves(curves, path, across="words in the source sentence", up="BLEU")


def plot_faithfulness(found: Mapping[str, Faithfulness], path: str | os.PathLike[str]) -> Path:
    """Two curves a model, over the share that is hidden: the further the first above the second, the truer the map."""
    curves = []
    for name, measured in found.items():
        shares = [100 * erased.share for erased in measured.hidden]
        curves.append(Curve(f"{name}: most attended", shares, [erased.most.value for erased in measured.hidden]))
        curves.append(Curve(f"{name}: random", shares, [erased.random.value for erased in measured.hidden]))
    return plot_curves(curves, path, across="percent of the source that is hidden", up="nats a word that it costs")
