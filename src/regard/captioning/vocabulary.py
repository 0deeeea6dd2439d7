"""The vocabulary of a captioner: learned from the captions, or stored in a run directory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from regard.captioning.config import CaptionVocabularyConfig
from regard.captioning.tokens import FUNCTION_WORDS, plain
from regard.files import write_bytes
from regard.text.special_tokens import UNK
from regard.text.vocabulary import Vocabulary

_FILE = "vocabulary.model"


def learned_vocabulary(captions: Iterable[str], config: CaptionVocabularyConfig) -> Vocabulary:
    """Learn it from the captions of the training corpora."""
    return Vocabulary.learn(normalized(captions, config), config)


def stored_vocabulary(run: Path, config: CaptionVocabularyConfig) -> Vocabulary:
    """That of a run directory."""
    return Vocabulary.load(run / _FILE, lowercase=config.lowercase, normalization=config.normalization)


def store_vocabulary(vocabulary: Vocabulary, run: Path) -> None:
    """Write it into a run directory."""
    write_bytes(run / _FILE, vocabulary.model)


def normalized(captions: Iterable[str], config: CaptionVocabularyConfig) -> list[str]:
    """Captions as the vocabulary takes them: lowered and without punctuation where the settings say ``plain``."""
    return [plain(caption) if config.plain else caption for caption in captions]


def later_content_words(vocabulary: Vocabulary, ids: Sequence[int]) -> list[int]:
    """Where the content words of a caption begin, but for the first of them, which says what is described.

    A word that the vocabulary does not know says nothing, and counts as none.
    """
    content = [word.start for word in vocabulary.words(ids) if word.text not in FUNCTION_WORDS]
    return [start for start in content if ids[start] != UNK][1:]
