"""Photographs of every kind: the right picture, or an error that names the file."""

from __future__ import annotations

import contextlib
import io
import os
import struct
import zlib

import numpy as np
import pytest
from PIL import Image, ImageFile
from PIL.PngImagePlugin import PngInfo

from regard.captioning.photos import FORMATS, open_photo
from regard.errors import DataError, DtypeError, RegardError, ShapeError


def gradient(height=24, width=36):
    """Red grows to the right, green downwards: what is turned or flipped shows."""
    array = np.zeros((height, width, 3), np.uint8)
    array[..., 0] = np.linspace(0, 250, width)
    array[..., 1] = np.linspace(0, 250, height)[:, None]
    array[..., 2] = 60
    return array


PICTURE = Image.fromarray(gradient())


def encoded(image, kind, **options):
    file = io.BytesIO()
    image.save(file, kind, **options)
    return file.getvalue()


def assert_near(image, expected, tolerance=12):
    assert image.mode == "RGB"
    assert image.size == (expected.shape[1], expected.shape[0])
    assert np.abs(np.asarray(image, int) - expected).mean() < tolerance


@pytest.mark.parametrize("kind", FORMATS)
def test_every_format(kind):
    assert_near(open_photo(encoded(PICTURE, kind)), gradient())


def test_every_kind_of_source(tmp_path):
    raw = encoded(PICTURE, "PNG")
    path = tmp_path / "photo.png"
    path.write_bytes(raw)
    with path.open("rb") as file:
        sources = [path, str(path), raw, bytearray(raw), memoryview(raw), io.BytesIO(raw), file, PICTURE, gradient()]
        for source in sources:
            assert_near(open_photo(source), gradient(), tolerance=1e-9)


def test_a_name_of_another_format_does_not_matter(tmp_path):
    (tmp_path / "photo.jpg").write_bytes(encoded(PICTURE, "PNG"))
    assert_near(open_photo(tmp_path / "photo.jpg"), gradient())


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGBA", "CMYK", "YCbCr", "RGB"])
def test_pil_images_of_every_mode(mode):
    image = PICTURE.convert(mode)
    expected = np.asarray(image.convert("RGB"), int)
    assert_near(open_photo(image), expected, tolerance=1)


def test_cmyk_jpeg():
    assert_near(open_photo(encoded(PICTURE.convert("CMYK"), "JPEG")), gradient())


def test_palette():
    assert_near(open_photo(encoded(PICTURE.quantize(200), "PNG")), gradient())


def test_grey():
    grey = np.asarray(PICTURE.convert("L"))
    assert_near(open_photo(encoded(PICTURE.convert("L"), "JPEG")), np.repeat(grey[..., None], 3, -1))


@pytest.mark.parametrize("kind", ["PNG", "TIFF"])
def test_16_bits_keep_their_shades(kind):
    shades = np.tile(np.linspace(0, 65535, 36).astype(np.uint16), (24, 1))
    expected = np.repeat((shades / 257).round()[..., None], 3, -1)
    photo = open_photo(encoded(Image.fromarray(shades), kind))
    assert_near(photo, expected, tolerance=1e-9)
    assert np.asarray(photo).mean() == pytest.approx(127.5, abs=1)  # cut off at 255, it would be all but white


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png_header(width, height, depth=8, color=2):
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, color, 0, 0, 0))


def test_16_bits_in_colour():
    wide = (gradient().astype(np.uint16) * 257).astype(">u2")
    rows = b"".join(b"\0" + row.tobytes() for row in wide)
    raw = png_header(36, 24, depth=16) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    assert_near(open_photo(raw), gradient(), tolerance=1e-9)


def test_a_tiff_of_12_bits():
    shades = np.array([[0, 819, 2048, 4095]])
    packed = bytes([0, 3, 0x33, 0x80, 0x0F, 0xFF])  # two samples in three bytes
    tags = {256: 4, 257: 1, 258: 12, 259: 1, 262: 1, 273: 8, 277: 1, 278: 1, 279: len(packed)}
    entries = b"".join(struct.pack("<HHII", tag, 4, 1, value) for tag, value in tags.items())
    raw = b"II*\0" + struct.pack("<I", 16) + packed + b"\0\0" + struct.pack("<H", len(tags)) + entries + bytes(4)
    assert np.asarray(open_photo(raw))[..., 0].tolist() == (shades * 255 / 4095).round().tolist()


