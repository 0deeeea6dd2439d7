"""How well a key answers a query: the scores of the literature, on arrays of any library.

    dot          q·k                          Luong et al. 2015, section 3.1
    scaled_dot   q·k / √d                     Vaswani et al. 2017, section 3.2.1
    cosine       q·k / (|q| |k|)              Graves et al. 2014, section 3.3.1
    general      q·(W k)                      Luong et al. 2015, section 3.1
    additive     v·tanh(W_q q + W_k k)        Bahdanau et al. 2015, appendix A.1.2
    concat       v·tanh(W [q; k])             Luong et al. 2015, section 3.1
    location     W q                          Luong et al. 2015, section 3.1, equation 8

A score is called with a query (..., q, d) and a key (..., k, d) and gives (..., q, k).
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple, TypeAlias

from regard.arrays import Array, array_namespace, beside, is_numpy_array, is_torch_array
from regard.errors import InputError, ShapeError, choose
from regard.shape_types import Float, Int

ScoreFunction: TypeAlias = Callable[[Array, Array], Array]


class Step(NamedTuple):
    """One named intermediate of a computation, with the formula that gave it.

    ``axes`` names the last axes of the value: q queries, k keys, w places of a window, d width of query and key,
    v width of value, h hidden. ``made_from`` names the steps it was computed from: each of its numbers from theirs at
    the same places on the axes that both have, and on ``over`` from all places, as in a softmax. Pictures are drawn
    by these; a step without them is drawn as the table it is.

    >>> Step("scores", "query · key", np.ones((2, 3)), axes=("q", "k"), made_from=("query", "keys")).axes
    ('q', 'k')
    """

    name: str
    """such as 'scores'"""
    formula: str
    """how the value was computed, such as 'q·k / √d'"""
    value: Array
    """the array itself"""
    axes: tuple[str, ...] = ()
    """the names of its last axes"""
    made_from: tuple[str, ...] = ()
    """the names of the steps it was computed from"""
    over: tuple[str, ...] = ()
    """the axes on which it was computed from all places"""


class Score:
    """A score function that can also show its intermediates."""

    name: ClassVar[str]
    formula: ClassVar[str]

    def __call__(self, query: Float[Array, "*#b q d_q"], key: Float[Array, "*#b k d_k"]) -> Float[Array, "*#b q k"]:
        """query (..., q, d), key (..., k, d) -> (..., q, k)."""
        raise NotImplementedError

    def steps(self, query: Float[Array, "*#b q d_q"], key: Float[Array, "*#b k d_k"]) -> list[Step]:
        """The intermediates in order; the last is the scores."""
        return [Step("scores", self.formula, self(query, key), ("q", "k"), ("query", "keys"))]

    def at(  # Location needs the positions
        self,
        query: Float[Array, "*#b q d_q"],
        key: Float[Array, "*#b q w d_k"],
        positions: Int[Array, "*#b q w"],  # noqa: ARG002
    ) -> Float[Array, "*#b q w"]:
        """Scores of keys picked per query: key (..., q, w, d), positions (..., q, w) -> (..., q, w)."""
        return self(query[..., None, :], key)[..., 0, :]

    def __repr__(self) -> str:
        return f"<score {self.name}: {self.formula}>"


class Dot(Score):
    """q·k

    >>> Dot()(np.array([[5., 1., 20.]]), np.array([[3., 12., 45.], [59., 2., 5.]]))
    array([[927., 397.]])
    """

    name, formula = "dot", "query · key"

    def __call__(self, query: Float[Array, "*#b q d"], key: Float[Array, "*#b k d"]) -> Float[Array, "*#b q k"]:
        same_width(self, query, key)
        xp = array_namespace(query, key)
        return xp.matmul(query, xp.matrix_transpose(key))


class ScaledDot(Score):
    """q·k / √d, so that scores keep their size as d grows."""

    name, formula = "scaled_dot", "query · key / √d"

    def __call__(self, query: Float[Array, "*#b q d"], key: Float[Array, "*#b k d"]) -> Float[Array, "*#b q k"]:
        same_width(self, query, key)
        return Dot()(query, key) / math.sqrt(query.shape[-1])

    def steps(self, query: Float[Array, "*#b q d"], key: Float[Array, "*#b k d"]) -> list[Step]:
        plain = Dot().steps(query, key)
        scaled = plain[-1].value / math.sqrt(query.shape[-1])
        return [*plain, Step("scaled", f"scores / √{query.shape[-1]}", scaled, ("q", "k"), ("scores",))]


class Cosine(Score):
    """The cosine of the angle between q and k; 0 where one of them is all zeros."""

    name, formula = "cosine", "query · key / (|query| |key|)"

    def __call__(self, query: Float[Array, "*#b q d"], key: Float[Array, "*#b k d"]) -> Float[Array, "*#b q k"]:
        same_width(self, query, key)
        return Dot()(_unit(query), _unit(key))


class General(Score):
    """q·(W k), with W (d_query, d_key): the bilinear form; query and key may differ in width."""

    name, formula = "general", "query · (W key)"

    def __init__(self, W: Any) -> None:
        self.W = W

    def __call__(self, query: Float[Array, "*#b q d_q"], key: Float[Array, "*#b k d_k"]) -> Float[Array, "*#b q k"]:
        W = weight("W", self.W, query, (query.shape[-1], key.shape[-1]), "(query width, key width)")
        xp = array_namespace(query, key)
        return xp.matmul(xp.matmul(query, W), xp.matrix_transpose(key))


class SumOfTanh(Score):
    """v·tanh(q + k), for query and key that are projected to one width h already: the heart of additive and concat."""

    name, formula = "sum_of_tanh", "v · tanh(query + key)"

    def __init__(self, v: Any) -> None:
        self.v = v

    def __call__(self, query: Float[Array, "*#b q d"], key: Float[Array, "*#b k d"]) -> Float[Array, "*#b q k"]:
        same_width(self, query, key)
        v = weight("v", self.v, query, (query.shape[-1],), "(hidden,)")
        from regard.kernels import dispatch

        if is_torch_array(query) and not dispatch.few_pairs(query, key):
            from regard.kernels import additive_scores

            return additive_scores(query, key, v)
        if is_numpy_array(query) and not dispatch.few_array_pairs(query, key):
            from regard.kernels import additive_scores_numpy

            return additive_scores_numpy(query, key, v)
        return _tanh_pairs(query, key) @ v

    def steps(self, query: Float[Array, "*#b q d"], key: Float[Array, "*#b k d"]) -> list[Step]:
        hidden = _tanh_pairs(query, key)
        v = weight("v", self.v, query, (query.shape[-1],), "(hidden,)")
        return [
            Step("hidden", "tanh(query + key)", hidden, ("q", "k", "h"), ("query", "keys")),
            Step("scores", "v · hidden", hidden @ v, ("q", "k"), ("hidden",)),
        ]


class Additive(Score):
    """v·tanh(W_q q + W_k k), with W_q (h, d_query), W_k (h, d_key), v (h,): the MLP of Bahdanau."""

    name, formula = "additive", "v · tanh(W_q query + W_k key)"

    def __init__(self, W_q: Any, W_k: Any, v: Any) -> None:
        self.W_q, self.W_k, self.v = W_q, W_k, v

    def __call__(self, query: Float[Array, "*#b q d_q"], key: Float[Array, "*#b k d_k"]) -> Float[Array, "*#b q k"]:
        projected_query, projected_key, comparison = self.projected(query, key)
        return comparison(projected_query, projected_key)

    def steps(self, query: Float[Array, "*#b q d_q"], key: Float[Array, "*#b k d_k"]) -> list[Step]:
        projected_query, projected_key, comparison = self.projected(query, key)
        hidden, scores = comparison.steps(projected_query, projected_key)
        return [
            Step("projected query", "W_q query", projected_query, ("q", "h"), ("query",)),
            Step("projected keys", "W_k key", projected_key, ("k", "h"), ("keys",)),
            hidden._replace(formula="tanh(W_q query + W_k key)", made_from=("projected query", "projected keys")),
            scores,
        ]

    def projected(
        self, query: Float[Array, "*#b q d_q"], key: Float[Array, "*#b k d_k"]
    ) -> tuple[Float[Array, "*#b q hidden"], Float[Array, "*#b k hidden"], SumOfTanh]:
        """W_q query (..., q, h), W_k key (..., k, h), and what compares the two."""
        hidden = weight("v", self.v, query, (None,), "(hidden,)").shape[0]
        W_q = weight("W_q", self.W_q, query, (hidden, query.shape[-1]), "(hidden, query width)")
        W_k = weight("W_k", self.W_k, query, (hidden, key.shape[-1]), "(hidden, key width)")
        return query @ W_q.T, key @ W_k.T, SumOfTanh(self.v)


class Concat(Score):
    """v·tanh(W [q; k]), with W (h, d_query + d_key): additive with W_q and W_k side by side in one matrix."""

    name, formula = "concat", "v · tanh(W [query; key])"

    def __init__(self, W: Any, v: Any) -> None:
        self.W, self.v = W, v

    def __call__(self, query: Float[Array, "*#b q d_q"], key: Float[Array, "*#b k d_k"]) -> Float[Array, "*#b q k"]:
        return self._as_additive(query, key)(query, key)

    def steps(self, query: Float[Array, "*#b q d_q"], key: Float[Array, "*#b k d_k"]) -> list[Step]:
        return self._as_additive(query, key).steps(query, key)

    def projected(
        self, query: Float[Array, "*#b q d_q"], key: Float[Array, "*#b k d_k"]
    ) -> tuple[Float[Array, "*#b q hidden"], Float[Array, "*#b k hidden"], SumOfTanh]:
        """As for additive."""
        return self._as_additive(query, key).projected(query, key)

    def _as_additive(self, query: Float[Array, "*#b q d_q"], key: Float[Array, "*#b k d_k"]) -> Additive:
        width = query.shape[-1]
        W = weight("W", self.W, query, (None, width + key.shape[-1]), "(hidden, query width + key width)")
        return Additive(W[:, :width], W[:, width:], self.v)


class Location(Score):
    """W q, with W (positions, d_query): each position's score from the query alone, whatever stands there."""

    name, formula = "location", "W query"

    def __init__(self, W: Any) -> None:
        self.W = W

    def __call__(self, query: Float[Array, "*#b q d_q"], key: Float[Array, "*#b k d_k"]) -> Float[Array, "*#b q k"]:
        return query @ self._rows(query, key.shape[-2]).T

    def steps(self, query: Array, key: Array) -> list[Step]:
        return [step._replace(made_from=("query",)) for step in super().steps(query, key)]  # the keys have no say

    def at(self, query: Array, key: Array, positions: Array) -> Array:  # noqa: ARG002 - the keys have no say
        xp = array_namespace(query)
        W = self._rows(query, int(xp.max(positions)) + 1)
        rows = xp.take(W, xp.reshape(positions, (-1,)), axis=0)
        picked = xp.reshape(rows, (*positions.shape, W.shape[-1]))
        return (picked @ query[..., None])[..., 0]

    def _rows(self, query: Float[Array, "... d_q"], keys: int) -> Float[Array, "{keys} d_q"]:
        W = weight("W", self.W, query, (None, query.shape[-1]), "(positions, query width)")
        if keys > W.shape[0]:
            raise ShapeError(
                f"location scores know {W.shape[0]} positions, as W {tuple(W.shape)} has so many rows; "
                f"there are {keys} keys. Give W a row for each."
            )
        return W[:keys, :]


