"""Kernels shared among threads, called from several threads, and after a fork."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from regard.kernels import additive_scores, threads


@pytest.fixture(params=["torch's threads", "own threads"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "own threads":
        monkeypatch.setattr(threads, "_team", lambda: None)
    elif threads._team() is None:
        pytest.skip("this torch does not compute with GNU's OpenMP")
    else:
        monkeypatch.setattr(torch, "get_num_threads", lambda: 2)


@pytest.mark.parametrize("workers", [1, 2, 3, 8])
@pytest.mark.parametrize("units", [0, 1, 2, 7, 100])
@pytest.mark.usefixtures("way")
def test_every_unit_is_done_once(units: int, workers: int) -> None:
    done = [0] * units

    def kernel(name: str, first: int, stop: int) -> str:
        for i in range(first, stop):
            done[i] += 1
        return name

    results = threads.share(units, 10**9, workers, kernel, ("x",))
    assert done == [1] * units
    assert set(results) <= {"x"}


def test_torch_is_not_loaded_for_its_threads() -> None:
    code = """
import sys, numpy
from regard.kernels import additive_scores_numpy, threads
threads.ENOUGH = 1
x = numpy.ones((40, 64))
assert numpy.isfinite(additive_scores_numpy(x, x, x[0])).all()
assert "torch" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def test_systems_without_forks_take_the_kernels_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "register_at_fork")
    spec = importlib.util.spec_from_file_location("threads_without_forks", threads.__file__)
    assert spec is not None
    assert spec.loader is not None
    spec.loader.exec_module(importlib.util.module_from_spec(spec))


def test_small_work_starts_no_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "_run", lambda *_: pytest.fail("another thread was asked for"))
    assert threads.share(100, threads.ENOUGH - 1, 8, lambda first, stop: (first, stop), ()) == [(0, 100)]


@pytest.mark.usefixtures("way")
def test_large_work_is_shared() -> None:
    both = threading.Barrier(2, timeout=30)  # passed only if two threads are at work
    threads.share(2, 10**9, 2, lambda *_: both.wait(), ())


@pytest.mark.usefixtures("way")
def test_an_error_in_a_thread_is_raised() -> None:
    def kernel(first: int, stop: int) -> None:
        raise ValueError(f"unit {first} of {stop}")

    with pytest.raises(ValueError, match="unit"):
        threads.share(8, 10**9, 2, kernel, ())


def _score(seed: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    query, key = (torch.randn(8, 40, 64, generator=generator, requires_grad=True) for _ in range(2))
    scores = additive_scores(query, key, torch.ones(64))
    return torch.cat([scores.flatten(), *(g.flatten() for g in torch.autograd.grad(scores.sum(), (query, key)))])


@pytest.mark.usefixtures("way")
def test_calls_from_many_threads_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "ENOUGH", 1)
    expected = [_score(seed) for seed in range(6)]
    with ThreadPoolExecutor(6) as pool:
        for found in zip(*pool.map(lambda seed: [_score(seed) for _ in range(20)], range(6)), strict=True):
            assert all(torch.equal(a, b) for a, b in zip(found, expected, strict=True))


@pytest.mark.parametrize("first_use", ["in the parent", "in the child"])
def test_after_a_fork(first_use: str) -> None:
    code = """
import os, sys, torch
torch.set_num_threads(2)
x = torch.ones(4, 20, 64)
assert (torch.randn(1000, 1000) + 1).sum().isfinite()  # torch's threads are awake

def score():
    from regard.kernels import additive_scores, threads
    threads.ENOUGH = 1
    return additive_scores(x, x, x[0, 0])

if sys.argv[1] == "in the parent":
    score()
pid = os.fork()
if pid == 0:
    os._exit(0 if torch.allclose(score(), torch.full((4, 20, 20), 64 * 0.9640276)) else 1)
assert os.waitpid(pid, 0)[1] == 0
"""
    subprocess.run([sys.executable, "-W", "ignore", "-c", code, first_use], check=True, timeout=120)


def test_some_of_torch_s_threads_are_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """A team that is smaller than the last one ends the threads that it has no use for."""
    monkeypatch.setattr(threads, "_team", lambda: lambda *_: pytest.fail("torch's threads were taken"))
    monkeypatch.setattr(torch, "get_num_threads", lambda: 4)
    assert threads.share(2, 10**9, 2, lambda first, stop: (first, stop), ()) == [(0, 1), (1, 2)]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only there are the libraries of a process listed")
def test_a_torch_without_an_openmp_of_its_own_leaves_the_work_to_python_threads(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What breaks when torch ships no libgomp, or hides it: nothing but the choice of threads."""
    monkeypatch.setattr(torch, "__file__", "/nowhere/torch/__init__.py")
    assert threads._team.__wrapped__() is None
    monkeypatch.setattr(threads, "_team", threads._team.__wrapped__)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 2)
    both = threading.Barrier(2, timeout=30)
    threads.share(2, 10**9, 2, lambda *_: both.wait(), ())
