"""Additive scores, forward and with backward, against every peer; and how close that is to the processor's limit."""

from __future__ import annotations

import threading
import time

import numpy as np
import torch

from benchmarks import peers
from benchmarks.harness import OURS, RACE_COLUMNS, Bar, Contestant, Local, Race, Section, race
from benchmarks.worker import Remote, elsewhere
from regard.kernels import additive_scores

SHAPES: list[peers.Shape] = [(32, 30, 30, 512), (64, 50, 50, 256), (1, 1024, 1024, 64), (8, 196, 196, 512)]
QUICK: list[peers.Shape] = [(4, 30, 30, 64)]
EAGER = "PyTorch eager"


def run(quick: bool) -> Section:
    section = Section("Additive scores", [*RACE_COLUMNS[:-1], "error: scores, gradients of query, key, v"])
    rounds = 2 if quick else 5
    limit = divisions_per_second()
    for backward, asked_eager, asked_peer in ((False, 35, 8), (True, 25, 8)):
        what = "forward + backward" if backward else "forward"
        for shape in QUICK if quick else SHAPES:
            outcome = _race(shape, backward, rounds)
            section.add_race(f"{what} {shape}", outcome)
            section.bars += _bars(what, shape, outcome, asked_eager, asked_peer)
            rate = np.prod(shape) * (2 if backward else 1) / outcome.seconds() / limit
            section.notes.append(f"{what} {shape}: {rate:.2f} times the processor's divisions.")
    for shape in QUICK if quick else SHAPES:
        section.add_race(f"forward + backward {shape}, memory at hand", _race_with_memory_at_hand(shape, rounds))
    section.notes.append(
        f"This processor does {limit / 1e9:.1f} thousand million float32 divisions a second, all threads together, "
        "measured by a loop that does nothing else. A kernel that divides once for each (query, key, column) and pass "
        "could reach 1 of that at most; these share a division between two columns going forward, and where there is "
        "AVX-512 they refine an estimate instead."
    )
    section.notes.append(
        "Error: root mean square against float64, which is made in another process. Made in this one it leaves free "
        "memory behind, in which eager's tensors may find room without asking the system for pages at every call: the "
        "rows with memory at hand show eager so."
    )
    section.notes.append(
        "Keras: the scores of its layer AdditiveAttention, without the softmax and context that follow; on JAX by "
        "jax.jit, in a process of its own."
    )
    return section


def _race(shape: peers.Shape, backward: bool, rounds: int) -> Race:
    arrays = peers.inputs(shape)
    torch.compiler.reset()
    compiled = torch.compile(peers.torch_tanh, dynamic=False)
    remote = Remote("Keras on JAX", peers.keras_on_jax, (arrays, backward), peers.named)
    contestants: list[Contestant] = [
        Local(OURS, peers.with_torch(additive_scores, arrays, backward), peers.named),
        Local(EAGER, peers.with_torch(peers.torch_tanh, arrays, backward), peers.named),
        Local("torch.compile", peers.with_torch(compiled, arrays, backward), peers.named),
        Local("Keras on PyTorch", peers.keras_on_torch(arrays, backward), peers.named),
        Local("JAX jit", peers.with_jax(peers.jax_tanh, arrays, backward), peers.named),
        remote,
    ]
    outcome = race(contestants, rounds, reference=elsewhere(exact, arrays, backward))
    remote.close()
    return outcome


def _race_with_memory_at_hand(shape: peers.Shape, rounds: int) -> Race:
    """Eager in the state that is best for it: a heap in which its large tensors find room."""
    arrays = peers.inputs(shape)
    contestants = [
        Local(OURS, peers.with_torch(additive_scores, arrays, True), peers.named),
        Local(EAGER, peers.with_torch(peers.torch_tanh, arrays, True), peers.named),
    ]
    return race(contestants, rounds, reference=exact(arrays, True), memory=False)


def _bars(what: str, shape: peers.Shape, outcome: Race, asked_eager: int, asked_peer: int) -> list[Bar]:
    best = outcome.best_peer()
    ours, eager = outcome.errors[OURS], outcome.errors[EAGER]
    worst = max(ours[name] / eager[name] for name in ours)
    return [
        Bar(
            f"additive {what} {shape}, times faster than eager",
            f"{asked_eager}",
            f"{outcome.ratio(EAGER):.0f}",
            outcome.ratio(EAGER) >= asked_eager,
        ),
        Bar(
            f"additive {what} {shape}, times faster than the best peer",
            f"{asked_peer}",
            f"{outcome.ratio(best):.0f} ({best})",
            outcome.ratio(best) >= asked_peer,
        ),
        Bar(f"additive {what} {shape}, largest error over eager's", "at most 1", f"{worst:.2f}", worst <= 1),
    ]


def exact(arrays: peers.Arrays, backward: bool) -> dict[str, np.ndarray]:
    """The same in float64, one batch entry at a time."""
    query, key, v, grad = (torch.from_numpy(x).double() for x in arrays)
    found: list[tuple[torch.Tensor, ...]] = []
    for q, k, g in zip(query.split(1), key.split(1), grad.split(1), strict=True):
        tensors = [x.clone().requires_grad_(backward) for x in (q, k, v)]
        scores = peers.torch_tanh(*tensors)
        found.append((scores.detach(), *(torch.autograd.grad(scores, tensors, g) if backward else ())))
    scores, *grads = zip(*found, strict=True)
    parts = [torch.cat(scores)]
    if backward:
        parts += [torch.cat(grads[0]), torch.cat(grads[1]), torch.stack(grads[2]).sum(0)]
    return peers.named(tuple(x.numpy() for x in parts))


def divisions_per_second() -> float:
    """float32 divisions of numbers in the first-level cache, on as many threads as torch uses; the best of five."""
    from numba import njit

    @njit(nogil=True, error_model="numpy")
    def divide(numbers: np.ndarray, times: int) -> None:
        for _ in range(times):
            for i in range(numbers.size):
                numbers[i] = np.float32(1) / numbers[i]

    def numbers() -> np.ndarray:
        return np.linspace(0.5, 2, 1024, dtype=np.float32)

    divide(numbers(), 1)
    times, best = 50_000, 0.0
    for _ in range(5):
        threads = [threading.Thread(target=divide, args=(numbers(), times)) for _ in range(torch.get_num_threads())]
        start = time.perf_counter()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        best = max(best, len(threads) * times * 1024 / (time.perf_counter() - start))
    return best
