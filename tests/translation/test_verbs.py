"""translate, evaluate and align from the command line."""

from __future__ import annotations

import inspect
import json
import subprocess
import sys

import pytest

from regard.cli.translate import translate
from regard.translation.gold import parse_gold
from regard.translation.translator import ALPHA
from tests.cli.test_attend import regard
from tests.translation import grammar

SENTENCE, TRANSLATION = "the red car has a small house", "la voiture rouge a une maison petite"


def test_translate_words_and_json(toy_run, tmp_path):
    plot = tmp_path / "map.png"
    printed = regard("translate", SENTENCE, "--model", str(toy_run), "--json", "--plot", str(plot))
    found = json.loads(printed)
    assert list(found) == ["source", "translation", "source_words", "target_words", "weights", "score"]
    assert found["translation"] == TRANSLATION
    assert plot.exists()
    regard("translate", SENTENCE, "--model", str(toy_run), "--plot", str(tmp_path / "map.html"))
    assert '"rows":["la","voiture","rouge"' in (tmp_path / "map.html").read_text()
    both = regard("translate", SENTENCE, "a cat", "--model", str(toy_run), "--n-best", "2").splitlines()
    assert len(both) == 4


def test_the_command_weighs_lengths_as_the_package_does():
    """It names the number itself, so that --help need not import torch."""
    assert inspect.signature(translate).parameters["alpha"].default == ALPHA


def test_translate_prints_the_map_when_asked(toy_run):
    printed = regard("translate", SENTENCE, "--model", str(toy_run), "--map").splitlines()
    assert printed[0] == TRANSLATION
    rows = [line.split() for line in printed[1:] if "." in line]
    assert [row[0] for row in rows] == TRANSLATION.split()
    assert all(0.9 < sum(map(float, row[1:])) < 1.1 for row in rows)
    assert regard("translate", SENTENCE, "--model", str(toy_run)).splitlines() == [TRANSLATION]


def test_translate_streams_stdin(toy_run):
    words = [sys.executable, "-m", "regard", "translate", "--model", str(toy_run), "--beam", "1"]
    text = f"{SENTENCE}\n\n{SENTENCE}\n".encode()
    done = subprocess.run(words, input=text, capture_output=True, check=True)
    assert done.stdout.decode().splitlines() == [TRANSLATION, "", TRANSLATION]
    assert done.stderr == b""
    bad = subprocess.run(words, input=b"the red car\n\xff\n", capture_output=True)
    assert bad.returncode == 2
    assert b"regard: stdin:2: not UTF-8 at byte 1" in bad.stderr


def test_the_mark_some_editors_put_first_is_no_part_of_the_text(toy_run):
    words = [sys.executable, "-m", "regard", "translate", "--model", str(toy_run), "--beam", "1", "--json"]
    done = subprocess.run(words, input=b"\xef\xbb\xbf" + SENTENCE.encode(), capture_output=True, check=True)
    assert json.loads(done.stdout)["source"] == SENTENCE


def test_nothing_to_align_is_said(toy_run, tmp_path):
    (tmp_path / "empty.tsv").write_text("")
    said = regard("align", str(toy_run), str(tmp_path / "empty.tsv"), code=2)
    assert "empty.tsv holds no pairs; there is nothing to align" in said


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


def aligned(*words):
    """Each pair's links, and what is said beside them."""
    verb = [sys.executable, "-m", "regard", "align", *map(str, words)]
    done = subprocess.run(verb, capture_output=True, text=True, check=True)
    return [parse_gold(line).sure for line in done.stdout.splitlines()], done.stderr


def test_align_prints_pharaoh_and_the_error_rate(toy_run, tmp_path):
    gold = tmp_path / "gold"
    gold.write_text(f"{grammar.GOLD}\n" * 100)
    links, said = aligned(toy_run, toy_run.parent / "dev.tsv", "--gold", gold)
    assert len(links) == 100
    assert sum({(1, 2), (2, 1)} <= line for line in links) > 80
    assert 0 < float(said.removeprefix("alignment error rate: ")) < 0.35


def test_align_with_the_other_direction(toy_run, toy_back):
    """Links have the source word first, as without it, and each word has one at most."""
    data = toy_run.parent / "dev.tsv"
    (there, _), (both, _) = aligned(toy_run, data), aligned(toy_run, data, "--reverse", toy_back)
    assert sum({(1, 2), (2, 1), (5, 6), (6, 5)} <= line for line in both) > 80
    for line in both:
        assert len({i for i, _ in line}) == len({j for _, j in line}) == len(line)
    assert both != there


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["translate", "a cat", "--model", "nowhere"], "no model is called 'nowhere'"),
        (["translate", "a cat", "b", "--plot", "x.png"], "--plot draws one sentence; 2 given"),
        (["translate", "a cat", "--plot", "x.bmp"], "a figure's name ends in"),
        (["translate", "a cat", "--plot", "x" * 300 + ".png"], "File name too long"),
        (["translate", "a cat", "--map", "--json"], "--json holds the weights already"),
        (["evaluate", "only-one"], "needs a model and data"),
        (["evaluate", "nowhere", "missing.tsv"], "there is no corpus file missing.tsv"),
        (["align", "nowhere", "missing.tsv"], "there is no corpus file missing.tsv"),
    ],
)
def test_what_a_person_can_mend_is_said(words, said):
    assert said in regard(*words, code=2)
