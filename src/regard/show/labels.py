"""Words as labels: what cannot be seen is written out, and what is too long is shortened in its middle."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable

_NAMED = {"\t": "\\t", "\n": "\\n", "\r": "\\r"}
_JOINERS = "\u200c\u200d"  # change how their neighbours are drawn (Persian, Indic scripts, emoji), so they stay
_TURNING = range(0x200E, 0x2010), range(0x202A, 0x202F), range(0x2060, 0x2070)  # direction and other hidden marks


def literal(text: str) -> str:
    r"""The text with its control characters written out, so that a label shows what is there.

    >>> literal("a\tb"), literal("\u202eabc"), literal(" "), literal("$x$")
    ('a\\tb', '\\u202eabc', '␣', '$x$')
    """
    shown = "".join(_escaped(char) if _hidden(char) else char for char in text)
    return shown if shown.strip() else "␣" * len(text)


def clusters(text: str) -> list[str]:
    """What is read as one character, with its combining marks, joiners and selectors.

    >>> [len(cluster) for cluster in clusters("e\u0301a👩\u200d🚀")]
    [2, 1, 3]
    """
    found: list[str] = []
    for char in text:
        if found and (_follows(char) or found[-1].endswith("\u200d") or _completes_flag(found[-1], char)):
            found[-1] += char
        else:
            found.append(char)
    return found


def shorten(text: str, fits: Callable[[str], bool]) -> str:
    """The text as it is where it fits, else with the fewest characters of its middle left out.

    >>> shorten("Donaudampfschifffahrt", lambda text: len(text) <= 9)
    'Dona…ahrt'
    """
    if fits(text):
        return text
    parts = clusters(text)
    low, high = 0, len(parts) - 1
    while low < high:  # the most clusters that can be kept
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(_kept(parts, middle)) else (low, middle - 1)
    return _kept(parts, low)


def right_to_left(text: str) -> bool:
    """Whether the text's first letter with a direction runs from right to left."""
    directions = (unicodedata.bidirectional(char) for char in text)
    return next((way in ("R", "AL") for way in directions if way in ("L", "R", "AL")), False)


def _kept(parts: list[str], count: int) -> str:
    head = (count + 1) // 2
    return "".join([*parts[:head], "…", *parts[len(parts) - (count - head) :]])


def _hidden(char: str) -> bool:
    if unicodedata.category(char) in ("Cc", "Cs", "Zl", "Zp"):
        return True
    return char == "\ufeff" or any(ord(char) in marks for marks in _TURNING)


def _escaped(char: str) -> str:
    if char in _NAMED:
        return _NAMED[char]
    return f"\\x{ord(char):02x}" if ord(char) < 256 else f"\\u{ord(char):04x}"


def _follows(char: str) -> bool:
    return (
        unicodedata.category(char) in ("Mn", "Me", "Mc")
        or char in _JOINERS
        or 0x1F3FB <= ord(char) <= 0x1F3FF  # skin tones
        or 0xE0020 <= ord(char) <= 0xE007F  # tags of flags
    )


def _completes_flag(cluster: str, char: str) -> bool:
    return len(cluster) == 1 and all(0x1F1E6 <= ord(part) <= 0x1F1FF for part in (cluster, char))
