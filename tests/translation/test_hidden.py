"""Source words hidden from a translator: found by name or number, without weight, and their cost by hand."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from regard.errors import InputError
from regard.text.interventions import NO_PART
from regard.text.vocabulary import Word
from regard.translation.batches import padded_batch
from regard.translation.hidden import hidden_pieces, words_of_pieces
from tests.translation.untrained import RNN, untrained

WORDS = [Word("the", 0, 1), Word("cat", 1, 3), Word("and", 3, 4), Word("the", 4, 5)]
TEXT = "the red cat sees a dog"


@pytest.fixture(scope="module")
def translator():
    return untrained(**RNN)


def test_words_are_found_by_their_text_and_by_their_number():
    assert hidden_pieces(WORDS, ["cat"]) == [1, 2]
    assert hidden_pieces(WORDS, ["the"]) == [0, 4]  # as often as it stands there
    assert hidden_pieces(WORDS, [3, -3]) == [1, 2, 4]
    assert hidden_pieces(WORDS, []) == []


def test_a_word_that_is_not_there_is_named_with_those_that_are():
    with pytest.raises(InputError, match=r"no source word 'dog' to hide; the words are 0 'the', 1 'cat', 2 'and'"):
        hidden_pieces(WORDS, ["dog"])
    with pytest.raises(InputError, match="no source word 4 to hide"):
        hidden_pieces(WORDS, [4])
    with pytest.raises(InputError, match=r"a list of words .* 'cat' came\. Write hide=\['cat'\]"):
        hidden_pieces(WORDS, "cat")


def test_each_piece_belongs_to_its_word_and_the_end_to_none(translator):
    vocabulary = translator.vocabularies.source
    ids = vocabulary.encode([TEXT, "a dog"])
    found = words_of_pieces(vocabulary, ids, max(map(len, ids)) + 1)
    for row, sentence in enumerate(ids):
        by_hand = [
            number for number, word in enumerate(vocabulary.words(sentence)) for _ in range(word.start, word.stop)
        ]
        assert found[row].tolist() == by_hand + [NO_PART] * (found.shape[1] - len(by_hand))


def test_what_is_hidden_has_no_weight_and_the_rest_shares_it(translator):
    found = translator.translate(TEXT, hide=["cat", 0], beam=2, max_length=6)
    assert found.source_words == TEXT.split()
    assert (found.weights[:, [0, 2]] == 0).all()
    np.testing.assert_allclose(found.weights.sum(1), 1)
    assert not translator.translate([], hide=["cat"])


def test_words_left_out_of_the_input_were_never_there(translator):
    left_out = translator.translate(TEXT, hide=["red"], hide_input=True, beam=2, max_length=6)
    without = translator.translate("the cat sees a dog", beam=2, max_length=6)
    assert (left_out.source, left_out.source_words) == (TEXT, without.source_words)
    assert left_out.text == without.text
    np.testing.assert_array_equal(left_out.weights, without.weights)
    assert translator.translate("dog", hide=[0], hide_input=True).text == ""


def test_what_a_word_needed_is_what_it_loses_when_one_is_hidden(translator):
    found = translator.translate(TEXT, beam=1, max_length=6)
    source, target = translator.vocabularies
    (ids,), (written,) = source.encode([TEXT]), target.encode([found.text])
    batch = padded_batch([ids], [written])
    with torch.no_grad():
        state = translator.model.encode(batch)
        plain = translator.model.force(batch).log_probs[0]
    needed = found.needed()
    assert needed.shape == (len(found.target_words), 6)
    for column, word in enumerate(source.words(ids)):
        hidden = torch.zeros(1, len(ids) + 1, dtype=torch.bool)
        hidden[0, word.start : word.stop] = True
        lost = plain - translator.model.force_from(state.hide(hidden), batch.target).log_probs[0]
        by_hand = [float(lost[piece.start : piece.stop].sum()) for piece in target.words(written)]
        np.testing.assert_allclose(needed[:, column], by_hand, atol=1e-5)
    assert np.abs(needed).max() > 1e-4


def test_maps_of_what_was_needed_can_be_drawn(translator, tmp_path, capsys):
    found = translator.translate(TEXT, beam=1, max_length=6)
    assert found.plot(tmp_path / "needed.svg", by="needed").stat().st_size > 1000
    found.show(by="needed")
    assert "sees" in capsys.readouterr().out
    with pytest.raises(InputError, match="no kind of map is called 'need'; choose from weights, needed"):
        found.plot(tmp_path / "x.svg", by="need")


def test_where_there_is_no_attention_nothing_can_be_hidden_from_it():
    blind = untrained(**RNN, attention="none")
    with pytest.raises(InputError, match="no attention to hide words from; use hide_input=True"):
        blind.translate(TEXT, hide=["cat"])
    assert blind.translate(TEXT, hide=["cat"], hide_input=True, max_length=4).weights is None
    with pytest.raises(InputError, match=r"no attention to hide words from\. Translate again with hide_input=True"):
        blind.translate(TEXT, max_length=4).needed()
