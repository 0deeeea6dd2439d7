"""What every call of attend and attend_local does: query and keys to scores, weights and a context, and their steps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Self

from regard.arrays import Array, Namespace, broadcast_shapes, is_torch_array
from regard.errors import ShapeError
from regard.normalizers import NORMALIZERS, Normalizer, hide, weights_by
from regard.scores import ScoreFunction, Step
from regard.shape_types import Float


@dataclass(kw_only=True)
class Computation:
    """One call, its inputs checked: query (..., q, d), key (..., k, d), value (..., k, v).

    Every intermediate is computed when first asked for. ``weights`` are those before ``dropout``; the context is made
    of the ``kept`` ones.
    """

    xp: Namespace
    dtype: Any
    """of what is given back; half precision is computed in float32"""
    query: Array
    key: Array
    value: Array
    score: ScoreFunction
    normalize: Normalizer
    visible: Array | None = None
    bias: Array | None = None
    dropout: Callable[[Array], Array] | None = None
    _check: Callable[[], None] | None = field(default=None, init=False)

    @cached_property
    def scores(self) -> Array:
        """As the score function gave them: before bias and mask."""
        raise NotImplementedError

    @cached_property
    def weights(self) -> Array:
        raise NotImplementedError

    @cached_property
    def context(self) -> Array:
        raise NotImplementedError

    def steps(self) -> list[Step]:
        raise NotImplementedError

    def fused_context(self) -> Array | None:
        """The context from a kernel that makes no map; None where none fits."""
        raise NotImplementedError

    @cached_property
    def kept(self) -> Array:
        """The weights after dropout."""
        return self.weights if self.dropout is None else self.dropout(self.weights)

    def run(self) -> Array:
        """The context, by the fused kernel where it fits."""
        fused = self.fused_context() if self.dropout is None else None
        if fused is None:
            return self.context
        from regard.kernels.fused import unchanged

        own = {name: array for name, array in vars(self.score).items() if is_torch_array(array)}
        given = {"query": self.query, "key": self.key, "value": self.value, "visible": self.visible, "bias": self.bias}
        self._check = unchanged(**{**own, **given})
        return fused

    def late(self) -> Self:
        """Itself, to compute what the kernel did not: refused if the inputs were changed in place."""
        if self._check is not None:
            self._check()
        return self

    @property
    def softmaxes(self) -> bool:
        return self.normalize is NORMALIZERS["softmax"]

    def normalized(self, scores: Float[Array, "*s"], visible: Array | None) -> Float[Array, "*s"]:
        """The scores as weights: exactly 0 where nothing is visible."""
        weights = weights_by(self.normalize, hide(scores, visible))
        return weights if visible is None else self.xp.where(visible, weights, self.xp.zeros_like(weights))

    def weights_steps(self, formula: str, source: Step) -> list[Step]:
        """The weights as they were made from the last kind of scores, and what dropout made of them."""
        by_row = any(self.normalize is known for known in NORMALIZERS.values())
        over = source.axes[-1:] if by_row else source.axes  # what a callable normalizes over is not known
        weights = Step("weights", formula, self.weights, source.axes, (source.name,), over)
        return [weights, *self.dropout_steps(weights)]

    def dropout_steps(self, weights: Step) -> list[Step]:
        if self.dropout is None:
            return []
        return [Step("dropped", "dropout(weights)", self.kept, weights.axes, (weights.name,))]


def check_shapes(
    query: Float[Array, "*#b q d_q"], key: Float[Array, "*#b k d_k"], value: Float[Array, "*#b k v"]
) -> None:
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


def checked_scores(
    scores: Any, query: Float[Array, "*#b q d_q"], key: Float[Array, "*#b k d_k"]
) -> Float[Array, "*#b q k"]:
    """The scores, if a score function gave one for each query and key."""
    batch = broadcast_shapes({"query": tuple(query.shape[:-2]), "key": tuple(key.shape[:-2])})
    wanted = (*batch, query.shape[-2], key.shape[-2])
    if tuple(getattr(scores, "shape", ())) != wanted:
        raise ShapeError(
            f"a score function gives one number for each query and key, {wanted}; this one gave "
            f"{tuple(getattr(scores, 'shape', ())) or type(scores).__name__}"
        )
    return scores


def with_axes(step: Step, query: Float[Array, "*#b q d_q"], key: Float[Array, "*#b k d_k"]) -> Step:
    """A score's step with its axes: those it names, checked, or else those that its shape tells.

    >>> query, key = np.ones((1, 2)), np.ones((3, 2))
    >>> [with_axes(Step("own", "", np.ones(shape)), query, key).axes for shape in ((1, 3), (3, 2), (1, 5), (1, 3, 5))]
    [('q', 'k'), ('k', 'h'), ('q', 'h'), ('q', 'k', 'h')]
    """
    sizes = {"q": query.shape[-2], "k": key.shape[-2]}
    shape = tuple(step.value.shape)
    if step.axes:
        wanted = tuple(sizes.get(axis) for axis in step.axes)
        tail = shape[-len(wanted) :]
        if len(tail) != len(wanted) or any(want not in (None, have) for want, have in zip(wanted, tail, strict=True)):
            named = ", ".join(f"{axis} = {sizes[axis]}" if axis in sizes else axis for axis in step.axes)
            raise ShapeError(
                f"the step {step.name!r} names its last axes ({named}); its value is {shape}. Name the axes it has."
            )
        return step
    batch = broadcast_shapes({"query": tuple(query.shape[:-2]), "key": tuple(key.shape[:-2])})
    fitting = (("q", "k", "h"),) if len(shape) == len(batch) + 3 else (("q", "k"), ("k", "h"), ("q", "h"))
    for axes in fitting if len(shape) >= 2 else ():
        if all(sizes.get(axis) in (None, size) for axis, size in zip(axes, shape[-len(axes) :], strict=True)):
            return step._replace(axes=axes)
    return step


def without_query_axis(step: Step) -> Step:
    """The step of a single query, that was given a row axis to compute with."""
    if "q" not in step.axes:
        return step
    place = step.axes.index("q") - len(step.axes)
    value = step.value[(..., 0, *(slice(None),) * (-place - 1))]
    over = tuple(axis for axis in step.over if axis != "q")
    return step._replace(value=value, axes=tuple(axis for axis in step.axes if axis != "q"), over=over)
