"""Two alignments of a pair, one of each direction, become one."""

from __future__ import annotations

import numpy as np
import pytest

from regard.errors import InputError
from regard.translation.results import Alignment
from regard.translation.symmetric import grown, symmetrised


def looking(places, words):
    """An alignment whose target words look at these places of a source of so many words."""
    names = [str(number) for number in range(words)]
    return Alignment(names, [str(place) for place in places], np.eye(words + 1)[list(places)], 0.0)


def test_what_both_find_is_kept_and_what_is_far_from_it_is_not():
    assert grown([(0, 0), (5, 1)], [(0, 0), (1, 5)]) == {(0, 0)}
    assert grown([(0, 0)], [(1, 1)]) == set()


def test_neighbours_are_taken_while_a_word_of_theirs_is_free():
    both = [(0, 0)]
    assert grown([*both, (1, 1), (2, 2)], both) == {(0, 0), (1, 1), (2, 2)}  # one leads to the next
    assert grown([*both, (0, 1)], [*both, (1, 0)]) == {(0, 0), (0, 1), (1, 0)}  # beside it, and below
    assert grown([(0, 0), (1, 1), (0, 1)], [(0, 0), (1, 1)]) == {(0, 0), (1, 1)}  # both words have a link
    straight_first = grown([(1, 0), (0, 1)], [(0, 1), (1, 1), (2, 1)])
    assert straight_first == {(0, 1), (1, 1), (1, 0), (2, 1)}  # across first, (1, 0) would leave no room for (1, 1)


def test_links_have_the_source_word_first():
    """Three source words, two target words; the last source word belongs to the second target word too."""
    there = looking([1, 0], words=3)  # target 0 looks at source 1, target 1 at source 0
    back = looking([1, 0, 0], words=2)
    assert symmetrised(there, back) == [(0, 1), (1, 0), (2, 0)]
    with pytest.raises(InputError, match=r"into 3 and 2 words, the other into 3 and 4 \('0 1 2'…\)"):
        symmetrised(there, looking([0, 0, 0], words=4))
