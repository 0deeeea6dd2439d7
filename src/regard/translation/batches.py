"""Batches of sentence pairs as padded tensors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from regard.text.padding import padded, padded_targets
from regard.text.special_tokens import BOS, EOS
from regard.training.order import Rows, Section
from regard.translation.encoded import EncodedCorpus


@dataclass(frozen=True)
class Batch:
    """Sentence pairs, padded with 0.

    ``source`` (b, s) ends with EOS; ``target`` (b, t) is BOS w1 ... wn EOS. The lengths count BOS and EOS.
    ``links`` (n, 3), of corpora that have some: the row, a target token (w1 is 0), the source token it belongs to.
    """

    source: Tensor
    source_lengths: Tensor
    target: Tensor
    target_lengths: Tensor
    links: Tensor | None = None

    def __len__(self) -> int:
        return int(self.source.shape[0])

    def to(self, device: torch.device | str) -> Batch:
        """The batch on another device."""
        tensors = {name: value for name, value in vars(self).items() if value is not None}
        return Batch(**{name: tensor.to(device, non_blocking=True) for name, tensor in tensors.items()})


class Pairs:
    """The pairs of several corpora, numbered through, as `regard.training.order` takes them."""

    def __init__(self, corpora: Sequence[EncodedCorpus], weights: Sequence[float] | None = None) -> None:
        self._corpora = list(corpora)
        weights = weights or [1.0] * len(self._corpora)
        self.sections = [Section(len(corpus), weight) for corpus, weight in zip(corpora, weights, strict=True)]
        self._starts = np.cumsum([0, *(section.count for section in self.sections)])
        self._linked = any(corpus.has_links for corpus in self._corpora)

    def __len__(self) -> int:
        return int(self._starts[-1])

    def sizes(self, rows: Rows) -> NDArray[np.int64]:
        """(n, 2): source and target lengths, each with EOS."""
        sizes = np.empty((len(rows), 2), np.int64)
        for corpus, places, local in self._split(rows):
            for side in (0, 1):
                sizes[places, side] = corpus.lengths(side, local) + 1
        return sizes

    def batch(self, rows: Rows) -> Batch:
        """The rows as padded tensors."""
        source, source_lengths = self._padded(0, rows, first=0)
        target, target_lengths = self._padded(1, rows, first=1)
        target[:, 0] = BOS
        batch = Batch(*map(torch.from_numpy, (source, source_lengths, target, target_lengths)))
        return replace(batch, links=torch.from_numpy(self._links(rows))) if self._linked else batch

    def _padded(self, side: int, rows: Rows, *, first: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The ids from column ``first`` on, EOS after the last, PAD after that; and the lengths with special tokens."""
        parts = [(places, *corpus.ids(side, local)) for corpus, places, local in self._split(rows)]
        lengths = np.empty(len(rows), np.int64)
        for places, _, counts in parts:
            lengths[places] = counts + first + 1
        padded = np.zeros((len(rows), int(lengths.max())), np.int64)
        for places, flat, counts in parts:
            columns = np.arange(len(flat)) - np.repeat(np.cumsum(counts) - counts, counts) + first
            padded[np.repeat(places, counts), columns] = flat
        padded[np.arange(len(rows)), lengths - 1] = EOS
        return padded, lengths

    def _links(self, rows: Rows) -> NDArray[np.int64]:
        """(n, 3), of the rows whose corpora have links."""
        parts = []
        for corpus, places, local in self._split(rows):
            found = corpus.links(local)
            found[:, 0] = places[found[:, 0]]
            parts.append(found)
        return np.concatenate(parts)

    def _split(self, rows: Rows) -> list[tuple[EncodedCorpus, NDArray[np.int64], Rows]]:
        """Each corpus concerned, with the indices into ``rows`` that are its own, and its own row numbers."""
        owner = np.searchsorted(self._starts, rows, side="right") - 1
        parts = []
        for number, corpus in enumerate(self._corpora):
            places = np.flatnonzero(owner == number)
            if len(places):
                parts.append((corpus, places, rows[places] - self._starts[number]))
        return parts


def padded_batch(sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]) -> Batch:
    """A batch of ids as a vocabulary gives them, without BOS and EOS."""
    source, source_lengths = padded([[*ids, EOS] for ids in sources])
    return Batch(source, source_lengths, *padded_targets(targets))
