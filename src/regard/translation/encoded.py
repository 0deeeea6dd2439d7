"""Corpora as token ids on disk, memory-mapped: read and tokenised once, then only indexed.

A directory per corpus, named by a key of everything its content depends on (the files' bytes, the vocabulary, the
settings), and published by one rename: it is there whole, or not at all. What a disk damaged since is told by digests,
and encoded anew.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from regard.errors import DataError
from regard.files import file_digest, partial_path, publish_once, read_sealed_json, remove_leftovers, sealed_json
from regard.translation.config import DataConfig
from regard.translation.corpus import Corpus, LinkedPair, Pair
from regard.translation.vocabularies import Vocabularies

_FORMAT = 1
_BLOCK = 8192  # pairs encoded at a time
_REPORT_EVERY = 10.0  # seconds
SIDES = ("source", "target")
_LINKS = "links"


class EncodedCorpus:
    """The pairs of a corpus as ids: ``ids`` of all sentences end to end, and ``offsets`` where each begins.

    Where the corpus has links, they are a third such array, of positions: target piece, source piece, and so on.
    """

    def __init__(self, directory: Path) -> None:
        self.meta = _meta(directory)
        dtype = np.dtype(self.meta["dtype"])
        arrays = (*SIDES, _LINKS) if self.has_links else SIDES
        self._offsets = [np.memmap(directory / f"{side}.offsets", np.int64, mode="r") for side in arrays]
        self._ids = [np.memmap(directory / f"{side}.ids", dtype, mode="r") for side in arrays]

    def __len__(self) -> int:
        return int(self.meta["pairs"])

    @property
    def has_links(self) -> bool:
        """Whether it is known which pieces belong together."""
        return bool(self.meta.get("links"))

    def lengths(self, side: int, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """The number of pieces of each row's source (0) or target (1)."""
        offsets = self._offsets[side]
        return np.asarray(offsets[rows + 1] - offsets[rows])

    def longest(self, side: int) -> int:
        """The number of pieces of the longest source (0) or target (1)."""
        return int(np.diff(self._offsets[side]).max())

    def ids(self, side: int, rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The pieces of the rows end to end, and the number of pieces of each row."""
        lengths = self.lengths(side, rows)
        starts = self._offsets[side][rows] - (np.cumsum(lengths) - lengths)
        flat = np.repeat(starts, lengths) + np.arange(int(lengths.sum()))
        return self._ids[side][flat].astype(np.int64), lengths

    def links(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """(n, 3): which of ``rows``, the position of a target piece and of a source piece that belong together."""
        if not self.has_links:
            return np.empty((0, 3), np.int64)
        flat, lengths = self.ids(len(SIDES), rows)
        return np.column_stack([np.repeat(np.arange(len(rows)), lengths // 2), flat.reshape(-1, 2)])


def encode_corpus(
    corpus: Corpus,
    vocabularies: Vocabularies,
    data: DataConfig,
    cache: Path,
    *,
    threads: int = 1,
    report: Callable[[str], None] = lambda _: None,
) -> EncodedCorpus:
    """The encoded corpus from the cache, built first if it is not there."""
    directory = cache / f"pairs-{_key(corpus, vocabularies, data)}"
    sizes = [len(vocabulary) for vocabulary in vocabularies]
    if directory.exists():
        if _whole(directory, sizes):
            return EncodedCorpus(directory)
        report(f"{directory}, the encoded {corpus.name}, is damaged; encoding it anew")
    cache.mkdir(parents=True, exist_ok=True)
    remove_leftovers(cache)
    report(f"encoding {corpus.name}")
    partial = partial_path(directory)
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir()
    try:
        meta = _write(corpus, vocabularies, data, partial, threads, report)
        publish_once(partial, directory, lambda there: _whole(there, sizes))
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    report(f"encoded {corpus.name}: {meta['pairs']:,} pairs{_left_out(meta)}")
    return EncodedCorpus(directory)


def _key(corpus: Corpus, vocabularies: Vocabularies, data: DataConfig) -> str:
    parts = {
        "format": _FORMAT,
        "corpus": corpus.identity(),
        "vocabularies": [vocabulary.fingerprint() for vocabulary in vocabularies],
        "settings": data.model_dump(include={"max_words", "max_tokens"}),
    }
    return hashlib.blake2b(json.dumps(parts, sort_keys=True).encode(), digest_size=12).hexdigest()


def _meta(directory: Path) -> dict[str, Any]:
    return read_sealed_json((directory / "meta.json").read_text(encoding="utf-8"))


def _whole(directory: Path, sizes: Sequence[int]) -> bool:
    """Whether every file is as it was written; those of older versions, whether ``sizes`` pieces could give them."""
    try:
        meta = _meta(directory)
        if any((directory / name).stat().st_size != size for name, size in meta["bytes"].items()):
            return False
        if digests := meta.get("digests"):
            return all(file_digest(directory / name) == digest for name, digest in digests.items())
        return _plausible(EncodedCorpus(directory), sizes)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return False


def _plausible(corpus: EncodedCorpus, sizes: Sequence[int]) -> bool:
    return all(
        len(offsets) == len(corpus) + 1
        and offsets[0] == 0
        and offsets[-1] == len(ids)
        and bool((np.diff(offsets) > 0).all())
        and int(ids.max()) < size
        for offsets, ids, size in zip(corpus._offsets, corpus._ids, sizes, strict=True)
    )


def _write(
    corpus: Corpus,
    vocabularies: Vocabularies,
    data: DataConfig,
    directory: Path,
    threads: int,
    report: Callable[[str], None],
) -> dict[str, Any]:
    """Write the ids, the offsets and the meta file; memory holds one block of pairs."""
    dtype = np.dtype(np.uint16 if max(map(len, vocabularies)) <= 1 << 16 else np.uint32)
    arrays = SIDES if corpus.links is None else (*SIDES, _LINKS)
    names = [f"{array}.{kind}" for array in arrays for kind in ("offsets", "ids")]
    files = {name: (directory / name).open("wb") for name in names}
    pairs = too_long = 0
    ends = [0] * len(arrays)
    reported = time.monotonic()
    try:
        for array in arrays:
            files[f"{array}.offsets"].write(np.zeros(1, np.int64).tobytes())
        for block in _blocks(corpus):
            encoded = _encoded(block, vocabularies, data, threads, corpus.links)
            too_long += len(block) - len(encoded[0])
            pairs += len(encoded[0])
            if time.monotonic() - reported > _REPORT_EVERY:
                reported = time.monotonic()
                report(f"encoding {corpus.name}: {pairs:,} pairs so far")
            for number, array in enumerate(arrays):
                ids, offsets = files[f"{array}.ids"], files[f"{array}.offsets"]
                ends[number] = _append(ids, offsets, encoded[number], ends[number], dtype)
    finally:
        for file in files.values():
            file.close()
    meta: dict[str, Any] = {"pairs": pairs, "dtype": dtype.name}
    meta["bytes"] = {name: (directory / name).stat().st_size for name in names}
    meta["digests"] = {name: file_digest(directory / name) for name in names}
    meta |= {"pieces": ends[:2], "too_long": too_long, "bad": corpus.skipped["bad"], "links": corpus.links is not None}
    if not pairs:
        raise DataError(f"{corpus.name} holds no pair to use{_left_out(meta)}.")
    (directory / "meta.json").write_text(sealed_json(meta), encoding="utf-8")
    return meta


def _encoded(
    block: Sequence[LinkedPair], vocabularies: Vocabularies, data: DataConfig, threads: int, links: Path | None
) -> list[list[list[int]]]:
    """The ids of the pairs that are not too long, source and target; and the positions that are linked, from a file."""
    kept = [linked for linked in block if _few_words(linked.pair, data.max_words)]
    source, target = (
        vocabulary.encode([linked.pair[side] for linked in kept], threads=threads)
        for side, vocabulary in enumerate(vocabularies)
    )
    few = [i for i in range(len(kept)) if _few_pieces(source[i], target[i], data.max_tokens)]
    found = [[source[i] for i in few], [target[i] for i in few]]
    if links is not None:
        found.append([_linked_pieces(kept[i], source[i], target[i], vocabularies, links) for i in few])
    return found


def _linked_pieces(
    linked: LinkedPair, source: list[int], target: list[int], vocabularies: Vocabularies, file: Path
) -> list[int]:
    """Target position, source position, of all pieces of words that belong together, one after another."""
    words = [vocabulary.words(ids) for vocabulary, ids in zip(vocabularies, (source, target), strict=True)]
    for link in linked.links:
        for side, number, known in zip(SIDES, link, words, strict=True):
            if number >= len(known):
                raise DataError(
                    f"{file} links {side} word {number} of {linked.pair[SIDES.index(side)]!r}, which has {len(known)} "
                    "words. Words are what stands between spaces, counted from 0."
                )
    return [
        position
        for i, j in linked.links
        for t in range(words[1][j].start, words[1][j].stop)
        for s in range(words[0][i].start, words[0][i].stop)
        for position in (t, s)
    ]


def _append(ids: IO[bytes], offsets: IO[bytes], sentences: list[list[int]], end: int, dtype: np.dtype[Any]) -> int:
    ends = end + np.cumsum([len(sentence) for sentence in sentences], dtype=np.int64)
    offsets.write(ends.tobytes())
    ids.write(np.fromiter((piece for sentence in sentences for piece in sentence), dtype).tobytes())
    return int(ends[-1]) if len(ends) else end


def _blocks(corpus: Corpus) -> Iterator[list[LinkedPair]]:
    pairs = corpus.linked()
    while block := list(islice(pairs, _BLOCK)):
        yield block


def _few_words(pair: Pair, limit: int) -> bool:
    return not limit or all(len(text.split()) <= limit for text in pair)


def _few_pieces(source: list[int], target: list[int], limit: int) -> bool:
    """Not over the limit, and not empty: a text of nothing but controls leaves no piece."""
    return bool(source) and bool(target) and (not limit or max(len(source), len(target)) <= limit)


def _left_out(meta: dict[str, Any]) -> str:
    reasons = [
        f"{meta[key]:,} {what}" for key, what in (("too_long", "too long or empty"), ("bad", "bad")) if meta[key]
    ]
    return f" ({', '.join(reasons)} left out)" if reasons else ""
