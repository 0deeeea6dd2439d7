"""Subword vocabularies (sentencepiece): learned from a corpus, and their pieces grouped back to words."""

from __future__ import annotations

import hashlib
import io
import math
import re
import sys
import unicodedata
from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np
import sentencepiece

from regard.errors import CheckpointError, ConfigError, DataError
from regard.text.special_tokens import BOS, EOS, PAD, UNK
from regard.text.vocabulary_config import Normalization, PiecesConfig

_WORD_START = "\u2581"  # sentencepiece's mark of a space
_THREADS = 4  # of learning; written into the model file, so it must not depend on the machine
_LONGEST = 1 << 16  # bytes of a line that pieces are learned from

# What may stand inside a line of user input but must not reach the pieces: controls and line ends become spaces
# (tabs, newlines, NUL, U+0085, U+2028, U+2029), and the piece mark itself, which would read as a space, a low line.
_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_SPACES = re.compile(" {2,}")
_SURROGATES = re.compile("[\ud800-\udfff]")


class Word(NamedTuple):
    """A word and the pieces ``start`` up to ``stop`` that form it."""

    text: str
    start: int
    stop: int


class Vocabulary:
    """Text to ids and back; ids 0 to 3 are the special tokens.

    Text is first cleaned the same way in training and in use: see :meth:`clean`.
    """

    def __init__(self, model: bytes, *, lowercase: bool = False, normalization: Normalization = "nfc") -> None:
        self.model = model
        self.lowercase = lowercase
        self.normalization = normalization
        try:
            self._processor = sentencepiece.SentencePieceProcessor(model_proto=model)
        except RuntimeError:
            raise CheckpointError("the vocabulary is not a sentencepiece model, or it is damaged.") from None
        special = (
            self._processor.pad_id(),
            self._processor.unk_id(),
            self._processor.bos_id(),
            self._processor.eos_id(),
        )
        if special != (PAD, UNK, BOS, EOS):
            raise CheckpointError(
                f"the vocabulary has padding, unknown, begin, end at {special}; regard needs (0, 1, 2, 3). Learn it "
                "with regard, or with pad_id=0, unk_id=1, bos_id=2, eos_id=3."
            )
        try:
            self._pieces = [self._processor.id_to_piece(i) for i in range(len(self))]
        except UnicodeDecodeError:
            raise CheckpointError("the vocabulary is damaged: it has pieces that are not UTF-8.") from None

    @classmethod
    def learn(cls, sentences: Iterable[str], config: PiecesConfig) -> Vocabulary:
        """Learn ``config.size`` pieces, or as many as the sentences give, from at most ``config.sample`` of them."""
        sample = _sample(sentences, config.sample)
        cleaned = (clean(s, lowercase=config.lowercase, normalization=config.normalization) for s in sample)
        written = io.BytesIO()
        try:
            sentencepiece.SentencePieceTrainer.train(
                sentence_iterator=cleaned,
                model_writer=written,
                model_type=config.kind,
                vocab_size=config.size,
                hard_vocab_limit=False,
                character_coverage=config.coverage,
                byte_fallback=config.byte_fallback,
                normalization_rule_name="identity",  # what is folded is folded by clean(), before
                max_sentence_length=_LONGEST,
                num_threads=_THREADS,
                unk_surface="\u2047",
                pad_id=PAD,
                unk_id=UNK,
                bos_id=BOS,
                eos_id=EOS,
                minloglevel=2,
            )
        except RuntimeError as error:
            raise _learning_error(str(error), config) from None
        return cls(written.getvalue(), lowercase=config.lowercase, normalization=config.normalization)

    @classmethod
    def load(cls, path: Path, *, lowercase: bool = False, normalization: Normalization = "nfc") -> Vocabulary:
        """Read a sentencepiece model file."""
        try:
            return cls(path.read_bytes(), lowercase=lowercase, normalization=normalization)
        except OSError as error:
            raise CheckpointError(f"the vocabulary {path} cannot be read: {error.strerror}.") from None
        except CheckpointError as error:
            raise CheckpointError(f"{path}: {error}") from None

    def __len__(self) -> int:
        return int(self._processor.get_piece_size())

    def fingerprint(self) -> str:
        """A digest of the pieces and of how text is cleaned."""
        settings = f"{self.lowercase} {self.normalization} ".encode()
        return hashlib.blake2b(settings + self.model, digest_size=16).hexdigest()

    def clean(self, text: str) -> str:
        """The text as the pieces see it; its words are ``clean(text).split(" ")``."""
        return clean(text, lowercase=self.lowercase, normalization=self.normalization)

    def encode(self, texts: Sequence[str], *, threads: int = 1) -> list[list[int]]:
        """Token ids of each text, without BOS and EOS."""
        cleaned = [self.clean(text) for text in texts]
        ids: list[list[int]] = self._processor.encode(cleaned, out_type=int, num_threads=threads)
        return ids

    def decode(self, ids: Sequence[int]) -> str:
        """The text of the ids, special tokens left out."""
        return str(self._processor.decode([int(i) for i in ids if i not in (PAD, BOS, EOS)]))

    def pieces(self, ids: Sequence[int]) -> list[str]:
        """The piece of each id."""
        return [self._pieces[i] for i in ids]

    def words(self, ids: Sequence[int]) -> list[Word]:
        """The words of the ids, each with its pieces; special tokens belong to no word.

        >>> vocabulary.words(vocabulary.encode(["a man sleeps"])[0])  # doctest: +SKIP
        [Word(text='a', start=0, stop=1), Word(text='man', start=1, stop=2), Word(text='sleeps', start=2, stop=4)]
        """
        groups: list[list[int]] = []  # positions
        open_word = bare = False  # bare: of the word only the space before it is there yet
        for position, piece in enumerate(ids):
            if piece in (PAD, BOS, EOS):
                open_word = False
            elif open_word and (bare or not self._pieces[piece].startswith(_WORD_START)):
                groups[-1].append(position)
                bare = bare and self._pieces[piece] == _WORD_START
            else:
                groups.append([position])
                open_word, bare = True, self._pieces[piece] == _WORD_START
        return [Word(self.decode([ids[p] for p in group]).strip(" "), group[0], group[-1] + 1) for group in groups]


