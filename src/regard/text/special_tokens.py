"""Ids of the special tokens: the same in vocabularies, batches and searches."""

from __future__ import annotations

PAD, UNK, BOS, EOS = 0, 1, 2, 3
"""padding; unknown; beginning of the sequence; its end"""
