"""The strips of a map among threads, and what they hold."""

from __future__ import annotations

import threading
from typing import Any

import pytest
import torch
from torch import Tensor

from regard.kernels import dispatch, streams, streams_cpu, threads
from regard.kernels.streams import Reductions, map_reductions

ALL: dict[str, Any] = {"entropy": True, "received": True, "top": 5}


def inputs(q: int, k: int, d: int = 16) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(3)
    return 2 * torch.randn(q, d, generator=generator), torch.randn(k, d, generator=generator)


def assert_same(one: Reductions, two: Reductions) -> None:
    for name in ("lse", "entropy", "received", "pooled"):
        torch.testing.assert_close(getattr(one, name), getattr(two, name), rtol=1e-6, atol=1e-7)
    assert one.top is not None
    assert two.top is not None
    assert torch.equal(one.top.keys, two.top.keys)


@pytest.mark.parametrize("workers", [2, 3])
@pytest.mark.parametrize("by", ["max", "mean"])
def test_threads_share_strips(by: Any, workers: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cells of 26 rows and strips of 16: threads meet inside a cell."""
    monkeypatch.setattr(streams, "_MOST_ROWS", 16)
    query, key = inputs(333, 400)
    how: dict[str, Any] = {"end": torch.arange(333) + 1, "pool": (13, 11), "by": by, "softcap": 9.0, **ALL}
    with dispatch.forced("compiled"):
        alone = map_reductions(query, key, **how)
        ran = set()
        monkeypatch.setattr(torch, "get_num_threads", lambda: workers)
        monkeypatch.setattr(threads, "_team", lambda: None)
        monkeypatch.setattr(threads, "ENOUGH", 1)
        together = map_reductions(query, key, adjust=lambda *_: ran.add(threading.get_ident()), **how)
    assert ran
    assert_same(alone, together)


def test_an_error_of_a_thread_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "ENOUGH", 1)
    monkeypatch.setattr(streams, "_MOST_ROWS", 16)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 2)
    monkeypatch.setattr(threads, "_team", lambda: None)

    def adjust(_scores: Tensor, rows: slice, _columns: slice) -> None:
        if rows.start >= 64:
            raise KeyError("adjusted wrongly")

    with dispatch.forced("compiled"), pytest.raises(KeyError, match="adjusted wrongly"):
        map_reductions(*inputs(100, 50), adjust=adjust)


@pytest.mark.parametrize("workers", [1, 64])
@pytest.mark.parametrize("keys", [10_000, 1_000_000])
def test_memory_does_not_grow_with_the_map(workers: int, keys: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The strips of all threads together stay below 80 MB."""
    largest, used = [0], [0]
    real = streams_cpu._Part.strip

    def strip(self: Any, rows: int, width: int) -> Tensor:
        largest[0] = max(largest[0], self.buffer.nbytes)
        return real(self, rows, width)

    def share(_units: int, _work: int, count: int, strips: Any, _args: Any) -> None:
        used[0] = count
        strips(0, 1)

    monkeypatch.setattr(streams_cpu._Part, "strip", strip)
    monkeypatch.setattr(streams_cpu, "share", share)
    monkeypatch.setattr(torch, "get_num_threads", lambda: workers)
    with dispatch.forced("compiled"):
        map_reductions(*inputs(300, keys, d=2))
    assert 0 < largest[0] * used[0] < 80e6


def test_what_nobody_sees_is_not_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A sliding window costs its width."""
    monkeypatch.setattr(streams, "_MOST_ROWS", 16)
    computed = 0

    def adjust(scores: Tensor, _rows: slice, _columns: slice) -> None:
        nonlocal computed
        computed += scores.numel()

    places = torch.arange(1000)
    with dispatch.forced("compiled"):
        found = map_reductions(*inputs(1000, 1000), start=places - 20, end=places + 1, adjust=adjust, entropy=True)
    assert found.lse.isfinite().all()
    assert computed <= 1000 * 36