def clean(text: str, *, lowercase: bool = False, normalization: Normalization = "nfc") -> str:
    """One line of words with single spaces between: controls and line ends out, letters composed, lowered if asked.

    >>> clean(" a\\ttab,  two spaces\\n")
    'a tab, two spaces'
    """
    if not text.isascii():
        text = _SURROGATES.sub("\ufffd", text)  # half a character, from a JSON escape: UTF-8 cannot hold it
        text = text.replace(_WORD_START, "_")
        if normalization != "none":
            text = unicodedata.normalize("NFC" if normalization == "nfc" else "NFKC", text)
    if lowercase:
        text = text.lower()
    if not text.isprintable():
        text = _CONTROLS.sub(" ", text)
    return _SPACES.sub(" ", text).strip(" ")


def _sample(sentences: Iterable[str], size: int) -> list[str]:
    """At most ``size`` of the sentences, each as likely, always the same ones (Li 1994, algorithm L)."""
    generator = np.random.Generator(np.random.PCG64(0))
    stream = iter(sentences)
    kept = list(islice(stream, size))
    threshold = 1.0
    while True:
        threshold *= generator.random() ** (1 / size)
        skip = math.log(1 - generator.random()) / math.log1p(-threshold)
        chosen = next(islice(stream, int(min(skip, sys.maxsize // 2)), None), None)
        if chosen is None:
            return kept
        kept[int(generator.integers(size))] = chosen


def _learning_error(message: str, config: PiecesConfig) -> Exception:
    if needed := re.search(r"required_chars\. (\d+) vs (\d+)", message):
        return ConfigError(
            f"vocabulary.size = {config.size} is too small: the corpus' characters alone need {needed[2]}. "
            "Raise it, or lower vocabulary.coverage."
        )
    if "sentences_.empty()" in message:
        return DataError("the training corpora hold no text from which to learn a vocabulary.")
    return ConfigError(f"the vocabulary cannot be learned: {message}")
