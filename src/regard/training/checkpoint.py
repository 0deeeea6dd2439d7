"""Checkpoints: a numbered directory each, published by one rename, so weights and state always belong together.

checkpoints/00001200/
    model.safetensors       the weights
    training.safetensors    Adam's moments, the random states of every process
    averaged.safetensors    at the end only, and if asked for
    state.json              where the training stands
    log.crc32               a checksum of each line of the log so far

All of them tell when they are not what was written. Of a run that is not finished, the checkpoint before the latest is
kept too: should the latest be damaged, it is set aside as 00001200.damaged, and the run goes on from the other.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from regard.errors import CheckpointError
from regard.files import (
    link,
    partial_path,
    publish,
    read_sealed_json,
    remove_leftovers,
    sealed_json,
    write_bytes,
    write_text,
)
from regard.training.order import Position
from regard.training.weights import load_weights, read_weights, save_weights, weights_of

FORMAT = 1
MODEL, TRAINING, AVERAGED, STATE = "model.safetensors", "training.safetensors", "averaged.safetensors", "state.json"
LINES = "log.crc32"
BEST, LAST = "best.safetensors", "last.safetensors"
_DAMAGED = ".damaged"
_NUMBERS = "0123456789"  # what the names of checkpoints begin with


@dataclass(frozen=True)
class Best:
    """The weights kept as best: of which update, how good, and whether they are an average."""

    update: int
    value: float
    averaged: bool = False


@dataclass(frozen=True)
class State:
    """The state of a training between two updates, beside weights and moments."""

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
        return sealed_json({"format": FORMAT, **asdict(self)})

    @classmethod
    def from_json(cls, text: str) -> State:
        """The state written by :meth:`to_json`."""
        values = read_sealed_json(text)
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

    def latest(self, report: Callable[[str], None] = lambda _: None) -> State | None:
        """The state of the latest checkpoint that is as it was written, if there is one.

        Damaged ones after it are reported and set aside; that there are damaged ones only is an error.
        """
        entries = self._entries()
        for number, entry in reversed(list(enumerate(entries))):
            path = self._path(*entry)
            try:
                return self._checked(path)
            except CheckpointError as error:
                if not number:
                    raise CheckpointError(f"{error} {self._nothing_before(path)}") from None
                report(f"{error} Going on from the checkpoint before it, of update {entries[number - 1][0]}.")
                aside = path.with_name(f"{path.name}{_DAMAGED}")
                shutil.rmtree(aside, ignore_errors=True)
                path.rename(aside)
        if (self.run / LAST).is_file():
            raise CheckpointError(
                f"{self.directory} holds no checkpoint any more. {self._nothing_before(self.directory)}"
            )
        return None

    def with_best(self, state: State, report: Callable[[str], None] = lambda _: None) -> State:
        """``state``, once ``best.safetensors`` is seen to be whole, or made anew from the checkpoint of its update."""
        if state.best is None or state.best.update == state.update:  # see expose()
            return state
        path, update = self.run / BEST, state.best.update
        if not path.is_file() and update not in self.updates():
            report(f"{path}, the best weights (of update {update}), is gone; the next validation counts as the best.")
            return replace(state, best=None)
        try:
            read_weights(path)
        except CheckpointError as error:
            if not self._is_whole(state.best):
                raise CheckpointError(
                    f"{error} Of these best weights (of update {update}) there is no other copy here. Put the file "
                    "back from a copy, or remove it: then the run goes on, and its next validation counts as the best."
                ) from None
            self._expose_best(state.best)
            report(f"{path} was damaged or gone, and is made anew from the checkpoint of update {update}.")
        return state

    def _is_whole(self, best: Best) -> bool:
        try:
            return bool(read_weights(self._best_path(best)))
        except CheckpointError:
            return False

    def _checked(self, path: Path) -> State:
        """The state of a checkpoint, all of whose files are whole."""
        state = read_state(path)
        read_weights(path / MODEL)
        read_weights(path / TRAINING)
        if state.best and state.best.update == state.update and state.best.averaged:
            read_weights(path / AVERAGED)
        return state

    def _nothing_before(self, path: Path) -> str:
        best = " with training.begin_with set to this one" if (self.run / BEST).is_file() else ""
        return (
            f"There is no checkpoint before it to go on from: put {path} back from a copy, or begin another run{best}."
        )

    def save(
        self,
        state: State,
        model: nn.Module,
        optimizer: Optimizer,
        generators: dict[str, Tensor],
        averaged: dict[str, Tensor] | None = None,
        lines: bytes = b"",
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
        write_bytes(partial / LINES, lines)
        write_text(partial / STATE, state.to_json())
        publish(partial, path)
        self.expose(state)

    def expose(self, state: State) -> None:
        """Link the latest and best weights into the run directory; again on resuming, should it have been cut off."""
        path = self.path(state.update)
        link(path / MODEL, self.run / LAST)
        if state.best and state.best.update == state.update:
            self._expose_best(state.best)

    def _expose_best(self, best: Best) -> None:
        link(self._best_path(best), self.run / BEST)

    def _best_path(self, best: Best) -> Path:
        return self.path(best.update) / (AVERAGED if best.averaged else MODEL)

    def restore(self, state: State, model: nn.Module, optimizer: Optimizer) -> dict[str, Tensor]:
        """Load weights and moments; returns the random states."""
        path = self.path(state.update)
        load_weights(model, path / MODEL)
        stored = read_weights(path / TRAINING)
        generators = {name: stored.pop(name) for name in list(stored) if name.startswith("random.")}
        _restore_moments(model, optimizer, stored)
        return generators

    def prune(self, keep: set[int], *, before: int = 1) -> None:
        """Remove every checkpoint but the latest, ``before`` updates' before it, and those of ``keep``.

        What was set aside as damaged goes once the run has passed it.
        """
        remove_leftovers(self.directory, owned=_NUMBERS)
        entries = self._entries()
        newest = dict(entries)  # the highest revision of each update
        keep = keep | set(sorted(newest)[-1 - before :])
        doomed = [self._path(*entry) for entry in entries if entry[0] not in keep or entry[1] < newest[entry[0]]]
        aside = [path for path in self.directory.glob(f"*{_DAMAGED}") if path.name[:1].isdigit()]
        passed = [path for path in aside if newest and int(path.name.partition(".")[0]) <= max(newest)]
        for path in [*doomed, *passed]:
            # Renamed first: a half-removed directory must not look like a checkpoint.
            path.rename(partial_path(path))
            shutil.rmtree(partial_path(path))


def read_state(path: Path) -> State:
    """The state of the checkpoint in the directory ``path``."""
    try:
        return State.from_json((path / STATE).read_text(encoding="utf-8"))
    except (OSError, ValueError, KeyError, TypeError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise CheckpointError(f"{path / STATE} is damaged ({reason}).") from None


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
