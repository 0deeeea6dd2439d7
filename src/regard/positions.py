"""Where a vector stands: attention itself does not know, so order has to be put in.

    sinusoidal   sines and cosines of many wavelengths, added to the inputs     Vaswani et al. 2017, section 3.5
    learned      a trained vector for each place, added to the inputs           Gehring et al. 2017, section 3.1
    rotary       query and key turned by an angle that grows with the place     Su et al. 2021, section 3.2.2
    alibi        a bias that falls with distance, a slope for each head         Press et al. 2022, section 3

`equivariance` shows the reason: without positions, shuffled inputs give the same outputs, shuffled.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from regard.arrays import Array, cast, check_sizes, numbers, to_array
from regard.errors import InputError, ShapeError
from regard.shape_types import Float, Shaped


def sinusoidal(length: int, width: int, *, base: float = 10000.0) -> Float[Array, "{length} {width}"]:
    """(length, width) to add to the inputs: sines in the even places, cosines in the odd.

    >>> sinusoidal(2, 4).round(4)
    array([[0.    , 1.    , 0.    , 1.    ],
           [0.8415, 0.5403, 0.01  , 1.    ]])
    """
    check_sizes(length=length, width=width)
    _check_base(base)
    angles = np.arange(length)[:, None] / base ** (2 * (np.arange(width) // 2) / width)
    return np.where(np.arange(width) % 2 == 0, np.sin(angles), np.cos(angles))


def learned(table: Any, length: int) -> Shaped[Array, "{length} d"]:
    """The first ``length`` rows of a trained table (places, width), to add to the inputs.

    >>> learned([[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]], 2)
    array([[0.1, 0.2],
           [0.3, 0.4]])
    """
    array = to_array(table, "table")
    if array.ndim != 2:
        raise ShapeError(f"table must be (places, width); it is {tuple(array.shape)}")
    check_sizes(least=0, length=length)
    if length > array.shape[0]:
        raise ShapeError(f"the table knows {array.shape[0]} places; {length} were asked for. Train a longer table.")
    return array[:length, :]


def rotary(vectors: Any, places: Any = None, *, base: float = 10000.0) -> Float[Array, "*b n d"]:
    """Each vector (..., n, d) turned by its place: the dot product of two then depends on their distance alone.

    Entries 2i and 2i + 1 form a plane that turns by place * base^(-2i/d). ``places`` (n,) are 0, 1, 2, … when None.

    >>> rotary([[1.0, 0.0], [1.0, 0.0]]).round(4)
    array([[1.    , 0.    ],
           [0.5403, 0.8415]])
    """
    xp, _, arrays = numbers(vectors=vectors)
    x = arrays["vectors"]
    if x.ndim < 2 or x.shape[-1] % 2:
        raise ShapeError(f"rotary turns pairs of entries: vectors must be (..., n, even width), not {tuple(x.shape)}")
    n, width = x.shape[-2:]
    where = np.arange(n) if places is None else np.asarray(to_array(places, "places"))
    if where.shape != (n,):
        raise ShapeError(f"places must be one number for each of the {n} vectors; they are {where.shape}")
    if not np.isfinite(where).all():
        raise InputError(f"places must be finite numbers; they are {where}")
    _check_base(base)
    angles = where[:, None] / base ** (np.arange(0, width, 2) / width)
    cos, sin = (to_array(turn(angles), "angles", x) for turn in (np.cos, np.sin))
    cos, sin = cast(xp, cos, x.dtype), cast(xp, sin, x.dtype)
    even, odd = x[..., 0::2], x[..., 1::2]
    turned = xp.stack([even * cos - odd * sin, even * sin + odd * cos], axis=-1)
    return xp.reshape(turned, x.shape)


def alibi(heads: int, queries: int, keys: int | None = None) -> Float[Array, "{heads} {queries} k"]:
    """(heads, q, k) to pass as ``bias``: minus the distance, times a slope that halves from head to head.

    The slopes are 2^(-8/heads), 2^(-16/heads), …; for a number of heads that is no power of two, those of the
    next lower power, then every other one of the double (as in the authors' released code).

    >>> alibi(2, 3)[0]
    array([[-0.    , -0.0625, -0.125 ],
           [-0.0625, -0.    , -0.0625],
           [-0.125 , -0.0625, -0.    ]])
    """
    keys = queries if keys is None else keys
    check_sizes(heads=heads, queries=queries, keys=keys)
    distance = np.abs(np.arange(queries)[:, None] - np.arange(keys))
    return -np.asarray(_slopes(heads))[:, None, None] * distance


class Equivariance(NamedTuple):
    """Whether shuffled inputs gave the same outputs, shuffled; ``gap`` is the largest difference."""

    holds: bool
    gap: float


def equivariance(
    layer: Callable[[Array], Array], inputs: Any, order: Sequence[int] | None = None, *, tolerance: float = 1e-6
) -> Equivariance:
    """Compare layer(inputs shuffled) with layer(inputs) shuffled; ``order`` is the reverse when None.

    >>> words = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    >>> equivariance(lambda x: regard.attend(x, x).context, words)
    Equivariance(holds=True, gap=0.0)
    >>> equivariance(lambda x: regard.attend(x + sinusoidal(3, 2), x).context, words).holds
    False
    """
    xp, _, arrays = numbers(inputs=inputs)
    x = arrays["inputs"]
    if x.ndim < 2:
        raise ShapeError(f"inputs must be (..., rows, width); they are {tuple(x.shape)}")
    rows = list(range(x.shape[-2]))
    order = rows[::-1] if order is None else list(order)
    if not all(isinstance(row, int | np.integer) for row in order) or sorted(order) != rows:
        raise InputError(f"order must hold each of 0 to {len(rows) - 1} once; it is {order}")
    index = to_array(np.asarray(order), "order", x)
    shuffled_first = layer(xp.take(x, index, axis=-2))
    shuffled_last = xp.take(layer(x), index, axis=-2)
    gap = float(xp.max(xp.abs(shuffled_first - shuffled_last)))
    return Equivariance(gap <= tolerance, gap)


def _slopes(heads: int) -> list[float]:
    power = 2 ** math.floor(math.log2(heads))
    slopes = [2 ** (-8 * (i + 1) / power) for i in range(power)]
    return slopes if power == heads else slopes + _slopes(2 * power)[0::2][: heads - power]


def _check_base(base: float) -> None:
    if not isinstance(base, int | float) or not 0 < base < math.inf:
        raise InputError(f"base must be a positive number, such as 10000; it is {base!r}")
