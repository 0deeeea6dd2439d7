"""The settings of a vocabulary, as a run file's ``[vocabulary]`` says them."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import model_validator

from regard.settings import Settings, setting

Normalization = Literal["nfc", "nfkc", "none"]


class PiecesConfig(Settings):
    """A vocabulary that sentencepiece learns from the training corpora."""

    size: int = setting(8000, "Pieces of a vocabulary, the four special ones included.", ge=8, le=2**24)
    kind: Literal["bpe", "word"] = setting(
        "bpe", "bpe = pieces of words, so that any word can be written; word = the most frequent words, whole."
    )
    lowercase: bool = setting(False, "Lower all text, in training and in use.")
    normalization: Normalization = setting(
        "nfc",
        "Unicode normalization: nfc keeps the spelling, nfkc also folds look-alikes (full-width letters, ligatures, "
        "no-break spaces), none leaves all as it is.",
    )
    coverage: float = setting(
        1.0, "Share of the corpus' characters that get a piece of their own; 0.9995 for large scripts.", ge=0.98, le=1
    )
    byte_fallback: bool = setting(False, "Write unknown characters as bytes (256 pieces) instead of as unknown.")
    sample: int = setting(
        2_000_000, "Sentences, at most, from which the pieces are learned (drawn evenly from all).", ge=1, le=10**9
    )

    @model_validator(mode="after")
    def _words_have_no_bytes(self) -> Self:
        if self.kind == "word" and self.byte_fallback:
            raise ValueError('byte_fallback = true spells what is unknown in pieces; it needs kind = "bpe"')
        return self
