"""What must not share the process of a race.

A contestant that cannot, such as Keras on a second backend: its process lives through the whole race and waits while
others run, so the rounds stay interleaved. And what is computed beside the race.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from benchmarks.harness import Local


def _serve(pipe: Connection, build: Callable[..., Callable[[], Any]], arguments: tuple[Any, ...], arrays: Any) -> None:
    contestant = Local("", build(*arguments), arrays)
    while (wish := pipe.recv()) != "stop":
        pipe.send(getattr(contestant, wish)())


class Remote:
    """``build(*arguments)``, called in a new process, gives the function to time there."""

    def __init__(
        self,
        name: str,
        build: Callable[..., Callable[[], Any]],
        arguments: tuple[Any, ...],
        arrays: Callable[[Any], dict[str, np.ndarray]],
    ) -> None:
        self.name = name
        self._pipe, theirs = multiprocessing.Pipe()
        context = multiprocessing.get_context("spawn")
        self._process = context.Process(target=_serve, args=(theirs, build, arguments, arrays), daemon=True)
        self._process.start()

    def _ask(self, wish: str) -> Any:
        self._pipe.send(wish)
        return self._pipe.recv()

    def seconds(self) -> float:
        return float(self._ask("seconds"))

    def peak(self) -> int:
        return int(self._ask("peak"))

    def result(self) -> dict[str, np.ndarray]:
        found: dict[str, np.ndarray] = self._ask("result")
        return found

    def close(self) -> None:
        self._pipe.send("stop")
        self._process.join()


def elsewhere(function: Callable[..., Any], *arguments: Any) -> Any:
    """What the call returns, made in a process that ends with it.

    So it leaves nothing behind that would help or hinder a contestant, such as free memory in the heap.
    """
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(function, *arguments).result()
