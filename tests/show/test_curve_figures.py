"""Curves of evaluations."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from regard.show import curve_figures
from regard.text.faithfulness import Erased, Estimate
from regard.translation.evaluation import Bucket


def test_a_curve_for_each_model_at_the_middle_of_each_range(tmp_path, monkeypatch):
    found: Any = {"mine": SimpleNamespace(buckets=[Bucket(1, 10, 5, 40.0), Bucket(11, 20, 3, 20.0)])}
    assert curve_figures.plot_by_length(found, tmp_path / "x.png").read_bytes().startswith(b"\x89PNG")
    drawn: list[Any] = []
    monkeypatch.setattr(curve_figures, "plot_curves", lambda curves, *_, **__: drawn.extend(curves))
    curve_figures.plot_by_length(found, tmp_path / "x.png")
    ((name, across, up),) = drawn
    assert (name, list(across), list(up)) == ("mine", [5.5, 15.5], [40.0, 20.0])


def test_two_curves_for_each_model_over_the_share_that_is_hidden(tmp_path, monkeypatch):
    hidden = [
        Erased(0.1, Estimate(0.5, 0.4, 0.6), Estimate(0.1, 0, 0.2)),
        Erased(0.5, Estimate(2.0, 1.9, 2.1), Estimate(0.7, 0.6, 0.8)),
    ]
    found: Any = {"mine": SimpleNamespace(hidden=hidden)}
    written = curve_figures.plot_faithfulness(found, tmp_path / "x.png")
    assert written.read_bytes().startswith(b"\x89PNG")
    drawn: list[Any] = []
    monkeypatch.setattr(curve_figures, "plot_curves", lambda curves, *_, **__: drawn.extend(curves))
    curve_figures.plot_faithfulness(found, tmp_path / "x.png")
    assert [(name, list(across), list(up)) for name, across, up in drawn] == [
        ("mine: most attended", [10, 50], [0.5, 2.0]),
        ("mine: random", [10, 50], [0.1, 0.7]),
    ]
