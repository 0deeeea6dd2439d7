"""python intervals.py PAIRS TRANSLATIONS: BLEU of each range of lengths and how far chance may have moved it.

PAIRS is what ``prepare.py`` made, TRANSLATIONS what ``regard evaluate MODEL PAIRS --output TRANSLATIONS`` wrote. The
95 % intervals are sacrebleu's, of 1,000 draws of as many lines.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from prepare import RANGE, RANGES, words
from sacrebleu.metrics.bleu import BLEU


def main(pairs: Path, translations: Path) -> None:
    lines = [line.split("\t") for line in pairs.read_text(encoding="utf-8").splitlines()]
    found = translations.read_text(encoding="utf-8").splitlines()
    for number in range(RANGES):
        rows = [row for row, (source, _) in enumerate(lines) if (words(source) - 1) // RANGE == number]
        references = [[lines[row][1] for row in rows]]
        score = BLEU().corpus_score([found[row] for row in rows], references, n_bootstrap=1000)
        print(f"{number * RANGE + 1} to {(number + 1) * RANGE} words, {len(rows)} lines: {score}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pairs", type=Path)
    parser.add_argument("translations", type=Path)
    main(**vars(parser.parse_args()))
