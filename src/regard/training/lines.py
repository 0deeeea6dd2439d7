"""Reading text files that people wrote: numbered lines, what is wrong with one, a digest of the whole."""

from __future__ import annotations

import gzip
import hashlib
import json
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any, cast

from regard.errors import DataError

_BLOCK = 1 << 20
_LONGEST_LINE = 1 << 24  # a file without line ends must not fill the memory


class BadLine(Exception):  # noqa: N818 - reads as what it is
    """Why a line cannot be used; becomes a DataError with file and line, or is counted."""


class ContentHash:
    """A digest of files as they are on disk; read again only if they look changed."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self._paths = paths
        self._digest: tuple[list[tuple[int, int]], str] | None = None

    def __call__(self) -> str:
        seen = [(status.st_size, status.st_mtime_ns) for status in (path.stat() for path in self._paths)]
        if self._digest is None or self._digest[0] != seen:
            self._digest = seen, self._read()
        return self._digest[1]

    def _read(self) -> str:
        digest = hashlib.blake2b(digest_size=16)
        for path in self._paths:
            digest.update(f"{path.stat().st_size}:".encode())
            with path.open("rb") as file:
                while block := file.read(_BLOCK):
                    digest.update(block)
        return digest.hexdigest()


def json_object(line: str) -> dict[str, Any]:
    """The JSON object that a line is."""
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise BadLine(f"expected a JSON object, found no JSON ({error})") from None
    if not isinstance(row, dict):
        raise BadLine(f"expected a JSON object, found {type(row).__name__}")
    return row


def decoded(raw: bytes) -> str:
    """The text of a line."""
    if len(raw) >= _LONGEST_LINE:
        raise BadLine(f"expected at most {_LONGEST_LINE:,} bytes, found a longer line")
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise BadLine(f"expected UTF-8, found the byte 0x{raw[error.start]:02x} at column {error.start + 1}") from None


def numbered_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """(number from 1, line without its end); only ``\\n`` and ``\\r\\n`` end a line; plain or .gz."""
    opener = gzip.open if path.name.endswith(".gz") else open
    number = 0
    try:
        with cast("IO[bytes]", opener(path, "rb")) as file:
            while line := file.readline(_LONGEST_LINE):
                number += 1
                if number == 1:
                    line = line.removeprefix(b"\xef\xbb\xbf")  # the mark some editors put first
                if len(line) == _LONGEST_LINE and not line.endswith(b"\n"):
                    while (rest := file.readline(_LONGEST_LINE)) and not rest.endswith(b"\n"):
                        pass
                yield number, line.removesuffix(b"\n").removesuffix(b"\r")
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DataError(f"{path}:{number + 1}: the gzip file is damaged or cut off ({error}). Get it anew.") from None
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}.") from None
