"""One scale for every picture: 0 is nearly white, larger is deeper; blue above 0, orange below.

Figures, notebooks and terminals take it from here; the page has the same colours in ``viewer/colours.js``, which a test
compares with these, and beside them a scale for dark pages.

Each side is a curve through OKLab, walked at an even pace, so equal steps of the number are equal steps to the eye; its
lightness falls all the way, so it reads the same with any colour vision, and in grey print.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Colours = NDArray[np.float64]
"""(..., 3): red, green and blue, 0 to 1"""

NOTHING = np.array([0.87, 0.87, 0.87])  # what is not a finite number
# From 0, through a point that bends the curve, to the end: lightness and the two axes of colour in OKLab.
_ZERO = (0.98, -0.002, -0.004)
_ABOVE = np.array([_ZERO, (0.70, -0.035, -0.125), (0.31, -0.012, -0.125)])
_BELOW = np.array([_ZERO, (0.74, 0.07, 0.10), (0.37, 0.085, 0.075)])
_STEPS = 257

# From OKLab to the three cones, and from these (cubed) to linear light.
_TO_CONES = np.array(
    [[1.0, 0.3963377774, 0.2158037573], [1.0, -0.1055613458, -0.0638541728], [1.0, -0.0894841775, -1.2914855480]]
)
_TO_LIGHT = np.array(
    [
        [4.0767416621, -3.3077115913, 0.2309699292],
        [-1.2684380046, 2.6097574011, -0.3413193965],
        [-0.0041960863, -0.7034186147, 1.7076147010],
    ]
)


def colours_of(shades: NDArray[np.float64]) -> Colours:
    """Shades from -1 to 1 as colours; what is not finite is grey."""
    shades = np.asarray(shades, dtype=float)
    finite = np.isfinite(shades)
    place = np.where(finite, np.clip(shades, -1.0, 1.0), 0.0)
    index = np.round((place + 1) * (_STEPS - 1)).astype(int)
    return np.where(finite[..., None], _scale()[index], NOTHING)


def ink_on(colours: Colours) -> NDArray[np.str_]:
    """White or black, whichever reads better on each colour: a contrast of 4.5 to 1 or more."""
    linear = np.where(colours <= 0.04045, colours / 12.92, ((colours + 0.055) / 1.055) ** 2.4)
    luminance = linear @ np.array([0.2126, 0.7152, 0.0722])
    return np.where((luminance + 0.05) ** 2 < 1.05 * 0.05, "white", "black")


def hexadecimal(colour: Colours) -> str:
    """One colour as style sheets and terminals write it.

    >>> hexadecimal(np.array([1.0, 0.5, 0.0]))
    '#ff8000'
    """
    return "#" + "".join(f"{round(255 * part):02x}" for part in colour.tolist())


def signed_shades(table: NDArray[np.float64]) -> NDArray[np.float64]:
    """Each number as a share of the largest size in the table, -1 to 1; what is not finite stays so.

    >>> signed_shades(np.array([5.0, 1.0, -20.0])).tolist()
    [0.25, 0.05, -1.0]
    """
    sizes = np.abs(table[np.isfinite(table)])
    largest = sizes.max() if sizes.size else 0.0
    return table / largest if largest > 0 else np.where(np.isfinite(table), 0.0, table)


@lru_cache(maxsize=1)
def _scale() -> Colours:
    """The whole scale, from -1 to 1 in even steps."""
    below, above = (_evenly(_curve(points)) for points in (_BELOW, _ABOVE))
    light = np.clip((np.concatenate([below[:0:-1], above]) @ _TO_CONES.T) ** 3 @ _TO_LIGHT.T, 0.0, 1.0)
    return np.asarray(np.where(light <= 0.0031308, 12.92 * light, 1.055 * light ** (1 / 2.4) - 0.055))


def _curve(points: Colours) -> Colours:
    t = np.linspace(0, 1, 4 * _STEPS)[:, None]
    start, bend, end = points
    return np.asarray((1 - t) ** 2 * start + 2 * t * (1 - t) * bend + t**2 * end)


def _evenly(curve: Colours) -> Colours:
    """Points on the curve at even distances."""
    walked = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(curve, axis=0), axis=1))])
    stops = np.linspace(0, walked[-1], _STEPS)
    return np.stack([np.interp(stops, walked, axis) for axis in curve.T], axis=1)
