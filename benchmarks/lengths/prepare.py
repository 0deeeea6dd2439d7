"""python prepare.py HANSARDS FOLDER: training lines of every length, and two test sets that tell length from content.

``apart.tsv``: lines taken out of HANSARDS/train.tsv.gz, some 6,000 English words for each range of ten words up to 60,
none of which stands there twice. ``joined.tsv``: long sentences are also harder ones, so here are the short ones at
every length: one by one, and as many to a line as each range needs. What is to be said is the same in every range; only
the length differs. ``train.tsv.gz``: all the rest, once as it comes and once joined to lines of any length.
"""

from __future__ import annotations

import argparse
import gzip
import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from regard.translation.evaluation import WORDS_A_BUCKET as RANGE

RANGES, WORDS = 6, 6_000
Pair = tuple[str, str]


def words(source: str) -> int:
    return len(source.split())


def read(path: Path) -> list[Pair]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        pairs = (line.rstrip("\n").split("\t") for line in lines)
        return [(source, target) for source, target in pairs]


def take_out(pairs: list[Pair]) -> tuple[list[Pair], list[Pair]]:
    """What is kept apart, range by range, and the rest."""
    often = Counter(source for source, _ in pairs)
    room = [WORDS] * RANGES
    apart, rest = [], []
    for pair in pairs:
        number = (words(pair[0]) - 1) // RANGE
        if 0 <= number < RANGES and room[number] > 0 and often[pair[0]] == 1:
            room[number] -= words(pair[0])
            apart.append(pair)
        else:
            rest.append(pair)
    return sorted(apart, key=lambda pair: words(pair[0])), rest


def join(pairs: Iterable[Pair], more_than: Callable[[], int]) -> Iterator[Pair]:
    """Neighbours on one line, until it has more than ``more_than()`` English words; what is left over is left out."""
    line: list[Pair] = []
    limit = more_than()
    for pair in pairs:
        line.append(pair)
        if sum(words(source) for source, _ in line) > limit:
            yield " ".join(source for source, _ in line), " ".join(target for _, target in line)
            line, limit = [], more_than()


def same_sentences_at_every_length(short: list[Pair], order: random.Random) -> Iterator[Pair]:
    """Sentences of up to ten words: one of them more takes a line of up to 10 n words to 10 (n + 1) at most."""
    for number in range(RANGES):
        yield from join(order.sample(short, len(short)), lambda limit=RANGE * number: limit)


def write(path: Path, pairs: Iterable[Pair]) -> None:
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "wt", encoding="utf-8") as file:
        file.writelines(f"{source}\t{target}\n" for source, target in pairs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("hansards", type=Path)
    parser.add_argument("folder", type=Path)
    given = parser.parse_args()
    order = random.Random(1)
    pairs = read(given.hansards / "train.tsv.gz")
    order.shuffle(pairs)
    apart, rest = take_out(pairs)
    short = [pair for pair in apart if words(pair[0]) <= RANGE]
    given.folder.mkdir(parents=True, exist_ok=True)
    write(given.folder / "apart.tsv", apart)
    write(given.folder / "joined.tsv", same_sentences_at_every_length(short, order))
    joined = join(order.sample(rest, len(rest)), lambda: order.randrange(RANGE * (RANGES - 1)))
    write(given.folder / "train.tsv.gz", [*rest, *joined])


if __name__ == "__main__":
    main()
