"""Word alignments as text, gold alignments, and the alignment error rate."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from regard.errors import DataError, InputError

if TYPE_CHECKING:
    from regard.translation.results import Alignment

Link = tuple[int, int]

_LINK = re.compile(r"(\d+)([-p])(\d+)")


class Gold(NamedTuple):
    """Links of a sentence pair that are sure, and those that are at least possible (the sure ones among them)."""

    sure: set[Link]
    possible: set[Link]


def read_gold(path: Path) -> list[Gold]:
    """A line a pair: ``i-j`` is a sure link, ``ipj`` a possible one; source word first, from 0."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"cannot read the gold alignments {path}: {error}") from None
    return [parse_gold(line, f"{path}:{number}") for number, line in enumerate(lines, 1)]


def parse_gold(line: str, where: str = "line") -> Gold:
    """The links of one line.

    >>> parse_gold("0-0 1p2") == Gold(sure={(0, 0)}, possible={(0, 0), (1, 2)})
    True
    """
    sure: set[Link] = set()
    possible: set[Link] = set()
    for word in line.split():
        match = _LINK.fullmatch(word)
        if match is None:
            raise DataError(f"{where}: expected links such as 3-4 (sure) or 3p4 (possible), found {word!r}")
        link = int(match[1]), int(match[3])
        possible.add(link)
        if match[2] == "-":
            sure.add(link)
    return Gold(sure, possible)


def pharaoh(links: Iterable[Link]) -> str:
    """Links as text, in the order given.

    >>> pharaoh([(0, 0), (1, 2)])
    '0-0 1-2'
    """
    return " ".join(f"{i}-{j}" for i, j in links)


def alignment_error_rate(found: Iterable[Iterable[Link]], gold: Iterable[Gold]) -> float:
    """1 - (|A∩S| + |A∩P|) / (|A| + |S|), Och and Ney 2003, section 6: 0 is best.

    >>> alignment_error_rate([[(0, 0), (1, 1)]], [Gold({(0, 0)}, {(0, 0), (1, 1)})])
    0.0
    """
    counts = [alignment_counts(links, known) for links, known in zip(found, gold, strict=True)]
    hits, size = sum(hits for hits, _ in counts), sum(size for _, size in counts)
    return 1 - hits / size if size else 0.0


def alignment_counts(links: Iterable[Link], gold: Gold) -> tuple[int, int]:
    """|A∩S| + |A∩P| and |A| + |S| of one pair: what the alignment error rate is made of."""
    answer = set(links)
    return len(answer & gold.sure) + len(answer & gold.possible), len(answer) + len(gold.sure)


def symmetrised(there: Alignment, back: Alignment) -> list[Link]:
    """Links of a pair, source word first, from its alignments by a translator and by one of the other direction.

    The maps of both are multiplied; a link is an entry that is the largest of its row and of its column.
    """
    words, turned = (len(there.source_words), len(there.target_words)), (len(back.target_words), len(back.source_words))
    if words != turned:
        raise InputError(
            f"one model cuts the pair into {words[0]} and {words[1]} words, the other into {turned[0]} and {turned[1]} "
            f"({' '.join(there.source_words)[:40]!r}…). Their vocabulary.normalization must be the same."
        )
    both = there.raw_weights[:, :-1] * back.raw_weights[:, :-1].T
    best = enumerate(both.argmax(1).tolist())
    return sorted((i, j) for j, i in best if both[j, i] > 0 and both[:, i].argmax() == j)
