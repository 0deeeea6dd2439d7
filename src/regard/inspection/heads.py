"""What each head does, from the weights of known pairs alone: on the token before, the first, itself and so on."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, overload

import torch
from torch import Tensor

from regard.errors import UnknownName
from regard.inspection import passes
from regard.inspection.attention_map import AttentionMap
from regard.inspection.call import Call
from regard.inspection.names import layer_number

if TYPE_CHECKING:
    from regard.inspection.recorded import Recorded

NEAR = 5  # places that are a neighbourhood
MOST_EARLIER = 8  # earlier places of the same token that are asked, the nearest
FEWEST = 4  # queries with an earlier place of their token, below which nothing is said of them
SAMPLED = 256  # rows whose entropy is computed


@dataclass(frozen=True)
class Head:
    """Shares of a head's weight, each a mean over the queries that have such a key; None where none has."""

    layer: str
    number: int | None
    """of the layer"""
    head: int
    previous: float | None
    """on the token before"""
    first: float | None
    """on the first token, from the others: a sink"""
    itself: float | None
    near: float | None
    """on tokens 2 to 5 places away"""
    duplicate: float | None
    """on earlier places of the same token"""
    induction: float | None
    """on what followed an earlier place of the same token (Olsson et al. 2022)"""
    far: float | None
    """on everything else"""
    entropy: float
    """in nats"""
    name: str


class HeadTable(Sequence[Head]):
    """All heads in the order of the model."""

    def __init__(self, heads: Sequence[Head]) -> None:
        self._heads = list(heads)

    @overload
    def __getitem__(self, place: int) -> Head: ...
    @overload
    def __getitem__(self, place: slice) -> HeadTable: ...
    def __getitem__(self, place: int | slice) -> Head | HeadTable:
        return HeadTable(self._heads[place]) if isinstance(place, slice) else self._heads[place]

    def __len__(self) -> int:
        return len(self._heads)

    def __iter__(self) -> Iterator[Head]:
        return iter(self._heads)

    def by(self, share: str) -> HeadTable:
        """The heads with the largest share first: ``recorded.heads().by("induction")[:4]``."""
        kinds = [name for name in Head.__dataclass_fields__ if name not in ("layer", "number", "head", "name")]
        if share not in kinds:
            raise UnknownName(f"no share is called {share!r}; choose from {', '.join(kinds)}")
        worth = {id(head): getattr(head, share) for head in self}
        return HeadTable(sorted(self, key=lambda head: -(worth[id(head)] if worth[id(head)] is not None else -1.0)))

    def to_json(self) -> list[dict[str, Any]]:
        return [
            {name: round(value, 6) if isinstance(value, float) else value for name, value in asdict(head).items()}
            for head in self
        ]

    def show(self) -> None:
        """Print the table in the terminal."""
        from rich.console import Console

        from regard.show.inspection import head_rows

        Console().print(head_rows(self))


def head_table(recorded: Recorded, *, batch: int = 0) -> HeadTable:
    """Of every map that was recorded."""
    return HeadTable(
        [head for name in recorded for head in _heads(recorded[name], batch, square=not recorded.is_cross(name))]
    )


def _heads(found: AttentionMap, batch: int, *, square: bool) -> Iterator[Head]:
    batch = min(batch, found.call.sizes[0] - 1)
    queries, keys = found.call.sizes[2:]
    tokens = found.columns if square and found.columns != [str(n) for n in range(keys)] else None
    shares = _shares(found, batch, tokens) if square else {"first": _mean(found, batch, _first(queries))}
    for place, head in enumerate(found.heads):
        own = {name: None if share is None else float(share[place]) for name, share in shares.items()}
        entropy = _entropy(found, batch, place)
        known = {name: own.get(name) for name in ("previous", "first", "itself", "near", "duplicate", "induction")}
        others = [known[name] or 0.0 for name in ("previous", "first", "itself", "near")]
        far = max(0.0, 1.0 - sum(others))
        name = head_name(known, far, entropy, keys) if square else "cross"
        yield Head(found.name, layer_number(found.name), head, **known, far=far, entropy=entropy, name=name)


