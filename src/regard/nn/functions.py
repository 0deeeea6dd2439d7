"""How the layers call functions of their own: when the kernels can be used, and in which precision."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor


def has_kernels(tensor: Tensor, *widths: int) -> bool:
    """Whether the kernels take tensors like this one, with rows of these widths; other tensors take plain torch."""
    if tensor.device.type != "cpu" or tensor.dtype not in (torch.float32, torch.float64):
        return False
    from regard.kernels.lanes import BYTES

    return all(width * tensor.itemsize % BYTES == 0 for width in widths)


def apply(function: type[torch.autograd.Function], *args: Any) -> Any:
    """``function.apply``, in full precision under autocast too: what it writes into is made for one kind of number."""
    device = next(arg.device.type for arg in args if isinstance(arg, Tensor))
    if not torch.is_autocast_enabled(device):
        return function.apply(*args)  # type: ignore[no-untyped-call]
    halves = (torch.float16, torch.bfloat16)
    full = (arg.float() if isinstance(arg, Tensor) and arg.dtype in halves else arg for arg in args)
    with torch.autocast(device, enabled=False):
        return function.apply(*full)  # type: ignore[no-untyped-call]