WITHOUT_WEIGHTS: dict[str, Score] = {score.name: score for score in (Dot(), ScaledDot(), Cosine())}
WITH_WEIGHTS: dict[str, type[Score]] = {kind.name: kind for kind in (General, Additive, Concat, Location)}


def weights_of(score: str) -> list[str]:
    """What the weights of a score are called.

    >>> weights_of("additive")
    ['W_q', 'W_k', 'v']
    """
    return list(inspect.signature(WITH_WEIGHTS[score]).parameters)


def score_of(score: str | ScoreFunction) -> ScoreFunction:
    """The score meant by a name or by the object itself."""
    if not isinstance(score, str):
        if not callable(score):
            raise InputError(f"score must be a name or a callable (query, key) -> scores; it is {type(score).__name__}")
        return score
    if score in WITH_WEIGHTS:
        call = f"scores.{WITH_WEIGHTS[score].__name__}({', '.join(weights_of(score))})"
        raise InputError(f"the score {score!r} has weights: pass score={call}, or train them with regard.nn.Attention")
    options = {**WITHOUT_WEIGHTS, **dict.fromkeys(WITH_WEIGHTS, WITHOUT_WEIGHTS["dot"])}
    return choose("score", score, options)


def same_width(score: ScoreFunction, query: Array, key: Array) -> None:
    """Refuse a query and key that this score cannot compare."""
    if query.shape[-1] != key.shape[-1]:
        raise ShapeError(
            f"{getattr(score, 'name', 'the score')} compares vectors of one width: "
            f"query {tuple(query.shape)} has width {query.shape[-1]}, key {tuple(key.shape)} has width "
            f"{key.shape[-1]}. scores.General(W) compares different widths."
        )