def head_name(shares: dict[str, float | None], far: float, entropy: float, keys: int) -> str:
    """What a head is called by its largest shares.

    >>> head_name({"induction": 0.6, "previous": 0.1}, 0.8, 1.0, 100)
    'induction'
    """
    shown = {name: share or 0.0 for name, share in shares.items()}
    bars = {"induction": 0.25, "duplicate": 0.25, "previous": 0.4, "itself": 0.4, "first": 0.6}
    above = {name: shown.get(name, 0.0) / bar for name, bar in bars.items() if shown.get(name, 0.0) >= bar}
    if above:
        best = max(above, key=lambda name: above[name])
        return {"previous": "previous token", "first": "first token"}.get(best, best)
    if shown.get("near", 0) + shown.get("previous", 0) + shown.get("itself", 0) >= 0.6:
        return "neighbourhood"
    if entropy >= 0.9 * math.log(max(2, keys)):
        return "even"
    return "far" if far >= 0.6 else "mixed"


Pairs = tuple[Tensor, Tensor]
"""rows and columns"""


def _shares(found: AttentionMap, batch: int, tokens: Sequence[str] | None) -> dict[str, Tensor | None]:
    queries = found.call.sizes[2]
    rows = torch.arange(queries)
    near = [_at_distance(queries, by) for by in range(-NEAR, NEAR + 1) if abs(by) > 1]
    shares = {
        "previous": _mean(found, batch, _at_distance(queries, -1)),
        "first": _mean(found, batch, _first(queries)),
        "itself": _mean(found, batch, (rows, rows)),
        "near": _mean(found, batch, _without_first(near), over=queries),
    }
    earlier = _earlier(tokens or [])
    if len(torch.unique(earlier[0])) >= FEWEST:
        shares["duplicate"] = _mean(found, batch, earlier)
        shares["induction"] = _mean(found, batch, (earlier[0], earlier[1] + 1))
    return shares


def _at_distance(size: int, by: int) -> Pairs:
    rows = torch.arange(size)
    rows = rows[(rows + by >= 0) & (rows + by < size)]
    return rows, rows + by


def _first(queries: int) -> Pairs:
    rows = torch.arange(min(1, queries - 1), queries)
    return rows, torch.zeros_like(rows)


def _without_first(parts: list[Pairs]) -> Pairs:
    """Joined, but for the first token, which is counted by itself."""
    rows, columns = (torch.cat(side) for side in zip(*parts, strict=True))
    return rows[columns > 0], columns[columns > 0]


def _earlier(tokens: Sequence[str]) -> Pairs:
    """Each token with its earlier places, the nearest few."""
    places: dict[str, list[int]] = defaultdict(list)
    rows, columns = [], []
    for row, token in enumerate(tokens):
        before = places[token][-MOST_EARLIER:]
        rows += [row] * len(before)
        columns += before
        places[token].append(row)
    return torch.tensor(rows, dtype=torch.long), torch.tensor(columns, dtype=torch.long)


def _mean(found: AttentionMap, batch: int, pairs: Pairs, over: int | None = None) -> Tensor | None:
    """(h,): the weight on these pairs, summed for each row; the mean over the rows that have one, or ``over`` rows."""
    rows, columns = pairs
    if not len(rows):
        return None
    total = pair_weights(found.call, batch, rows, columns).sum(-1)
    return total / (len(torch.unique(rows)) if over is None else over)


def pair_weights(call: Any, batch: int, rows: Tensor, columns: Tensor) -> Tensor:
    """(h, n): the weight of each pair (row, column) in each head, and of no other."""
    if not isinstance(call, Call):
        return call.table[batch][:, rows, columns].double()  # type: ignore[no-any-return]
    heads, groups = call.query.shape[1], call.key.shape[1]
    found = []
    for head in range(heads):
        query, key = call.query[batch, head, rows].float(), call.key[batch, head * groups // heads, columns].float()
        found.append(call.pairs(batch, head, rows, columns, (query * key).sum(-1) * call.scale).double())
    return torch.stack(found)


def _entropy(found: AttentionMap, batch: int, place: int) -> float:
    """Mean over the rows, or over some of them spread evenly where there are many."""
    queries = found.call.sizes[2]
    if queries <= SAMPLED:
        return float(passes.entropies(found.call, batch, place).mean())
    rows = torch.linspace(0, queries - 1, SAMPLED).long()
    weights = found.call.weights(batch, place, rows, torch.arange(found.call.sizes[3]))
    return float(torch.special.entr(weights).sum(-1).mean())
