"""BLEU by length as curves."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from regard.show import length_figures
from regard.translation.evaluation import Bucket


def test_a_curve_for_each_model_at_the_middle_of_each_range(tmp_path, monkeypatch):
    found: Any = {"mine": SimpleNamespace(buckets=[Bucket(1, 10, 5, 40.0), Bucket(11, 20, 3, 20.0)])}
    assert length_figures.plot_by_length(found, tmp_path / "x.png").read_bytes().startswith(b"\x89PNG")
    drawn: list[Any] = []
    monkeypatch.setattr(length_figures, "plot_curves", lambda curves, *_, **__: drawn.extend(curves))
    length_figures.plot_by_length(found, tmp_path / "x.png")
    ((name, across, up),) = drawn
    assert (name, list(across), list(up)) == ("mine", [5.5, 15.5], [40.0, 20.0])
