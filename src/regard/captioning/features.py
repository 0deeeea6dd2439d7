"""Features of photographs, computed once and kept on disk, memory-mapped.

A directory per backbone holds parts of up to ``_PART`` photographs each: the digests of the photographs' bytes, and row
for row their features in float16. A part is published by one rename, so it is there whole or not at all, and an
interrupted caching resumes after the last part. Processes that share a cache need no lock. A part that a disk damaged
since is recognised by its digests, and made anew.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from regard.captioning.backbones import Backbone
from regard.captioning.corpus import OnBad
from regard.captioning.photos import open_photo, read_photo
from regard.errors import DataError, InputError
from regard.files import (
    file_digest,
    partial_path,
    publish_once,
    read_sealed_json,
    remove_leftovers,
    sealed_json,
    write_text,
)
from regard.training.progress import clock

_FORMAT = 1
_PART = 512  # photographs a part
_BATCH = 16
_AHEAD = 4 * _BATCH  # photographs that are decoded before their turn
_READERS = 2
_REPORT_EVERY = 10.0  # seconds
_SHOWN = 10  # bad photographs that are named
_DIGEST = 16  # bytes
_HALF = 65504.0  # float16's largest
_ARRAYS = ("digests.npy", "features.npy")
_FILES = "files.json"  # the digests of both files

Report = Callable[[str], None]


class Features:
    """The features of photographs, in the order in which they were asked for.

    ``features[i]`` is (rows * columns, dim), the cells row by row; of a trainable backbone, whose grid is still to be
    learned, it is the backbone's input (3, height, width).
    """

    def __init__(
        self,
        parts: Sequence[NDArray[np.float16]],
        places: NDArray[np.int64],
        reasons: Mapping[int, str],
        digests: Sequence[bytes],
    ) -> None:
        self._parts = parts
        self._places = places  # (photographs, 2): part and row; -1 where there is none
        self._digests = digests
        self.reasons = reasons
        """why a photograph could not be read, by its number"""

    def __len__(self) -> int:
        return len(self._places)

    @property
    def good(self) -> NDArray[np.bool_]:
        """Which of the photographs could be read, (photographs,)."""
        return self._places[:, 0] >= 0

    def fingerprint(self) -> str:
        """A digest of the photographs in their order, and of which could be read."""
        seen = (digest if good else b"" for digest, good in zip(self._digests, self.good, strict=True))
        return hashlib.blake2b(b"".join(d.ljust(_DIGEST, b"-") for d in seen), digest_size=_DIGEST).hexdigest()

    def __getitem__(self, number: int) -> Tensor:
        """Of one photograph, in float32."""
        return self.rows([number])[0]

    def rows(self, numbers: Sequence[int] | NDArray[np.int64] | Tensor) -> Tensor:
        """Of several photographs, (b, rows * columns, dim), in float32."""
        found = []
        for number in np.asarray(numbers).tolist():
            part, row = self._places[number]
            if part < 0:
                raise InputError(f"photograph {number} has no features: {self.reasons[number % len(self)]}")
            found.append(self._parts[part][row])
        return torch.from_numpy(np.stack(found)).float()


def features_of(
    paths: Sequence[str | os.PathLike[str]],
    backbone: Backbone,
    cache_dir: str | os.PathLike[str],
    *,
    report: Report = lambda _: None,
    on_bad: OnBad = "refuse",
) -> Features:
    """The photographs' features from the cache, computed first where they are not there.

    A photograph that cannot be read ends it (``on_bad="refuse"``), or is reported and left out (``"skip"``).
    """
    key = hashlib.blake2b(f"{_FORMAT} {backbone.identity}".encode(), digest_size=8).hexdigest()
    store = _Store(Path(cache_dir) / f"features-{key}", backbone.identity, report)
    progress = _Progress(len(paths), report)
    digests: list[bytes] = []
    reasons: dict[int, str] = {}
    waiting: dict[bytes, Tensor] = {}
    try:
        for number, photo in enumerate(_photographs(paths, backbone, store)):
            digests.append(photo.digest)
            if photo.reason:
                if on_bad != "skip":
                    raise DataError(f'{photo.reason} Or leave such photographs out with data.on_bad = "skip".')
                reasons[number] = photo.reason
            elif photo.prepared is not None and photo.digest not in store.places:
                waiting[photo.digest] = photo.prepared
            if len(waiting) == _BATCH:
                progress.computed(_compute(waiting, backbone, store), number + 1)
        progress.computed(_compute(waiting, backbone, store), len(paths))
    finally:
        store.publish()
    progress.finished(list(reasons.values()))
    nowhere = (-1, -1)
    places = [store.places[digest] if number not in reasons else nowhere for number, digest in enumerate(digests)]
    return Features(store.parts, np.array(places, np.int64).reshape(-1, 2), reasons, digests)


class _Photo(NamedTuple):
    digest: bytes
    prepared: Tensor | None
    """None where the features are known, or the photograph cannot be read"""
    reason: str = ""


def _photographs(paths: Sequence[str | os.PathLike[str]], backbone: Backbone, store: _Store) -> Iterator[_Photo]:
    """The photographs in order, read and decoded by threads while the network computes."""
    pool = ThreadPoolExecutor(_READERS)
    ahead: deque[Future[_Photo]] = deque()
    try:
        for path in paths:
            ahead.append(pool.submit(_read, path, backbone, store))
            if len(ahead) > _AHEAD:
                yield ahead.popleft().result()
        while ahead:
            yield ahead.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)


def _read(path: str | os.PathLike[str], backbone: Backbone, store: _Store) -> _Photo:
    digest = b""
    try:
        raw = read_photo(path)
        digest = hashlib.blake2b(raw, digest_size=_DIGEST).digest()
        if digest in store.places:
            return _Photo(digest, None)
        return _Photo(digest, backbone.prepare(open_photo(raw, name=os.fspath(path))))
    except DataError as error:
        return _Photo(digest, None, str(error))


def _compute(waiting: dict[bytes, Tensor], backbone: Backbone, store: _Store) -> int:
    """The waiting photographs' features into the store; how many they were."""
    if not (count := len(waiting)):
        return 0
    batch = torch.stack(list(waiting.values()))
    features = batch if backbone.trainable else backbone.grid(batch).flatten(1, 2)
    store.add(list(waiting), features.clamp(-_HALF, _HALF).to(torch.float16).numpy())
    waiting.clear()
    return count


