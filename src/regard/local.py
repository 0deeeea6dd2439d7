"""Local attention: a query looks only at the keys around one place (Luong et al. 2015, section 3.2).

    local-m   the place is the query's own: monotonic alignment
    local-p   the place is predicted, and a Gaussian around it favours the near keys

Only the keys inside the windows are scored: the cost depends on the window, not on the length.
"""

from __future__ import annotations

from collections.abc import Callable
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
from regard.computation import Computation, check_shapes, checked_scores
from regard.errors import InputError, ShapeError
from regard.masks import check_width
from regard.normalizers import Normalizer, normalizer_of
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
from regard.shape_types import Float

_WIDEST = 1 << 53  # wider than any keys, and a floating-point number


class LocalAttended(Attended):
    """An Attended that holds its weights window by window; ``weights`` spreads them over all keys when looked at."""

    def __init__(self, context: Array, look: Callable[[], LocalAttention]) -> None:
        super().__init__(
            context,
            weights=lambda: self._spread(look().weights),
            scores=lambda: look().windows.spread(look().scores, -look().xp.inf),
            steps=lambda: look().steps(),
        )
        self._look = look

    @property
    def window_weights(self) -> Array:
        """(..., q, w)"""
        return cast(self._look().xp, self._look().weights, self._look().dtype)

    @property
    def positions(self) -> Array:
        """(..., q, w): the key that each of the window's weights belongs to."""
        return self._look().windows.places

    def _spread(self, near: Array) -> Array:
        """What belongs to the keys of the windows, (..., q, w), over all keys, (..., q, k); 0 elsewhere."""
        work = self._look()
        return cast(work.xp, work.windows.spread(near, 0.0), work.dtype)


