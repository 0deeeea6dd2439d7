"""``regard translate``: words, JSON, maps and streams; and what each verb of a translator says of a mistake."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.cli.test_attend import regard

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
    endless = subprocess.run(words, input=b"x" * (1 << 21), capture_output=True)
    assert endless.returncode == 2
    assert b"regard: stdin:1: this line is longer than 1,048,576 bytes." in endless.stderr


def test_the_mark_some_editors_put_first_is_no_part_of_the_text(toy_run):
    words = [sys.executable, "-m", "regard", "translate", "--model", str(toy_run), "--beam", "1", "--json"]
    done = subprocess.run(words, input=b"\xef\xbb\xbf" + SENTENCE.encode(), capture_output=True, check=True)
    assert json.loads(done.stdout)["source"] == SENTENCE


@pytest.mark.parametrize(
    ("words", "message"),
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
def test_what_a_person_can_mend_is_said(words, message):
    assert message in regard(*words, code=2)
