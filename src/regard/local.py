"""Local attention: a query looks only at the keys around one place (Luong et al. 2015, section 3.2).

    local-m   the place is the query's own: monotonic alignment
    local-p   the place is predicted, and a Gaussian around it favours the near keys

Only the keys inside the windows are scored: the cost depends on the window, not on the length.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from regard.arrays import (
    Array,
    Namespace,
    all_finite,
    array_namespace,
    beside,
    boolean,
    broadcast_shapes,
    cast,
    is_torch_array,
    numbers,
    to_array,
    widened,
)
from regard.attention import Attended
from regard.errors import ShapeError
from regard.masks import check_width
from regard.normalizers import NORMALIZERS, Normalizer, hide, normalizer_of
from regard.scores import (
    Additive,
    Concat,
    Dot,
    ScaledDot,
    Score,
    ScoreFunction,
    Step,
    SumOfTanh,
    same_width,
    score_of,
    weight,
)


class LocalAttended(Attended):
    """An Attended that holds its weights window by window; ``weights`` spreads them over all keys when looked at."""

    _work: _LocalWork

    @property
    def window_weights(self) -> Array:
        """(..., q, w)"""
        return cast(self._work.xp, self._work.weights, self._work.dtype)

    @property
    def positions(self) -> Array:
        """(..., q, w): the key that each of the window's weights belongs to."""
        return self._work.windows.places


def attend_local(
    query: Any,
    key: Any,
    value: Any = None,
    *,
    width: int,
    centers: Any = None,
    gaussian: bool | None = None,
    score: str | ScoreFunction = "scaled_dot",
    normalize: str | Normalizer = "softmax",
    visible: Any = None,
) -> LocalAttended:
    """Attend to the keys at most ``width`` places from each query's centre.

    Without ``centers`` query i looks around place i (local-m). With ``centers`` (..., q), real numbers, it looks
    around those, and the weights, which sum to 1 inside the window, are multiplied by a Gaussian of
    sigma = width / 2 (local-p, equation 10: they then sum to less than 1) unless ``gaussian`` says otherwise.
    query (..., q, d), key (..., k, d), value (..., k, v), visible (..., q or 1, k).

    >>> near = attend_local(np.eye(4), np.eye(4), width=1)
    >>> near.weights.round(2)
    array([[0.62, 0.38, 0.  , 0.  ],
           [0.27, 0.45, 0.27, 0.  ],
           [0.  , 0.27, 0.45, 0.27],
           [0.  , 0.  , 0.38, 0.62]])
    """
    xp, dtype, arrays = numbers(query=query, key=key, value=value)
    q, k = widened(arrays["query"]), widened(arrays["key"])
    v = widened(arrays["value"]) if value is not None else k
    _check_shapes(q, k, v)
    work = _LocalWork(
        xp,
        dtype,
        query=q,
        key=k,
        value=v,
        width=check_width(width),
        centers=_centers(q, k, centers),
        gaussian=centers is not None if gaussian is None else gaussian,
        score=score_of(score),
        normalize=normalizer_of(normalize),
        visible=None if visible is None else boolean(visible, "visible", q),
    )
    context = _by_kernel(work) if centers is None else None
    attended = LocalAttended(
        cast(xp, work.context if context is None else context, dtype),
        weights=lambda: cast(xp, work.windows.spread(work.weights, 0.0), dtype),
        scores=lambda: work.windows.spread(work.scores, -xp.inf),
        steps=work.steps,
    )
    attended._work = work
    return attended


@dataclass
class _LocalWork:
    """One call of attend_local, its inputs checked; what the kernel did not need is computed when looked at."""

    xp: Namespace
    dtype: Any
    query: Array
    key: Array
    value: Array
    width: int
    centers: Array
    gaussian: bool
    score: ScoreFunction
    normalize: Normalizer
    visible: Array | None

    @cached_property
    def windows(self) -> _Windows:
        windows = _Windows.around(self.centers, self.width, keys=self.key.shape[-2])
        if self.visible is not None:
            windows.hide(self.visible)
        return windows

    @cached_property
    def scores(self) -> Array:
        near_keys, places = self.windows.pick(self.key), self.windows.places
        if isinstance(self.score, Score):  # Location needs to know where the picked keys stand
            return self.score.at(self.query, near_keys, places)
        return self.score(self.query[..., None, :], near_keys)[..., 0, :]

    @cached_property
    def aligned(self) -> Array:
        aligned = self.normalize(hide(self.scores, self.windows.inside))
        return self.xp.where(self.windows.inside, aligned, self.xp.zeros_like(aligned))

    @cached_property
    def weights(self) -> Array:
        return self.aligned * self.windows.gaussian() if self.gaussian else self.aligned

    @cached_property
    def context(self) -> Array:
        return self.xp.matmul(self.weights[..., None, :], self.windows.pick(self.value))[..., 0, :]

    def steps(self) -> list[Step]:
        return [
            Step("query", "given", self.query),
            Step("centers", "the middle of each window", self.centers),
            Step("positions", f"the keys at most {self.width} from the center", self.windows.places),
            Step("scores", getattr(self.score, "formula", "score(query, key)"), self.scores),
            Step("aligned", "normalized inside the window", self.aligned),
            Step("weights", "aligned * exp(-(s - p)² / 2 sigma²)" if self.gaussian else "aligned", self.weights),
            Step("context", "sum of the weighted values", self.context),
        ]


