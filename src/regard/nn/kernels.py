"""When the layers may use the package's own kernels."""

from __future__ import annotations

import torch
from torch import Tensor


def has_kernels(tensor: Tensor, *widths: int) -> bool:
    """Whether the kernels take tensors like this one, with rows of these widths; other tensors take plain torch."""
    lanes = {torch.float32: 8, torch.float64: 4}.get(tensor.dtype)
    return tensor.device.type == "cpu" and lanes is not None and all(width % lanes == 0 for width in widths)
