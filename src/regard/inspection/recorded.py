"""What record() gives: the maps of a model by the names of its modules, their tokens, and what its heads do."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from torch import Tensor, nn

from regard.errors import InputError, ShapeError, UnknownName, did_you_mean
from regard.inspection.attention_map import AttentionMap
from regard.inspection.call import Call
from regard.inspection.checking import Dense
from regard.inspection.dense import DenseCall

if TYPE_CHECKING:
    from regard.inspection.heads import HeadTable
    from regard.inspection.importance import Importance

_CROSS = ("cross", "encoder_attn", "encdec", "enc_dec")


class Recorded(Mapping[str, AttentionMap]):
    """Maps in the order in which the model asked for them. Empty until the block of record() ends."""

    def __init__(self, model: nn.Module | None = None) -> None:
        self._model = model
        self._maps: dict[str, AttentionMap] = {}
        self._tokens: list[list[str]] = []
        self.ids: list[list[str]] = []
        """the token ids that the model was fed, as text, for each item of the batch"""
        self.source_ids: list[list[str]] = []
        """those of the encoder, where there is one"""
        self.crosses: set[str] = set()
        """maps whose keys are of another sequence than their queries, beyond those whose names say so"""

        self.passes: dict[str, int] = {}
        """the pass of the model in which each map begins; empty where only some layers or heads were recorded"""

    def add(
        self,
        name: str,
        call: Call | Dense | DenseCall,
        heads: Sequence[int] | None = None,
        *,
        number: int | None = None,
    ) -> None:
        self._maps[name] = AttentionMap(call, name=name, heads=heads)
        if number is not None:
            self.passes[name] = number

    def __getitem__(self, name: str) -> AttentionMap:
        if name in self._maps:
            found = self._maps[name]
            return found.labelled(*self._labels(name, found)).above(self._below(name))
        names = list(self._maps)
        known_names = ", ".join(repr(known) for known in names[:6]) + (" …" if len(names) > 6 else "")
        raise UnknownName(
            f"no attention was recorded of {name!r}; there is {known_names or 'none yet: the block has not ended'}."
            f"{did_you_mean(str(name), names)}"
        )

    def __iter__(self) -> Iterator[str]:
        return iter(self._maps)

    def __len__(self) -> int:
        return len(self._maps)

    def __repr__(self) -> str:
        return f"Recorded({len(self)} maps: {', '.join(list(self)[:3])}{' …' if len(self) > 3 else ''})"

    @property
    def tokens(self) -> list[str]:
        """The labels of the maps: those that were set, else the ids of the first item of the batch.

        Set a list, or for an encoder-decoder (source, target): ``recorded.tokens = tokenizer.tokenize(text)``.
        """
        sides = self._sides()
        return sides[-1] if sides else []

    @tokens.setter
    def tokens(self, given: Sequence[str] | tuple[Sequence[str], Sequence[str]]) -> None:
        sides = [given] if not given or isinstance(given[0], str) else list(given)
        if not sides[0]:
            raise InputError("tokens are empty; give one label for each place of the map")
        sizes = {size for found in self._maps.values() for size in found.shape[2:]}
        for side in sides:
            if len(side) not in sizes:
                raise ShapeError(
                    f"{len(side)} tokens do not fit: the maps have {_either(sorted(sizes))} rows or columns. Give one "
                    "label for each token that the model was fed, special ones included."
                )
        self._tokens = [[str(token) for token in side] for side in sides]

    def _sides(self) -> list[list[str]]:
        """Labels of the source and of the target, or of the only side."""
        return self._tokens or [*self.source_ids[:1], *self.ids[:1]]

    def is_cross(self, name: str) -> bool:
        """Whether a map is of cross-attention."""
        queries, keys = self._maps[name].shape[2:]
        return queries != keys or name in self.crosses or any(word in name.lower() for word in _CROSS)

    def _below(self, name: str) -> list[AttentionMap] | None:
        """The self-attention of the layers before, in the same stack and pass, first layer first; None if unknown."""
        if name not in self.passes or self.is_cross(name):
            return None
        before = list(self._maps)[: list(self._maps).index(name)]
        same = [other for other in before if _stack(other) == _stack(name)]
        return [self._maps[other] for other in same if self.passes.get(other) == self.passes[name]]

    def _labels(self, name: str, found: AttentionMap) -> tuple[list[str] | None, list[str] | None]:
        sides = self._sides()
        if not sides:
            return None, None
        queries, keys = found.shape[2:]
        source, target = sides[0], sides[-1]
        low, crosses = name.lower(), self.is_cross(name)
        rows = target if "decoder" in low or crosses or len(source) != queries else source
        columns = source if crosses or "decoder" not in low else target
        if len(columns) != keys:
            columns = source if len(source) == keys else target
        return rows if len(rows) == queries else None, columns if len(columns) == keys else None

    def heads(self, *, batch: int = 0) -> HeadTable:
        """What each head of the model does: a row a head, sortable, printable."""
        from regard.inspection.heads import head_table

        return head_table(self, batch=batch)

    def importance(self, loss: Callable[[], Tensor], *, ablate: int = 10) -> Importance:
        """Every head ranked by one backward pass of ``loss()`` (Michel et al. 2019), the first also by ablation.

        ``loss`` runs the model and gives a scalar: ``lambda: model(**inputs, labels=ids).loss``.
        """
        from regard.inspection.importance import importance

        if self._model is None:
            raise InputError("a record that was opened from a store has no model to run; record the model again")
        return importance(self._model, loss, ablate=ablate)

    def show(self) -> None:
        """Print the head table and the strongest maps in the terminal."""
        from rich.console import Console

        from regard.show.inspection import print_recorded

        print_recorded(self, Console())

    def __eq__(self, other: Any) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)


def _stack(name: str) -> str:
    """The name of a module without the numbers of its layer and of its call."""
    return re.sub(r"\d+", "", name.partition("#")[0])


def _either(numbers: Sequence[int]) -> str:
    return " or ".join(str(number) for number in numbers) or "no"