def _by_kernel(work: _LocalWork) -> Array | None:
    """The context of monotonic windows on torch, from a kernel that copies no keys; None where it does not fit."""
    batches = {tuple(x.shape[:-2]) for x in (work.query, work.key, work.value)}
    plain = work.visible is None and not work.gaussian and work.normalize is NORMALIZERS["softmax"]
    if not (is_torch_array(work.query) and plain and len(batches) == 1):
        return None
    if not (all_finite(work.xp, work.key) and all_finite(work.xp, work.value)):
        return None  # it masks by adding -inf, which a NaN outside a window survives
    from regard.kernels import window_attention

    query, key, score = work.query, work.key, work.score
    if isinstance(score, Additive | Concat):
        query, key, score = score.projected(query, key)
    if not isinstance(score, Dot | ScaledDot | SumOfTanh):
        return None
    same_width(score, query, key)
    if isinstance(score, SumOfTanh):
        v = weight("v", score.v, query, (query.shape[-1],), "(hidden,)")
        return window_attention(query, key, work.value, width=work.width, score="additive", v=v)
    return window_attention(query, key, work.value, width=work.width, score=score.name)


def predict_centers(query: Any, W_p: Any, v_p: Any, lengths: Any) -> Array:
    """p = S * sigmoid(v_p · tanh(W_p q)), equation 9: query (..., q, d), lengths (...) -> (..., q) in [0, S].

    >>> predict_centers([[0.0, 0.0]], [[1.0, 0.0]], [1.0], 10)
    array([5.])
    """
    xp, _, arrays = numbers(query=query)
    q = arrays["query"]
    v = weight("v_p", v_p, q, (None,), "(hidden,)")
    W = weight("W_p", W_p, q, (v.shape[0], q.shape[-1]), "(hidden, query width)")
    share = 1 / (1 + xp.exp(-(xp.tanh(q @ W.T) @ v)))
    return beside(lengths, "lengths", q)[..., None] * share


def _check_shapes(query: Array, key: Array, value: Array) -> None:
    for name, array in (("query", query), ("key", key), ("value", value)):
        if array.ndim < 2:
            raise ShapeError(f"{name} must be (..., rows, width); it is {tuple(array.shape)}")
    if key.shape[-2] != value.shape[-2] or key.shape[-2] == 0:
        raise ShapeError(
            "each key needs one value, and there must be one at least: "
            f"key {tuple(key.shape)}, value {tuple(value.shape)}"
        )


def _centers(query: Array, key: Array, centers: Any) -> Array:
    """(..., q) real numbers, one for each query."""
    xp = array_namespace(query)
    batch = broadcast_shapes({"query": tuple(query.shape[:-2]), "key": tuple(key.shape[:-2])})
    wanted = (*batch, query.shape[-2])
    given = np.arange(query.shape[-2]) if centers is None else centers
    array = beside(given, "centers", query)
    try:
        return xp.broadcast_to(array, wanted)
    except (ValueError, RuntimeError):
        raise ShapeError(f"centers must be one place for each query, {wanted}; they are {tuple(array.shape)}") from None


@dataclass
class _Windows:
    """The places around each center, (..., q, w): clipped to the keys, and which of them are really inside."""

    centers: Array
    width: int
    keys: int
    first: Array
    places: Array
    inside: Array

    @classmethod
    def around(cls, centers: Array, width: int, keys: int) -> _Windows:
        xp = array_namespace(centers)
        first = xp.ceil(centers - width)
        places = first[..., None] + beside(np.arange(2 * width + 1), "reach", centers)
        inside = (places >= 0) & (places <= keys - 1) & (places <= centers[..., None] + width)
        clipped = cast(xp, xp.clip(places, 0, keys - 1), xp.int64)
        return cls(centers, width, keys, cast(xp, first, xp.int64), clipped, inside)

    def hide(self, visible: Array) -> None:
        """Take out what ``visible`` (..., q or 1, k) hides."""
        xp = array_namespace(visible)
        whole = (*self.places.shape[:-1], self.keys)
        try:
            everywhere = xp.broadcast_to(visible, whole)
        except (ValueError, RuntimeError):
            raise ShapeError(
                f"visible must broadcast to {whole}: queries x keys; it is {tuple(visible.shape)}"
            ) from None
        self.inside = self.inside & xp.take_along_axis(everywhere, self.places, axis=-1)

    def pick(self, rows: Array) -> Array:
        """rows (..., k, d) -> (..., q, w, d), zero outside the window, where a NaN must not leak from."""
        xp = array_namespace(rows)
        batch, (queries, reach), width = tuple(self.places.shape[:-2]), self.places.shape[-2:], rows.shape[-1]
        index = xp.reshape(self.places, (*batch, queries * reach, 1))
        picked = xp.take_along_axis(
            xp.broadcast_to(rows, (*batch, *rows.shape[-2:])),
            xp.broadcast_to(index, (*batch, queries * reach, width)),
            axis=-2,
        )
        near = xp.reshape(picked, (*batch, queries, reach, width))
        return xp.where(self.inside[..., None], near, xp.zeros_like(near))

    def gaussian(self) -> Array:
        """exp(-(s - p)² / 2 sigma²) with sigma = width / 2, equation 10."""
        xp = array_namespace(self.centers)
        distance = cast(xp, self.places, self.centers.dtype) - self.centers[..., None]
        return xp.exp(-(distance * distance) / (2 * (self.width / 2) ** 2))

    def spread(self, near: Array, empty: float) -> Array:
        """The window's numbers at their places among all keys, ``empty`` elsewhere: (..., q, w) -> (..., q, k)."""
        xp = array_namespace(near)
        slot = to_array(np.arange(self.keys), "keys", self.first) - self.first[..., None]
        clipped = xp.clip(slot, 0, near.shape[-1] - 1)
        found = (slot == clipped) & xp.take_along_axis(self.inside, clipped, axis=-1)
        return xp.where(found, xp.take_along_axis(near, clipped, axis=-1), xp.full_like(near[..., :1], empty))
