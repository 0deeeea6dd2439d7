"""Files that are there whole or not at all, whatever moment the power goes."""

from __future__ import annotations

import os
import shutil
import socket
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path


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


def remove_leftovers(directory: Path) -> None:
    """Remove what processes of this machine that are gone began in ``directory`` and never published."""
    for leftover in directory.glob(f"*.partial-{socket.gethostname()}-*"):
        owner = leftover.name.rpartition("-")[2]
        if owner.isdigit() and not _alive(int(owner)):
            if leftover.is_dir():
                shutil.rmtree(leftover, ignore_errors=True)
            else:
                leftover.unlink(missing_ok=True)


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


def _alive(process: int) -> bool:
    if os.name != "posix":
        return True  # asking with signal 0 would end the process there
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
