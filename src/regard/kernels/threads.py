"""Share the units of one computation among threads, without Numba's own pool.

Numba's default pool ends the process when two Python threads enter it at once. The kernels release the GIL, so any
threads serve. Best are those of the OpenMP library that torch computes with, all of them together: after each of
torch's operations they stay awake for a while, and threads of our own would have to share the processors with them.
Where torch uses another library, or work is for some of its threads only (the others would end), and in a forked
child, whose OpenMP would wait for threads that the parent has, plain Python threads serve. So nothing breaks where a
torch has no GNU OpenMP, or hides it: only the threads are others. Nothing starts for small work.
"""

from __future__ import annotations

import ctypes
import itertools
import os
import re
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

ENOUGH = 2_000_000  # steps of about 0.15 ns below which waking another thread takes longer than it saves
_SHARES = 4  # per thread: a thread that was held up leaves its remaining shares to the others

_Task = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_FORKED = 0x40  # among the flags of a process in /proc: it was forked, and runs what its parent ran
_pool: ThreadPoolExecutor | None = None


def _after_fork() -> None:
    global _pool
    _pool = None
    _team.cache_clear()


if hasattr(os, "register_at_fork"):  # where there are forks
    os.register_at_fork(after_in_child=_after_fork)


def _run(task: Callable[[], None], threads: int) -> None:
    """Call ``task`` in this thread and in ``threads`` - 1 others, and wait for all."""
    torch = sys.modules.get("torch")
    if torch is not None and torch.get_num_threads() == threads and _team() is not None:
        _team()(_Task(lambda _: task()), None, threads, 0)
        return
    global _pool
    if _pool is None:
        _pool = ThreadPoolExecutor(os.cpu_count() or 1, thread_name_prefix="regard-kernel")
    others = [_pool.submit(task) for _ in range(threads - 1)]
    task()
    for other in others:
        other.result()


@cache
def _team() -> Any:
    """The function of torch's OpenMP library, GNU's, that runs a task in a team of threads; None where it has none."""
    try:
        after_name = Path("/proc/self/stat").read_text(errors="replace").rpartition(")")[2].split()
        loaded = re.findall(r"\S+/libgomp[^/\s]*", Path("/proc/self/maps").read_text(errors="replace"))
        home = str(Path(sys.modules["torch"].__file__ or "").parent)
        of_torch = next(path for path in loaded if path.startswith(home))
        return None if int(after_name[6]) & _FORKED else ctypes.CDLL(of_torch).GOMP_parallel
    except (OSError, AttributeError, StopIteration):
        return None


def share(units: int, work: int, threads: int, kernel: Callable[..., Any], args: tuple[Any, ...]) -> list[Any]:
    """Call ``kernel(*args, first, stop)`` so that together the calls cover range(units).

    What they return comes in the order of the units, whichever thread was first.
    """
    threads = min(threads, units, work // ENOUGH + 1)
    if threads <= 1:
        return [kernel(*args, 0, units)] if units else []
    shares = min(units, threads * _SHARES)
    bounds = [units * i // shares for i in range(shares + 1)]
    queue, results, errors = itertools.count(), [None] * shares, list[BaseException]()

    def take() -> None:
        try:
            while (i := next(queue)) < shares:
                results[i] = kernel(*args, bounds[i], bounds[i + 1])
        except BaseException as error:  # a thread of OpenMP's has nobody to raise it to
            errors.append(error)

    _run(take, threads)
    if errors:
        raise errors[0]
    return results
