"""Captions as token ids: which are kept, and which are none."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from regard.captioning.config import CaptionVocabularyConfig
from regard.captioning.corpus import Example
from regard.captioning.encoded import encode_captions
from regard.captioning.vocabulary import learned_vocabulary
from regard.errors import DataError

CONFIG = CaptionVocabularyConfig(size=8)
VOCABULARY = learned_vocabulary(["a red dog runs"] * 4, CONFIG)


def encoded(captions, good, max_words=0):
    examples = [Example(Path(f"{number}.jpg"), several) for number, several in enumerate(captions)]
    return encode_captions(examples, SimpleNamespace(good=np.array(good)), VOCABULARY, CONFIG, max_words)


def ids(text: str) -> list[int]:
    return VOCABULARY.encode([text])[0]


def test_captions_are_lowered_and_encoded_picture_by_picture():
    found = encoded([["A red dog.", "a dog"], ["Runs!"]], [True, True])
    assert found.references == [["A red dog.", "a dog"], ["Runs!"]]  # to compare with: as people wrote them
    assert found.captions.by_picture == [[ids("a red dog"), ids("a dog")], [ids("runs")]]


def test_photographs_that_cannot_be_read_have_no_captions():
    found = encoded([["a dog"], ["a red dog"]], [False, True])
    assert found.references == [[], ["a red dog"]]
    assert len(found.captions) == 1


def test_captions_that_are_empty_or_too_long_are_left_out_of_what_is_learned():
    found = encoded([["a dog", "a red dog runs", "..."]], [True], max_words=3)
    assert found.captions.by_picture == [[ids("a dog")]]
    assert len(found.references[0]) == 3


def test_where_no_caption_is_left_that_is_said():
    with pytest.raises(DataError, match="no caption to use: each is empty or too long, or of a photograph"):
        encoded([["a red dog"]], [True], max_words=2)
