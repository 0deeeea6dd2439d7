"""One alignment from two: a link is sure where each of its words looks at the other."""

from __future__ import annotations

from regard.errors import InputError
from regard.translation.gold import Link
from regard.translation.results import Alignment


def symmetrised(there: Alignment, back: Alignment) -> list[Link]:
    """Links of a pair, source word first, from its alignments by a translator and by one of the other direction.

    The maps of both are multiplied; a link is what is largest in its row and in its column.
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
