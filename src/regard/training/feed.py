"""Prefetching: batches are made by a thread ahead of training, and the time it waits for them is measured."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

from regard.training.order import Order, Position, Share
from regard.training.task import TrainingExamples

_AHEAD = 8


class Group(NamedTuple):
    """The batches of one update; ``counts`` says of each whether its tokens count (see ``Share``)."""

    batches: list[Any]
    counts: list[bool]
    position: Position  # after this update
    epochs: float  # passed after this update


def groups(order: Order, accumulate: int, start: Position, epochs: int) -> Iterator[list[Share]]:
    """The shares of each update; none reaches over the end of an epoch, nor beyond ``epochs`` (0 = endless)."""
    epoch = start.epoch
    while not epochs or epoch < epochs:
        group: list[Share] = []
        previous: list[Share] = []
        for share in order.shares(start):
            group.append(share)
            if len(group) == accumulate:
                if previous:
                    yield previous
                previous, group = group, []
        *full, last = [g for g in (previous, group) if g] or [[]]
        yield from full
        if last:
            yield [*last[:-1], last[-1]._replace(position=Position(epoch + 1), passed=1.0)]
        epoch += 1
        start = Position(epoch)


class Feed:
    """Groups of batches in order; ``waited`` is the time spent waiting for them."""

    def __init__(self, examples: TrainingExamples, order: Order, accumulate: int, start: Position, epochs: int) -> None:
        self._examples = examples
        self._source = groups(order, accumulate, start, epochs)
        self._queue: queue.Queue[Group | BaseException | None] = queue.Queue(_AHEAD)
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._make, name="regard-feed", daemon=True)
        self.waited = 0.0

    def __enter__(self) -> Feed:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._closed.set()
        self._thread.join()

    def __iter__(self) -> Iterator[Group]:
        while True:
            begun = time.perf_counter()
            item = self._queue.get()
            self.waited += time.perf_counter() - begun
            if item is None:
                return
            if isinstance(item, BaseException):
                raise item
            yield item

    def _make(self) -> None:
        try:
            for shares in self._source:
                batches = [self._examples.batch(share.rows) for share in shares]
                last = shares[-1]
                epochs = last.position.epoch + (last.passed if last.passed < 1 else 0.0)
                if not self._put(Group(batches, [share.counts for share in shares], last.position, epochs)):
                    return
            self._put(None)
        except BaseException as error:  # raised where the queue is read
            self._put(error)

    def _put(self, item: Group | BaseException | None) -> bool:
        """Wait for room, but not after the training has ended."""
        while not self._closed.is_set():
            try:
                self._queue.put(item, timeout=0.1)
            except queue.Full:
                continue
            return True
        return False
