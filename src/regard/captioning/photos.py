"""Photographs, whatever they come as: upright RGB pictures, or an error that names the file.

A photograph is hostile input until it is decoded. Only the formats listed here are tried, the number of pixels is
checked before any is decoded, and Pillow's global settings stay as they are.
"""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import IO, Any, TypeAlias

import numpy as np
from PIL import ExifTags, Image, UnidentifiedImageError

from regard.errors import DataError, DtypeError, ShapeError

FORMATS = ("JPEG", "PNG", "WEBP", "GIF", "BMP", "TIFF", "PPM")
MOST_PIXELS = 80_000_000  # more than any usual camera's, and below the number at which Pillow itself warns
MOST_BYTES = 1 << 29

_BITS_PER_SAMPLE, _PHOTOMETRIC = 258, 262  # tags of TIFF 6.0, section 8
_WHITE_IS_ZERO = 0
_TURNS = {  # by EXIF's orientation; 1 is upright
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}

Source: TypeAlias = (
    str | os.PathLike[str] | bytes | bytearray | memoryview | IO[bytes] | Image.Image | np.ndarray[Any, Any]
)


def open_photo(source: Source, *, most_pixels: int = MOST_PIXELS, name: str = "") -> Image.Image:
    """The photograph as people see it: RGB, upright, the first frame, transparent parts on white.

    ``source`` is a path, the bytes of a file, a file object, a PIL image or an array (h, w, 3) of uint8;
    ``name`` is what errors call it where it has no path.

    >>> open_photo(np.zeros((2, 3, 3), np.uint8)).size
    (3, 2)
    """
    if isinstance(source, np.ndarray):
        return _from_array(source, most_pixels, name or "the array")
    if isinstance(source, Image.Image):
        name = name or str(getattr(source, "filename", "") or "the picture")
        _check_size(source.size, most_pixels, name)
        return _decoded(source, name)
    if isinstance(source, str | os.PathLike):
        name, raw = name or str(source), read_photo(source)
    elif isinstance(source, bytes | bytearray | memoryview):
        name, raw = name or "the photograph", bytes(source)
    elif hasattr(source, "read"):
        name = name or str(getattr(source, "name", "the photograph"))
        raw = _read(source, name)
    else:
        raise DtypeError(
            f"a photograph is a path, bytes, a file object, a PIL image or an array (h, w, 3) of uint8; "
            f"got {type(source).__name__}"
        )
    return _from_bytes(raw, most_pixels, name)


def read_photo(path: str | os.PathLike[str]) -> bytes:
    """The bytes of a photograph's file, or an error that says why there are none."""
    path = Path(path)
    try:
        if path.is_dir():
            raise DataError(f"{path} is a folder, not a photograph; name a file in it.")
        if not path.exists():
            raise DataError(f"there is no photograph {path}. Check the path (from {Path.cwd()}).")
        if not path.is_file():
            raise DataError(f"{path} is not a plain file; a photograph is.")
        with path.open("rb") as file:
            return _read(file, str(path))
    except (OSError, ValueError) as error:  # ValueError: a path with a null character
        raise DataError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}.") from None


def _read(file: IO[bytes], name: str) -> bytes:
    raw = file.read(MOST_BYTES + 1)
    if not isinstance(raw, bytes):
        raise DtypeError(f"{name} gives {type(raw).__name__}; open it in binary mode ('rb').")
    if len(raw) > MOST_BYTES:
        raise DataError(f"{name} is too large for a photograph: over {MOST_BYTES >> 20} MB. Make it smaller.")
    return raw


def _from_array(array: np.ndarray[Any, Any], most_pixels: int, name: str) -> Image.Image:
    if array.dtype != np.uint8:
        raise DtypeError(f"{name} must hold uint8 from 0 to 255; its dtype is {array.dtype}")
    if array.ndim != 3 or array.shape[-1] != 3 or not array.size:
        raise ShapeError(f"{name} must be (height, width, 3), with at least one pixel; its shape is {array.shape}")
    _check_size((array.shape[1], array.shape[0]), most_pixels, name)
    return Image.fromarray(np.ascontiguousarray(array))


def _from_bytes(raw: bytes, most_pixels: int, name: str) -> Image.Image:
    if not raw:
        raise DataError(f"{name} is empty (0 bytes). Get it anew.")
    try:
        with Image.open(io.BytesIO(raw), formats=FORMATS) as image:
            _check_size(image.size, most_pixels, name)
            return _decoded(image, name)
    except DataError:
        raise
    except UnidentifiedImageError:
        raise DataError(
            f"{name} is no photograph that can be read: it begins with {raw[:12]!r}. "
            f"Readable are {', '.join(FORMATS)}; convert it to JPEG or PNG."
        ) from None
    except (Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
        raise DataError(f"{name} has too many pixels for Pillow: {error}") from None
    except Exception as error:  # damaged files make the decoders raise nearly anything
        raise _damaged(name, error) from None


def _damaged(name: str, error: Exception) -> DataError:
    return DataError(f"{name} is damaged or cut off ({str(error) or type(error).__name__}). Get it anew.")


def _check_size(size: tuple[int, int], most_pixels: int, name: str) -> None:
    width, height = size
    if width * height > most_pixels:
        raise DataError(
            f"{name} has {width} x {height} pixels; at most {most_pixels:,} are read. Make it smaller, or raise "
            "most_pixels if you trust it."
        )
    if not width or not height:
        raise DataError(f"{name} has no pixels ({width} x {height}).")


def _decoded(image: Image.Image, name: str) -> Image.Image:
    try:
        image.load()
    except Exception as error:  # as above
        raise _damaged(name, error) from None
    turn = _TURNS.get(_orientation(image))
    rgb = _as_rgb(image, name)
    return rgb if turn is None else rgb.transpose(turn)


def _orientation(image: Image.Image) -> int:
    """What EXIF says of it. EXIF that cannot be read says nothing, and the picture is still good."""
    try:
        return int(image.getexif().get(ExifTags.Base.Orientation, 1))
    except Exception:
        return 1


def _as_rgb(image: Image.Image, name: str) -> Image.Image:
    if image.mode.startswith("I;16") or (image.mode == "I" and image.format == "PNG"):
        return _from_16_bits(image).convert("RGB")
    if image.mode in ("I", "F"):
        raise DataError(
            f"{name} has 32-bit samples ({image.mode}), and nothing says which is white. Save it with 8 or 16 bits."
        )
    try:
        if image.has_transparency_data:
            seen = image.convert("RGBA")
            return Image.alpha_composite(Image.new("RGBA", seen.size, "white"), seen).convert("RGB")
        return image.convert("RGB")
    except ValueError as error:
        raise DataError(f"{name} is {image.mode}, which cannot become RGB ({error}). Save it as RGB.") from None


def _from_16_bits(image: Image.Image) -> Image.Image:
    """8 bits of every sample; Pillow would cut all above 255 off, which leaves a white picture."""
    tags = getattr(image, "tag_v2", {})
    bits = int(tags.get(_BITS_PER_SAMPLE, (16,))[0])
    levels = np.asarray(image).astype(np.float64) / (2**bits - 1)
    if tags.get(_PHOTOMETRIC) == _WHITE_IS_ZERO:
        levels = 1 - levels
    return Image.fromarray(np.rint(levels * 255).clip(0, 255).astype(np.uint8))
