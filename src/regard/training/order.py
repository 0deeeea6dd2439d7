"""The order in which a training sees its examples: fixed by (seed, epoch), sharded over processes, bounded in memory.

An epoch's examples are cut into chunks of neighbours; the chunks are shuffled and put into pools; a pool is sorted by
length (ties at random; or not at all, if so asked) and cut into batches, which are shuffled. So memory holds one pool
and a number per chunk, whatever the size of the corpus, and each pool can be made on its own: resuming starts in the
middle at no cost.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from regard.errors import DataError

Rows = NDArray[np.int64]
CHUNK = 256
POOL = 512  # chunks; 131,072 examples


@dataclass(frozen=True)
class Section:
    """Examples numbered one after another; each is seen ``weight`` times in an epoch, on average."""

    count: int
    weight: float = 1.0


class Examples(Protocol):
    """What can be put in order. Rows are numbered through all sections."""

    @property
    def sections(self) -> Sequence[Section]:
        """How many examples each part has, and how often it is seen."""

    def sizes(self, rows: Rows) -> NDArray[np.int64]:
        """(n, sides): the padded sizes a batch pays for; the last side is kept evenest."""


class Position(NamedTuple):
    """Where in the order a training stands: the next batch to take."""

    epoch: int = 0
    pool: int = 0
    batch: int = 0


class Share(NamedTuple):
    """A process' part of a batch. Where there are fewer rows than processes, some repeat one that does not count."""

    rows: Rows
    counts: bool
    position: Position  # of the batch after this one
    passed: float  # share of the epoch that is over after this batch


@dataclass(frozen=True, kw_only=True)
class Order:
    """Batches of at most ``batch_tokens`` x ``world`` padded tokens, dealt out row by row to ``world`` processes.

    So two processes together take the very batch that one process takes with twice ``batch_tokens``.
    """

    examples: Examples
    batch_tokens: int
    by_length: bool = True
    seed: int
    rank: int = 0
    world: int = 1

    def __post_init__(self) -> None:
        if not sum(section.count for section in self.examples.sections):
            raise DataError("there is nothing to train on: the training data hold no example.")

    def shares(self, start: Position = Position()) -> Iterator[Share]:  # noqa: B008 - a NamedTuple does not change
        """This process' batches from ``start`` to the end of its epoch."""
        chunks = self._chunks(start.epoch)
        pools = np.array_split(chunks, max(1, -(-len(chunks) // POOL)))
        for number in range(start.pool, len(pools)):
            batches = self._pool(start.epoch, number, pools[number])
            first = start.batch if number == start.pool else 0
            for index in range(first, len(batches)):
                after = Position(start.epoch, number, index + 1)
                if index + 1 == len(batches):
                    after = Position(start.epoch, number + 1, 0)
                if after.pool == len(pools):
                    after = Position(start.epoch + 1)
                passed = (number + (index + 1) / len(batches)) / len(pools)
                yield self._share(batches[index], after, passed)

    def _share(self, batch: Rows, after: Position, passed: float) -> Share:
        mine = batch[self.rank :: self.world]
        return Share(mine, True, after, passed) if len(mine) else Share(batch[:1], False, after, passed)

    def _chunks(self, epoch: int) -> NDArray[np.int64]:
        """(n, 3): section, first example in it, which repetition of it; shuffled."""
        parts = []
        for number, section in enumerate(self.examples.sections):
            starts = np.arange(0, section.count, CHUNK)
            for repetition in range(int(np.ceil(section.weight))):
                columns = (np.full_like(starts, number), starts, np.full_like(starts, repetition))
                parts.append(np.stack(columns, axis=1))
        chunks = np.concatenate(parts)
        self._generator(epoch).shuffle(chunks)
        return chunks

    def _pool(self, epoch: int, number: int, chunks: NDArray[np.int64]) -> list[Rows]:
        """The batches of one pool, of all processes together."""
        rows = np.concatenate([self._members(epoch, *map(int, chunk)) for chunk in chunks])
        if not len(rows):
            return []
        generator = self._generator(epoch, number)
        rows = rows[generator.permutation(len(rows))]
        sizes = self.examples.sizes(rows)
        if self.by_length:
            order = np.lexsort(sizes.T)  # the last side decides, then the one before; ties stay shuffled: it is stable
            rows, sizes = rows[order], sizes[order]
        batches = np.split(rows, _cut(sizes.max(axis=1), self.batch_tokens * self.world))
        return [batches[i] for i in generator.permutation(len(batches))]

    def _members(self, epoch: int, section: int, start: int, repetition: int) -> Rows:
        """The rows of a chunk that this epoch sees at least ``repetition`` + 1 times.

        Over epochs a row's count is floor(weight x epochs + u) with u its own number in [0, 1): whole weights are
        exact, and a weight of 1/2 takes every row once in two epochs.
        """
        sections = self.examples.sections
        weight, stop = sections[section].weight, min(start + CHUNK, sections[section].count)
        rows = sum(s.count for s in sections[:section]) + np.arange(start, stop, dtype=np.int64)
        if weight == int(weight):
            return rows
        u = _uniform(self.seed, rows)
        copies = np.floor(weight * (epoch + 1) + u) - np.floor(weight * epoch + u)
        return rows[copies > repetition]

    def _generator(self, *keys: int) -> np.random.Generator:
        """Independent of rank and world: all processes must see the same order."""
        return np.random.Generator(np.random.PCG64(np.random.SeedSequence([self.seed, *keys, len(keys)])))


def _cut(sizes: NDArray[np.int64], limit: int) -> list[int]:
    """Where to cut so that rows x longest row stays within the limit; a row over the limit is a batch of its own."""
    cuts = []
    start = 0
    while start < len(sizes):
        window = sizes[start : start + max(1, limit)]
        cost = np.maximum.accumulate(window) * np.arange(1, len(window) + 1)
        start += max(1, int(np.searchsorted(cost, limit, side="right")))
        cuts.append(start)
    return cuts[:-1]


def _uniform(seed: int, rows: Rows) -> NDArray[np.float64]:
    """A number in [0, 1) for each row, by mixing its bits (splitmix64: Steele, Lea and Flood 2014)."""
    with np.errstate(over="ignore"):
        x = rows.astype(np.uint64) + np.uint64((seed * 0x9E3779B97F4A7C15 + 1) % 2**64)
        x *= np.uint64(0x9E3779B97F4A7C15)
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return ((x ^ (x >> np.uint64(31))) >> np.uint64(11)).astype(np.float64) / 2**53
