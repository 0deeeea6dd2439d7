"""The numbers of the words that are none: the same in vocabularies, batches and searches."""

from __future__ import annotations

PAD, UNK, BOS, EOS = 0, 1, 2, 3
"""nothing, beyond the end; a word that is not known; the begin; the end"""
