"""Photographs with captions, from the forms that people have them in.

==========================  =====================================================================================
``.jsonl`` ``.ndjson``      ``{"image": path, "captions": [...]}`` a line; paths are relative to this file
``.json``                   COCO: ``images`` of ``id``, ``file_name`` and ``annotations`` of ``image_id``, ``caption``
any other                   a table with a header that has ``image`` and ``caption`` (Kaggle's Flickr8k), commas or
                            tabs between; or ``name.jpg#0<TAB>caption`` without a header (Flickr8k's own)
a folder                    the one file called ``captions.*`` in it
==========================  =====================================================================================

All but ``.json`` may be ``.gz``.
"""

from __future__ import annotations

import csv
import json
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

from regard.errors import DataError
from regard.text.lines import BadLine, ContentHash, decoded, json_object, numbered_lines

OnBad: TypeAlias = Literal["refuse", "skip"]

_ADVICE = 'Fix it, or skip such entries with data.on_bad = "skip".'
_TOKEN_LINE = re.compile(r"(?P<image>[^\t]+)#\d+\t(?P<caption>.*)")


class Example(NamedTuple):
    """A photograph and what people said of it."""

    image: Path
    captions: tuple[str, ...]


class CaptionCorpus:
    """The examples of one file, in order; read afresh at every iteration.

    ``images`` is the folder of the photographs. Left out, it is the file's own; tables and COCO files look in
    ``images`` or ``Images`` beside them where there is such a folder. ``skipped`` counts the bad entries that the last
    iteration left out. Whether the photographs can be read is seen when their features are made.
    """

    def __init__(
        self, path: str | os.PathLike[str], *, images: str | os.PathLike[str] = "", on_bad: OnBad = "refuse"
    ) -> None:
        self.path = _captions_file(Path(path))
        self.on_bad = on_bad
        self.skipped: Counter[str] = Counter()
        self._suffix = Path(self.path.name.removesuffix(".gz")).suffix.lower()
        self._is_lines = self._suffix in (".jsonl", ".ndjson")
        self.images = self._images_folder(os.fspath(images))
        self._digest = ContentHash([self.path])

    @property
    def name(self) -> str:
        """The file, for people."""
        return str(self.path)

    def content_hash(self) -> str:
        """A digest of the file as it is on disk; the photographs are not in it."""
        return self._digest()

    def __iter__(self) -> Iterator[Example]:
        self.skipped = Counter()
        if self._is_lines:
            return self._json_lines()
        return self._grouped(self._coco() if self._suffix == ".json" else self._table())

    def _images_folder(self, given: str) -> Path:
        if given:
            if not Path(given).is_dir():
                raise DataError(f"there is no folder of photographs {given} (from {Path.cwd()}).")
            return Path(given)
        beside = [folder for folder in (self.path.parent / "images", self.path.parent / "Images") if folder.is_dir()]
        return beside[0] if beside and not self._is_lines else self.path.parent

    def _json_lines(self) -> Iterator[Example]:
        for number, raw in numbered_lines(self.path):
            try:
                row = json_object(decoded(raw))
                captions = row.get("captions")
                if not isinstance(captions, list) or not captions:
                    raise BadLine(f"expected a list called 'captions', found {_found(captions)} ({_fields(row)})")
                yield Example(self._image(row.get("image")), tuple(map(_caption, captions)))
            except BadLine as reason:
                self._bad(f"{self.path}:{number}", reason)

    def _grouped(self, pairs: Iterator[tuple[str, str]]) -> Iterator[Example]:
        """Captions of the same photograph together, wherever they stood; photographs in order of their first."""
        groups: dict[str, list[str]] = {}
        for image, caption in pairs:
            groups.setdefault(image, []).append(caption)
        for image, captions in groups.items():
            yield Example(self.images / image, tuple(captions))

    def _table(self) -> Iterator[tuple[str, str]]:
        parse: Callable[[str], tuple[str, str]] | None = None
        for number, raw in numbered_lines(self.path):
            try:
                line = decoded(raw)
                if parse is None:
                    parse = _table_parser(line)
                    if parse is not _token_pair:
                        continue
                image, caption = parse(line)
                if not image.strip():
                    raise BadLine("expected the name of a photograph, found an empty one")
                yield image.strip(), _caption(caption)
            except BadLine as reason:
                if parse is None:  # without a header no line can be read
                    raise DataError(f"{self.path}:{number}: {reason}.") from None
                self._bad(f"{self.path}:{number}", reason)

    def _coco(self) -> Iterator[tuple[str, str]]:
        whole = _read_json(self.path)
        names: dict[Any, str] = {}
        for number, entry in enumerate(_entries(whole, "images", self.path)):
            try:
                if not isinstance(entry, dict) or not isinstance(entry.get("id"), int | str):
                    raise BadLine(f"expected an image with an id, found {_found(entry)}")
                if not isinstance(name := entry.get("file_name"), str) or not name:
                    raise BadLine(f"expected a text called 'file_name', found {_found(name)} ({_fields(entry)})")
                names[entry["id"]] = name
            except BadLine as reason:
                self._bad(f"{self.path}, images[{number}]", reason)
        for number, entry in enumerate(_entries(whole, "annotations", self.path)):
            try:
                if not isinstance(entry, dict) or "image_id" not in entry:
                    raise BadLine(f"expected an annotation with an image_id, found {_found(entry)}")
                identity = entry["image_id"]
                if not isinstance(identity, int | str) or identity not in names:
                    raise BadLine(f"expected the id of an image, found image_id {identity!r}, which is none")
                yield names[identity], _caption(entry.get("caption"))
            except BadLine as reason:
                self._bad(f"{self.path}, annotations[{number}]", reason)

    def _image(self, name: Any) -> Path:
        if not isinstance(name, str) or not name.strip():
            raise BadLine(f"expected a path called 'image', found {_found(name)}")
        return self.images / name

    def _bad(self, where: str, reason: BadLine) -> None:
        if self.on_bad != "skip":
            raise DataError(f"{where}: {reason}. {_ADVICE}")
        self.skipped["bad"] += 1


