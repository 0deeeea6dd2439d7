"""``regard evaluate --attention``: a table, JSON lines and curves, for translators and captioners."""

from __future__ import annotations

import json

import pytest

from regard.captioning.captioner import Captioner
from regard.captioning.scenes import write_scenes
from regard.cli.attention import evaluate_attention
from regard.translation.translator import Translator
from tests.captioning import untrained as captioners
from tests.translation import grammar
from tests.translation.untrained import RNN, untrained


@pytest.fixture
def pairs(tmp_path, monkeypatch):
    """Twelve pairs in a file, and models of any name."""
    monkeypatch.setattr(Translator, "load", lambda name: untrained(**RNN))  # noqa: ARG005
    path = tmp_path / "pairs.tsv"
    path.write_text(grammar.tsv(grammar.pairs()[:12]))
    return path


def measured(models, data, task="translate", **options):
    evaluate_attention(
        models, data, task, **{"target": None, "gold": None, "seed": 0, "json_": False, "plot": None, **options}
    )


def test_a_table_has_a_column_for_each_model(pairs, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    measured(["one", "two"], pairs)
    head, *rows = [line for line in capsys.readouterr().out.splitlines() if "│" in line or "┃" in line]
    assert [cell.strip() for cell in head.strip("┃").split("┃")] == ["costs in nats a word", "one", "two"]
    cells = [[cell.strip() for cell in row.strip("│").split("│")] for row in rows]
    assert cells[0] == ["examples, words", *[cells[0][1]] * 2]
    assert "hiding the most attended 20%" in [row[0] for row in cells]
    assert all(row[1] == row[2] for row in cells)


def test_the_verdict_of_each_model_stands_below_and_a_seed_draws_others(pairs, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    measured(["one", "two"], pairs)
    output = capsys.readouterr().out
    verdict = untrained(**RNN).faithfulness(pairs).verdict
    assert [line for line in output.splitlines() if line.startswith(("one: ", "two: "))] == [
        f"one: {verdict}",
        f"two: {verdict}",
    ]
    measured(["one"], pairs, seed=1)
    assert capsys.readouterr().out != output


def test_every_example_is_reported(pairs):
    reports = []
    untrained(**RNN).faithfulness(pairs, report=lambda *done: reports.append(done))
    assert reports[-1] == (12, 12)


def test_json_has_a_line_for_each_model_with_the_error_rate_where_gold_is_given(pairs, capsys, tmp_path):
    (tmp_path / "gold.txt").write_text("0-0\n" * 12)
    measured(["one", "two"], pairs, json_=True, gold=tmp_path / "gold.txt", plot=tmp_path / "curves.png")
    output = capsys.readouterr()
    lines = [json.loads(line) for line in output.out.splitlines()]
    assert [line["model"] for line in lines] == ["one", "two"]
    assert lines[0] == {**untrained(**RNN).faithfulness(pairs, gold=tmp_path / "gold.txt").to_json(), "model": "one"}
    assert 0 <= lines[0]["alignment error rate"][0] <= 1
    assert f"wrote {tmp_path / 'curves.png'}" in output.err
    assert (tmp_path / "curves.png").stat().st_size > 5000


def test_captioners_are_measured_on_mosaics_too(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(Captioner, "load", lambda name: captioners.untrained())  # noqa: ARG005
    write_scenes(tmp_path / "scenes", 5, seed=2)
    measured(["mine"], tmp_path / "scenes", "caption", json_=True)
    (line,) = map(json.loads, capsys.readouterr().out.splitlines())
    assert line["examples"] == 5
    assert 0 < line["mosaic: attention in the right quarter"][0] < 1