def test_a_tiff_whose_zero_is_white():
    shades = np.tile(np.linspace(0, 65535, 36).astype(np.uint16), (24, 1))
    inverted = encoded(Image.fromarray(shades), "TIFF", tiffinfo={262: 0})
    assert np.asarray(open_photo(inverted))[0, 0].tolist() == [255, 255, 255]
    assert np.asarray(open_photo(inverted))[0, -1].tolist() == [0, 0, 0]


@pytest.mark.parametrize("mode", ["I", "F"])
def test_32_bits_are_refused_for_nothing_says_what_is_white(mode):
    with pytest.raises(DataError, match=r"32-bit samples.*Save it with 8 or 16 bits"):
        open_photo(encoded(PICTURE.convert(mode), "TIFF"))


def test_what_is_transparent_is_white():
    image = PICTURE.convert("RGBA")
    image.putalpha(Image.fromarray(np.repeat([[0] * 18 + [255] * 18], 24, 0).astype(np.uint8)))
    expected = gradient()
    expected[:, :18] = 255
    for kind in ("PNG", "WEBP", "TIFF"):
        options = {"lossless": True} if kind == "WEBP" else {}
        assert_near(open_photo(encoded(image, kind, **options)), expected, tolerance=1)


def test_a_transparent_colour_of_a_palette_is_white():
    image = Image.new("P", (4, 4), 1)
    image.putpalette([10, 20, 30, 200, 0, 0])
    image.putpixel((0, 0), 0)
    for kind in ("GIF", "PNG"):
        photo = np.asarray(open_photo(encoded(image, kind, transparency=0)))
        assert photo[0, 0].tolist() == [255, 255, 255]
        assert photo[2, 2].tolist() == [200, 0, 0]


TURNED = {
    1: lambda a: a,
    2: lambda a: a[:, ::-1],
    3: lambda a: a[::-1, ::-1],
    4: lambda a: a[::-1],
    5: lambda a: a.transpose(1, 0, 2),
    6: lambda a: np.rot90(a, 1),
    7: lambda a: a[::-1, ::-1].transpose(1, 0, 2),
    8: lambda a: np.rot90(a, -1),
}


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "TIFF"])
@pytest.mark.parametrize("orientation", TURNED)
def test_exif_says_what_is_up(kind, orientation):
    """The camera stored it turned, and noted how: people see it upright."""
    stored = Image.fromarray(np.ascontiguousarray(TURNED[orientation](gradient())))
    exif = Image.Exif()
    exif[0x0112] = orientation
    assert_near(open_photo(encoded(stored, kind, exif=exif)), gradient())


@pytest.mark.filterwarnings("ignore:Corrupt EXIF data")  # which Pillow says, and goes on
def test_exif_that_cannot_be_read_leaves_a_good_picture():
    for exif in (b"Exif\0\0II*\0\xff\xff\xff\xff", b"Exif\0\0garbage", b"Exif\0\0MM\0*\0\0\0\x08\xff\xff"):
        for kind in ("JPEG", "PNG", "WEBP"):
            assert_near(open_photo(encoded(PICTURE, kind, exif=exif)), gradient())


@pytest.mark.parametrize("kind", ["GIF", "WEBP", "PNG", "TIFF"])
def test_of_an_animation_the_first_frame(kind):
    second = Image.new("RGB", PICTURE.size, "white")
    assert_near(open_photo(encoded(PICTURE, kind, save_all=True, append_images=[second])), gradient(), tolerance=20)


def test_very_long_and_very_small_pictures():
    assert open_photo(encoded(Image.new("RGB", (5000, 1)), "PNG")).size == (5000, 1)
    assert open_photo(encoded(Image.new("RGB", (1, 1)), "JPEG")).size == (1, 1)


def error_of(tmp_path, raw, name="photo.jpg", **options):
    path = tmp_path / name
    path.write_bytes(raw)
    with pytest.raises(DataError) as caught:
        open_photo(path, **options)
    assert str(path) in str(caught.value)
    return str(caught.value)


def test_files_that_are_no_photographs(tmp_path):
    assert "it begins with b'Dear diary, '. Readable are JPEG, PNG" in error_of(tmp_path, b"Dear diary, today")
    assert "is empty (0 bytes)" in error_of(tmp_path, b"")
    assert "no photograph" in error_of(tmp_path, b"<svg xmlns='http://www.w3.org/2000/svg'/>")