class _Store:
    """The parts on disk, and the one that is being filled."""

    def __init__(self, directory: Path, identity: str, report: Report) -> None:
        self._directory = directory
        self.parts: list[NDArray[np.float16]] = []
        self.places: dict[bytes, tuple[int, int]] = {}
        self._digests: list[bytes] = []
        self._rows: list[NDArray[np.float16]] = []
        directory.mkdir(parents=True, exist_ok=True)
        remove_leftovers(directory)
        write_text(directory / "backbone.txt", identity + "\n")
        for part in sorted(directory.glob("part-*")):
            if ".partial-" not in part.name and not self._take(part):
                report(f"{part}, features of photographs, is damaged; computing them anew")
                shutil.rmtree(part, ignore_errors=True)

    def add(self, digests: Sequence[bytes], rows: NDArray[np.float16]) -> None:
        """Keep the features; every so often, on disk."""
        for digest, row in zip(digests, rows, strict=True):
            self.places[digest] = len(self.parts), len(self._rows)
            self._digests.append(digest)
            self._rows.append(row)
        if len(self._rows) >= _PART:
            self.publish()

    def publish(self) -> None:
        """Put what was added since the last time on disk."""
        if not self._rows:
            return
        digests = b"".join(self._digests)
        part = self._directory / f"part-{hashlib.blake2b(digests, digest_size=8).hexdigest()}"
        partial = partial_path(part)
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir()
        features = np.stack(self._rows)
        try:
            np.save(partial / "features.npy", features)
            np.save(partial / "digests.npy", np.frombuffer(digests, np.uint8).reshape(-1, _DIGEST))
            write_text(partial / _FILES, sealed_json({name: file_digest(partial / name) for name in _ARRAYS}))
            publish_once(partial, part, lambda there: _load(there) is not None)
        finally:
            shutil.rmtree(partial, ignore_errors=True)
        if not self._take(part):  # another run has removed it
            self.parts.append(features)
        self._digests, self._rows = [], []

    def _take(self, part: Path) -> bool:
        """Map a part into memory, if it is whole."""
        if (loaded := _load(part)) is None:
            return False
        number = len(self.parts)
        self.parts.append(loaded.features)
        self.places |= {digest.tobytes(): (number, row) for row, digest in enumerate(loaded.digests)}
        return True


class _Part(NamedTuple):
    digests: NDArray[np.uint8]
    features: NDArray[np.float16]


def _load(part: Path) -> _Part | None:
    """A part, memory-mapped; one that a disk has damaged is as good as none."""
    try:
        digests, features = (np.load(part / name, mmap_mode="r", allow_pickle=False) for name in _ARRAYS)
        if digests.dtype != np.uint8 or digests.shape != (len(features), _DIGEST) or features.dtype != np.float16:
            return None
        return _Part(digests, features) if _as_written(part, features) else None
    except (OSError, ValueError, EOFError, TypeError, AttributeError, SyntaxError):  # AttributeError: of an .npz
        return None


def _as_written(part: Path, features: NDArray[np.float16]) -> bool:
    """By the digests of its files; parts of older versions have none, but no infinite features either."""
    if not (part / _FILES).is_file():
        return bool(np.isfinite(features).all())
    expected = read_sealed_json((part / _FILES).read_text(encoding="utf-8"))
    return expected == {name: file_digest(part / name) for name in _ARRAYS}


class _Progress:
    """Says how far it is, now and then, once there is something to compute."""

    def __init__(self, photographs: int, report: Report) -> None:
        self._photographs, self._report = photographs, report
        self._begun = self._said = time.monotonic()
        self._count = 0

    def computed(self, count: int, seen: int) -> None:
        if count and not self._count:
            self._report(f"computing the features of {self._photographs:,} photographs")
        self._count += count
        now = time.monotonic()
        if count and now - self._said >= _REPORT_EVERY:
            self._said = now
            left = (now - self._begun) / seen * (self._photographs - seen)
            self._report(f"features of {seen:,} of {self._photographs:,} photographs, {clock(left)} left")

    def finished(self, bad: list[str]) -> None:
        if self._count:
            took = clock(time.monotonic() - self._begun)
            self._report(f"computed the features of {self._count:,} photographs in {took}")
        for reason in bad[:_SHOWN]:
            self._report(f"left out: {reason}")
        if len(bad) > _SHOWN:
            self._report(f"left out: {len(bad) - _SHOWN:,} more photographs that cannot be read")