def _captions_file(path: Path) -> Path:
    if path.is_dir():
        found = sorted(file for file in path.glob("captions.*") if file.is_file())
        if len(found) != 1:
            names = ", ".join(file.name for file in found) or "none"
            raise DataError(f"the folder {path} should hold one file called captions.*, found {names}; name the file.")
        return found[0]
    if not path.is_file():
        raise DataError(f"there is no captions file {path}. Check the paths under [data] (from {Path.cwd()}).")
    return path


def _table_parser(first: str) -> Callable[[str], tuple[str, str]]:
    """How to read the lines after the first, which is the header (or already a line of Flickr8k's own form)."""
    if _TOKEN_LINE.fullmatch(first):
        return _token_pair
    delimiter = "\t" if "\t" in first else ","
    header = [name.strip().lower() for name in _fields_of(first, delimiter)]
    if header.count("image") != 1 or header.count("caption") != 1:
        raise BadLine(
            "expected a header with the columns image and caption, or a line name.jpg#0<TAB>caption; "
            f"found {first[:80]!r}"
        )
    image, caption = header.index("image"), header.index("caption")

    def pair(line: str) -> tuple[str, str]:
        fields = _fields_of(line, delimiter)
        if len(fields) != len(header):
            raise BadLine(f"expected {len(header)} fields, found {len(fields)}")
        return fields[image], fields[caption]

    return pair


def _fields_of(line: str, delimiter: str) -> list[str]:
    if delimiter == "\t":
        return line.split("\t")
    try:
        return next(csv.reader([line], strict=True), [])
    except csv.Error as error:
        raise BadLine(f"expected fields with commas between, found a line that is no CSV ({error})") from None


def _token_pair(line: str) -> tuple[str, str]:
    match = _TOKEN_LINE.fullmatch(line)
    if match is None:
        raise BadLine(f"expected name.jpg#0<TAB>caption, found {line[:80]!r}")
    return match["image"], match["caption"]


def _read_json(path: Path) -> dict[str, Any]:
    try:
        whole = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path} is not JSON ({error}). A file of JSON lines should end in .jsonl.") from None
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}.") from None
    if not isinstance(whole, dict):
        raise DataError(f"{path}: expected an object with images and annotations (COCO), found {_found(whole)}.")
    return whole


def _entries(whole: dict[str, Any], key: str, path: Path) -> list[Any]:
    entries = whole.get(key)
    if not isinstance(entries, list):
        raise DataError(f"{path}: expected a list called {key!r} (COCO), found {_found(entries)} ({_fields(whole)}).")
    return entries


def _caption(text: Any) -> str:
    if not isinstance(text, str) or not text.strip():
        raise BadLine(f"expected a caption, found {_found(text)}")
    return text.strip()


def _found(value: Any) -> str:
    if value is None:
        return "none"
    return "an empty one" if value in ("", [], {}) or (isinstance(value, str) and value.isspace()) else repr(value)[:60]


def _fields(row: dict[str, Any]) -> str:
    return f"fields: {', '.join(map(str, row)) or 'none'}"
