"""``regard export``: a trained model as a folder to hand on."""

from __future__ import annotations

import sys
from pathlib import Path


def export(run: str, folder: Path, /) -> None:
    """Write a run's best weights as float16, with vocabulary and settings, into a new folder.

    Parameters
    ----------
    run
        A run directory.
    folder
        Where to write; it must not be there yet. It is then a model like any other: --model FOLDER.
    """
    from regard.training.export import export as write

    written = write(run, folder)
    size = sum(file.stat().st_size for file in written.iterdir())
    sys.stderr.write(f"{written}: {size / 1e6:.1f} MB\n")
