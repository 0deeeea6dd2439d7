"""Which rows led to what ``generate()`` gave back: beams are followed from the end, by the tokens they were fed."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any, TypeGuard

import torch
from torch import Tensor

from regard.inspection.fast_path import patch


@dataclass
class Fed:
    """What a model was fed pass by pass, and which item of the batch each one went on from."""

    tokens: dict[int, Tensor] = field(default_factory=dict)
    """(b, n) of each pass"""
    orders: dict[int, Tensor] = field(default_factory=dict)
    """(b,) for the passes before which a search kept the best beams"""
    chosen: Tensor | None = None
    """(n, length): what generate() gave back"""
    inputs: int = 1
    """how many items generate() was given"""
    sources: list[Tensor] = field(default_factory=list)
    """what an encoder was fed"""
    generating: bool = False

    def feed(self, number: int, inputs: dict[str, Any], *, whole: bool) -> None:
        """The inputs of the ``whole`` model, or of an encoder that generate() runs by itself."""
        source, target = inputs.get("input_ids"), inputs.get("decoder_input_ids")
        if not whole or target is not None:
            if _are_ids(source):
                self.sources = [source.detach().cpu()]
            source = target
        if whole and _are_ids(source):
            self.tokens[number] = source.detach().cpu()

    def paths(self) -> dict[int, Tensor] | None:
        """For each pass the items of the batch that led to the chosen ones; None where all are kept."""
        if self.chosen is None or not (
            self.orders or any(len(fed) != len(self.chosen) for fed in self.tokens.values())
        ):
            return None
        histories = self._histories()
        of_each = max(1, len(self.chosen) // self.inputs)
        each = [self._path(sequence, n // of_each, histories) for n, sequence in enumerate(self.chosen)]
        numbers = sorted(set.intersection(*(set(path) for path in each)))
        return {number: torch.tensor([path[number] for path in each]) for number in numbers}

    def _histories(self) -> dict[int, Tensor]:
        """All tokens that each item of the batch had been fed after each pass."""
        found: dict[int, Tensor] = {}
        before: Tensor | None = None
        for number in sorted(self.tokens):
            new = self.tokens[number]
            if before is not None and len(before) == len(new):
                before = before[self.orders[number]] if number in self.orders else before
                again = new.shape[1] > before.shape[1]  # without a cache everything is fed anew
                new = new if again else torch.cat([before, new], 1)
            found[number] = before = new
        return found

    def _path(self, sequence: Tensor, item: int, histories: dict[int, Tensor]) -> dict[int, int]:
        """From the last pass whose tokens begin the sequence back to the first, among the beams of one input."""
        for last in sorted(histories, reverse=True):
            fed = histories[last]
            if fed.shape[1] > len(sequence) - 1:
                continue
            beams = max(1, len(fed) // self.inputs)
            own = fed[item * beams : (item + 1) * beams]
            rows = (own == sequence[: fed.shape[1]]).all(1).nonzero() + item * beams
            if len(rows):
                break
        else:
            return {}
        row, path = int(rows[0]), {}
        for number in sorted((number for number in histories if number <= last), reverse=True):
            path[number] = row
            row = int(self.orders[number][row]) if number in self.orders else row
        return path

    def source_labels(self) -> list[list[str]]:
        """The ids that the encoder was fed, as text."""
        return [[str(int(token)) for token in row] for tokens in self.sources for row in tokens]

    def labels(self, paths: dict[int, Tensor] | None) -> list[list[str]]:
        """The ids that each kept item was fed, as text."""
        if not self.tokens:
            return self.source_labels()
        histories = self._histories()
        last = max(histories) if paths is None else max(paths, default=max(histories))
        rows = histories[last] if paths is None else histories[last][paths[last]]
        return [[str(int(token)) for token in row] for row in rows]


def _are_ids(tokens: Any) -> TypeGuard[Tensor]:
    return isinstance(tokens, Tensor) and tokens.ndim == 2 and not tokens.is_floating_point()


def install(stack: ExitStack, listeners_of: Callable[[Any], list[Any]]) -> None:
    """Observe generate() and reordered caches until ``stack`` is closed."""
    if "transformers" not in sys.modules:
        return
    from transformers.cache_utils import Cache, EncoderDecoderCache
    from transformers.generation.utils import GenerationMixin

    plain = GenerationMixin.generate

    def generate(self: Any, *args: Any, **kwargs: Any) -> Any:
        listeners = listeners_of(self)
        for listener in listeners:
            listener.on_generating(True)
        try:
            output = plain(self, *args, **kwargs)
        finally:
            for listener in listeners:
                listener.on_generating(False)
        given = [len(part) for part in (*args, *kwargs.values()) if isinstance(part, Tensor) and part.ndim]
        for listener in listeners:
            listener.on_generated(output if isinstance(output, Tensor) else output.sequences, given[0] if given else 1)
        return output

    patch(stack, GenerationMixin, "generate", generate)
    for kind in (Cache, EncoderDecoderCache):
        _observe_orders(stack, kind, listeners_of)


def _observe_orders(stack: ExitStack, kind: Any, listeners_of: Callable[[Any], list[Any]]) -> None:
    plain = kind.reorder_cache

    def reorder_cache(self: Any, beam_idx: Tensor) -> Any:
        for listener in listeners_of(None):
            listener.on_reordered(beam_idx)
        return plain(self, beam_idx)

    patch(stack, kind, "reorder_cache", reorder_cache)
