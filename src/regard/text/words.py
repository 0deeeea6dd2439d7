"""Attention weights of subword pieces, merged to those of words."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from regard.text.vocabulary import Word

Weights = NDArray[np.float64]


def merge_pieces(weights: Weights, target: Sequence[Word], source: Sequence[Word]) -> Weights:
    """Weights of pieces (rows: target pieces, columns: source pieces and EOS) to weights of words.

    A source word gets the sum of its pieces' columns, a target word the mean of its pieces' rows.
    The last column is the EOS of the source.

    >>> pieces = np.array([[0.5, 0.25, 0.25], [0.25, 0.25, 0.5]])
    >>> merge_pieces(pieces, [Word("un", 0, 1), Word("mot", 1, 2)], [Word("word", 0, 2)])
    array([[0.75, 0.25],
           [0.5 , 0.5 ]])
    """
    columns = [weights[:, word.start : word.stop].sum(1) for word in source]
    by_source = np.stack([*columns, weights[:, -1]], axis=1)
    rows = [by_source[word.start : word.stop].mean(0) for word in target]
    return np.stack(rows) if rows else np.zeros((0, len(source) + 1))


def without_end(weights: Weights, last: int = -1) -> Weights:
    """Each row a distribution over the words alone: the weight of EOS is added to the ``last`` word's.

    That is the word it follows; where that one is hidden, the last that is visible, since a hidden word weighs 0.

    >>> without_end(np.array([[0.5, 0.25, 0.25]]))
    array([[0.5, 0.5]])
    """
    words = weights[:, :-1].copy()
    words[:, last] += weights[:, -1]
    total = words.sum(1, keepdims=True)  # below 1 under local-p's Gaussian
    return np.asarray(words / np.where(total > 0, total, 1))
