"""Share the units of one computation among threads, without Numba's own pool.

Numba's default pool ends the process when two Python threads enter it at once. The kernels release the GIL, so
plain Python threads serve: safe to call from anywhere, after a fork too, and nothing starts for small work.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

ENOUGH = 2_000_000  # steps of about 0.15 ns below which waking another thread takes longer than it saves
_SHARES = 4  # per thread: a thread that was held up leaves its remaining shares to the others

_pool: ThreadPoolExecutor | None = None


def _forget_pool() -> None:
    global _pool
    _pool = None


if hasattr(os, "register_at_fork"):  # where there are forks
    os.register_at_fork(after_in_child=_forget_pool)


def _workers() -> ThreadPoolExecutor:
    global _pool
    if _pool is None:
        _pool = ThreadPoolExecutor(os.cpu_count() or 1, thread_name_prefix="regard-kernel")
    return _pool


def share(units: int, work: int, threads: int, kernel: Callable[..., Any], args: tuple[Any, ...]) -> list[Any]:
    """Call ``kernel(*args, first, stop)`` so that together the calls cover range(units); what they returned."""
    threads = min(threads, units, work // ENOUGH + 1)
    if threads <= 1:
        return [kernel(*args, 0, units)] if units else []
    shares = min(units, threads * _SHARES)
    bounds = [units * i // shares for i in range(shares + 1)]
    queue = itertools.count()

    def take() -> list[Any]:
        results = []
        while (i := next(queue)) < shares:
            results.append(kernel(*args, bounds[i], bounds[i + 1]))
        return results

    others = [_workers().submit(take) for _ in range(threads - 1)]
    results = take()
    for other in others:
        results += other.result()
    return results
