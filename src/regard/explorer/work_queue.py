"""Computes answers one after the other in a thread, with a bounded queue."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

from regard.explorer.limits import WAITING, WORK_SECONDS, Refused

T = TypeVar("T")

ENDING = "the server is ending"


class WorkQueue:
    """A single worker thread, since two models at once would slow each other down, and a bounded queue before it."""

    def __init__(self, *, waiting: int = WAITING, seconds: float = WORK_SECONDS) -> None:
        self.waiting, self.seconds = waiting, seconds
        self._slots = threading.BoundedSemaphore(waiting + 1)
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="regard")
        self._submitted: list[Future[Any]] = []
        self._awaited: set[asyncio.Future[Any]] = set()
        self._closed = False

    def submit(self, function: Callable[..., T], *arguments: Any) -> Future[T]:
        """Run it as soon as the worker is free, however many wait."""
        future = self._pool.submit(function, *arguments)
        self._submitted = [*(before for before in self._submitted if not before.done()), future]
        return future

    async def run(self, function: Callable[..., T], *arguments: Any) -> T:
        """The function's result; refused with 503 when the queue is full, time is up, or the server ends."""
        if self._closed:
            raise Refused(503, ENDING)
        if not self._slots.acquire(blocking=False):
            raise Refused(503, f"busy: {self.waiting} requests wait already; try again in a moment")
        future = self.submit(function, *arguments)
        future.add_done_callback(lambda _: self._slots.release())  # a thread cannot be stopped: it keeps its slot
        answer = asyncio.wrap_future(future)
        self._awaited.add(answer)
        try:
            return await asyncio.wait_for(answer, self.seconds)
        except TimeoutError:
            raise Refused(503, f"this took longer than {self.seconds:.0f} seconds; try something shorter") from None
        except asyncio.CancelledError:
            if not self._closed:
                raise
            raise Refused(503, ENDING) from None
        finally:
            self._awaited.discard(answer)

    def close(self) -> bool:
        """Cancel what waits, and refuse it to those who asked; gives whether the worker is idle."""
        self._closed = True
        self._pool.shutdown(wait=False, cancel_futures=True)
        for answer in [*self._awaited]:
            answer.cancel()
        return all(future.done() for future in self._submitted)
