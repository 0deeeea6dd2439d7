"""Files that are there whole or not at all, whatever moment the power goes; digests that tell a damaged one."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import socket
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

_STARTED = time.time()
_DIGEST = "digest"  # the key of a sealed object's digest


def write_bytes(path: Path, content: bytes) -> None:
    """Replace the file at once: a reader finds the old content or the new, never a part."""
    partial = partial_path(path)
    try:
        with partial.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, path)
    except BaseException:
        with suppress(OSError):
            partial.unlink()
        raise
    sync_directory(path.parent)


def write_text(path: Path, content: str) -> None:
    """As :func:`write_bytes`, in UTF-8."""
    write_bytes(path, content.encode("utf-8"))


def link(source: Path, path: Path) -> None:
    """Make ``path`` the same file as ``source`` at once; a copy where the file system has no links."""
    partial = partial_path(path)
    partial.unlink(missing_ok=True)
    try:
        os.link(source, partial)
    except OSError:
        shutil.copyfile(source, partial)
        sync_file(partial)
    os.replace(partial, path)
    sync_directory(path.parent)


def publish(partial: Path, path: Path) -> None:
    """Give a finished directory its name, which must be free; from then on it is there, and complete."""
    for file in partial.iterdir():
        sync_file(file)
    sync_directory(partial)
    os.rename(partial, path)
    sync_directory(path.parent)


def publish_once(partial: Path, path: Path, is_whole: Callable[[Path], bool]) -> None:
    """As :func:`publish`, where others may publish the same: theirs stays if it is whole, and makes way if not."""
    try:
        publish(partial, path)
    except OSError:
        if is_whole(path):
            return
        shutil.rmtree(path, ignore_errors=True)
        publish(partial, path)


def partial_path(path: Path) -> Path:
    """Where something is built before it gets its name; it says which process of which machine builds it."""
    return path.with_name(f"{path.name}.partial-{socket.gethostname()}-{os.getpid()}")


def remove_leftovers(directory: Path, owned: Sequence[str] = ()) -> None:
    """Remove what processes that are gone began in ``directory`` and never published.

    Of names that begin with one of ``owned``, the caller is the only writer: none of their partials is being written,
    whichever process or machine they name. All others must name a process of this machine that has ended.
    """
    for leftover in directory.glob("*.partial-*"):
        name, _, builder = leftover.name.rpartition(".partial-")
        host, _, process = builder.rpartition("-")
        ended = host == socket.gethostname() and process.isdigit() and _ended(int(process), leftover)
        if ended or (owned and name.startswith(tuple(owned))):
            if leftover.is_dir() and not leftover.is_symlink():
                shutil.rmtree(leftover, ignore_errors=True)
            else:
                with suppress(OSError):
                    leftover.unlink()


def file_digest(path: Path) -> str:
    """A digest of a file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16)).hexdigest()


def sealed_json(values: dict[str, Any]) -> str:
    """An object as JSON with a digest of itself, by which :func:`read_sealed_json` knows it is as it was written.

    >>> read_sealed_json(sealed_json({"update": 6}))
    {'update': 6}
    """
    return json.dumps({**values, _DIGEST: _object_digest(values)}, indent=1)


def read_sealed_json(text: str) -> dict[str, Any]:
    """The object of :func:`sealed_json`, or a ValueError; one without a digest, of an older version, is taken as is."""
    values = json.loads(text)
    if not isinstance(values, dict):
        raise ValueError(f"expected a JSON object, found {type(values).__name__}")
    digest = values.pop(_DIGEST, None)
    if digest is not None and digest != _object_digest(values):
        raise ValueError("it is not what was written: its digest does not match")
    return values


def _object_digest(values: dict[str, Any]) -> str:
    return hashlib.blake2b(json.dumps(values).encode(), digest_size=16).hexdigest()


def sync_file(path: Path) -> None:
    """Wait until the file's content is on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_directory(path: Path) -> None:
    """Wait until the names in the directory are on the disk (systems that cannot sync a directory need not)."""
    if os.name == "posix":
        sync_file(path)


def _ended(process: int, leftover: Path) -> bool:
    """Whether the process that built ``leftover`` has ended; one that began later only has its number."""
    if process == os.getpid():
        return _older(leftover, _STARTED)
    if os.name != "posix":
        return False  # asking with signal 0 would end the process there
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    except OSError:
        pass  # another user's
    started = _start_time(process)
    return started is not None and _older(leftover, started)


def _older(path: Path, moment: float) -> bool:
    """Whether ``path`` was last changed before ``moment``; clocks of files and processes differ by some ticks."""
    try:
        return path.stat().st_mtime < moment - 2
    except OSError:
        return False


def _start_time(process: int) -> float | None:
    """When a process began, in seconds since the epoch, where the system says (proc(5): field 22 of stat)."""
    try:
        ticks = int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[19])
        boot = next(line for line in Path("/proc/stat").read_text().splitlines() if line.startswith("btime"))
        return float(boot.split()[1]) + ticks / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError, StopIteration):
        return None
