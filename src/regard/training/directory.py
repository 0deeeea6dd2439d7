"""The directory of a run: what is in it, when a run can be begun in it, and when it can be resumed.

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
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import torch

import regard
from regard.errors import CheckpointError
from regard.files import remove_leftovers, write_text
from regard.settings import differences
from regard.training.config import RunConfig, load_config
from regard.training.task import Task
from regard.training.toml import render

try:
    import fcntl
except ImportError:  # not a POSIX system: nothing keeps two trainings apart there
    fcntl = None  # type: ignore[assignment]

# What a run that was cut off before it began may leave behind.
_LOCK = ".lock"
_HARMLESS = (_LOCK, "cache", "config.toml", "vocabulary")
# What only the training that holds the lock writes.
_OURS = ("config.toml", "run.json", "vocabulary", "best.safetensors", "last.safetensors")


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
                f"{self.path} already holds a run. Resume it with --resume, choose another directory with "
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
        self.clean()
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
            "the run is resumed, but not bit for bit as it would have been."
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

    def clean(self) -> None:
        """Remove what processes that were killed left half-written here; by whoever holds the lock."""
        remove_leftovers(self.path, owned=_OURS)
        remove_leftovers(self.path / "checkpoints", owned="0123456789")
        remove_leftovers(self.path / "cache")  # which other runs may write to

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

    def __init__(
        self, path: Path, size: int, checksums: bytes | None = None, report: Callable[[str], None] = lambda _: None
    ) -> None:
        """``checksums`` are those that the checkpoint kept of the lines; one that is not as written is reported."""
        lines = _lines(path, size) if size else []
        if checksums is not None:
            _compare(path, lines, checksums, report)
        self._checksums = [zlib.crc32(line) for line in lines]
        size = sum(map(len, lines))
        self._file = path.open("ab")
        if self._file.tell() > size:
            self._file.truncate(size)
            self._file.seek(0, os.SEEK_END)
        self._flushed = time.monotonic()

    def write(self, kind: str, values: dict[str, Any]) -> None:
        """Add a line; readers see it within a second, and the next checkpoint brings it to the disk."""
        line = json.dumps({"kind": kind, **values}, ensure_ascii=False).encode() + b"\n"
        self._file.write(line)
        self._checksums.append(zlib.crc32(line))
        if time.monotonic() - self._flushed > 1:
            self._file.flush()
            self._flushed = time.monotonic()

    def checksums(self) -> bytes:
        """The CRC-32 of every line, and last of them all."""
        each = np.array(self._checksums, "<u4").tobytes()
        return each + np.array(zlib.crc32(each), "<u4").tobytes()

    def sync(self) -> int:
        """Bring all lines to the disk; returns the log's size."""
        self._file.flush()
        os.fsync(self._file.fileno())
        return self._file.tell()

    def close(self) -> None:
        """Close the file; what a full disk does not take is written again after the last checkpoint."""
        with suppress(OSError):
            self._file.close()


def _lines(path: Path, size: int) -> list[bytes]:
    """The complete lines among the first ``size`` bytes of a log, each with its end."""
    try:
        with path.open("rb") as file:
            lines = file.read(size).splitlines(keepends=True)
    except FileNotFoundError:
        return []
    return lines if not lines or lines[-1].endswith(b"\n") else lines[:-1]


def _compare(path: Path, lines: list[bytes], checksums: bytes, report: Callable[[str], None]) -> None:
    """Report the first line that is not as it was written, or that lines are lost; the training needs none of them."""
    expected = np.frombuffer(checksums[: len(checksums) // 4 * 4], "<u4").tolist()
    if not expected or zlib.crc32(checksums[:-4]) != expected.pop():
        report(f"the checksums of {path} in the checkpoint are damaged: whether the log is as it was is not known.")
        return
    wrong = [n for n, (line, crc) in enumerate(zip(lines, expected, strict=False), 1) if zlib.crc32(line) != crc]
    if wrong:
        others = f", nor are {len(wrong) - 1} after it" if len(wrong) > 1 else ""
        report(f"{path}:{wrong[0]} is damaged: this line is not what was written{others}. The training goes on.")
    elif len(lines) < len(expected):
        report(
            f"{path} ends after line {len(lines)} of {len(expected)}: those after it are lost. The training goes on."
        )


def _refuse(reasons: list[str]) -> None:
    if reasons:
        advice = "Undo the change to resume this run, or begin another one with --set run=... (without --resume)."
        raise CheckpointError("\n".join([*reasons, advice]))


def _shown(value: Any) -> str:
    return "absent" if value is None else json.dumps(value) if isinstance(value, str | bool) else str(value)
