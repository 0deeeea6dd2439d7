"""Dropout by fewer random numbers: about half the time of torch's on the CPU (benchmarks/RESULTS.md, "Dropout")."""

from __future__ import annotations

import torch
from torch import Tensor, nn

BITS = 16  # of a random number; the share of zeros is right to 1 in 2**16


class Dropout(nn.Dropout):
    """torch's, but on the CPU with 16 random bits a value instead of 64.

    On an AMD EPYC torch's took a tenth of a small Transformer's training. On Intel's processors torch draws otherwise,
    and the two were not compared.

    >>> with torch.random.fork_rng():
    ...     dropped = Dropout(0.25)(torch.ones(100, 100))
    >>> sorted(set(dropped.flatten().tolist())) == [0.0, float(torch.tensor(4 / 3))]
    True
    """

    def forward(self, inputs: Tensor) -> Tensor:
        if not self.training or self.inplace or not 0 < self.p < 1 or inputs.device.type != "cpu":
            dropped: Tensor = super().forward(inputs)
            return dropped
        share = min(round(self.p * 2**BITS), 2**BITS - 1)
        kept = _random_bits(inputs.numel()).view(inputs.shape) >= share - 2 ** (BITS - 1)
        return torch.mul(inputs, kept.to(inputs.dtype).mul_(2**BITS / (2**BITS - share)))


def _random_bits(count: int) -> Tensor:
    """Evenly drawn int16."""
    fours = torch.randint(-(2**63), 2**63 - 1, (-(-count // 4),), device="cpu")
    return fours.view(torch.int16)[:count]
