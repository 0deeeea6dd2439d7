"""The two worked examples that attention is usually taught with, computed by this package."""

from __future__ import annotations

import numpy as np

from regard.arrays import Array
from regard.attention import Attended, attend
from regard.normalizers import softmax

STATE = [5, 1, 20]
ANNOTATIONS = [[3, 12, 45], [59, 2, 5], [1, 43, 5], [4, 3, 45.3]]
WORDS = [[1, 0, 1], [0, 1, 0], [1, 1, 0], [0, 0, 1]]


def first() -> Attended:
    """A decoder state looks at four annotations; the exponentials of its scores would overflow if taken naively.

    >>> first().context.round(4)
    array([ 3.8808,  4.0728, 45.2642])
    """
    return attend(STATE, ANNOTATIONS, score="dot")


def second(*, over_the_whole_matrix: bool = False) -> Attended:
    """Four words attend to each other; W_Q, W_K, W_V are drawn in that order by NumPy's legacy generator, seed 42.

    Row by row is attention as it is defined. The result that is widely published takes one softmax over all
    sixteen scores at once.

    >>> second().context[0].round(4)
    array([1.    , 1.6404, 0.6405])
    >>> second(over_the_whole_matrix=True).context[0].round(4)
    array([0.9929, 1.6288, 0.6359])
    """
    words = np.array(WORDS)
    W_Q, W_K, W_V = projections()
    return attend(
        words @ W_Q, words @ W_K, words @ W_V, normalize=_over_everything if over_the_whole_matrix else "softmax"
    )


def projections() -> tuple[Array, Array, Array]:
    """W_Q, W_K and W_V of the second example."""
    legacy = np.random.RandomState(42)
    W_Q, W_K, W_V = (legacy.randint(3, size=(3, 3)) for _ in range(3))
    return W_Q, W_K, W_V


def _over_everything(scores: Array) -> Array:
    return softmax(scores, axis=None)
