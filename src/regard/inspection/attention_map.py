"""AttentionMap: the weights of one attention call, exact, and computed only where they are looked at."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor

from regard.displayable import Displayable
from regard.errors import InputError, ShapeError, choose
from regard.inspection import passes
from regard.inspection.call import Call
from regard.inspection.checking import Dense
from regard.inspection.dense import DenseCall
from regard.inspection.rollout import rollout

MOST = 1 << 28  # weights of one tile: 1 GB
WIDEST = 96  # rows and columns of a picture; more are pooled

By = Literal["weights", "norms", "rollout"]
Places = int | slice | Sequence[int] | range | Tensor | None


class Peak(NamedTuple):
    """A strong weight."""

    row: int
    column: int
    weight: float


class AttentionMap(Displayable):
    """Where queries looked: (b, h, q, k) of a call, or (q, k) of one head, as ``m[batch, head]``.

    weight(i, j) = exp(score(i, j) - lse(i)), from the queries and keys that were kept: a tile costs only itself.
    """

    def __init__(
        self,
        call: Call | Dense | DenseCall,
        *,
        name: str = "",
        heads: Sequence[int] | None = None,
        rows: Sequence[str] | None = None,
        columns: Sequence[str] | None = None,
        chosen: tuple[int, int] | None = None,
        below: Sequence[AttentionMap] | None = None,
    ) -> None:
        self.call: Call | DenseCall = DenseCall(call.table) if isinstance(call, Dense) else call
        self.name = name
        self.heads = list(range(self.call.sizes[1])) if heads is None else list(heads)
        """the numbers that the heads have in the model"""
        self._rows, self._columns, self._chosen, self._below = rows, columns, chosen, below

    @property
    def shape(self) -> tuple[int, ...]:
        """(b, h, q, k), or (q, k) of one head."""
        return self.call.sizes if self._chosen is None else self.call.sizes[2:]

    @property
    def rows(self) -> list[str]:
        """A label for each query."""
        return list(self._rows) if self._rows is not None else [str(n) for n in range(self.call.sizes[2])]

    @property
    def columns(self) -> list[str]:
        """A label for each key."""
        return list(self._columns) if self._columns is not None else [str(n) for n in range(self.call.sizes[3])]

    def labelled(self, rows: Sequence[str] | None, columns: Sequence[str] | None) -> AttentionMap:
        """The same map with labels, None for numbers."""
        return self._copy(rows=rows, columns=columns)

    def above(self, below: Sequence[AttentionMap] | None) -> AttentionMap:
        """The same map over those of the layers before it, first layer first; None where they are not known."""
        return self._copy(below=below)

    def _copy(self, **changed: Any) -> AttentionMap:
        own = {"rows": self._rows, "columns": self._columns, "chosen": self._chosen, "below": self._below}
        return AttentionMap(self.call, name=self.name, heads=self.heads, **{**own, **changed})

    def __getitem__(self, place: tuple[int, int]) -> AttentionMap:
        if not isinstance(place, tuple) or len(place) != 2:
            raise InputError(f"one head is m[batch, head]; {place!r} came")
        batch, head = place
        if not 0 <= batch < self.call.sizes[0]:
            raise InputError(f"there is no item {batch} of the batch; there are {self.call.sizes[0]}, from 0")
        if head not in self.heads:
            raise InputError(f"head {head} is not here; there are {_some(self.heads)}")
        return self._copy(chosen=(batch, head))

    def _place(self) -> tuple[int, int]:
        """Batch and head, by their places here."""
        if self._chosen is not None:
            return self._chosen[0], self.heads.index(self._chosen[1])
        if self.call.sizes[:2] == (1, 1):
            return 0, 0
        batch, heads = self.call.sizes[:2]
        raise InputError(f"these are {batch} x {heads} maps (batch x heads): choose one as m[batch, head]")

    def weights(self, rows: Places = None, columns: Places = None, by: By = "weights") -> Tensor:
        """(rows, columns): a tile. Numbers, slices or lists of places; all when None.

        by="norms"     each weight times the length of what the value adds to the layer's output, as
                       record(model, values=True) kept it (Kobayashi et al. 2020)
        by="rollout"   what the row took from the inputs through this layer and all before it, all heads averaged
                       (Abnar and Zuidema 2020); the head that was chosen does not matter
        """
        choose("weighting", by, dict.fromkeys(("weights", "norms", "rollout")))
        _, _, queries, keys = self.call.sizes
        some, others = _places(rows, queries, "row"), _places(columns, keys, "column")
        held = keys if by == "rollout" else len(others)  # a rollout needs whole rows on its way
        if len(some) * held > MOST:
            raise ShapeError(
                f"{len(some)} x {held} weights would take {len(some) * held * 4 / 2**30:.0f} GB: "
                "ask for a tile, weights(rows, columns), or for pooled(height, width)"
            )
        if by == "rollout":
            return rollout(self._layers(), self._place()[0], some)[:, others]
        found = self.call.weights(*self._place(), some, others)
        return found if by == "weights" else found * self._norms()[others]

    def row(self, i: int, by: By = "weights") -> Tensor:
        """(k,): where query i looked."""
        return self.weights(i, by=by)[0]

    def column(self, j: int, by: By = "weights") -> Tensor:
        """(q,): who looked at key j."""
        return self.weights(None, j, by=by)[:, 0]

    def _norms(self) -> Tensor:
        """(k,) of the chosen head."""
        if not isinstance(self.call, Call) or self.call.norms is None:
            raise InputError(
                f"the norms of the values of {self.name!r} are not known: record the model with values=True. Attention "
                "that is written by hand, or whose output is changed before it is projected, has none."
            )
        batch, head = self._place()
        return self.call.norms[batch, head]

    def _layers(self) -> list[Call | DenseCall]:
        """Of this map and those before it, first layer first."""
        if self._below is None:
            raise InputError(
                f"a rollout needs the self-attention of every layer up to {self.name!r}, all heads: take a map that is "
                "not across from what record(model) gave, recorded without layers= and heads="
            )
        calls = [*(found.call for found in self._below), self.call]
        sizes = {call.sizes[2:] for call in calls}
        if len(sizes) > 1 or len(set(self.call.sizes[2:])) > 1:
            raise InputError(
                f"a rollout follows self-attention, every map of one size; those up to {self.name!r} are of "
                f"{', '.join(f'{queries} x {keys}' for queries, keys in sorted(sizes))}"
            )
        return calls

    def top(self, k: int = 10) -> list[Peak]:
        """The k strongest weights of the map, strongest first."""
        _positive(k=k)
        rows, columns, values = passes.strongest(self.call, *self._place(), k)
        return [Peak(*found) for found in zip(rows.tolist(), columns.tolist(), values.tolist(), strict=True)]

    def entropy(self) -> Tensor:
        """(q,) in nats: 0 where a query looks at one key, log n where it looks at n alike."""
        return passes.entropies(self.call, *self._place())

    def received(self) -> Tensor:
        """(k,): how much all queries together gave to each key."""
        return passes.received(self.call, *self._place())

    def pooled(self, height: int, width: int, by: Literal["max", "mean"] = "max") -> Tensor:
        """(height, width): the whole map in so many cells, the largest weight of each or the mean."""
        _positive(height=height, width=width)
        if by not in ("max", "mean"):
            raise InputError(f"weights are pooled by 'max' or 'mean', not by {by!r}")
        queries, keys = self.call.sizes[2:]
        return passes.pooled(self.call, *self._place(), min(height, queries), min(width, keys), by)

    def mass(self, segments: Mapping[str, Places]) -> dict[str, Tensor]:
        """For each named set of keys the weight (q,) that each query gives to it: a prompt, a document, an image."""
        if not segments:
            raise InputError("no segments: give sets of keys by name, as {'prompt': range(12), 'rest': slice(12, 90)}")
        keys = self.call.sizes[3]
        belongs = torch.zeros(keys, len(segments))
        for n, places in enumerate(segments.values()):
            belongs[_places(places, keys, "column"), n] = 1
        found = passes.masses(self.call, *self._place(), belongs)
        return {name: found[:, n] for n, name in enumerate(segments)}

    def part(self) -> dict[str, Any]:
        """What the page's modules show of it: the weights, pooled where there are more than fit a picture."""
        table, rows, columns = self.picture()
        from regard.show.data import numbers

        return {"kind": "map", "rows": rows, "columns": columns, "weights": numbers(table.numpy())}

    def picture(self, widest: int = WIDEST) -> tuple[Tensor, list[str], list[str]]:
        """The weights and their labels; a cell of a larger map is its strongest weight."""
        queries, keys = self.call.sizes[2:]
        if queries <= widest and keys <= widest:
            return self.weights().float(), self.rows, self.columns
        table = self.pooled(min(queries, widest), min(keys, widest))
        return table, _ranges(self.rows, len(table)), _ranges(self.columns, table.shape[1])

    def plot(self, path: str | os.PathLike[str]) -> Path:
        """The map as a figure (.png, .svg, .pdf): rows = queries, columns = keys."""
        from regard.show.figures import plot_map

        table, rows, columns = self.picture()
        return plot_map(table.numpy(), rows, columns, path)

    def show(self) -> None:
        """Print the map in the terminal."""
        from rich.console import Console

        from regard.show.terminal import TerminalMap

        table, rows, columns = self.picture(48)
        Console().print(TerminalMap(table.numpy(), rows, columns))

    def __repr__(self) -> str:
        of = "" if self._chosen is None else f", item {self._chosen[0]}, head {self._chosen[1]}"
        return f"AttentionMap({self.name!r}{of}, {' x '.join(str(n) for n in self.shape)})"


