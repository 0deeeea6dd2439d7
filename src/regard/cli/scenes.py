"""``regard scenes``: a folder of drawn scenes to learn captioning on."""

from __future__ import annotations

import sys
from pathlib import Path

from regard.captioning.scenes import write_scenes
from regard.errors import InputError


def scenes(folder: Path, /, *, count: int = 1000, seed: int = 0) -> None:
    """Draw scenes of coloured shapes, with captions and places, to learn captioning on: regard scenes scenes/train

    Parameters
    ----------
    folder
        Where captions.jsonl and the pictures go; made if it is not there.
    count
        How many scenes.
    seed
        Another seed gives other scenes; the same seed the same.
    """
    try:
        sys.stdout.write(f"{write_scenes(folder, count, seed)}\n")
    except OSError as error:
        raise InputError(f"cannot write the scenes to {folder}: {error.strerror}. Choose another folder.") from None
