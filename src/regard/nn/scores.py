"""The scores with weights that train.

Each is made of what depends on the query alone, what depends on the key alone (computed once for a sentence,
however many queries attend to it) and the comparison of the two, which is one of `regard.scores`.
To add a kind: a class here or in a file of its own, and its line in SCORES; or, in a package of one's own, a line
under the entry points "regard.scores".
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import EntryPoint, entry_points
from typing import Any

import torch
from torch import Tensor, nn

from regard.arrays import check_sizes
from regard.errors import InputError, choose
from regard.nn.loop_gradients import DeferredLinear
from regard.scores import Cosine, Dot, Location, ScaledDot, ScoreFunction, SumOfTanh
from regard.shape_types import Float

MAX_POSITIONS = 512  # how many keys a location score knows, unless told otherwise


class TrainableScore(nn.Module):
    """query (..., q, query_dim), key (..., k, key_dim) -> (..., q, k)."""

    def __init__(self, query_dim: int, key_dim: int, hidden_dim: int | None = None) -> None:
        super().__init__()
        hidden_dim = query_dim if hidden_dim is None else hidden_dim
        check_sizes(query_dim=query_dim, key_dim=key_dim, hidden_dim=hidden_dim)
        self.query_dim, self.key_dim, self.hidden_dim = query_dim, key_dim, hidden_dim

    def project_query(self, query: Float[Tensor, "*b q d_q"]) -> Float[Tensor, "*b q hidden"]:
        return query

    def project_key(self, key: Float[Tensor, "*b k d_k"]) -> Float[Tensor, "*b k hidden"]:
        return key

    def query_series(self) -> Callable[[Tensor], Tensor]:
        """``project_query`` for the steps of one loop."""
        return self.project_query

    def comparison(self) -> ScoreFunction:
        """The score of a projected query and a projected key."""
        raise NotImplementedError

    def forward(self, query: Float[Tensor, "*#b q d_q"], key: Float[Tensor, "*#b k d_k"]) -> Float[Tensor, "*#b q k"]:
        scores: Tensor = self.comparison()(self.project_query(query), self.project_key(key))
        return scores


class WeightlessScore(TrainableScore):
    """dot, scaled_dot, cosine: nothing to train, and query and key must be of one width."""

    def __init__(self, score: ScoreFunction, query_dim: int, key_dim: int, hidden_dim: int | None = None) -> None:
        super().__init__(query_dim, key_dim, hidden_dim)
        if query_dim != key_dim:
            raise InputError(
                f"{getattr(score, 'name', 'this score')} compares vectors of one width; query_dim is {query_dim}, "
                f"key_dim is {key_dim}. Make them equal, or use score='general'."
            )
        self.score = score

    def comparison(self) -> ScoreFunction:
        return self.score


class GeneralScore(TrainableScore):
    """q·(W k), Luong et al. 2015, section 3.1."""

    def __init__(self, query_dim: int, key_dim: int, hidden_dim: int | None = None) -> None:
        super().__init__(query_dim, key_dim, hidden_dim)
        self.W = nn.Linear(key_dim, query_dim, bias=False)

    def project_key(self, key: Float[Tensor, "*b k d_k"]) -> Float[Tensor, "*b k hidden"]:
        projected: Tensor = self.W(key)
        return projected

    def comparison(self) -> ScoreFunction:
        return Dot()


class AdditiveScore(TrainableScore):
    """v·tanh(W_q q + W_k k), Bahdanau et al. 2015, appendix A.1.2."""

    def __init__(self, query_dim: int, key_dim: int, hidden_dim: int | None = None) -> None:
        super().__init__(query_dim, key_dim, hidden_dim)
        self.W_q = nn.Linear(query_dim, self.hidden_dim, bias=False)
        self.W_k = nn.Linear(key_dim, self.hidden_dim, bias=False)
        self.v = nn.Parameter(torch.empty(self.hidden_dim).uniform_(-1, 1) * self.hidden_dim**-0.5)

    def project_query(self, query: Float[Tensor, "*b q d_q"]) -> Float[Tensor, "*b q hidden"]:
        projected: Tensor = self.W_q(query)
        return projected

    def project_key(self, key: Float[Tensor, "*b k d_k"]) -> Float[Tensor, "*b k hidden"]:
        projected: Tensor = self.W_k(key)
        return projected

    def query_series(self) -> Callable[[Tensor], Tensor]:
        plain = type(self).project_query is AdditiveScore.project_query and type(self.W_q) is nn.Linear
        return DeferredLinear(self.W_q.weight, self.W_q.bias) if plain else self.project_query

    def comparison(self) -> ScoreFunction:
        return SumOfTanh(self.v)


class ConcatScore(TrainableScore):
    """v·tanh(W [q; k]), Luong et al. 2015, section 3.1: additive with both matrices in one."""

    def __init__(self, query_dim: int, key_dim: int, hidden_dim: int | None = None) -> None:
        super().__init__(query_dim, key_dim, hidden_dim)
        self.W = nn.Linear(query_dim + key_dim, self.hidden_dim, bias=False)
        self.v = nn.Parameter(torch.empty(self.hidden_dim).uniform_(-1, 1) * self.hidden_dim**-0.5)

    def project_query(self, query: Float[Tensor, "*b q d_q"]) -> Float[Tensor, "*b q hidden"]:
        return nn.functional.linear(query, self.W.weight[:, : self.query_dim])

    def project_key(self, key: Float[Tensor, "*b k d_k"]) -> Float[Tensor, "*b k hidden"]:
        return nn.functional.linear(key, self.W.weight[:, self.query_dim :])

    def query_series(self) -> Callable[[Tensor], Tensor]:
        plain = type(self).project_query is ConcatScore.project_query
        return DeferredLinear(self.W.weight[:, : self.query_dim]) if plain else self.project_query

    def comparison(self) -> ScoreFunction:
        return SumOfTanh(self.v)


class LocationScore(TrainableScore):
    """W q, Luong et al. 2015, equation 8: a row of W for each place, up to ``max_positions``."""

    def __init__(
        self, query_dim: int, key_dim: int, hidden_dim: int | None = None, *, max_positions: int = MAX_POSITIONS
    ) -> None:
        super().__init__(query_dim, key_dim, hidden_dim)
        check_sizes(max_positions=max_positions)
        self.W = nn.Linear(query_dim, max_positions, bias=False)

    def comparison(self) -> ScoreFunction:
        return Location(self.W.weight)


def _weightless(score: ScoreFunction) -> Callable[..., TrainableScore]:
    return lambda *dims: WeightlessScore(score, *dims)


SCORES: dict[str, Callable[..., TrainableScore]] = {
    "dot": _weightless(Dot()),
    "scaled_dot": _weightless(ScaledDot()),
    "cosine": _weightless(Cosine()),
    "general": GeneralScore,
    "additive": AdditiveScore,
    "concat": ConcatScore,
    "location": LocationScore,
}


def _installed(point: EntryPoint) -> Callable[..., TrainableScore]:
    """A score of another package, imported when it is used."""

    def make(*dims: Any) -> TrainableScore:
        try:
            kind = point.load()
        except (ImportError, AttributeError) as error:
            raise InputError(
                f"the score {point.name!r} should be {point.value}, as an installed package says, but cannot be "
                f"imported: {error}"
            ) from error
        made: TrainableScore = kind(*dims)
        return made

    return make


for _point in entry_points(group="regard.scores"):
    SCORES.setdefault(_point.name, _installed(_point))


def trainable_score(
    score: str | TrainableScore, query_dim: int, key_dim: int, hidden_dim: int | None = None
) -> TrainableScore:
    """The layer meant by a name, or the layer itself."""
    if isinstance(score, TrainableScore):
        if (score.query_dim, score.key_dim) != (query_dim, key_dim):
            raise InputError(
                f"the score was made for queries of width {score.query_dim} and keys of width {score.key_dim}; "
                f"the layer has {query_dim} and {key_dim}"
            )
        return score
    return choose("score", score, SCORES)(query_dim, key_dim, hidden_dim)
