"""Corpora of sentence pairs, streamed from disk: TSV, two parallel text files, JSON lines; plain or .gz."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from regard.errors import DataError
from regard.text.lines import BadLine, ContentHash, decoded, json_object, numbered_lines
from regard.translation.alignment import Link, parse_gold
from regard.translation.config import CorpusConfig

_ADVICE = 'Fix the line, or skip such lines with data.on_bad_line = "skip".'


class Pair(NamedTuple):
    """A source sentence and its translation."""

    source: str
    target: str


class LinkedPair(NamedTuple):
    """A pair, and which of its words belong together."""

    pair: Pair
    links: list[Link]
    """(source word, target word) each"""


class Corpus:
    """The pairs of one entry of ``data.train`` or ``data.validation``, in order; read afresh at every iteration.

    ``skipped`` counts, by reason, the lines that the last iteration left out.
    """

    def __init__(self, config: CorpusConfig, *, on_bad_line: str = "refuse", reverse: bool = False) -> None:
        self.config = config
        self.on_bad_line = on_bad_line
        self.reverse = reverse
        self.skipped: Counter[str] = Counter()
        self.paths = [Path(p) for p in (config.path, config.source, config.target) if p]
        links = getattr(config, "links", "")
        self.links = Path(links) if links else None
        files = [*self.paths, *([self.links] if self.links else [])]
        self._digest = ContentHash(files)
        for path in files:
            if not path.is_file():
                raise DataError(f"there is no corpus file {path}. Check the paths under [data] (from {Path.cwd()}).")

    @property
    def name(self) -> str:
        """The file or files, for people."""
        return " + ".join(str(path) for path in self.paths)

    def content_hash(self) -> str:
        """A digest of the files as they are on disk; read again only if size or time have changed."""
        return self._digest()

    def identity(self) -> dict[str, Any]:
        """All that the pairs depend on."""
        return {
            "content": self.content_hash(),
            "json": self._is_json,
            "fields": [self.config.source_field, self.config.target_field],
            "on_bad_line": self.on_bad_line,
            "reverse": self.reverse,
            **({"links": True} if self.links else {}),
        }

    @property
    def _is_json(self) -> bool:
        return self.paths[0].name.removesuffix(".gz").endswith((".jsonl", ".ndjson"))

    def __iter__(self) -> Iterator[Pair]:
        for _, pair in self._rows():
            yield pair

    def linked(self) -> Iterator[LinkedPair]:
        """The pairs with their links, which stand on the same lines of their own file; none where there is no file."""
        if self.links is None:
            yield from (LinkedPair(pair, []) for pair in self)
            return
        lines, read, line = numbered_lines(self.links), 0, b""
        for number, pair in self._rows():
            while read < number:
                read, line = next(lines, (0, b""))
                if not read:
                    raise DataError(
                        f"{self.links} ends before line {number} of {self.name}; it needs a line for each pair"
                    )
            yield LinkedPair(pair, self._parsed(line, number))
        if next(lines, None) is not None:
            raise DataError(f"{self.links} has more lines than {self.name}; it needs a line for each pair")

    def _parsed(self, line: bytes, number: int) -> list[Link]:
        links = sorted(parse_gold(decoded(line), f"{self.links}:{number}").possible)
        return [(j, i) for i, j in links] if self.reverse else links

    def _rows(self) -> Iterator[tuple[int, Pair]]:
        """The pairs with the numbers of their lines, from 1."""
        self.skipped = Counter()
        if len(self.paths) == 2:
            rows = self._parallel()
        else:
            rows = self._single(self._json_pair if self._is_json else _tsv_pair)
        for number, pair in rows:
            yield number, Pair(pair.target, pair.source) if self.reverse else pair

    def _single(self, parse: Callable[[str], Pair]) -> Iterator[tuple[int, Pair]]:
        path = self.paths[0]
        for number, raw in numbered_lines(path):
            try:
                pair = parse(decoded(raw))
                _check_sides(pair)
            except BadLine as reason:
                self._bad(path, number, str(reason))
            else:
                yield number, pair

    def _parallel(self) -> Iterator[tuple[int, Pair]]:
        left, right = self.paths
        first, second = numbered_lines(left), numbered_lines(right)
        while True:
            (number, source), (other, target) = next(first, (0, b"")), next(second, (0, b""))
            if not number and not other:
                return
            if not number or not other:
                short, long, line = (left, right, other) if not number else (right, left, number)
                # Which lines belong together is then unknown, so this is refused even where bad lines are skipped.
                raise DataError(
                    f"{long}:{line}: {short} has no line {line}; it ends after {line - 1}. Parallel files need as "
                    "many lines as each other: find where they part, and mend it."
                )
            try:
                pair = Pair(decoded(source), decoded(target))
                _check_sides(pair)
            except BadLine as reason:
                self._bad(left, number, f"{reason} (this file or {right})")
            else:
                yield number, pair

    def _json_pair(self, line: str) -> Pair:
        row = json_object(line)
        sides = [row.get(field) for field in (self.config.source_field, self.config.target_field)]
        for field, side in zip((self.config.source_field, self.config.target_field), sides, strict=True):
            if not isinstance(side, str):
                have = ", ".join(map(str, row)) or "none"
                raise BadLine(f"expected a text called {field!r}, found {type(side).__name__} (fields: {have})")
        return Pair(str(sides[0]), str(sides[1]))

    def _bad(self, path: Path, number: int, reason: str) -> None:
        if self.on_bad_line != "skip":
            raise DataError(f"{path}:{number}: {reason}. {_ADVICE}")
        self.skipped["bad"] += 1


def _tsv_pair(line: str) -> Pair:
    fields = line.split("\t")
    if len(fields) != 2:
        raise BadLine(f"expected 2 tab-separated fields, found {len(fields)}")
    return Pair(*fields)


def _check_sides(pair: Pair) -> None:
    for side, text in (("source", pair.source), ("target", pair.target)):
        if not text.strip():
            raise BadLine(f"expected text on both sides, found an empty {side}")
