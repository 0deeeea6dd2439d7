"""Export of a trained model: float16 weights, no optimizer state, no paths of the machine it was trained on."""

from __future__ import annotations

import os
import shutil
from pathlib import Path, PurePath
from typing import Any

from safetensors import SafetensorError

from regard.errors import CheckpointError
from regard.files import partial_path, publish, write_text
from regard.training.config import RunConfig, load_config
from regard.training.runs import find, vocabulary_files, weights_file
from regard.training.toml import render
from regard.training.weights import read_weights, save_weights

_PATHS = frozenset(
    ("run", "cache", "path", "source", "target", "images", "source_file", "target_file", "begin_with", "links")
)  # the settings that name files


def export(run: str | os.PathLike[str], folder: str | os.PathLike[str]) -> Path:
    """Write the best weights of ``run`` as float16, with vocabularies and settings, into the new ``folder``.

    The folder is used as a run directory is: ``Translator.load(folder)``. Of every path in the settings only its last
    part is kept.
    """
    source, target = find(run), Path(folder)
    if target.exists():
        raise CheckpointError(f"{target} is there already; name a folder that is not, or remove it")
    config = load_config(source / "config.toml")
    config.check_portable()
    weights = read_weights(weights_file(source))
    partial = partial_path(target)
    try:
        partial.mkdir(parents=True)
        half = {name: tensor.half() if tensor.is_floating_point() else tensor for name, tensor in weights.items()}
        save_weights(half, partial / "best.safetensors")
        for name, vocabulary in vocabulary_files(source).items():
            shutil.copyfile(vocabulary, partial / name)
        write_text(partial / "config.toml", render(without_directories(config)))
        publish(partial, target)
    except (OSError, SafetensorError) as error:
        raise CheckpointError(f"{target} cannot be written: {getattr(error, 'strerror', None) or error}") from None
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return target


def without_directories(config: RunConfig) -> RunConfig:
    """The settings with each path cut down to its last part."""
    return load_config(_last_parts(config.model_dump()))


def _last_parts(value: Any, key: str = "") -> Any:
    if isinstance(value, dict):
        return {inner_key: _last_parts(inner, inner_key) for inner_key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_last_parts(inner, key) for inner in value]
    return PurePath(value).name if key in _PATHS and os.sep in value else value
