"""python -m benchmarks.multi30k.kinds DATA FOLDER OUT: kinds of attention on the same work (after Luong 2015, table 4).

Every kind trains the same RNN with a plain GRU decoder, for the same number of updates, and is measured on
``val``. A kind that was trained already is not trained again: an interrupted comparison is gone on with.
"""

from __future__ import annotations

import argparse
import json
import statistics
from pathlib import Path

import regard
from benchmarks.multi30k.evaluate import evaluate

KINDS: dict[str, dict[str, str]] = {
    "none": {"attention": "none"},
    "location": {"attention": "location"},
    "dot": {"attention": "dot"},
    "general": {"attention": "general"},
    "concat": {"attention": "concat"},
    "additive": {"attention": "additive"},
    "local-m (general)": {"attention": "general", "span": "local-m"},
    "local-p (general)": {"attention": "general", "span": "local-p"},
    "hard (additive)": {"attention": "additive", "normalize": "hard"},
}
SIZES = {
    "embedding": 128, "encoder_size": 128, "decoder_size": 256, "attention_size": 256,
    "dropout_embedding": 0.3, "dropout_annotations": 0.3, "dropout_output": 0.3,
}  # fmt: skip


def run_file(folder: Path, run: Path, kind: dict[str, str], updates: int, threads: int) -> dict[str, object]:
    def corpus(split: str) -> list[dict[str, str]]:
        return [{"source": str(folder / f"{split}.en"), "target": str(folder / f"{split}.de")}]

    return {
        "task": "translate",
        "run": str(run),
        "data": {"train": corpus("train"), "validation": corpus("val"), "cache": str(run.parent / "cache")},
        "vocabulary": {"size": 10000},
        "model": SIZES | kind,
        "training": {
            "threads": threads,
            "epochs": 0,
            "updates": updates,
            "batch_tokens": 1400,
            "learning_rate": 0.002,
            "schedule": "cosine",
            "warmup": min(200, updates // 5),
            "validate_every": updates // 3,
            "patience": 0,
        },
    }


def seconds_per_epoch(run: Path) -> float:
    """By the median update, so that a pause does not count."""
    lines = (json.loads(line) for line in (run / "log.jsonl").read_text(encoding="utf-8").splitlines())
    updates = [line for line in lines if line["kind"] == "update"]
    if updates[-1]["epoch"] == 1:
        raise SystemExit(f"{run} ended within its first epoch; give it more --updates")
    of_first = sum(line["tokens"] for line in updates if line["epoch"] == 1)
    return float(of_first * statistics.median(line["seconds"] / line["tokens"] for line in updates))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--updates", type=int, default=1500)
    parser.add_argument("--threads", type=int, default=0, help="of each training; 0 = one for each core")
    parser.add_argument(
        "--only", nargs="+", choices=KINDS, default=list(KINDS), help="these kinds, for one of several processes"
    )
    given = parser.parse_args()
    print("| kind | BLEU, legacy | BLEU, 13a | seconds an epoch |\n|---|---|---|---|")
    for name in given.only:
        run = given.out / name.replace(" ", "-").replace("(", "").replace(")", "")
        if not (run / "done").exists():
            values = run_file(given.folder, run, KINDS[name], given.updates, given.threads)
            regard.train(values, resume=(run / "run.json").exists())
            (run / "done").touch()
        found = evaluate(run, given.data, given.folder, "de", split="val", alpha=1.0)
        seconds = seconds_per_epoch(run)
        print(f"| {name} | {found['legacy']:.1f} | {found['sacrebleu']:.1f} | {seconds:.0f} |", flush=True)


if __name__ == "__main__":
    main()
