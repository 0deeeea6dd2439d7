"""Autograd functions of our own under autocast: which precision their inputs and their matrix products have."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor


@dataclass(frozen=True)
class Products:
    """How a function of ours multiplies matrices: as they are or, in mixed precision, with bfloat16 in and out.

    What a product is added to, and the sum, are not rounded. A processor that multiplies bfloat16 (AVX-512 BF16, AMX)
    takes half the time for it.
    """

    halved: bool = False

    def ready(self, matrix: Tensor) -> Tensor:
        """The matrix as products take it: for one that takes part in many."""
        return matrix.bfloat16() if self.halved else matrix

    def __call__(self, left: Tensor, right: Tensor, *, out: Tensor | None = None) -> Tensor:
        """``left @ right``, of whole matrices or of ready ones."""
        if not self.halved:
            return torch.mm(left, right, out=out)
        product = torch.mm(self.ready(left), self.ready(right))
        return product.float() if out is None else out.copy_(product)

    def add(self, to: Tensor, left: Tensor, right: Tensor, *, out: Tensor | None = None) -> Tensor:
        """``to + left @ right``"""
        if not self.halved:
            return torch.addmm(to, left, right, out=out)
        return torch.add(to, torch.mm(self.ready(left), self.ready(right)), out=out)


_halved = ContextVar("halved", default=False)


def current_products() -> Products:
    """For a function's forward pass, which keeps it for the backward pass."""
    return Products(_halved.get())


def apply(function: type[torch.autograd.Function], *args: Any) -> Any:
    """``function.apply``, under autocast too: what it writes into is made for one kind of number.

    So all it is given is made whole; only products that it makes by :func:`current_products` are then halved, where
    autocast halves to bfloat16. As autocast does, it leaves double precision alone.
    """
    device = next(arg.device.type for arg in args if isinstance(arg, Tensor))
    if not torch.is_autocast_enabled(device):
        return function.apply(*args)  # type: ignore[no-untyped-call]
    halves = (torch.float16, torch.bfloat16)
    full = [arg.float() if isinstance(arg, Tensor) and arg.dtype in halves else arg for arg in args]
    double = any(isinstance(arg, Tensor) and arg.dtype == torch.float64 for arg in args)
    before = _halved.set(torch.get_autocast_dtype(device) == torch.bfloat16 and not double)
    try:
        with torch.autocast(device, enabled=False):
            return function.apply(*full)  # type: ignore[no-untyped-call]
    finally:
        _halved.reset(before)
