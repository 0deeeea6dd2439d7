"""Pieces: learned the same each time, any text in, real spelling out, and words again."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.errors import CheckpointError, ConfigError, DataError
from regard.text.special_tokens import BOS, EOS, PAD, UNK
from regard.text.vocabulary import Vocabulary, clean
from regard.translation.config import VocabularyConfig

TEXT = ["the cat sat on the mat", "le chat était là", "œuvre naïve « ici »", "ABC abc 0123456789", "the chat sat"] * 4


def learn(**settings):
    return Vocabulary.learn(TEXT, VocabularyConfig(**{"size": 90, **settings}))


VOCABULARY = learn()
BYTES = learn(size=340, byte_fallback=True)


def test_special_ids_and_size():
    assert VOCABULARY.pieces([PAD, UNK, BOS, EOS]) == ["<pad>", "<unk>", "<s>", "</s>"]
    assert len(VOCABULARY) <= 90
    assert max(max(ids) for ids in VOCABULARY.encode(TEXT)) < len(VOCABULARY)


def test_the_same_corpus_gives_the_same_vocabulary():
    assert learn().model == VOCABULARY.model
    assert learn().fingerprint() == VOCABULARY.fingerprint()
    assert learn(lowercase=True).fingerprint() != VOCABULARY.fingerprint()


def test_real_spelling_round_trips():
    for text in TEXT:
        assert VOCABULARY.decode(VOCABULARY.encode([text])[0]) == text


@given(st.text())
def test_any_text_round_trips_as_cleaned_with_byte_fallback(text):
    ids = BYTES.encode([text])[0]
    assert BYTES.decode([BOS, *ids, EOS, PAD]) == BYTES.clean(text)
    assert UNK not in ids


@pytest.mark.parametrize("vocabulary", [VOCABULARY, BYTES], ids=["unknown", "bytes"])
@given(text=st.text())
def test_pieces_group_into_the_words_of_the_text(vocabulary, text):
    ids = vocabulary.encode([text])[0]
    words = vocabulary.words(ids)
    assert len(words) == len([w for w in vocabulary.clean(text).split(" ") if w])
    assert [position for word in words for position in range(word.start, word.stop)] == list(range(len(ids)))
    assert " ".join(word.text for word in words) == vocabulary.decode(ids)


def test_marks_belong_to_no_word():
    (ids,) = VOCABULARY.encode(["the cat"])
    words = VOCABULARY.words([BOS, *ids, EOS, PAD])
    assert [word.text for word in words] == ["the", "cat"]
    assert (words[0].start, words[-1].stop) == (1, 1 + len(ids))


def test_a_space_of_its_own_belongs_to_the_word_after_it():
    space = VOCABULARY.encode(["\u4e2d"])[0][0]
    assert VOCABULARY.pieces([space]) == ["\u2581"]
    (cat,) = [VOCABULARY.encode(["cat"])[0]]
    assert [w.text for w in VOCABULARY.words([space, space, *cat, space, *cat])] == ["cat", "cat"]


@pytest.mark.parametrize(
    ("raw", "cleaned"),
    [
        ("a\u2581b", "a_b"),
        ("a\x00b\tc\r\nd", "a b c d"),
        ("\ud83d x", "\ufffd x"),
        ("e\u0301", "\u00e9"),
        ("a\u00a0!", "a\u00a0!"),
        ("\u2028", ""),
        ("  a   b ", "a b"),
    ],
)
def test_clean(raw, cleaned):
    assert clean(raw) == cleaned
    VOCABULARY.decode(VOCABULARY.encode([raw])[0])


def test_normalization_and_case_are_settings():
    assert clean("\ufb01 \u00a0A", normalization="nfkc") == "fi A"
    assert clean("e\u0301", normalization="none") == "e\u0301"
    lower = learn(lowercase=True)
    assert lower.decode(lower.encode(["THE Cat"])[0]) == "the cat"


def test_names_of_marks_in_the_text_are_only_text():
    assert not {PAD, BOS, EOS} & set(BYTES.encode(["<s> </s> <pad> <unk>"])[0])


def test_impossible_vocabularies_are_refused():
    with pytest.raises(ConfigError, match=r"vocabulary\.size = 20 is too small: .* alone need \d+"):
        learn(size=20)
    with pytest.raises(DataError, match="no text"):
        Vocabulary.learn([], VocabularyConfig())
    with pytest.raises(CheckpointError, match="not a sentencepiece model"):
        Vocabulary(b"rubbish")


def test_a_sample_is_drawn_from_all_sentences():
    many = (text for text in ["x"] * 1000 + TEXT * 50)
    learned = Vocabulary.learn(many, VocabularyConfig(size=90, sample=300))
    assert UNK not in learned.encode(TEXT[:1])[0]


def test_files(tmp_path):
    (tmp_path / "v.model").write_bytes(VOCABULARY.model)
    assert Vocabulary.load(tmp_path / "v.model").fingerprint() == VOCABULARY.fingerprint()
    with pytest.raises(CheckpointError, match=r"none\.model cannot be read"):
        Vocabulary.load(tmp_path / "none.model")


def test_a_piece_that_is_not_utf8_is_refused():
    damaged = VOCABULARY.model.replace("là".encode(), b"l\xc3\xff", 1)
    assert damaged != VOCABULARY.model
    with pytest.raises(CheckpointError, match="pieces that are not UTF-8"):
        Vocabulary(damaged)


def test_a_coverage_that_cannot_be_learned_with_is_refused_by_the_setting():
    with pytest.raises(ValueError, match=r"greater than or equal to 0\.98"):
        VocabularyConfig(coverage=0.95)
    learn(coverage=0.98)
