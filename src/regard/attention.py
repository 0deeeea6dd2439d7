"""attend(): a query looks at keys and takes the mix of their values.

scores   how well each key answers the query             scores.py
weights  the scores made into a distribution             normalizers.py
context  the values, each times its weight, summed
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any

from regard.arrays import (
    Array,
    Namespace,
    all_finite,
    beside,
    boolean,
    broadcast_shapes,
    cast,
    is_torch_array,
    numbers,
    widened,
)
from regard.errors import ShapeError
from regard.normalizers import NORMALIZERS, Normalizer, hide, normalizer_of, weights_by
from regard.scores import Dot, ScaledDot, Score, ScoreFunction, Step, same_width, score_of
from regard.shown import Shown

__all__ = ["Attended", "Step", "attend"]


class Attended(Shown):
    """What attention gave: ``context``, and the ``weights`` and ``scores`` behind it. Unpacks as context, weights.

    Weights and scores that were not needed for the context are computed when first looked at.
    """

    def __init__(
        self,
        context: Array,
        *,
        weights: Callable[[], Array],
        scores: Callable[[], Array],
        steps: Callable[[], list[Step]],
    ) -> None:
        self.context = context
        self._weights, self._scores, self._steps = weights, scores, steps

    @cached_property
    def weights(self) -> Array:
        """(..., q, k), each row a distribution over the visible keys (zeros where there are none)."""
        return self._weights()

    @cached_property
    def scores(self) -> Array:
        """(..., q, k), as the score function gave them: before bias and mask."""
        return self._scores()

    def steps(self) -> list[Step]:
        """Every intermediate in order, each with its name, formula and value.

        >>> [step.name for step in regard.attend([1, 0], [[1, 0], [0, 1]]).steps()]
        ['query', 'keys', 'values', 'scores', 'scaled', 'weights', 'weighted values', 'context']
        """
        return self._steps()

    def plot(self, path: str | PathLike[str]) -> Path:
        """The steps side by side as heatmaps with their numbers, to a .png, .svg or .pdf file."""
        from regard.show.figures import plot_steps

        return plot_steps(self.steps(), path)

    def show(self) -> None:
        """Print the steps in the terminal, each number on a colour for its size."""
        from rich.console import Console

        from regard.show.terminal import print_steps

        print_steps(self.steps(), Console())

    def __iter__(self) -> Iterator[Array]:
        yield self.context
        yield self.weights

    def __repr__(self) -> str:
        return f"Attended(context {tuple(self.context.shape)}, unpacks as context, weights)"


def attend(
    query: Any,
    key: Any,
    value: Any = None,
    *,
    score: str | ScoreFunction = "scaled_dot",
    normalize: str | Normalizer = "softmax",
    visible: Any = None,
    bias: Any = None,
) -> Attended:
    """Mix the values, each weighted by how well its key answers the query.

    query (d,) or (..., q, d), key (..., k, d), value (..., k, v), the keys themselves when None;
    batch dimensions broadcast. ``visible`` is True where a query may look: a hidden key weighs exactly 0,
    whatever it holds, and a query that may look nowhere gets zeros. ``bias`` is added to the scores.
    float16 and bfloat16 are computed in float32 (their scores stay so), and given back as they came.

    >>> regard.attend([5, 1, 20], [[3, 12, 45], [4, 3, 45.3]], score="dot").scores
    array([927., 929.])
    >>> context, weights = regard.attend([[1, 0]], [[1, 0], [0, 1]], [[10], [20]], visible=[[False, True]])
    >>> context, weights
    (array([[20.]]), array([[0., 1.]]))
    """
    xp, dtype, arrays = numbers(["value"], query=query, key=key, value=value)
    work = _Work(
        xp,
        dtype,
        single=arrays["query"].ndim == 1,
        query=arrays["query"][None, :] if arrays["query"].ndim == 1 else arrays["query"],
        key=arrays["key"],
        value=arrays.get("value", arrays["key"]),
        score=score_of(score),
        normalize=normalizer_of(normalize),
    )
    check_shapes(work.query, work.key, work.value)
    work.visible, work.bias = _fit(work, visible, bias)
    return work.attended()


@dataclass
class _Work:
    """One call of attend, its inputs checked: query (..., q, d) even when a single one came."""

    xp: Namespace
    dtype: Any
    single: bool
    query: Array
    key: Array
    value: Array
    score: ScoreFunction
    normalize: Normalizer
    visible: Array | None = None
    bias: Array | None = None

    def attended(self) -> Attended:
        if not self._fits_fused_kernel():
            return self._result(self.context, lambda: self)

        from regard.kernels.fused import fused_context, unchanged

        same_width(self.score, self.query, self.key)
        context = fused_context(self.query, self.key, self.value, self._scale(), self.visible, self.bias)
        still = unchanged(query=self.query, key=self.key, value=self.value, visible=self.visible, bias=self.bias)

        def look() -> _Work:
            still()  # weights looked at late must be those of the context
            return self

        return self._result(context, look)

    def _result(self, context: Array, look: Callable[[], _Work]) -> Attended:
        return Attended(
            self._given_back(context),
            weights=lambda: self._given_back(look().weights),
            scores=lambda: self._shown(look().scores),
            steps=lambda: look().steps(),
        )

    @cached_property
    def ready(self) -> tuple[Array, Array, Array]:
        """Query, key and value to compute with: wide enough, and with hidden NaN and inf made 0.

        (0 * NaN is NaN: a hidden NaN would otherwise leak through a weight of 0.)
        """
        query, key, value = widened(self.query), widened(self.key), widened(self.value)
        return (query, key, value) if self._clean else (query, self._zeroed(key), self._zeroed(value))

    @cached_property
    def _clean(self) -> bool:
        return self.visible is None or (all_finite(self.xp, self.key) and all_finite(self.xp, self.value))

    def _zeroed(self, array: Array) -> Array:
        return self.xp.where(self.xp.isfinite(array), array, self.xp.zeros_like(array))

    @cached_property
    def scores(self) -> Array:
        query, key, _ = self.ready
        scores = checked_scores(self.score(query, key), query, key)
        if self._clean:
            return scores
        seen_and_bad = self.xp.any(~self.xp.isfinite(self.key), axis=-1)[..., None, :] & self.visible
        return self.xp.where(seen_and_bad, self.xp.full_like(scores, self.xp.nan), scores)

    @cached_property
    def weights(self) -> Array:
        biased = self.scores if self.bias is None else self.scores + self.bias
        weights = weights_by(self.normalize, hide(biased, self.visible))
        if self.visible is None:
            return weights
        return self.xp.where(self.visible, weights, self.xp.zeros_like(weights))

    @cached_property
    def context(self) -> Array:
        xp = self.xp
        _, _, value = self.ready
        context = xp.matmul(self.weights, value)
        if self._clean:
            return context
        seen = cast(xp, xp.broadcast_to(self.visible, self.weights.shape), value.dtype)
        sees_bad = xp.matmul(seen, cast(xp, ~xp.isfinite(self.value), value.dtype)) > 0
        return xp.where(sees_bad, xp.full_like(context, xp.nan), context)

    def steps(self) -> list[Step]:
        query, key, _ = self.ready
        steps = [Step("query", "given", query), Step("keys", "given", widened(self.key))]
        steps.append(Step("values", "the keys" if self.value is self.key else "given", widened(self.value)))
        if isinstance(self.score, Score):
            steps += self.score.steps(query, key)
            steps[-1] = steps[-1]._replace(value=self.scores)
        else:
            steps.append(Step("scores", "score(query, key)", self.scores))
        if self.bias is not None:
            steps.append(Step("biased", f"{steps[-1].name} + bias", self.scores + self.bias))
        if self.visible is not None:
            masked = hide(steps[-1].value, self.visible)
            steps.append(Step("masked", f"{steps[-1].name} where visible, else -∞", masked))
        rule = next((name for name, known in NORMALIZERS.items() if known is self.normalize), "normalize")
        steps += [
            Step("weights", f"{rule}({steps[-1].name})", self.weights),
            Step("weighted values", "weight * value", self._weighted()),
            Step("context", "sum of the weighted values", self.context),
        ]
        return [step._replace(value=self._shown(step.value, step.name)) for step in steps]

    def _weighted(self) -> Array:
        """(..., q, k, v)"""
        _, _, value = self.ready
        weighted = self.weights[..., None] * value[..., None, :, :]
        if self._clean:
            return weighted
        assert self.visible is not None
        seen_and_bad = ~self.xp.isfinite(self.value)[..., None, :, :] & self.visible[..., None]
        return self.xp.where(seen_and_bad, self.xp.full_like(weighted, self.xp.nan), weighted)

    def _shown(self, array: Array, name: str = "") -> Array:
        """Without the row axis that a single query was given."""
        if not self.single or name in ("keys", "values", "projected keys"):
            return array
        return array[..., 0, :, :] if name in ("hidden", "weighted values") else array[..., 0, :]

    def _given_back(self, array: Array) -> Array:
        return cast(self.xp, self._shown(array), self.dtype)

    def _fits_fused_kernel(self) -> bool:
        return (
            is_torch_array(self.query)
            and isinstance(self.score, Dot | ScaledDot)
            and self.normalize is NORMALIZERS["softmax"]
            and (self.visible is None or self._hidden_by_adding())
        )

    def _hidden_by_adding(self) -> bool:
        """Whether -inf added to the scores hides a key, as the kernel does it."""
        from regard.kernels.fused import products_finite

        return self._clean and products_finite(self.query, self.key)

    def _scale(self) -> float:
        return 1.0 if isinstance(self.score, Dot) else float(self.query.shape[-1] ** -0.5)


def check_shapes(query: Array, key: Array, value: Array) -> None:
    """Refuse what is not (..., q, d), (..., k, d) and (..., k, v) with something to look at."""
    shapes = {"query": tuple(query.shape), "key": tuple(key.shape), "value": tuple(value.shape)}
    for name, shape in shapes.items():
        if len(shape) < 2:
            raise ShapeError(
                f"{name} must have a row for each vector, (..., rows, width); it is {shape}. "
                f"A single vector is written [[...]]."
            )
        if shape[-1] == 0:
            raise ShapeError(f"{name} {shape} has width 0: each vector needs at least one number")
    keys, values = shapes["key"], shapes["value"]
    if keys[-2] != values[-2]:
        raise ShapeError(f"each key needs one value: key {keys} has {keys[-2]} rows, value {values} has {values[-2]}")
    if keys[-2] == 0:
        raise ShapeError(f"there is nothing to look at: key {keys} has no rows. Give at least one key.")
    broadcast_shapes({name: shape[:-2] for name, shape in shapes.items()})


def _fit(work: _Work, visible: Any, bias: Any) -> tuple[Array | None, Array | None]:
    """The mask and the bias beside the query, checked to broadcast to the scores."""
    queries, keys = work.query.shape[-2], work.key.shape[-2]

    def fit(name: str, array: Array) -> Array:
        if work.single and array.ndim:
            array = array[..., None, :]  # (..., k) -> (..., 1, k), as the query got a row axis
        tail = tuple(array.shape)[-2:]
        fits = all(have in (1, want) for have, want in zip(reversed(tail), (keys, queries), strict=False))
        if not fits:
            shape = tuple(array.shape) if not work.single else (*array.shape[:-2], array.shape[-1])
            wanted = f"(..., {keys})" if work.single else f"(..., {queries}, {keys})"
            raise ShapeError(f"{name} must broadcast to the scores {wanted}: queries x keys; it is {shape}")
        batch = broadcast_shapes({"query": tuple(work.query.shape[:-2]), "key": tuple(work.key.shape[:-2])})
        if broadcast_shapes({"query and key": batch, name: tuple(array.shape[:-2])}) != batch:
            raise ShapeError(f"{name} {tuple(array.shape)} has more batch dimensions than query and key, {batch}")
        return array

    return (
        None if visible is None else fit("visible", boolean(visible, "visible", work.query)),
        None if bias is None else fit("bias", beside(bias, "bias", widened(work.query))),
    )


def checked_scores(scores: Array, query: Array, key: Array) -> Array:
    """The scores, if a score function gave one for each query and key."""
    batch = broadcast_shapes({"query": tuple(query.shape[:-2]), "key": tuple(key.shape[:-2])})
    wanted = (*batch, query.shape[-2], key.shape[-2])
    if tuple(getattr(scores, "shape", ())) != wanted:
        raise ShapeError(
            f"a score function gives one number for each query and key, {wanted}; this one gave "
            f"{tuple(getattr(scores, 'shape', ())) or type(scores).__name__}"
        )
    return scores
