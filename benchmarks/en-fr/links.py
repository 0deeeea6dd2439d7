"""python links.py DATA OUT [GOLD]: which words of the training pairs belong together, by a statistical aligner.

The aligner is eflomal (Östling and Tiedemann 2016; `pip install eflomal`). Both directions are aligned and symmetrised
(grow-diag-final-and, Koehn et al. 2003). Tokens are lower-cased, with punctuation and what is elided ("l'") apart; the
links are written for the words of the files as they are, a line a pair: OUT/tatoeba.links and so on. OUT/tokens.tsv
and OUT/tokens.links are a sixth of the pairs once more as tokens, half of them with typographic apostrophes, since
alignments are asked for of such text too.

DATA holds tatoeba/train.tsv, hansards/train.tsv.gz, capitals.tsv and names.tsv. With GOLD (alibi.en, alibi.fr and
alibi.gold) it prints the aligner's own alignment error rate there, from a second run over all pairs and those.
"""

from __future__ import annotations

import gzip
import random
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from eflomal import Aligner

from regard.text.vocabulary import clean
from regard.translation.alignment import Link, alignment_error_rate, pharaoh, read_gold

Pair = tuple[list[str], list[str]]  # the words of both sides

CORPORA = {
    "tatoeba": "tatoeba/train.tsv",
    "hansards": "hansards/train.tsv.gz",
    "capitals": "capitals.tsv",
    "names": "names.tsv",
}
AS_TOKENS = 1 / 6
TYPOGRAPHIC = "\N{RIGHT SINGLE QUOTATION MARK}"
TOKEN = re.compile(rf"[^\W_]+['{TYPOGRAPHIC}]?|\S")
NEIGHBOURS = [(-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1)]


def tokens(word: str) -> list[str]:
    """
    >>> tokens("l'accord.")
    ["l'", 'accord', '.']
    """
    return TOKEN.findall(word)


def cut(pair: Pair) -> Pair:
    source, target = ([token for word in side for token in tokens(word)] for side in pair)
    return source, target


def read_pairs(path: Path) -> Iterator[Pair]:
    with (gzip.open if path.suffix == ".gz" else open)(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            source, target, *_ = line.rstrip("\n").split("\t")
            yield clean(source).split(" "), clean(target).split(" ")


def aligned(pairs: list[Pair]) -> Iterator[list[Link]]:
    """The symmetrised links of the tokens of each pair."""
    with TemporaryDirectory() as folder:
        there, back = f"{folder}/there", f"{folder}/back"
        sources, targets = ([plain(side[place]) for side in pairs] for place in (0, 1))
        Aligner().align(sources, targets, links_filename_fwd=there, links_filename_rev=back)
        with open(there) as first, open(back) as second:
            for one, other in zip(first, second, strict=True):
                yield sorted(grown(read_links(one), read_links(other)))


def plain(words: list[str]) -> str:
    """A line for the aligner."""
    return " ".join(words).lower().replace(TYPOGRAPHIC, "'") + "\n"


def read_links(line: str) -> set[Link]:
    return {(int(i), int(j)) for i, j in (link.split("-") for link in line.split())}


def grown(there: set[Link], back: set[Link]) -> set[Link]:
    """What both directions say, what touches it and links a word that has no link yet, then pairs of such words.

    >>> sorted(grown({(0, 0), (1, 1)}, {(0, 0), (1, 2)}))
    [(0, 0), (1, 1), (1, 2)]
    """
    links, union = there & back, there | back
    rows, columns = {i for i, _ in links}, {j for _, j in links}
    fresh = sorted(links)
    while fresh:
        i, j = fresh.pop(0)
        for down, right in NEIGHBOURS:
            new = (i + down, j + right)
            if new in union - links and (new[0] not in rows or new[1] not in columns):
                links.add(new)
                rows.add(new[0])
                columns.add(new[1])
                fresh.append(new)
    for direction in (there, back):
        for i, j in sorted(direction - links):
            if i not in rows and j not in columns:
                links.add((i, j))
                rows.add(i)
                columns.add(j)
    return links


def of_words(links: Iterable[Link], pair: Pair) -> list[Link]:
    """Links of tokens as links of the words that they are parts of."""
    source, target = ([place for place, word in enumerate(side) for _ in tokens(word)] for side in pair)
    return sorted({(source[i], target[j]) for i, j in links})


def main(data: Path, out: Path, gold: Path | None) -> None:
    corpora = {name: list(read_pairs(data / file)) for name, file in CORPORA.items()}
    pairs = [(pair, cut(pair)) for corpus in corpora.values() for pair in corpus]
    found = aligned([as_tokens for _, as_tokens in pairs])
    out.mkdir(exist_ok=True)
    chance = random.Random(7)
    with open(out / "tokens.tsv", "w") as token_text, open(out / "tokens.links", "w") as token_links:
        rows = zip(pairs, found, strict=True)
        for name, corpus in corpora.items():
            with open(out / f"{name}.links", "w") as file:
                for (pair, as_tokens), links in (next(rows) for _ in corpus):
                    file.write(f"{pharaoh(of_words(links, pair))}\n")
                    if chance.random() < AS_TOKENS:
                        line = "\t".join(map(" ".join, as_tokens))
                        token_text.write(line.replace("'", chance.choice(("'", TYPOGRAPHIC))) + "\n")
                        token_links.write(f"{pharaoh(links)}\n")
    if gold:
        sides = [(gold / f"alibi.{side}").read_text(encoding="utf-8").splitlines() for side in ("en", "fr")]
        asked = [(source.split(), target.split()) for source, target in zip(*sides, strict=True)]
        links = list(aligned([*(as_tokens for _, as_tokens in pairs), *asked]))[-len(asked) :]
        print(f"alignment error rate {alignment_error_rate(links, read_gold(gold / 'alibi.gold')):.3f}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3]) if len(sys.argv) > 3 else None)
