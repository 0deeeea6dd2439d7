"""python capitals.py DATA > capitals.tsv: sentences in which two to four words that follow each other are capitalised.

Names of institutions are written so, and a small model that has not seen one takes it for letters. The translations
stay as they are. DATA holds hansards/train.tsv.gz and tatoeba/train.tsv.
"""

import gzip
import random
import sys
from collections.abc import Iterator
from pathlib import Path

SHARES = {"hansards/train.tsv.gz": 0.25, "tatoeba/train.tsv": 0.12}


def capitalised(data: Path, chance: random.Random) -> Iterator[str]:
    for name, share in SHARES.items():
        path = data / name
        with (gzip.open if path.suffix == ".gz" else open)(path, "rt", encoding="utf-8") as lines:
            for line in lines:
                source, target, *_ = line.rstrip("\n").split("\t")
                words = source.split(" ")
                if chance.random() < share and 5 <= len(words) <= 30:
                    count = chance.choice((2, 3, 4))
                    first = chance.randrange(len(words) - count + 1)
                    for place in range(first, first + count):
                        words[place] = words[place][:1].upper() + words[place][1:]
                    yield f"{' '.join(words)}\t{target}"


if __name__ == "__main__":
    chance = random.Random(5)
    found = list(capitalised(Path(sys.argv[1]), chance))
    chance.shuffle(found)
    print("\n".join(found))
