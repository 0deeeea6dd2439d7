"""Captions as token ids, beside the features of their photographs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from regard.captioning.batches import Captions
from regard.captioning.config import CaptionVocabularyConfig
from regard.captioning.corpus import Example
from regard.captioning.features import Features
from regard.captioning.vocabulary import normalized
from regard.errors import DataError
from regard.text.vocabulary import Vocabulary


class EncodedCaptions(NamedTuple):
    """The captions of a corpus as text, to compare with, and as token ids, to train on or to measure the loss by."""

    references: list[list[str]]
    """by picture; those that could not be read have none"""
    captions: Captions


def encode_captions(
    examples: Sequence[Example],
    features: Features,
    vocabulary: Vocabulary,
    config: CaptionVocabularyConfig,
    max_words: int,
) -> EncodedCaptions:
    """The examples whose photographs could be read, with captions as ids; empty ones and those too long left out."""
    references = [list(example.captions) if good else [] for example, good in zip(examples, features.good, strict=True)]
    encoded = [
        [ids for ids in vocabulary.encode(normalized(several, config)) if ids and len(ids) <= (max_words or len(ids))]
        for several in references
    ]
    if not any(encoded):
        raise DataError(
            "there is no caption to use: each is empty or too long, or of a photograph that cannot be read."
        )
    return EncodedCaptions(references, Captions(features, encoded))
