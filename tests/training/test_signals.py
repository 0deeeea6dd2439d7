"""Ctrl-C: the first asks to stop, the second stops; the handlers before come back."""

from __future__ import annotations

import signal
import threading

import pytest

from regard.training.signals import Signals


def test_the_first_signal_asks_and_the_second_stops():
    before, messages = signal.getsignal(signal.SIGTERM), []
    with Signals(messages.append) as signals:
        assert not signals.stop
        signal.raise_signal(signal.SIGTERM)
        assert signals.stop
        assert signals.received is signal.SIGTERM
        assert messages == ["stopping after this update; once more stops at once, without a checkpoint"]
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGTERM)
    assert signal.getsignal(signal.SIGTERM) is before


def test_another_thread_leaves_the_handlers_alone():
    seen = []

    def enter() -> None:
        with Signals(lambda _: None):
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=enter)
    thread.start()
    thread.join()
    assert seen == [signal.getsignal(signal.SIGINT)]
