"""Two alignments of a pair, one of each direction, become one."""

from __future__ import annotations

import numpy as np
import pytest

from regard.errors import DataError, InputError
from regard.translation.alignment import Gold, alignment_error_rate, parse_gold, read_gold, symmetrised
from regard.translation.corpus import Pair
from regard.translation.results import Alignment
from tests.translation import grammar


def looking(*rows):
    """An alignment with these weights, of target words on source words; what is left is on the end mark."""
    weights = np.array(rows)
    raw = np.column_stack([weights, 1 - weights.sum(1)])
    return Alignment([f"s{i}" for i in range(weights.shape[1])], [f"t{j}" for j in range(len(weights))], raw, 0.0)


def test_a_link_is_what_both_find_and_has_the_source_word_first():
    there = looking([0.1, 0.9, 0.0], [0.6, 0.1, 0.3])  # two target words, three source words
    back = looking([0.2, 0.8], [0.9, 0.1], [0.7, 0.3])
    assert symmetrised(there, back) == [(0, 1), (1, 0)]


def test_one_that_is_sure_turns_one_that_wavers():
    """Alone, the first target word looks at the first source word, which belongs to the second."""
    there = looking([0.5, 0.4], [0.9, 0.1])
    back = looking([0.1, 0.9], [0.8, 0.2])
    assert there.links == [(0, 0), (0, 1)]
    assert symmetrised(there, back) == [(0, 1), (1, 0)]


def test_of_two_that_look_at_the_same_word_it_is_the_one_it_looks_at():
    assert symmetrised(looking([0.9, 0.1], [0.9, 0.1]), looking([0.6, 0.4], [0.5, 0.5])) == [(0, 0)]


def test_where_one_looks_at_nothing_there_is_no_link():
    assert symmetrised(looking([0.0, 1.0], [0.0, 0.0]), looking([0.5, 0.5], [1.0, 0.0])) == [(1, 0)]


def test_pairs_of_other_words_are_refused():
    with pytest.raises(InputError, match=r"into 3 and 1 words, the other into 2 and 1 \('s0 s1 s2'…\)"):
        symmetrised(looking([1.0, 0.0, 0.0]), looking([1.0], [1.0]))


ROWS = [Pair(*pair) for pair in grammar.pairs()[:100]]


def test_the_toy_aligns_as_the_grammar_says(toy):
    found = [alignment.links for alignment in toy.align_all(ROWS)]
    assert alignment_error_rate(found, [parse_gold(grammar.GOLD)] * len(ROWS)) < 0.35


def test_error_rate_by_hand(tmp_path):
    """|A| = 3, |S| = 2, A∩S = 1, A∩P = 2: 1 - 3/5."""
    gold = Gold({(0, 0), (1, 1)}, {(0, 0), (1, 1), (2, 1)})
    assert alignment_error_rate([[(0, 0), (2, 1), (5, 5)]], [gold]) == pytest.approx(0.4)
    (tmp_path / "gold").write_text("0-0 1-1 2p1\n\n")
    assert read_gold(tmp_path / "gold") == [gold, Gold(set(), set())]
    (tmp_path / "gold").write_text("0-0 x\n")
    with pytest.raises(DataError, match=r"gold:1: expected links such as 3-4 \(sure\) or 3p4 \(possible\), found 'x'"):
        read_gold(tmp_path / "gold")
