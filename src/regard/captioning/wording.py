"""Captions as they are learned and compared: by the field's convention lower-case words without punctuation."""

from __future__ import annotations

import re

# A word may hold hyphens and apostrophes (t-shirt, o'clock); 's may stand alone, as in text that was cut into tokens.
_WORDS = re.compile(r"\w+(?:[-'\u2019]\w+)*|['\u2019]\w+")


def plain(caption: str) -> str:
    """Its words, lowered, without punctuation.

    >>> plain("A man's T-shirt , by the sea.")
    "a man's t-shirt by the sea"
    """
    return " ".join(_WORDS.findall(caption.lower()))