def _places(places: Places, size: int, what: str) -> Tensor:
    if places is None:
        return torch.arange(size)
    if isinstance(places, slice):
        return torch.arange(size)[places]
    found = torch.as_tensor([places] if isinstance(places, int) else _numbers(places), dtype=torch.long)
    if found.numel() and not (-size <= int(found.min()) and int(found.max()) < size):
        outside = int(found.max()) if int(found.max()) >= size else int(found.min())
        raise InputError(f"there is no {what} {outside}; the map has {size}, from 0")
    return torch.where(found < 0, found + size, found)


def _numbers(places: Any) -> Any:
    return places if isinstance(places, Tensor) else list(places)


def _positive(**numbers: int) -> None:
    for name, number in numbers.items():
        if isinstance(number, bool) or not isinstance(number, int) or number < 1:
            raise InputError(f"{name} must be a whole number from 1; it is {number!r}")


def _ranges(labels: Sequence[str], cells: int) -> list[str]:
    """A label for each run of labels: its first."""
    size = len(labels)
    firsts = [-(-cell * size // cells) for cell in range(cells)]
    return [labels[min(first, size - 1)] for first in firsts]


def _some(numbers: Iterable[int]) -> str:
    found = list(numbers)
    whole = found == list(range(len(found)))
    return f"heads 0 to {len(found) - 1}" if whole and len(found) > 1 else f"head {', '.join(map(str, found))}"
