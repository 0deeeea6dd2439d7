"""One alignment from two: each direction's links are right where the other agrees, and few where it alone decides."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection
from itertools import product

from regard.errors import InputError
from regard.translation.gold import Link
from regard.translation.results import Alignment

NEIGHBOURS = sorted(product((-1, 0, 1), repeat=2), key=lambda step: abs(step[0]) + abs(step[1]))[1:]
"""Steps to those beside, above and below, and then to those across."""


def symmetrised(there: Alignment, back: Alignment) -> list[Link]:
    """Links of a pair, source word first, from its alignments by a translator and by one of the other direction."""
    words, turned = (len(there.source_words), len(there.target_words)), (len(back.target_words), len(back.source_words))
    if words != turned:
        raise InputError(
            f"one model cuts the pair into {words[0]} and {words[1]} words, the other into {turned[0]} and {turned[1]} "
            f"({' '.join(there.source_words)[:40]!r}…). Their vocabulary.normalization must be the same."
        )
    return sorted(grown(there.links, [(i, j) for j, i in back.links]))


def grown(some: Collection[Link], others: Collection[Link]) -> set[Link]:
    """Links that both hold, and then, from there, neighbours of which one does, where a word has no link yet.

    Known as "grow-diag" (Koehn et al. 2003, after the refined method of Och and Ney 2003).

    >>> sorted(grown([(0, 0), (1, 1), (3, 2)], [(0, 0), (1, 2), (1, 1)]))
    [(0, 0), (1, 1), (1, 2)]
    """
    found = set(some) & set(others)
    left = (set(some) | set(others)) - found
    rows, columns = {i for i, _ in found}, {j for _, j in found}
    edge = deque(sorted(found))
    while edge:
        i, j = edge.popleft()
        for down, right in NEIGHBOURS:
            near = i + down, j + right
            if near in left and not (near[0] in rows and near[1] in columns):
                left.remove(near)
                found.add(near)
                rows.add(near[0])
                columns.add(near[1])
                edge.append(near)
    return found
