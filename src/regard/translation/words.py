"""From pieces to words: people read words, and so do the maps shown to them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from regard.translation.vocabulary import Word

Weights = NDArray[np.float64]


def merge_pieces(weights: Weights, target: Sequence[Word], source: Sequence[Word]) -> Weights:
    """Piece by piece (rows: target pieces, columns: source pieces and the end mark) to word by word.

    A source word gets the sum of its pieces' columns, a target word the mean of its pieces' rows.
    The last column is the end mark of the source.

    >>> pieces = np.array([[0.5, 0.25, 0.25], [0.25, 0.25, 0.5]])
    >>> merge_pieces(pieces, [Word("un", 0, 1), Word("mot", 1, 2)], [Word("word", 0, 2)])
    array([[0.75, 0.25],
           [0.5 , 0.5 ]])
    """
    columns = [weights[:, word.start : word.stop].sum(1) for word in source]
    by_source = np.stack([*columns, weights[:, -1]], axis=1)
    rows = [by_source[word.start : word.stop].mean(0) for word in target]
    return np.stack(rows) if rows else np.zeros((0, len(source) + 1))


def without_end(weights: Weights) -> Weights:
    """Each row a distribution over the words alone: the end mark counts with the last word, which it follows.

    >>> without_end(np.array([[0.5, 0.25, 0.25]]))
    array([[0.5, 0.5]])
    """
    words = weights[:, :-1].copy()
    words[:, -1] += weights[:, -1]
    total = words.sum(1, keepdims=True)  # below 1 under local-p's Gaussian
    return np.asarray(words / np.where(total > 0, total, 1))