def test_formats_that_are_not_listed_are_not_tried(tmp_path):
    assert "no photograph" in error_of(tmp_path, encoded(PICTURE, "ICO"))
    assert "no photograph" in error_of(tmp_path, b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n")


def test_missing_folder_and_what_is_no_file(tmp_path):
    with pytest.raises(DataError, match=r"there is no photograph .*nowhere\.jpg"):
        open_photo(tmp_path / "nowhere.jpg")
    with pytest.raises(DataError, match="is a folder, not a photograph"):
        open_photo(tmp_path)
    with pytest.raises(DataError, match=r"cannot be read|no photograph"):
        open_photo("a\0b.jpg")
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe.jpg")
        with pytest.raises(DataError, match="not a plain file"):
            open_photo(tmp_path / "pipe.jpg")


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("share", [0.5, 0.9])
def test_a_file_that_was_cut_off(tmp_path, kind, share):
    noise = Image.fromarray(np.random.default_rng(0).integers(0, 256, (64, 64, 3), np.uint8))
    whole = encoded(noise, kind)
    assert "is damaged or cut off" in error_of(tmp_path, whole[: int(len(whole) * share)])


@pytest.mark.parametrize("kind", FORMATS)
def test_any_damage_gives_a_picture_or_the_error(kind):
    generator = np.random.default_rng(1)
    whole = np.frombuffer(encoded(PICTURE, kind), np.uint8)
    for _ in range(100):
        damaged = whole.copy()
        damaged[generator.integers(0, len(whole), 4)] = generator.integers(0, 256, 4)
        damaged = damaged[: generator.integers(1, len(whole) + 1)]
        with contextlib.suppress(RegardError):
            assert open_photo(damaged.tobytes(), most_pixels=10_000_000).mode == "RGB"


def test_too_many_pixels_are_refused_before_they_are_decoded(tmp_path):
    bomb = png_header(20_000, 20_000) + chunk(b"IDAT", zlib.compress(b"\0" * 1000)) + chunk(b"IEND", b"")
    assert "20000 x 20000" in error_of(tmp_path, bomb) or "too many pixels" in error_of(tmp_path, bomb)
    below_pillow_s_limit = png_header(9_000, 9_000) + chunk(b"IDAT", b"") + chunk(b"IEND", b"")
    assert "has 9000 x 9000 pixels; at most 80,000,000 are read" in error_of(tmp_path, below_pillow_s_limit)
    assert "at most 100 are read" in error_of(tmp_path, encoded(PICTURE, "JPEG"), most_pixels=100)
    with pytest.raises(DataError, match="at most 100 are read"):
        open_photo(PICTURE, most_pixels=100)
    with pytest.raises(DataError, match="at most 100 are read"):
        open_photo(gradient(), most_pixels=100)


def test_text_chunks_that_unpack_to_much(tmp_path):
    info = PngInfo()
    info.add_text("comment", "a" * 80_000_000, zip=True)
    assert "is damaged" in error_of(tmp_path, encoded(PICTURE, "PNG", pnginfo=info))


def test_pillow_s_own_settings_stay(tmp_path):
    before = Image.MAX_IMAGE_PIXELS, ImageFile.LOAD_TRUNCATED_IMAGES
    error_of(tmp_path, encoded(PICTURE, "JPEG")[:300])
    open_photo(gradient())
    assert before == (Image.MAX_IMAGE_PIXELS, ImageFile.LOAD_TRUNCATED_IMAGES)


@pytest.mark.parametrize(
    ("array", "error", "message"),
    [
        (np.zeros((4, 4, 3)), DtypeError, "uint8 from 0 to 255; its dtype is float64"),
        (np.zeros((4, 4), np.uint8), ShapeError, r"must be \(height, width, 3\).*its shape is \(4, 4\)"),
        (np.zeros((3, 4, 4), np.uint8), ShapeError, r"its shape is \(3, 4, 4\)"),
        (np.zeros((0, 4, 3), np.uint8), ShapeError, "at least one pixel"),
    ],
)
def test_arrays_of_the_wrong_kind(array, error, message):
    with pytest.raises(error, match=message):
        open_photo(array)


def test_a_file_object_that_is_too_large_is_named(monkeypatch):
    monkeypatch.setattr("regard.captioning.photos.MOST_BYTES", 10)
    with pytest.raises(DataError, match=r"^the photograph is too large"):
        open_photo(io.BytesIO(encoded(PICTURE, "PNG")))
    named = io.BytesIO(encoded(PICTURE, "PNG"))
    named.name = "cat.png"
    with pytest.raises(DataError, match=r"^cat\.png is too large"):
        open_photo(named)


def test_what_is_no_source():
    with pytest.raises(DtypeError, match="got int"):
        open_photo(7)
    with pytest.raises(DtypeError, match="open it in binary mode"):
        open_photo(io.StringIO("text"))
