"""python -m benchmarks.multi30k.prepare DATA FOLDER: Multi30k as its published tables take it.

Lowercased, punctuation-normalised and Moses-tokenised (Elliott et al. 2016); read from DATA/{train,val,
test_2016_flickr}.{en,de,fr}, one sentence a line, written to the same names in FOLDER.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from sacremoses import MosesPunctNormalizer, MosesTokenizer

SPLITS, LANGUAGES = ("train", "val", "test_2016_flickr"), ("en", "de", "fr")
GERMAN_TOKENS = 12_103  # of test_2016_flickr.de by this convention


def prepare(data: Path, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for language in LANGUAGES:
        normalizer, tokenizer = MosesPunctNormalizer(lang=language), MosesTokenizer(lang=language)
        for split in SPLITS:
            lines = (data / f"{split}.{language}").read_text(encoding="utf-8").split("\n")[:-1]
            words = [tokenizer.tokenize(normalizer.normalize(line.lower()), escape=False) for line in lines]
            (folder / f"{split}.{language}").write_text(
                "".join(f"{' '.join(line)}\n" for line in words), encoding="utf-8"
            )
            if (split, language) == ("test_2016_flickr", "de") and sum(map(len, words)) != GERMAN_TOKENS:
                raise SystemExit(
                    f"test_2016_flickr.de has {sum(map(len, words))} tokens, not {GERMAN_TOKENS}: "
                    "BLEU would not compare with the published figures"
                )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("folder", type=Path)
    given = parser.parse_args()
    prepare(given.data, given.folder)
