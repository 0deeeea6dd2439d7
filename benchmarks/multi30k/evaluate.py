"""python -m benchmarks.multi30k.evaluate RUN DATA FOLDER TARGET: BLEU of test_2016_flickr by two conventions.

DATA is Multi30k as it comes, FOLDER what ``prepare`` made of it, TARGET de or fr. "Legacy" is what the published tables
hold: unsmoothed BLEU on lowercased Moses tokens. The other is sacrebleu's 13a on the detokenised translations and the
references as they come, both lowercased, for the models write lower case.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from sacrebleu.metrics.bleu import BLEU
from sacremoses import MosesDetokenizer

from regard import Translator
from regard.search_options import TRANSLATION

TEST = "test_2016_flickr"


def lines_of(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").split("\n")[:-1]


def evaluate(
    run: Path,
    data: Path,
    folder: Path,
    target: str,
    *,
    split: str = TEST,
    beam: int = TRANSLATION.beam,
    alpha: float = TRANSLATION.alpha,
) -> dict[str, object]:
    translator = Translator.load(run)
    found = [found.text for found in translator.stream(lines_of(folder / f"{split}.en"), beam=beam, alpha=alpha)]
    whole = [MosesDetokenizer(lang=target).detokenize(text.split()) for text in found]
    legacy, modern = BLEU(tokenize="none", smooth_method="none", force=True), BLEU(lowercase=True)
    of_tokens = legacy.corpus_score(found, [lines_of(folder / f"{split}.{target}")])
    return {
        "run": run.name,
        "split": split,
        "alpha": alpha,
        "legacy": of_tokens.score,
        "length over the reference's": of_tokens.sys_len / of_tokens.ref_len,
        "legacy_signature": str(legacy.get_signature()),
        "sacrebleu": modern.corpus_score(whole, [lines_of(data / f"{split}.{target}")]).score,
        "sacrebleu_signature": str(modern.get_signature()),
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    parser.add_argument("data", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("target", choices=("de", "fr"))
    parser.add_argument("--split", default=TEST, choices=(TEST, "val"))
    parser.add_argument("--beam", type=int, default=TRANSLATION.beam)
    parser.add_argument("--alpha", type=float, default=TRANSLATION.alpha, help="weight of the length penalty")
    print(json.dumps(evaluate(**vars(parser.parse_args())), indent=1))
