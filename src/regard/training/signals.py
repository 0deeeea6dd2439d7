"""Ctrl-C and SIGTERM: finish the update, write a checkpoint, then stop."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any


class Signals:
    """While entered, the first signal asks the loop to stop; a second one stops at once.

    ``tell`` is called inside the signal's handler.
    Only the main thread can take signals; in another one, nothing changes.
    """

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell = tell
        self._before: dict[signal.Signals, Any] = {}
        self.stop = False
        self.received: signal.Signals | None = None

    def __enter__(self) -> Signals:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self._before[number] = signal.signal(number, self._handle)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _handle(self, number: int, _: FrameType | None) -> None:
        if self.stop:
            raise KeyboardInterrupt
        self.stop, self.received = True, signal.Signals(number)
        self._tell("stopping after this update; once more stops at once, without a checkpoint")
