"""The directory of a run: what is in it, when it may be begun, and when it may be gone on with.

runs/x/
    config.toml         every setting
    run.json            what the run was begun with: corpora, vocabularies, processes, versions
    vocabulary*.model   (what the task saves)
    best.safetensors    last.safetensors
    checkpoints/        cache/
    log.jsonl           a line an update, a validation, a start and a stop
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import torch

import regard
from regard.errors import CheckpointError
from regard.files import remove_leftovers, write_text
from regard.training.config import RunConfig, load_config
from regard.training.settings import differences
from regard.training.task import Task
from regard.training.toml import render

try:
    import fcntl
except ImportError:  # not a POSIX system: nothing keeps two trainings apart there
    fcntl = None  # type: ignore[assignment]

# What a run that was cut off before it began may leave behind.
_LOCK = ".lock"
_HARMLESS = (_LOCK, "cache", "config.toml", "vocabulary")


class RunDirectory:
    """A run on disk."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.config_path, self.facts_path, self.log_path = (
            path / name for name in ("config.toml", "run.json", "log.jsonl")
        )

    def check_new(self) -> None:
        """Refuse a directory that holds a run, or anything else that is not ours."""
        if self.begun:
            raise CheckpointError(
                f"{self.path} already holds a run. Go on with it by --resume, choose another directory with "
                f"--set run=..., or remove {self.path}."
            )
        if self.path.exists() and not self.path.is_dir():
            raise CheckpointError(f"{self.path} is a file; a run needs a directory. Choose another with --set run=...")
        strange = [
            p.name for p in self.path.glob("*") if not p.name.startswith(_HARMLESS) and ".partial-" not in p.name
        ]
        if strange:
            raise CheckpointError(
                f"{self.path} is not empty (it holds {', '.join(sorted(strange)[:5])}). "
                "Choose another directory with --set run=..., or empty it."
            )

    @property
    def begun(self) -> bool:
        """Whether all that a run starts with is there."""
        return self.facts_path.exists()

    def make(self) -> None:
        """Make the directory, or say why it cannot be made."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise CheckpointError(f"the run directory {self.path} cannot be made: {error.strerror}.") from None

    def check_begun(self) -> None:
        """Refuse to resume where nothing was begun."""
        if not self.begun:
            raise CheckpointError(f"{self.path} holds no run to resume. Start it without --resume.")

    def begin(self, config: RunConfig, task: Task, facts: dict[str, Any]) -> None:
        """Write what the run is made of; run.json comes last, and says that all of it is there."""
        remove_leftovers(self.path)
        task.save(self.path)
        write_text(self.config_path, render(config))
        write_text(self.facts_path, json.dumps(facts, indent=1) + "\n")

    def check_settings(self, config: RunConfig) -> list[str]:
        """Refuse changed settings, each by name; returns what is new but does no harm."""
        refused, notes = [], []
        for key, old, new, accepted in self._changes(load_config(self.config_path), config):
            if not accepted:
                refused.append(f"{key} was {_shown(old)} in {self.path}, is {_shown(new)} now.")
            elif key != "run":
                notes.append(f"{key} was {_shown(old)}, is {_shown(new)} now.")
        _refuse(refused)
        return notes

    def check_facts(self, facts: dict[str, Any]) -> list[str]:
        """Refuse a changed corpus, vocabulary or number of processes; returns what goes against bit for bit."""
        before = self._stored_facts()
        old_prints, new_prints = before["fingerprints"], facts["fingerprints"]
        changed = (name for name, old in old_prints.items() if new_prints.get(name) != old)
        refused = [f"{name} has changed since {self.path} was begun." for name in changed]
        if before["processes"] != facts["processes"]:
            refused.append(
                f"{self.path} was trained by {before['processes']} processes, now there are {facts['processes']}: the "
                f"order of the data would change (start torchrun with --nproc-per-node {before['processes']})."
            )
        _refuse(refused)
        return [
            f"{name} was {before['environment'].get(name)}, is {value} now: "
            "the run goes on, but not bit for bit as it would have."
            for name, value in facts["environment"].items()
            if before["environment"].get(name) != value
        ]

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Keep a second training out of the directory for as long as this one lasts, however it ends."""
        with (self.path / _LOCK).open("w") as file:
            if fcntl is not None:
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    raise CheckpointError(
                        f"{self.path} is being trained by another process. Wait for it, or stop it."
                    ) from None
            yield

    def update(self, config: RunConfig, facts: dict[str, Any]) -> None:
        """Store the settings that may change."""
        write_text(self.config_path, render(config))
        write_text(self.facts_path, json.dumps(facts, indent=1) + "\n")

    def _stored_facts(self) -> dict[str, Any]:
        try:
            facts: dict[str, Any] = json.loads(self.facts_path.read_text(encoding="utf-8"))
            if missing := {"fingerprints", "environment", "processes"} - facts.keys():
                raise ValueError(f"it lacks {', '.join(sorted(missing))}")
        except (OSError, ValueError) as error:
            raise CheckpointError(f"{self.facts_path} is damaged ({error}); this run cannot be resumed.") from None
        return facts

    @staticmethod
    def _changes(stored: RunConfig, config: RunConfig) -> Iterator[tuple[str, Any, Any, bool]]:
        for key, old, new, accepted in differences(stored, config):
            shapes_rates = key == "training.updates" and config.training.schedule in ("linear", "cosine")
            yield key, old, new, accepted and not shapes_rates


def facts_of(task: Task, *, processes: int, threads: int, device: torch.device) -> dict[str, Any]:
    """What a run is begun with, beside its settings."""
    return {
        "regard": regard.__version__,
        "processes": processes,
        "fingerprints": task.fingerprints(),
        "environment": {
            "torch": torch.__version__,
            "numpy": np.__version__,
            "threads": threads,
            "device": device.type,
        },
    }


class Log:
    """The run's log.jsonl, cut back to where the checkpoint stands, so that no update is in it twice."""

    def __init__(self, path: Path, size: int) -> None:
        self._file = path.open("ab")
        if self._file.tell() > size:
            self._file.truncate(size)
            self._file.seek(0, os.SEEK_END)
        self._flushed = time.monotonic()

    def write(self, kind: str, values: dict[str, Any]) -> None:
        """Add a line; readers see it within a second, and the next checkpoint brings it to the disk."""
        self._file.write(json.dumps({"kind": kind, **values}, ensure_ascii=False).encode() + b"\n")
        if time.monotonic() - self._flushed > 1:
            self._file.flush()
            self._flushed = time.monotonic()

    def sync(self) -> int:
        """Bring all lines to the disk; returns the log's size."""
        self._file.flush()
        os.fsync(self._file.fileno())
        return self._file.tell()

    def close(self) -> None:
        """Close the file; what a full disk does not take is written again after the last checkpoint."""
        with suppress(OSError):
            self._file.close()


def _refuse(reasons: list[str]) -> None:
    if reasons:
        advice = "Undo the change to go on with this run, or begin another one with --set run=... (without --resume)."
        raise CheckpointError("\n".join([*reasons, advice]))


def _shown(value: Any) -> str:
    return "absent" if value is None else json.dumps(value) if isinstance(value, str | bool) else str(value)
