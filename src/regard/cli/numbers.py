"""Numbers as people give them to a command: written out, or in a CSV or .npy file."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from regard.errors import DataError, DtypeError, ShapeError


def read_numbers(text: str, name: str) -> np.ndarray:
    """``"3 12 45; 59 2 5"``: spaces or commas between numbers, a semicolon between rows; or the path of a file.

    One row is a vector, several are a matrix.

    >>> read_numbers("3 12 45; 59 2 5", "keys")
    array([[ 3., 12., 45.],
           [59.,  2.,  5.]])
    """
    suffix = Path(text).suffix.lower()
    if suffix == ".npy":
        return _read_npy(Path(text), name)
    if suffix == ".csv":
        return _read_csv(Path(text), name)
    rows = [[_number(word, name) for word in row.replace(",", " ").split()] for row in text.split(";") if row.strip()]
    return _table(rows, name)


def _read_csv(path: Path, name: str) -> np.ndarray:
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{name}: cannot read {path}: {error}") from None
    return _table(
        [[_number(cell, f"{path}:{n}") for cell in line.split(",")] for n, line in enumerate(lines, 1) if line.strip()],
        name,
    )


def _read_npy(path: Path, name: str) -> np.ndarray:
    try:
        array = np.asarray(np.load(path, allow_pickle=False))
        wide = array.dtype.kind == "f" and array.dtype.itemsize > 8  # longdouble, which nothing else knows
        return array.astype(np.float64) if wide else array
    except (OSError, ValueError, EOFError, MemoryError) as error:
        raise DataError(f"{name}: cannot read {path}: {error}") from None


def _number(word: str, where: str) -> float:
    try:
        return float(word)
    except ValueError:
        raise DtypeError(f"{where}: {word.strip()!r} is not a number") from None


def _table(rows: list[list[float]], name: str) -> np.ndarray:
    if not rows:
        raise ShapeError(f"{name} holds no numbers. Write them as '1 2 3; 4 5 6', or name a .csv or .npy file.")
    lengths = {len(row) for row in rows}
    if len(lengths) > 1:
        raise ShapeError(f"{name}: the rows differ in length ({', '.join(str(len(row)) for row in rows)})")
    return np.array(rows[0] if len(rows) == 1 else rows)
