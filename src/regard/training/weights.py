"""Weights as safetensors: shared tensors once, any float width on disk, with a digest that tells damaged ones."""

from __future__ import annotations

import hashlib
import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn
from torch.nn.modules.module import register_module_parameter_registration_hook

from regard.errors import CheckpointError

_DIGEST = "blake2b"  # the key of the tensors' digest in a file's metadata


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
    """Write the tensors and a digest of them; the caller sees to it that the file appears whole."""
    tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in weights.items()}
    save_file(tensors, path, metadata={**(metadata or {}), _DIGEST: _digest(tensors)})
    path.chmod(path.parent.stat().st_mode & 0o666)  # safetensors makes files that only their owner can read


def read_weights(path: Path) -> dict[str, Tensor]:
    """The tensors of a file, as they were written: one changed bit and they are refused."""
    with _opened(path) as file:
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - not a mapping
        digest = (file.metadata() or {}).get(_DIGEST)  # files of older versions and of others have none
    if digest is not None and digest != _digest(tensors):
        raise CheckpointError(f"{path} is damaged: its weights are not those that were written. Get it anew.")
    return tensors


@torch.no_grad()
def load_weights(model: nn.Module, path: Path, *, all_of_them: bool = True) -> None:
    """Read a file into the model, whatever float width it was stored in; or as much as the two have in common."""
    stored = read_weights(path)
    wanted = weights_of(model)
    missing, surplus = sorted(wanted.keys() - stored.keys()), sorted(stored.keys() - wanted.keys())
    if (missing or surplus) and (all_of_them or not wanted.keys() & stored.keys()):
        found = "; ".join(
            f"{what} {_listed(names)}" for what, names in (("lacks", missing), ("has also", surplus)) if names
        )
        raise CheckpointError(f"{path} is of another model than its settings say: it {found}.")
    for name in wanted.keys() & stored.keys():
        tensor = wanted[name]
        if tensor.shape != stored[name].shape:
            raise CheckpointError(
                f"{path} is of another model than its settings say: {name} is {tuple(stored[name].shape)} there, "
                f"{tuple(tensor.shape)} by the settings."
            )
        if tensor.is_floating_point() != stored[name].is_floating_point():
            raise CheckpointError(f"{path} is damaged: {name} is {stored[name].dtype} there, not {tensor.dtype}.")
        tensor.copy_(stored[name])


@contextmanager
def sizes_of(path: Path) -> Iterator[None]:
    """Within it, this thread builds models no larger than the weights in the file, whose header says every shape.

    A settings file may ask for any size. A weight that the file does not hold is refused before memory is filled.
    """
    with _opened(path) as file:
        left = Counter(tuple(file.get_slice(name).get_shape()) for name in file.keys())  # noqa: SIM118
    seen: dict[int, nn.Parameter] = {}  # held, so that no other gets its id
    thread = threading.get_ident()

    def check(_: nn.Module, name: str, parameter: nn.Parameter | None) -> None:
        if parameter is None or id(parameter) in seen or threading.get_ident() != thread:
            return
        seen[id(parameter)] = parameter
        shape = tuple(parameter.shape)
        left[shape] -= 1
        if left[shape] < 0:
            raise CheckpointError(
                f"{path} is of another model than its settings say: they ask for a {name} of {shape} "
                "that it does not hold. Check the sizes under [model] in config.toml."
            )

    hook = register_module_parameter_registration_hook(check)  # called before a layer draws its first weights
    try:
        yield
    except (RuntimeError, MemoryError) as error:
        if "alloc" not in str(error):
            raise
        raise CheckpointError(
            f"{path} is of another model than its settings say: they ask for too much memory."
        ) from None
    finally:
        hook.remove()


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    try:
        with safe_open(path, framework="pt") as file:
            yield file
    except FileNotFoundError:
        raise CheckpointError(f"there is no file {path}.") from None
    except (SafetensorError, OSError, RuntimeError, ValueError, TypeError) as error:
        raise CheckpointError(f"{path} is damaged: {error}.") from None


def _digest(tensors: Mapping[str, Tensor]) -> str:
    """Of the names, types, shapes and bytes of all of them."""
    digest = hashlib.blake2b(digest_size=16)
    for name in sorted(tensors):
        tensor = tensors[name]
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}\n".encode())
        digest.update(tensor.reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()


def _listed(names: list[str], most: int = 12) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most:,} more" if len(names) > most else "")


def average(paths: list[Path], weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The mean of ``weights`` and of the files, summed in double precision; what is not a float stays as it is."""
    total = {name: tensor.detach().double().cpu() for name, tensor in weights.items() if tensor.is_floating_point()}
    for path in paths:
        stored = read_weights(path)
        for name, tensor in total.items():
            tensor += stored[name]
    mean = {name: (tensor / (len(paths) + 1)).to(weights[name].dtype) for name, tensor in total.items()}
    return {name: mean.get(name, tensor.detach().cpu()) for name, tensor in weights.items()}
