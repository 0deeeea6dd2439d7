"""Where models are found, by name or path: run directories, and the small models that ship with the package."""

from __future__ import annotations

import os
from pathlib import Path

from regard.errors import CheckpointError, UnknownName, did_you_mean

HOME = Path(__file__).parent.parent / "pretrained"


def names() -> list[str]:
    """The models that came with the package."""
    return sorted(path.parent.name for path in HOME.glob("*/config.toml"))


def find(model: str | os.PathLike[str]) -> Path:
    """The directory of a model: a run directory, or the name of one that ships with the package."""
    path = Path(model)
    if (path / "config.toml").is_file():
        return path
    if (HOME / path.name / "config.toml").is_file() and path.name == str(model):
        return HOME / path.name
    if path.is_dir():
        raise CheckpointError(f"{path} is not a run directory: it has no config.toml. `regard train` makes one.")
    shipped = f"choose from {', '.join(names())}" if names() else "none ship with this version"
    raise UnknownName(
        f"no model is called {str(model)!r}, and there is no such directory; {shipped}, "
        f"or name the directory of a run.{did_you_mean(str(model), names())}"
    )


def vocabulary_files(directory: Path) -> dict[str, Path]:
    """The vocabularies of a run, by their names."""
    return {path.name: path for path in directory.glob("vocabulary*") if ".partial-" not in path.name}


def weights_file(directory: Path) -> Path:
    """The best weights of a run, or the last where none were validated yet."""
    for name in ("best.safetensors", "last.safetensors"):
        if (directory / name).is_file():
            return directory / name
    raise CheckpointError(f"{directory} holds no weights yet: train it first, at least up to its first validation")
