"""Data-parallel training: processes started by torchrun, connected by gloo (CPU) or nccl (CUDA)."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, TypeVar

import torch
import torch.distributed as dist
from torch import Tensor

from regard.errors import ConfigError, RegardError, TrainingError
from regard.training.config import TrainingConfig

T = TypeVar("T")

# One process validates while the others wait for it, and a large validation may take long.
_PATIENCE = timedelta(hours=12)


@dataclass(frozen=True)
class Processes:
    """This process among those of the training; alone, every exchange is free."""

    rank: int
    world: int
    device: torch.device
    threads: int
    restarted: bool = False
    """whether torchrun started it again after a failure"""

    @property
    def first(self) -> bool:
        """Whether this is the process that writes."""
        return self.rank == 0

    def sum(self, tensor: Tensor) -> Tensor:
        """The sum over all processes, in place."""
        if self.world > 1:
            dist.all_reduce(tensor)
        return tensor

    def gather(self, tensor: Tensor) -> list[Tensor]:
        """Every process' tensor, in order of rank."""
        if self.world == 1:
            return [tensor]
        here = tensor.to(self.device)
        parts = [torch.empty_like(here) for _ in range(self.world)]
        dist.all_gather(parts, here)
        return [part.to(tensor.device) for part in parts]

    def by_first(self, action: Callable[[], T]) -> T:
        """Let the first process do something while the others wait; its result, or what went wrong, everywhere."""
        if self.world == 1:
            return action()
        box: list[Any] = [None, None]
        if self.first:
            try:
                box[0] = action()
            except (RegardError, OSError) as error:
                box[1] = error
        dist.broadcast_object_list(box, src=0, device=self.device)
        if box[1] is not None:
            raise box[1]
        result: T = box[0]
        return result


@contextmanager
def join(config: TrainingConfig) -> Iterator[Processes]:
    """Find the other processes, as torchrun's variables name them; alone where there are none."""
    world, rank = _variable("WORLD_SIZE", 1), _variable("RANK", 0)
    neighbours, local = _variable("LOCAL_WORLD_SIZE", 1), _variable("LOCAL_RANK", 0)
    device = _device(config.device, local)
    threads = config.threads or max(1, _cores() // neighbours)
    ours = world > 1 and not dist.is_initialized()
    if ours:
        try:
            dist.init_process_group("nccl" if device.type == "cuda" else "gloo", timeout=_PATIENCE)
        except (ValueError, RuntimeError) as error:
            raise TrainingError(
                f"process {rank} of {world} cannot reach the others: {error}. Start with torchrun."
            ) from error
    try:
        with _threads(threads), torch.random.fork_rng([device] if device.type == "cuda" else []):
            yield Processes(rank, world, device, threads, restarted=_variable("TORCHELASTIC_RESTART_COUNT", 0) > 0)
    finally:
        if ours:
            dist.destroy_process_group()


def _variable(name: str, default: int) -> int:
    value = os.environ.get(name, "")
    return int(value) if value.isdigit() else default


def _cores() -> int:
    """Cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _device(name: str, local: int) -> torch.device:
    if name == "cuda" and not torch.cuda.is_available():
        raise ConfigError('training.device = "cuda", but torch finds no CUDA device here. Use "auto" or "cpu".')
    if name == "cpu" or not torch.cuda.is_available():
        return torch.device("cpu")
    device = torch.device("cuda", local)
    torch.cuda.set_device(device)
    return device


@contextmanager
def _threads(count: int) -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)
