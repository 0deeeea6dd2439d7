"""Checkpoints: a numbered directory each, published by one rename, so weights and state always belong together.

checkpoints/00001200/
    model.safetensors       the weights
    training.safetensors    Adam's moments, the random states of every process
    averaged.safetensors    at the end only, and if asked for
    state.json              where the training stands
"""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from regard.errors import CheckpointError
from regard.files import link, partial_path, publish, remove_leftovers, write_text
from regard.training.order import Position
from regard.training.weights import load_weights, read_weights, save_weights, weights_of

FORMAT = 1
MODEL, TRAINING, AVERAGED, STATE = "model.safetensors", "training.safetensors", "averaged.safetensors", "state.json"


@dataclass(frozen=True)
class Best:
    """The weights kept as best: of which update, how good, and whether they are an average."""

    update: int
    value: float
    averaged: bool = False


@dataclass(frozen=True)
class State:
    """Where a training stands between two updates."""

    update: int = 0
    position: Position = field(default_factory=Position)
    epochs: float = 0.0
    best: Best | None = None
    since_best: int = 0
    history: list[dict[str, Any]] = field(default_factory=list)
    seconds: float = 0.0
    waited: float = 0.0
    tokens: int = 0
    log_bytes: int = 0
    finished: str = ""

    def to_json(self) -> str:
        """As text; numbers come back exactly."""
        return json.dumps({"format": FORMAT, **asdict(self)}, indent=1)

    @classmethod
    def from_json(cls, text: str) -> State:
        """The state written by :meth:`to_json`."""
        values = json.loads(text)
        if values.pop("format") != FORMAT:
            raise ValueError("the format is of another version of regard")
        best = values["best"]
        values["position"] = Position(*values["position"])
        return cls(**{**values, "best": Best(**best) if best else None})


@dataclass(frozen=True)
class Checkpoints:
    """The checkpoints of a run."""

    run: Path

    @property
    def directory(self) -> Path:
        """Where they are."""
        return self.run / "checkpoints"

    def updates(self) -> list[int]:
        """The updates of which there is a complete checkpoint, in order."""
        return sorted({update for update, _ in self._entries()})

    def path(self, update: int) -> Path:
        """The directory of one of them: the latest, where the same update was written twice."""
        return self._path(update, max((r for u, r in self._entries() if u == update), default=0))

    def _entries(self) -> list[tuple[int, int]]:
        """(update, revision) of every complete checkpoint, in order."""
        names = (re.fullmatch(r"(\d+)(?:\.(\d+))?", path.name) for path in self.directory.glob("*"))
        return sorted((int(name[1]), int(name[2] or 0)) for name in names if name)

    def _path(self, update: int, revision: int) -> Path:
        return self.directory / (f"{update:08d}.{revision}" if revision else f"{update:08d}")

    def latest(self) -> State | None:
        """The state of the latest checkpoint, if there is one."""
        updates = self.updates()
        if not updates:
            return None
        path = self.path(updates[-1]) / STATE
        try:
            return State.from_json(path.read_text(encoding="utf-8"))
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise CheckpointError(
                f"{path} cannot be used ({error}). Remove {path.parent} to go on from an earlier checkpoint, if any."
            ) from None

    def save(
        self,
        state: State,
        model: nn.Module,
        optimizer: Optimizer,
        generators: dict[str, Tensor],
        averaged: dict[str, Tensor] | None = None,
    ) -> None:
        """Publish a checkpoint, and make ``last.safetensors`` and ``best.safetensors`` agree with it."""
        self.directory.mkdir(exist_ok=True)
        # A second checkpoint of the same update gets a name of its own: the first must last until it is there.
        path = self._path(state.update, max((r + 1 for u, r in self._entries() if u == state.update), default=0))
        partial = partial_path(path)
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir()
        metadata = {"update": str(state.update)}
        save_weights(weights_of(model), partial / MODEL, metadata=metadata)
        save_weights({**_moments(model, optimizer), **generators}, partial / TRAINING)
        if averaged is not None:
            save_weights(averaged, partial / AVERAGED, metadata=metadata)
        write_text(partial / STATE, state.to_json())
        publish(partial, path)
        self.expose(state)

    def expose(self, state: State) -> None:
        """Link the latest and best weights to where people look; again on resuming, should it have been cut off."""
        path = self.path(state.update)
        link(path / MODEL, self.run / "last.safetensors")
        if state.best and state.best.update == state.update:
            link(path / (AVERAGED if state.best.averaged else MODEL), self.run / "best.safetensors")

    def restore(self, state: State, model: nn.Module, optimizer: Optimizer) -> dict[str, Tensor]:
        """Load weights and moments; returns the random states."""
        path = self.path(state.update)
        load_weights(model, path / MODEL)
        stored = read_weights(path / TRAINING)
        generators = {name: stored.pop(name) for name in list(stored) if name.startswith("random.")}
        _restore_moments(model, optimizer, stored)
        return generators

    def prune(self, keep: set[int]) -> None:
        """Remove every checkpoint but the latest and those of ``keep``."""
        remove_leftovers(self.directory)
        entries = self._entries()
        newest = dict(entries)  # the highest revision of each update
        for update, revision in entries[:-1]:
            if update not in keep or revision < newest[update]:
                # Renamed first: a half-removed directory must not look like a checkpoint.
                doomed = partial_path(self._path(update, revision))
                self._path(update, revision).rename(doomed)
                shutil.rmtree(doomed)


def _parameters(model: nn.Module) -> list[tuple[str, nn.Parameter]]:
    """In the order in which the optimizer was given them."""
    return [(name, parameter) for name, parameter in model.named_parameters() if parameter.requires_grad]


def _moments(model: nn.Module, optimizer: Optimizer) -> dict[str, Tensor]:
    return {
        f"{key}.{name}": value
        for name, parameter in _parameters(model)
        for key, value in optimizer.state.get(parameter, {}).items()
    }


def _restore_moments(model: nn.Module, optimizer: Optimizer, stored: dict[str, Tensor]) -> None:
    state: dict[int, dict[str, Tensor]] = {}
    names = {name: number for number, (name, _) in enumerate(_parameters(model))}
    for full_name, tensor in stored.items():
        key, _, name = full_name.partition(".")
        if name not in names:
            raise CheckpointError(f"the checkpoint holds moments of {name}, which the model does not have.")
        state.setdefault(names[name], {})[key] = tensor
    optimizer.load_state_dict({"state": state, "param_groups": optimizer.state_dict()["param_groups"]})


def random_states(device: torch.device) -> dict[str, Tensor]:
    """The global random states that dropout draws from."""
    states = {"cpu": torch.get_rng_state()}
    if device.type == "cuda":
        states["cuda"] = torch.cuda.get_rng_state(device)
    return states


def restore_random_states(states: dict[str, Tensor], device: torch.device) -> None:
    """Set what :func:`random_states` gave; on another kind of device, as much of it as serves."""
    torch.set_rng_state(states["cpu"])
    if device.type == "cuda" and "cuda" in states:
        torch.cuda.set_rng_state(states["cuda"], device)
