"""Captions cut into words: ``plain`` for training, ``ptb_words`` as the COCO captions' evaluation compares them.

That is the Penn Treebank's way, lowered, unpunctuated: tokens keep "t-shirt", "3:30" and "u.s." whole and part "do n't"
and "man 's". The evaluation then takes out points, commas, quotes and dashes; other marks (``&``, ``%``, ``-lrb-``
for a bracket) stay.
"""

from __future__ import annotations

import re

# A word may hold hyphens and apostrophes (t-shirt, o'clock); 's may stand alone, as in text that was cut into tokens.
_WORDS = re.compile(r"\w+(?:[-'\u2019]\w+)*|['\u2019]\w+")

_FUNCTION_WORDS = (
    "a an the this that these those some any each both all another other and or but nor so as than then if while "
    "of in on at by for with without from to into onto over under above below up down out off through across "
    "along around about near next beside between behind before after against toward towards is are was were be "
    "been being has have had having do does did it its he him his she her hers they them their theirs we us our "
    "you your i me my who whom whose which what where when how there here not no very too also one two three 's "
)
FUNCTION_WORDS = frozenset(_FUNCTION_WORDS.split())
"""words that show nothing of a picture, by themselves"""

_SAME = str.maketrans(
    {"\u2019": "'", "\u2018": "'", "\u201c": '"', "\u201d": '"', "\u2026": "...", "\u2013": "--", "\u2014": "--"}
)
_BRACKETS = {"(": "-lrb-", ")": "-rrb-", "[": "-lsb-", "]": "-rsb-", "{": "-lcb-", "}": "-rcb-"}
_FUSED = re.compile(r"\b(can)(not)\b|\b(gon|wan)(na)\b|\b(got)(ta)\b|\b(lem|gim)(me)\b|(?<!\w)('t)(is|was)\b")
_CLITICS = r"'(?:s|m|d|ll|re|ve)(?!\w)"
_ABBREVIATIONS = r"(?:mr|mrs|ms|dr|st|jr|sr|vs|etc|mt|ft|ave|co|inc|corp|prof|gen|sgt|capt|lt|col|no(?=\.\s*\d))"

_TOKENS = re.compile(
    rf"""
      (?:https?://|www\.)\S+ | [\w.+-]+@[\w-]+(?:\.[\w-]+)+  # addresses
    | (?:[a-z]\.)+(?!\w) | {_ABBREVIATIONS}\.                # u.s.  mr.
    | \d+(?:[.,:/]\d+)+(?!\w)                               # 1,000  3:30  1/2
    | n't(?!\w) | {_CLITICS}                                 # what was parted from a word
    | \w+?(?=n't(?!\w)) | \w+(?:-\w+)*(?={_CLITICS})        # do|n't  man|'s
    | 'n'?(?!\w) | 'til(?!\w) | 't(?=\ (?:is|was)\b)         # rock 'n' roll
    | \w+(?:(?:[-/]|(?<=\b[dlo])'|(?<=\bma)'|\.(?=[a-z]{{2}}))\w+)*  # t-shirt  o'clock
    | \.{{2,}} | -{{2,}} | [?!]{{2,}}
    | \S
    """,
    re.VERBOSE,
)
_NO_WORD = re.compile(r"[-.]{2,}|[-'`.,:;?!\"]|''|``").fullmatch


def plain(caption: str) -> str:
    """Its words, lowered, without punctuation.

    >>> plain("A man's T-shirt , by the sea.")
    "a man's t-shirt by the sea"
    """
    return " ".join(_WORDS.findall(caption.lower()))


def ptb_words(caption: str) -> list[str]:
    """The caption's words, as they are compared.

    >>> ptb_words("A man's T-shirt (red), isn't it?")
    ['a', 'man', "'s", 't-shirt', '-lrb-', 'red', '-rrb-', 'is', "n't", 'it']
    """
    text = _FUSED.sub(_parted, caption.translate(_SAME).lower())
    return [_BRACKETS.get(token, token) for token in _TOKENS.findall(text) if not _NO_WORD(token)]


def _parted(match: re.Match[str]) -> str:
    return " ".join(part for part in match.groups() if part)