def weight(name: str, value: Any, query: Array, shape: tuple[int | None, ...], meaning: str) -> Array:
    """The weight as an array beside the query, its shape checked (None = any size)."""
    array = beside(value, name, query)
    fits = array.ndim == len(shape) and all(want in (None, have) for want, have in zip(shape, array.shape, strict=True))
    if not fits:
        wanted = ", ".join("any" if size is None else str(size) for size in shape)
        raise ShapeError(f"{name} must be {meaning} = ({wanted}); it is {tuple(array.shape)}")
    return array


def _tanh_pairs(query: Float[Array, "*#b q d"], key: Float[Array, "*#b k d"]) -> Float[Array, "*#b q k d"]:
    xp = array_namespace(query, key)
    return xp.tanh(query[..., :, None, :] + key[..., None, :, :])


def _unit(vectors: Float[Array, "*b d"]) -> Float[Array, "*b d"]:
    xp = array_namespace(vectors)
    largest = xp.max(xp.abs(vectors), axis=-1, keepdims=True)
    scaled = vectors / xp.where(largest > 0, largest, xp.ones_like(largest))  # squares of 1e200 would overflow
    square = xp.sum(scaled * scaled, axis=-1, keepdims=True)
    return scaled / xp.sqrt(xp.where(square > 0, square, xp.ones_like(square)))
