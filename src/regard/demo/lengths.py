"""The reason attention exists: the same small translator trained with and without it, measured by length."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from regard.demo.language import MOST, pairs_of_each_length, sentences
from regard.demo.report import Picture, Section
from regard.errors import TrainingError
from regard.files import write_text
from regard.training.config import load_config
from regard.training.toml import render

KINDS = {"with attention": "additive", "without attention": "none"}
UPDATES = 1300  # about a minute, with a core for each of the two
EXAMPLE = "the red car under the blue house and the black cat with the round letter"
Report = Callable[[str, int], None]
"""called with the name of a model and how many of its updates are done"""


def lengths(out: Path, *, updates: int = UPDATES, report: Report = lambda *_: None) -> Section:
    """Train both, and draw BLEU against the length of the sentence."""
    from regard.show.curve_figures import plot_by_length
    from regard.translation.corpus import Pair
    from regard.translation.evaluation import evaluate
    from regard.translation.translator import Translator

    runs = _train(out / "runs", updates, report)
    test = [Pair(*pair) for pair in pairs_of_each_length(np.random.default_rng(2), 20 * MOST)]
    _write_pairs(out / "runs" / "test.tsv", test)
    translators = {name: Translator.load(run) for name, run in runs.items()}
    found = {name: evaluate(translator, test, beam=1) for name, translator in translators.items()}
    curve = plot_by_length(found, out / "lengths.png")
    looked = translators["with attention"].translate(EXAMPLE)
    pictures = [Picture(curve, "BLEU by the number of words in the sentence, with and without attention.")]
    if looked.weights is not None and looked.weights.size:
        caption = "Where the one with attention looked: nouns and adjectives change places."
        pictures.append(Picture(looked.plot(out / "generated.png"), caption, looked.html(out / "generated.html")))
    rows = [
        [f"{same[0].first} to {same[0].last}", *(f"{bucket.bleu:.1f}" for bucket in same)]
        for same in zip(*(evaluation.buckets for evaluation in found.values()), strict=True)
    ]
    return Section(
        "Why attention exists",
        [
            "Without attention an encoder squeezes the whole sentence into one vector of fixed size, and the decoder "
            "has nothing else to write from. That does for a few words. A long sentence does not fit, and the "
            "longer it is, the more is lost. With attention the decoder looks back at every word, each time it writes "
            "one, so length costs it little.",
            f"Here are two translators of the same size, trained for {updates:,} updates on the same generated "
            f"sentences ({EXAMPLE.split(' and ')[0]}, …), and measured on sentences that neither has seen.",
        ],
        pictures,
        [["words", *found], *rows],
        [f'regard translate "{EXAMPLE}" --model {runs["with attention"]}'],
    )


def _train(folder: Path, updates: int, report: Report) -> dict[str, Path]:
    """Train the two side by side, each in a process of its own on one core."""
    folder.mkdir(exist_ok=True)
    generator = np.random.default_rng(1)
    for name, count in (("train", 8000), ("dev", 20)):
        _write_pairs(folder / f"{name}.tsv", sentences(generator, count))
    runs = {name: folder / name.replace(" ", "-") for name in KINDS}
    started: dict[str, subprocess.Popen[bytes]] = {}
    try:
        for name, run in runs.items():
            shutil.rmtree(run, ignore_errors=True)  # of an earlier demo
            file = folder / f"{run.name}.toml"
            write_text(file, render(load_config(_settings(folder, run, KINDS[name], updates))))
            command = [sys.executable, "-m", "regard", "train", str(file)]
            with (folder / f"{run.name}.log").open("wb") as log:
                started[name] = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        while any(process.poll() is None for process in started.values()):
            time.sleep(0.2)
            for name, run in runs.items():
                report(name, updates_done(run))
    finally:
        for process in started.values():
            if process.poll() is None:
                process.terminate()
                process.wait()
    for name, process in started.items():
        if process.returncode:
            lines = (folder / f"{runs[name].name}.log").read_text("utf-8", "replace").strip().splitlines()
            raise TrainingError(f"the training {name} ended with {process.returncode}: {lines[-1] if lines else ''}")
        report(name, updates)
    return runs


def _write_pairs(path: Path, pairs: Iterable[tuple[str, str]]) -> None:
    write_text(path, "".join(f"{source}\t{target}\n" for source, target in pairs))


def updates_done(run: Path) -> int:
    """The last update that a run's log tells of."""
    try:
        lines = (run / "log.jsonl").read_text("utf-8").splitlines()
    except OSError:
        return 0
    for line in reversed(lines):
        if line.startswith('{"kind": "update"') and line.endswith("}"):
            return int(json.loads(line)["update"])
    return 0


def _settings(folder: Path, run: Path, attention: str, updates: int) -> dict[str, Any]:
    dropouts = dict.fromkeys(["dropout_embedding", "dropout_layers", "dropout_output"], 0.0)
    sizes = {"embedding": 40, "encoder_size": 40, "decoder_size": 80, "attention_size": 32}
    return {
        "task": "translate",
        "run": str(run),
        "data": {
            "train": [{"path": str(folder / "train.tsv")}],
            "validation": [{"path": str(folder / "dev.tsv")}],
            "cache": str(folder / f"{run.name}-cache"),
        },
        "vocabulary": {"size": 180},
        "model": {"attention": attention, "tie": "all", **sizes, **dropouts},
        "validation": {"samples": 0},
        "training": {
            "updates": updates,
            "epochs": 0,
            "batch_tokens": 800,
            "learning_rate": 0.007,
            "schedule": "linear",
            "warmup": min(30, updates // 2),
            "label_smoothing": 0.0,
            "validate_every": updates,
            "best_by": "loss",
            "threads": 1,
        },
    }
