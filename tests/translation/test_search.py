"""The search of translations: bounded in memory, the same whatever is searched together."""

from __future__ import annotations

from dataclasses import replace

import pytest
from numpy.testing import assert_allclose

from regard.decoding import search
from regard.errors import InputError
from regard.search_options import TRANSLATION, SearchOptions
from regard.translation import search as searching
from regard.translation import translator
from regard.translation.search import MAX_PIECES, best_hypotheses, groups_within, read_sentences
from tests.translation import grammar
from tests.translation.untrained import RNN, untrained

SENTENCE = "the small cat sees a red house"


def test_long_sentences_are_searched_and_aligned_few_at_a_time(toy, monkeypatch):
    """The memory of a search is bounded, and nothing else changes by it."""
    long = " ".join(source for source, _ in grammar.pairs()[:6])
    sentences = [SENTENCE, long, grammar.phrases()[0][0], long, SENTENCE, ""]
    pairs = [(source, source) for source in sentences[:-1]]
    together, aligned = toy.translate(sentences, beam=2), list(toy.align_all(pairs))
    searched = []

    def recorded(model, state, limits, options):
        searched.append(limits)
        return search(model, state, limits, options)

    monkeypatch.setattr(searching, "search", recorded)
    monkeypatch.setattr(searching, "MAX_NUMBERS", 4000)
    for one, other in zip(together, toy.translate(sentences, beam=2), strict=True):
        assert (one.source, one.text) == (other.source, other.text)
        assert_allclose(one.weights, other.weights, atol=1e-5)
    pieces = len(toy.vocabularies.source.encode([long])[0])
    assert [len(limits) for limits in searched[:2]] == [1, 1]  # the long ones, each alone
    assert searched[0] == [2 * pieces + 10]
    assert sum(map(len, searched)) == 5
    monkeypatch.setattr(translator, "MAX_NUMBERS", 1000)
    for one, other in zip(aligned, toy.align_all(pairs), strict=True):
        assert one.source_words == other.source_words
        assert_allclose(one.weights, other.weights, atol=1e-5)


def test_a_search_that_would_fill_the_memory_is_refused():
    with pytest.raises(
        InputError, match=r"a beam of 1000 over \d+ pieces .*\('the cat.* narrower beam, or .* max_length"
    ):
        untrained(**RNN).translate("the cat " * 400, beam=1000)


def test_a_text_on_one_line_is_refused_by_its_number(toy):
    with pytest.raises(InputError, match=rf"sentence 2 is \d+ pieces long, more than the {MAX_PIECES}"):
        toy.translate(["the cat", "the cat " * 10_000])
    with pytest.raises(InputError, match="sentence 12 is"):
        read_sentences(toy.vocabularies.source, ["the cat", "the cat " * 10_000], first=11)
    with pytest.raises(InputError, match="a sentence is a str; int came"):
        toy.translate(["the cat", 3])


def test_max_length_limits_every_sentence_and_the_default_follows_the_source():
    model = untrained(**RNN)
    sentences = read_sentences(model.vocabularies.source, [SENTENCE, "a cat"])
    for options, limits in (
        (SearchOptions(beam=1, max_length=3), [3, 3]),
        (SearchOptions(beam=1), [2 * len(sentence.ids) + 10 for sentence in sentences]),
    ):
        for (found,), limit in zip(best_hypotheses(model.model, sentences, options), limits, strict=True):
            assert len(found.tokens) + found.finished <= limit
            assert found.finished or len(found.tokens) == limit


def test_hypotheses_are_as_many_as_asked_and_in_the_order_of_the_sentences(toy):
    sentences = read_sentences(toy.vocabularies.source, ["a red house", SENTENCE])
    both = best_hypotheses(toy.model, sentences, replace(TRANSLATION, n_best=2))
    assert [len(several) for several in both] == [2, 2]
    for sentence, several in zip(sentences, both, strict=True):
        (alone,) = best_hypotheses(toy.model, [sentence], TRANSLATION)
        assert alone[0].tokens == several[0].tokens
    assert best_hypotheses(toy.model, [], TRANSLATION) == []


def test_groups_hold_every_row_once_and_stay_within_the_bound():
    costs = [3, 50, 7, 7, 1, 20, 2, 9, 9, 9]
    groups = groups_within(costs, 30)
    assert sorted(row for group in groups for row in group) == list(range(10))
    for group in groups:
        assert len(group) == 1 or len(group) * max(costs[row] for row in group) <= 30
    assert [1] in groups
    assert groups_within([], 30) == []