def attend_local(
    query: Any,
    key: Any,
    value: Any = None,
    *,
    width: int,
    causal: bool = False,
    centers: Any = None,
    stay: bool = False,
    gaussian: bool | None = None,
    score: str | ScoreFunction = "scaled_dot",
    normalize: str | Normalizer = "softmax",
    visible: Any = None,
) -> LocalAttended:
    """Attend to the keys at most ``width`` places from each query's centre; with ``causal`` to none after it.

    Without ``centers`` query i looks around place i (local-m, a sliding window); with ``stay`` the queries after the
    last visible key look around that one. With ``centers`` (..., q), real numbers, each query looks
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
    if stay and centers is not None:
        raise InputError("stay is for windows that move with the queries; with centers, leave it out")
    return LocalAttention.of(
        query,
        key,
        value,
        width=width,
        causal=causal,
        centers=centers,
        stay=stay,
        gaussian=gaussian,
        score=score,
        normalize=normalize,
        visible=visible,
    ).attended()


@dataclass(kw_only=True)
class LocalAttention(Computation):
    """One call of attend_local."""

    width: int
    causal: bool
    given_centers: Array | None
    stay: bool
    gaussian: bool

    @classmethod
    def of(
        cls,
        query: Any,
        key: Any,
        value: Any = None,
        *,
        width: int,
        causal: bool = False,
        centers: Any = None,
        stay: bool = False,
        gaussian: bool | None = None,
        score: str | ScoreFunction,
        normalize: str | Normalizer,
        visible: Any = None,
        dropout: Callable[[Array], Array] | None = None,
    ) -> LocalAttention:
        """What attend_local was called with, checked; ``dropout`` is that of a layer, on the weights."""
        xp, dtype, arrays = numbers(["value"], query=query, key=key, value=value)
        q, k = widened(arrays["query"]), widened(arrays["key"])
        v = widened(arrays["value"]) if value is not None else k
        check_shapes(q, k, v)
        return cls(
            xp=xp,
            dtype=dtype,
            query=q,
            key=k,
            value=v,
            width=min(check_width(width), _WIDEST),
            causal=causal,
            given_centers=None if centers is None else _centers(q, k, v, centers),
            stay=stay,
            gaussian=centers is not None if gaussian is None else gaussian,
            score=score_of(score),
            normalize=normalizer_of(normalize),
            visible=None if visible is None else _visible(q, k, boolean(visible, "visible", q)),
            dropout=dropout,
        )

    def attended(self) -> LocalAttended:
        return LocalAttended(cast(self.xp, self.run(), self.dtype), self.late)

    @cached_property
    def centers(self) -> Array:
        if self.given_centers is not None:
            return self.given_centers
        own = beside(np.arange(self.query.shape[-2]), "centers", self.query)
        if self.stay:
            last = visible_lengths(self.key, self.visible)[..., None] - 1
            own = self.xp.minimum(own, cast(self.xp, self.xp.clip(last, 0, None), own.dtype))
        return _centers(self.query, self.key, self.value, own)

    @cached_property
    def windows(self) -> _Windows:
        windows = _Windows.around(self.centers, self.width, keys=self.key.shape[-2], causal=self.causal)
        if self.visible is not None:
            windows.hide(self.visible)
        return windows

    @cached_property
    def scores(self) -> Float[Array, "*b q w"]:
        near_keys, places = self.windows.pick(self.key), self.windows.places
        if isinstance(self.score, Score):  # Location needs to know where the picked keys stand
            return self.score.at(self.query, near_keys, places)
        scores = checked_scores(self.score(self.query[..., None, :], near_keys), self.query[..., None, :], near_keys)
        return scores[..., 0, :]

    @cached_property
    def aligned(self) -> Float[Array, "*b q w"]:
        return self.normalized(self.scores, self.windows.inside)

    @cached_property
    def weights(self) -> Float[Array, "*b q w"]:
        return self.aligned * self.windows.gaussian() if self.gaussian else self.aligned

    @cached_property
    def context(self) -> Float[Array, "*b q v"]:
        return self.xp.matmul(self.kept[..., None, :], self.windows.pick(self.value))[..., 0, :]

    def steps(self) -> list[Step]:
        near = f"the keys at most {self.width} {'before' if self.causal else 'from'} the center"
        formula = getattr(self.score, "formula", "score(query, key)")
        rule = "aligned * exp(-(s - p)² / 2 sigma²)" if self.gaussian else "aligned"
        places = ("aligned", "positions", "centers") if self.gaussian else ("aligned",)
        weights = Step("weights", rule, self.weights, ("q", "w"), places)
        taken = [weights, *self.dropout_steps(weights)]
        # Scores and context are of keys and values too, of which only those in the windows were taken.
        return [
            Step("query", "given", self.query, ("q", "d")),
            Step("centers", "the middle of each window", self.centers, ("q",)),
            Step("positions", near, self.windows.places, ("q", "w"), ("centers",)),
            Step("scores", formula, self.scores, ("q", "w"), ("query", "keys", "positions")),
            Step("aligned", "normalized inside the window", self.aligned, ("q", "w"), ("scores",), ("w",)),
            *taken,
            Step("context", "sum of the weighted values", self.context, ("q", "v"), (taken[-1].name, "values")),
        ]

    def fused_context(self) -> Array | None:
        """The context of moving windows on torch, from a kernel that copies no keys; None where it does not fit."""
        batches = {tuple(x.shape[:-2]) for x in (self.query, self.key, self.value)}
        plain = self.given_centers is None and not self.gaussian and self.softmaxes
        if not (is_torch_array(self.query) and plain and len(batches) == 1):
            return None
        lengths = None
        if self.visible is not None:
            lengths = _lengths_of_padding(self)
            if lengths is None:
                return None
        query, key, score = self.query, self.key, self.score
        if isinstance(score, Additive | Concat):
            query, key, score = score.projected(query, key)
        if not isinstance(score, Dot | ScaledDot | SumOfTanh):
            return None
        same_width(score, query, key)
        from regard.kernels import window_attention
        from regard.kernels.fused import masks_by_adding

        how: dict[str, Any] = {"score": score.name}
        if isinstance(score, SumOfTanh):
            fits = all_finite(self.xp, key, self.value)  # it masks by adding -inf, which a NaN outside survives
            how = {"score": "additive", "v": weight("v", score.v, query, (query.shape[-1],), "(hidden,)")}
        else:
            fits = masks_by_adding(query, key, self.value)
        if not fits:
            return None
        how |= {"width": self.width, "causal": self.causal, "lengths": lengths, "stay": self.stay}
        return window_attention(query, key, self.value, **how)


def _lengths_of_padding(work: LocalAttention) -> Array | None:
    """The lengths that a mask says, one for each sentence of the batch; None if it says anything else."""
    xp, seen = work.xp, work.visible
    if seen is None or seen.shape[-2] != 1:
        return None
    lengths = visible_lengths(work.key, seen)
    if int(xp.sum(seen)) != int(xp.sum(xp.broadcast_to(lengths, seen.shape[:-2]))):
        return None  # some key before the last visible one is hidden
    return xp.broadcast_to(lengths, work.query.shape[:-2])


def visible_lengths(key: Array, visible: Array | None) -> Array:
    """How many keys each sentence has, up to the last that any query may see.

    key (..., k, d), visible (..., q or 1, k) -> (...)

    >>> visible_lengths(np.ones((2, 3, 1)), np.array([[[True, True, False]], [[True, False, False]]]))
    array([2, 1])
    """
    xp, keys = array_namespace(key), key.shape[-2]
    places = to_array(np.arange(1, keys + 1), "places", key)
    if visible is None:
        return xp.broadcast_to(places[-1], key.shape[:-2])
    seen = xp.any(visible, axis=-2) if visible.ndim > 1 else visible
    return xp.max(xp.where(seen, places, xp.zeros_like(places)), axis=-1)


def predict_centers(query: Any, W_p: Any, v_p: Any, lengths: Any) -> Float[Array, "*b q"]:
    """p = S * sigmoid(v_p · tanh(W_p q)), equation 9: query (..., q, d), lengths (...) -> (..., q) in [0, S].

    >>> predict_centers([[0.0, 0.0]], [[1.0, 0.0]], [1.0], 10)
    array([5.])
    """
    xp, _, arrays = numbers(query=query)
    q = arrays["query"]
    v = weight("v_p", v_p, q, (None,), "(hidden,)")
    W = weight("W_p", W_p, q, (v.shape[0], q.shape[-1]), "(hidden, query width)")
    share = (1 + xp.tanh(xp.tanh(q @ W.T) @ v / 2)) / 2  # the sigmoid, whose exp would overflow
    return beside(lengths, "lengths", q)[..., None] * share


def _centers(
    query: Float[Array, "*#b q d_q"], key: Float[Array, "*#b k d_k"], value: Float[Array, "*#b k v"], centers: Any
) -> Float[Array, "*#b q"]:
    """(..., q) real numbers, one for each query."""
    xp, named = array_namespace(query), {"query": query, "key": key, "value": value}
    batch = broadcast_shapes({name: tuple(array.shape[:-2]) for name, array in named.items()})
    wanted = (*batch, query.shape[-2])
    array = beside(centers, "centers", query)
    if not _finite(xp, array):
        raise InputError("centers must be finite numbers, a place among the keys for each query; there is NaN or inf")
    try:
        return xp.broadcast_to(array, wanted)
    except (ValueError, RuntimeError):
        raise ShapeError(f"centers must be one place for each query, {wanted}; they are {tuple(array.shape)}") from None


def _finite(xp: Namespace, array: Array) -> bool:
    try:
        return bool(xp.all(xp.isfinite(array)))
    except TypeError:  # JAX traces: the values are not known
        return True


def _visible(query: Array, key: Array, visible: Array) -> Array:
    """The mask (..., q or 1, k), checked to broadcast to queries x keys; never larger than it came."""
    batch = broadcast_shapes({"query": tuple(query.shape[:-2]), "key": tuple(key.shape[:-2])})
    whole, shape = (*batch, query.shape[-2], key.shape[-2]), tuple(visible.shape)
    try:
        fits = np.broadcast_shapes(whole, shape) == whole
    except ValueError:
        fits = False
    if not fits:
        raise ShapeError(f"visible must broadcast to {whole}: queries x keys; it is {shape}")
    shape = (1,) * (2 - len(shape)) + shape
    return array_namespace(visible).broadcast_to(visible, (*shape[:-1], key.shape[-2]))


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
    def around(cls, centers: Array, width: int, *, keys: int, causal: bool) -> _Windows:
        xp = array_namespace(centers)
        first = xp.clip(xp.ceil(centers - width), 0.0, float(keys - 1))
        last = centers if causal else centers + width
        slots = min(keys, width + 1 if causal else 2 * width + 1)
        places = first[..., None] + beside(np.arange(slots), "reach", centers)
        inside = (places >= centers[..., None] - width) & (places <= last[..., None]) & (places <= keys - 1)
        clipped = cast(xp, xp.clip(places, 0.0, float(keys - 1)), xp.int64)
        return cls(centers, width, keys, cast(xp, first, xp.int64), clipped, inside)

    def hide(self, visible: Array) -> None:
        """Take out what ``visible`` (..., q or 1, k) hides."""
        xp = array_namespace(visible)
        everywhere = xp.broadcast_to(visible, (*self.places.shape[:-1], self.keys))
        self.inside = self.inside & xp.take_along_axis(everywhere, self.places, axis=-1)

    def pick(self, rows: Float[Array, "*#b k d"]) -> Float[Array, "*#b q w d"]:
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

    def gaussian(self) -> Float[Array, "*b q w"]:
        """exp(-(s - p)² / 2 sigma²) with sigma = width / 2, equation 10."""
        xp = array_namespace(self.centers)
        distance = cast(xp, self.places, self.centers.dtype) - self.centers[..., None]
        return xp.exp(-(distance * distance) / (2 * (self.width / 2) ** 2))

    def spread(self, near: Float[Array, "*b q w"], empty: float) -> Float[Array, "*b q k"]:
        """The window's numbers at their places among all keys, ``empty`` elsewhere: (..., q, w) -> (..., q, k)."""
        xp = array_namespace(near)
        slot = to_array(np.arange(self.keys), "keys", self.first) - self.first[..., None]
        clipped = xp.clip(slot, 0, near.shape[-1] - 1)
        found = (slot == clipped) & xp.take_along_axis(self.inside, clipped, axis=-1)
        return xp.where(found, xp.take_along_axis(near, clipped, axis=-1), xp.full_like(near[..., :1], empty))
