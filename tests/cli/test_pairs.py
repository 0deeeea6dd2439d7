"""Pairs for the verbs that test a translator: one file or two, in the translator's direction."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from regard.cli.pairs import corpus_of, pairs_for


@pytest.mark.parametrize("reverse", [False, True])
def test_one_file_or_two_in_the_direction_of_the_run(tmp_path, reverse):
    (tmp_path / "both.tsv").write_text("a cat\tun chat\n")
    (tmp_path / "a").write_text("a cat\n")
    (tmp_path / "b").write_text("un chat\n")
    translator = SimpleNamespace(config=SimpleNamespace(data=SimpleNamespace(reverse=reverse)))
    expected = [("un chat", "a cat") if reverse else ("a cat", "un chat")]
    assert pairs_for(translator, corpus_of(tmp_path / "both.tsv", None)) == expected
    assert pairs_for(translator, corpus_of(tmp_path / "a", tmp_path / "b")) == expected
