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
    all_finite,
    beside,
    boolean,
    broadcast_shapes,
    cast,
    is_torch_array,
    numbers,
    widened,
)
from regard.computation import Computation, check_shapes, checked_scores, with_axes, without_query_axis
from regard.displayable import Displayable
from regard.errors import ShapeError
from regard.normalizers import NORMALIZERS, Normalizer, hide, normalizer_of
from regard.scores import Dot, ScaledDot, Score, ScoreFunction, Step, same_width, score_of
from regard.shape_types import Float

__all__ = ["Attended", "Step", "attend"]


class Attended(Displayable):
    """What attention gave: ``context``, and the ``weights`` and ``scores`` behind it. Unpacks as context, weights.

    Weights and scores that were not needed for the context are computed when first looked at.
    """

    context: Array
    """(..., q, v): the values of each query, mixed by its weights"""

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
    return GlobalAttention.of(
        query, key, value, score=score, normalize=normalize, visible=visible, bias=bias
    ).attended()


@dataclass(kw_only=True)
class GlobalAttention(Computation):
    """One call of attend: query (..., q, d) even when a ``single`` one came."""

    single: bool = False

    @classmethod
    def of(
        cls,
        query: Any,
        key: Any,
        value: Any = None,
        *,
        score: str | ScoreFunction,
        normalize: str | Normalizer,
        visible: Any = None,
        bias: Any = None,
        dropout: Callable[[Array], Array] | None = None,
    ) -> GlobalAttention:
        """What attend was called with, checked; ``dropout`` is that of a layer, on the weights."""
        xp, dtype, arrays = numbers(["value"], query=query, key=key, value=value)
        single = arrays["query"].ndim == 1
        made = cls(
            xp=xp,
            dtype=dtype,
            single=single,
            query=arrays["query"][None, :] if single else arrays["query"],
            key=arrays["key"],
            value=arrays.get("value", arrays["key"]),
            score=score_of(score),
            normalize=normalizer_of(normalize),
            dropout=dropout,
        )
        check_shapes(made.query, made.key, made.value)
        made.visible, made.bias = _fit(made, visible, bias)
        return made

    def attended(self) -> Attended:
        return Attended(
            self._given_back(self.run(), ("q", "v")),
            weights=lambda: self._given_back(self.late().weights, ("q", "k")),
            scores=lambda: self._shown(Step("scores", "", self.late().scores, ("q", "k"))).value,
            steps=lambda: self.late().steps(),
        )

    @cached_property
    def ready(self) -> tuple[Float[Array, "*#b q d_q"], Float[Array, "*#b k d_k"], Float[Array, "*#b k v"]]:
        """Query, key and value to compute with: wide enough, and with hidden NaN and inf made 0.

        (0 * NaN is NaN: a hidden NaN would otherwise leak through a weight of 0.)
        """
        query, key, value = widened(self.query), widened(self.key), widened(self.value)
        return (query, key, value) if self._clean else (query, self._zeroed(key), self._zeroed(value))

    @cached_property
    def _clean(self) -> bool:
        if self.visible is None or (self._could_fuse and self._masks_by_adding):
            return True
        return all_finite(self.xp, self.key, self.value)

    def _zeroed(self, array: Array) -> Array:
        return self.xp.where(self.xp.isfinite(array), array, self.xp.zeros_like(array))

    @cached_property
    def scores(self) -> Float[Array, "*b q k"]:
        query, key, _ = self.ready
        scores = checked_scores(self.score(query, key), query, key)
        if self._clean:
            return scores
        seen_and_bad = self.xp.any(~self.xp.isfinite(self.key), axis=-1)[..., None, :] & self.visible
        return self.xp.where(seen_and_bad, self.xp.full_like(scores, self.xp.nan), scores)

    @cached_property
    def weights(self) -> Float[Array, "*b q k"]:
        biased = self.scores if self.bias is None else self.scores + self.bias
        return self.normalized(biased, self.visible)

    @cached_property
    def context(self) -> Float[Array, "*b q v"]:
        xp = self.xp
        _, _, value = self.ready
        context = xp.matmul(self.kept, value)
        if self._clean:
            return context
        seen = cast(xp, xp.broadcast_to(self.visible, self.weights.shape), value.dtype)
        sees_bad = xp.matmul(seen, cast(xp, ~xp.isfinite(self.value), value.dtype)) > 0
        return xp.where(sees_bad, xp.full_like(context, xp.nan), context)

    def steps(self) -> list[Step]:
        keys, shared = widened(self.key), self.value is self.key
        steps = [
            Step("query", "given", self.ready[0], ("q", "d")),
            Step("keys", "given", keys, ("k", "d")),
            Step("values", "the keys", keys, ("k", "v"), ("keys",))
            if shared
            else Step("values", "given", widened(self.value), ("k", "v")),
            *self._score_steps(),
        ]
        if self.bias is not None:
            steps.append(Step("biased", f"{steps[-1].name} + bias", self.scores + self.bias, *_beside(steps[-1])))
        if self.visible is not None:
            masked = hide(steps[-1].value, self.visible)
            steps.append(Step("masked", f"{steps[-1].name} where visible, else -∞", masked, *_beside(steps[-1])))
        rule = next((name for name, known in NORMALIZERS.items() if known is self.normalize), "normalize")
        steps += self.weights_steps(f"{rule}({steps[-1].name})", steps[-1])
        sources = steps[-1].name, "values"
        steps += [
            Step("weighted values", "weight * value", self._weighted(), ("q", "k", "v"), sources),
            Step("context", "sum of the weighted values", self.context, ("q", "v"), ("weighted values",)),
        ]
        return [self._shown(step) for step in steps]

    def _score_steps(self) -> list[Step]:
        query, key, _ = self.ready
        if not isinstance(self.score, Score):
            return [Step("scores", "score(query, key)", self.scores, ("q", "k"), ("query", "keys"))]
        *inner, last = self.score.steps(query, key)
        made_from = last.made_from or (() if inner else ("query", "keys"))
        last = last._replace(value=self.scores, axes=("q", "k"), made_from=made_from)
        return [*(with_axes(step, query, key) for step in inner), last]

    def _weighted(self) -> Float[Array, "*b q k v"]:
        _, _, value = self.ready
        weighted = self.kept[..., None] * value[..., None, :, :]
        if self._clean:
            return weighted
        assert self.visible is not None
        seen_and_bad = ~self.xp.isfinite(self.value)[..., None, :, :] & self.visible[..., None]
        return self.xp.where(seen_and_bad, self.xp.full_like(weighted, self.xp.nan), weighted)

    def _shown(self, step: Step) -> Step:
        return without_query_axis(step) if self.single else step

    def _given_back(self, array: Array, axes: tuple[str, str]) -> Array:
        return cast(self.xp, self._shown(Step("", "", array, axes)).value, self.dtype)

    def fused_context(self) -> Array | None:
        if not self._could_fuse or not (self.visible is None or self._masks_by_adding):
            return None
        from regard.kernels.fused import fused_context

        same_width(self.score, self.query, self.key)
        scale = 1.0 if isinstance(self.score, Dot) else float(self.query.shape[-1] ** -0.5)
        return fused_context(self.query, self.key, self.value, scale, self.visible, self.bias)

    @cached_property
    def _could_fuse(self) -> bool:
        return is_torch_array(self.query) and isinstance(self.score, Dot | ScaledDot) and self.softmaxes

    @cached_property
    def _masks_by_adding(self) -> bool:
        from regard.kernels.fused import masks_by_adding

        return masks_by_adding(self.query, self.key, self.value)


def _beside(step: Step) -> tuple[tuple[str, ...], tuple[str]]:
    """Axes and sources of what is made of a step number by number."""
    return step.axes, (step.name,)


def _fit(work: GlobalAttention, visible: Any, bias: Any) -> tuple[Array | None, Array | None]:
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
