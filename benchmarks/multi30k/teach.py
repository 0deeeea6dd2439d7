"""python -m benchmarks.multi30k.teach RUN FOLDER TARGET: what a trained translator makes of the training sentences.

For a student to learn from, beside the references (sequence-level distillation, Kim and Rush 2016). FOLDER is what
``prepare`` made; written there, under the name of the run, are ``NAME.best.TARGET``, the best translation of each line
of ``train.en``, and ``NAME.nearest.TARGET``, of its five best the one that shares most with the reference.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks.multi30k.evaluate import lines_of
from regard import Translator
from regard.files import write_text
from regard.translation.critic import gleu

BEAM = 5


def teach(run: Path, folder: Path, target: str) -> None:
    best, nearest = [], []
    found = Translator.load(run).stream(lines_of(folder / "train.en"), beam=BEAM, n_best=BEAM, alpha=1.0)
    for first, reference in zip(found, lines_of(folder / f"train.{target}"), strict=True):
        texts = [first.text, *(other.text for other in first.alternatives)]
        best.append(first.text)
        nearest.append(max(texts, key=lambda text: gleu(text.split(), reference.split())))
    for name, lines in (("best", best), ("nearest", nearest)):
        write_text(folder / f"{run.name}.{name}.{target}", "".join(f"{line}\n" for line in lines))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("target", choices=("de", "fr"))
    teach(**vars(parser.parse_args()))
