"""``regard align``: Pharaoh lines, error rates, both directions."""

from __future__ import annotations

import subprocess
import sys

from regard.translation.alignment import parse_gold
from tests.cli.test_attend import regard
from tests.translation import grammar

SENTENCE, TRANSLATION = "the red car has a small house", "la voiture rouge a une maison petite"


def aligned(*words):
    """Each pair's links, and what is said beside them."""
    verb = [sys.executable, "-m", "regard", "align", *map(str, words)]
    done = subprocess.run(verb, capture_output=True, text=True, check=True)
    return [parse_gold(line).sure for line in done.stdout.splitlines()], done.stderr


def test_nothing_to_align_is_said(toy_run, tmp_path):
    (tmp_path / "empty.tsv").write_text("")
    errors = regard("align", str(toy_run), str(tmp_path / "empty.tsv"), code=2)
    assert "empty.tsv holds no pairs; there is nothing to align" in errors


def test_align_prints_pharaoh_and_the_error_rate(toy_run, tmp_path):
    gold = tmp_path / "gold"
    gold.write_text(f"{grammar.GOLD}\n" * 100)
    links, errors = aligned(toy_run, toy_run.parent / "dev.tsv", "--gold", gold)
    assert len(links) == 100
    assert sum({(1, 2), (2, 1)} <= line for line in links) > 80
    assert 0 < float(errors.removeprefix("alignment error rate: ")) < 0.35


def test_align_with_the_other_direction(toy_run, toy_back):
    """Links have the source word first, as without it, and each word has one at most."""
    data = toy_run.parent / "dev.tsv"
    (there, _), (both, _) = aligned(toy_run, data), aligned(toy_run, data, "--reverse", toy_back)
    assert sum({(1, 2), (2, 1), (5, 6), (6, 5)} <= line for line in both) > 80
    for line in both:
        assert len({i for i, _ in line}) == len({j for _, j in line}) == len(line)
    assert both != there
