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
_LONGEST_LINE = 1 << 20  # no sentence has a million bytes; a file without line ends must not fill the memory
_ENDLESS = 1 << 28  # after so many bytes without a line end, none is looked for any more
_MOST_EXPANDED = 100  # times what was read of it that a gzip file may grow to, beyond ...
_ALWAYS_EXPANDED = 1 << 22  # ... these bytes: text grows tenfold, and what was made to fill a disk a thousandfold


class BadLine(Exception):  # noqa: N818 - reads as what it is
    """Why a line cannot be used; becomes a DataError with file and line, or is counted."""


class ContentHash:
    """A digest of files as they are on disk; read again only if size or time have changed."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self._paths = paths
        self._digest: tuple[list[tuple[int, int]], str] | None = None

    def __call__(self) -> str:
        try:
            seen = [(status.st_size, status.st_mtime_ns) for status in (path.stat() for path in self._paths)]
            if self._digest is None or self._digest[0] != seen:
                self._digest = seen, self._read()
        except OSError as error:
            names = " + ".join(str(path) for path in self._paths)
            raise DataError(f"{names} cannot be read: {error.strerror}.") from None
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
    number = 0
    try:
        with _opened(path) as file:
            while line := file.readline(_LONGEST_LINE):
                number += 1
                if number == 1:
                    line = line.removeprefix(b"\xef\xbb\xbf")  # the mark some editors put first
                if len(line) == _LONGEST_LINE and not line.endswith(b"\n"):
                    _find_end(file, path, number)
                yield number, line.removesuffix(b"\n").removesuffix(b"\r")
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DataError(f"{path}:{number + 1}: the gzip file is damaged or cut off ({error}). Get it anew.") from None
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}.") from None


def _opened(path: Path) -> IO[bytes]:
    return cast("IO[bytes]", _Expanding(path)) if path.name.endswith(".gz") else path.open("rb")


class _Expanding(gzip.GzipFile):
    """A gzip file that is refused once it has grown as no text does."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, "rb")
        self._path, self._most = path, _ALWAYS_EXPANDED

    def readline(self, size: int | None = -1) -> bytes:
        if (here := self.tell()) > self._most:
            read = self.fileobj.tell()  # type: ignore[union-attr]
            self._most = max(self._most, _MOST_EXPANDED * read)
            if here > self._most:
                raise DataError(
                    f"{self._path}: the first {read:,} bytes of it have grown to more than {self._most:,}, as no text "
                    "does. Unpack it yourself if it is meant to be so."
                )
        return super().readline(size)


def _find_end(file: IO[bytes], path: Path, number: int) -> None:
    """Skip the rest of a long line."""
    skipped = 0
    while (rest := file.readline(_LONGEST_LINE)) and not rest.endswith(b"\n"):
        skipped += len(rest)
        if skipped > _ENDLESS:
            raise DataError(
                f"{path}:{number}: this line has no end within {_ENDLESS:,} bytes; a line may have {_LONGEST_LINE:,}. "
                "Put each sentence on a line of its own."
            )
