"""The vocabulary of a captioner: learned from normalised captions, stored with the run."""

from __future__ import annotations

import pytest

from regard.captioning.config import CaptionVocabularyConfig
from regard.captioning.vocabulary import (
    later_content_words,
    learned_vocabulary,
    normalized,
    store_vocabulary,
    stored_vocabulary,
)
from regard.errors import CheckpointError
from regard.text.special_tokens import EOS, PAD, UNK

CAPTIONS = ["A Dog runs .", "a dog, two cats", "Two cats sleep!"]


def test_it_is_learned_from_plain_captions_and_read_back(tmp_path):
    config = CaptionVocabularyConfig(size=20)
    learned = learned_vocabulary(CAPTIONS, config)
    assert learned.decode(learned.encode(["a dog sleep"])[0]) == "a dog sleep"
    store_vocabulary(learned, tmp_path)
    assert stored_vocabulary(tmp_path, config).fingerprint() == learned.fingerprint()
    with pytest.raises(CheckpointError, match="cannot be read"):
        stored_vocabulary(tmp_path / "nowhere", config)


def test_captions_keep_case_and_punctuation_where_they_are_not_plain():
    assert normalized(CAPTIONS[:1], CaptionVocabularyConfig()) == ["a dog runs"]
    assert normalized(CAPTIONS[:1], CaptionVocabularyConfig(plain=False)) == ["A Dog runs ."]


def test_content_words_after_the_first_keep_their_places_beside_unknown_words():
    vocabulary = learned_vocabulary(CAPTIONS, CaptionVocabularyConfig(size=20))
    dog, runs, two, cats = vocabulary.encode(["dog runs two cats"])[0]
    assert later_content_words(vocabulary, [two, dog, runs, cats]) == [2, 3]
    assert later_content_words(vocabulary, [UNK, dog, UNK, two, cats, EOS, PAD]) == [4]
    assert later_content_words(vocabulary, [two]) == []
