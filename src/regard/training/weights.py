"""Weights as safetensors: shared tensors once, any float width on disk."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from regard.errors import CheckpointError


def weights_of(model: nn.Module) -> dict[str, Tensor]:
    """The model's parameters and kept buffers by name; a tensor with several names goes by the first."""
    seen: set[int] = set()
    weights = {}
    for name, tensor in model.state_dict(keep_vars=True).items():
        if id(tensor) not in seen:
            seen.add(id(tensor))
            weights[name] = tensor.detach()
    return weights


def save_weights(weights: Mapping[str, Tensor], path: Path, *, metadata: Mapping[str, str] | None = None) -> None:
    """Write the tensors; the caller sees to it that the file appears whole."""
    tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in weights.items()}
    save_file(tensors, path, metadata=dict(metadata) if metadata else None)
    path.chmod(path.parent.stat().st_mode & 0o666)  # safetensors makes files that only their owner can read


def read_weights(path: Path) -> dict[str, Tensor]:
    """The tensors of a file."""
    try:
        with safe_open(path, framework="pt") as file:
            return {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - not a mapping
    except FileNotFoundError:
        raise CheckpointError(f"there is no file {path}.") from None
    except (SafetensorError, OSError) as error:
        raise CheckpointError(f"{path} is damaged: {error}.") from None


@torch.no_grad()
def load_weights(model: nn.Module, path: Path, *, all_of_them: bool = True) -> None:
    """Read a file into the model, whatever float width it was stored in; or as much as the two have in common."""
    stored = read_weights(path)
    wanted = weights_of(model)
    missing, surplus = sorted(wanted.keys() - stored.keys()), sorted(stored.keys() - wanted.keys())
    if (missing or surplus) and (all_of_them or not wanted.keys() & stored.keys()):
        found = "; ".join(
            f"{what} {', '.join(names)}" for what, names in (("lacks", missing), ("has also", surplus)) if names
        )
        raise CheckpointError(f"{path} is of another model than its settings say: it {found}.")
    for name in wanted.keys() & stored.keys():
        tensor = wanted[name]
        if tensor.shape != stored[name].shape:
            raise CheckpointError(
                f"{path} is of another model than its settings say: {name} is {tuple(stored[name].shape)} there, "
                f"{tuple(tensor.shape)} by the settings."
            )
        tensor.copy_(stored[name])


def average(paths: list[Path], weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The mean of ``weights`` and of the files, summed in double precision; what is not a float stays as it is."""
    total = {name: tensor.detach().double().cpu() for name, tensor in weights.items() if tensor.is_floating_point()}
    for path in paths:
        stored = read_weights(path)
        for name, tensor in total.items():
            tensor += stored[name]
    mean = {name: (tensor / (len(paths) + 1)).to(weights[name].dtype) for name, tensor in total.items()}
    return {name: mean.get(name, tensor.detach().cpu()) for name, tensor in weights.items()}
