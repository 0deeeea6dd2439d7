"""The vocabulary of a captioner: learned from normalised captions, stored with the run."""

from __future__ import annotations

import pytest

from regard.captioning.config import CaptionVocabularyConfig
from regard.captioning.vocabulary import learned_vocabulary, normalized, store_vocabulary, stored_vocabulary
from regard.errors import CheckpointError

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
