"""What a layer can take, said before torch says it in its own words."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from regard.errors import DtypeError, InputError, ShapeError


def check_rows(layer: nn.Module, width: int, why: str = "", **named: Any) -> None:
    """Refuse what is no tensor (..., rows, width) of the numbers that the layer computes with."""
    weight = next(layer.parameters(), None)
    for name, tensor in named.items():
        if not isinstance(tensor, Tensor):
            kind = f"{type(tensor).__module__}.{type(tensor).__name__}".removeprefix("builtins.")
            raise DtypeError(f"{name} must be a torch tensor, not {kind}; convert it with torch.tensor({name})")
        if tensor.ndim < 2 or tensor.shape[-1] != width:
            raise ShapeError(f"{name} must be (..., rows, {width}){why}; it is {tuple(tensor.shape)}")
        if not tensor.is_floating_point():
            raise DtypeError(f"{name} must be floating-point numbers; they are {tensor.dtype}. Use {name}.float().")
        mixes = torch.is_autocast_enabled(tensor.device.type)
        if weight is not None and weight.dtype != tensor.dtype and not mixes:
            raise DtypeError(
                f"{name} is {tensor.dtype}, the layer's weights are {weight.dtype}; convert one of them with .to(...)"
            )


def check_share(**named: float) -> None:
    """Refuse what is no share, from 0 to 1."""
    for name, share in named.items():
        if not isinstance(share, int | float) or not 0 <= share <= 1:
            raise InputError(f"{name} must be a share from 0 to 1; it is {share!r}")
