"""Photographs of every kind and damage: described, or refused by name."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

from benchmarks.torture import folders
from benchmarks.torture.harness import dice
from regard.captioning.photos import open_photo

NAME = "images"
WHAT = "photographs of 40 kinds (formats, modes, depths, frames, EXIF, lies about their size), each damaged in 100 ways"
DAMAGES = 100
ISOLATED = True


def kinds() -> dict[str, bytes]:
    """The whole photographs, by what they are."""
    picture = Image.fromarray(np.random.default_rng(0).integers(0, 256, (48, 64, 3), np.uint8))
    ImageDraw.Draw(picture).ellipse((8, 8, 40, 40), fill="red")
    frames = [picture.rotate(angle) for angle in (0, 90, 180)]
    wide = Image.fromarray(np.arange(48 * 64, dtype=np.uint16).reshape(48, 64) * 20)
    exif = Image.Exif()
    exif[0x0112] = 6
    found = {
        f"{form}-{mode}": _saved(picture.convert(mode), form)
        for form, modes in {
            "JPEG": ("RGB", "L", "CMYK"),
            "PNG": ("RGB", "RGBA", "L", "LA", "P", "1"),
            "WEBP": ("RGB", "RGBA", "L"),
            "GIF": ("P", "L", "RGB"),
            "BMP": ("RGB", "L", "1", "P"),
            "TIFF": ("RGB", "RGBA", "L", "CMYK", "1", "LAB", "YCbCr", "F", "I"),
            "PPM": ("RGB", "L", "1"),
        }.items()
        for mode in modes
    }
    found |= {
        "JPEG-progressive": _saved(picture, "JPEG", progressive=True),
        "JPEG-exif": _saved(picture, "JPEG", exif=exif),
        "PNG-16": _saved(wide, "PNG"),
        "PNG-palette-alpha": _saved(picture.quantize(16), "PNG", transparency=b"\0" * 16),
        "APNG": _saved(picture, "PNG", save_all=True, append_images=frames),
        "GIF-frames": _saved(picture, "GIF", save_all=True, append_images=frames),
        "WEBP-frames": _saved(picture, "WEBP", save_all=True, append_images=frames),
        "TIFF-lzw": _saved(picture, "TIFF", compression="tiff_lzw"),
        "TIFF-16": _saved(wide, "TIFF"),
    }
    return dict(list(found.items())[:40])


COUNT = 40
FULL, SHORT = COUNT * DAMAGES, 200


def prepare(workspace: Path) -> dict[str, bytes]:  # noqa: ARG001
    found = kinds()
    assert len(found) == COUNT, len(found)
    for content in found.values():
        folders.outcome(lambda content=content: open_photo(content))
    return found


def strike(context: dict[str, bytes], number: int) -> str:
    content = list(context.values())[number % COUNT]
    if number >= COUNT:  # the first of each kind is whole
        content = folders.mutated(content, dice(NAME, number))
    return folders.outcome(lambda: open_photo(content).load())


def _saved(picture: Image.Image, form: str, **options: object) -> bytes:
    written = io.BytesIO()
    picture.save(written, form, **options)
    return written.getvalue()
