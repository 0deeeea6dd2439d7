"""``regard evaluate``: several models, by length, text files side by side; captioners alike."""

from __future__ import annotations

import json

from tests.cli.test_attend import regard
from tests.translation import grammar

SENTENCE, TRANSLATION = "the red car has a small house", "la voiture rouge a une maison petite"


def test_evaluate_two_models_by_length(toy_run, blind_run, tmp_path):
    dev = toy_run.parent / "dev.tsv"
    words = ["evaluate", str(toy_run), str(blind_run), str(dev), "--beam", "1"]
    lines = [json.loads(line) for line in regard(*words, "--json").splitlines()]
    assert [line["model"] for line in lines] == [str(toy_run), str(blind_run)]
    assert lines[0]["bleu"] > 85
    assert lines[0]["by_length"][0]["sentences"] == 100
    table = regard(*words, "--by-length", "--plot", str(tmp_path / "curve.svg"))
    assert "1-10" in table
    assert "██" in table  # the curve is seen without a picture
    assert "tok:13a" in table
    assert (tmp_path / "curve.svg").exists()


def test_evaluate_text_files_side_by_side(toy_run, tmp_path):
    for name, side in (("test.en", 0), ("test.fr", 1)):
        (tmp_path / name).write_text("".join(f"{pair[side]}\n" for pair in grammar.pairs()[:20]))
    output = tmp_path / "found.fr"
    files = [str(tmp_path / "test.en"), "--target", str(tmp_path / "test.fr"), "--output", str(output)]
    assert json.loads(regard("evaluate", str(toy_run), *files, "--beam", "1", "--json"))["sentences"] == 20
    assert len(output.read_text().splitlines()) == 20
