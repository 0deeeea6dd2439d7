"""Where a query may look: boolean masks, True = visible. Combine them with ``&`` and ``|``.

causal     a query sees the keys up to its own place
padding    every query sees the first n keys of its sentence
window     a query sees the keys at most ``width`` places away
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from regard.arrays import Array, array_namespace, cast, check_sizes, to_array
from regard.errors import DtypeError, InputError
from regard.shape_types import Bool, Int


def causal(queries: int, keys: int | None = None, *, offset: int = 0) -> Bool[Array, "{queries} k"]:
    """(q, k): query i sees keys 0 to i + ``offset``.

    >>> causal(3)
    array([[ True, False, False],
           [ True,  True, False],
           [ True,  True,  True]])
    """
    places, targets = _places(queries, keys)
    return targets <= places + offset


def padding(lengths: Any, keys: int | None = None) -> Bool[Array, "*b 1 k"]:
    """(..., 1, k) from lengths (...): the first ``length`` keys are visible to every query of that sentence.

    >>> padding([1, 3])
    array([[[ True, False, False]],
    <BLANKLINE>
           [[ True,  True,  True]]])
    """
    array = to_array(lengths, "lengths")
    xp = array_namespace(array)
    if not xp.isdtype(array.dtype, "integral"):
        raise DtypeError(f"lengths must be whole numbers; they are {array.dtype}")
    some = math.prod(array.shape) > 0
    if some and int(xp.min(array)) < 0:
        raise InputError(f"a length cannot be negative; the smallest is {int(xp.min(array))}")
    longest = int(xp.max(array)) if some else 0
    keys = longest if keys is None else keys
    check_sizes(least=0, keys=keys)
    if longest > keys:
        raise InputError(f"a length of {longest} does not fit into {keys} keys")
    places = xp.arange(keys, dtype=xp.int64, device=getattr(array, "device", None))
    return places < cast(xp, array, xp.int64)[..., None, None]


def window(queries: int, width: int, keys: int | None = None, *, causal: bool = False) -> Bool[Array, "{queries} k"]:
    """(q, k): query i sees key j where \\|i - j\\| <= ``width``, and with ``causal`` only j <= i.

    >>> window(4, 1)
    array([[ True,  True, False, False],
           [ True,  True,  True, False],
           [False,  True,  True,  True],
           [False, False,  True,  True]])
    """
    check_width(width)
    places, targets = _places(queries, keys)
    near = abs(places - targets) <= width
    return near & (targets <= places) if causal else near


def check_width(width: int) -> int:
    """Refuse a window that holds nothing beside its centre."""
    if isinstance(width, bool) or not isinstance(width, int | np.integer) or width < 1:
        raise InputError(
            f"a window reaches at least 1 key to each side: width must be a whole number >= 1, not {width!r}"
        )
    return int(width)


def _places(queries: int, keys: int | None) -> tuple[Int[Array, "{queries} 1"], Int[Array, "1 k"]]:
    check_sizes(least=0, queries=queries, keys=queries if keys is None else keys)
    return np.arange(queries)[:, None], np.arange(queries if keys is None else keys)[None, :]
