"""Small trainings to attack: a grammar of two languages, drawn scenes, and what makes two runs equal."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file

from regard.captioning.scenes import write_scenes
from regard.training.checkpoint import Checkpoints

TIMINGS = {"seconds", "waited", "data_wait"}
NOUNS = {"house": "maison", "table": "table", "car": "voiture", "woman": "femme", "street": "rue"}
ADJECTIVES = {"red": "rouge", "small": "petite", "old": "vieille", "green": "verte"}
TRAINING = {
    "epochs": 0,
    "updates": 16,
    "batch_tokens": 120,
    "validate_every": 6,
    "checkpoint_every": 2,
    "checkpoint_minutes": 0.0,
    "threads": 1,
    "learning_rate": 0.01,
    "patience": 0,
    "best_by": "loss",
}
RNN = {"embedding": 12, "encoder_size": 8, "decoder_size": 16, "attention_size": 8}
TRANSFORMER = {"kind": "transformer", "layers": 1, "size": 16, "feedforward": 32, "heads": 2}
CAPTION = {"annotation_size": 8, "attention_size": 8, "embedding": 8, "decoder_size": 8}
KINDS: dict[str, dict[str, dict[str, Any]]] = {
    "rnn": {"model": RNN, "training": {}},
    "transformer": {"model": TRANSFORMER, "training": {"average_last": 2}},
    "bfloat16": {"model": {**RNN, "cell": "cgru"}, "training": {"precision": "bfloat16"}},
    "accumulation": {"model": {**RNN, "cell": "lstm", "encoder_layers": 2}, "training": {"accumulate": 3}},
    "captioner": {"model": {**CAPTION, "attention": "hard"}, "training": {}},
    "self-critical": {"model": {**RNN, "self_critical": 2}, "training": {}},
}


def write_data(folder: Path) -> None:
    """The corpora that :func:`settings` names."""
    pairs = [
        (f"the {adjective} {noun} sees a {other}", f"la {NOUNS[noun]} {ADJECTIVES[adjective]} voit une {NOUNS[other]}")
        for noun in NOUNS
        for adjective in ADJECTIVES
        for other in NOUNS
    ]
    lines = [f"{source}\t{target}\n" for source, target in pairs]
    (folder / "train.tsv").write_text("".join(lines[::2] + lines[1::4]))
    (folder / "dev.tsv").write_text("".join(lines[3::12]))
    write_scenes(folder / "scenes" / "train", 12, seed=1)
    write_scenes(folder / "scenes" / "dev", 4, seed=2)


def settings(folder: Path, kind: str, run: Path) -> dict[str, Any]:
    """The run file of a kind of training on the data in ``folder``."""
    chosen = KINDS[kind]
    training = {**TRAINING, **chosen["training"]}
    if kind == "captioner":
        data: dict[str, Any] = {"backbone": "small-cnn", "cache": str(folder / "features")}
        data |= {
            part: [{"path": str(folder / "scenes" / name)}]
            for part, name in (("train", "train"), ("validation", "dev"))
        }
        vocabulary = {"size": 40}
        task = "caption"
    else:
        data = {"train": [{"path": str(folder / "train.tsv")}], "validation": [{"path": str(folder / "dev.tsv")}]}
        vocabulary, task = {"size": 60}, "translate"
    return {
        "task": task,
        "run": str(run),
        "data": data,
        "vocabulary": vocabulary,
        "model": chosen["model"],
        "training": training,
    }


def differences(run: Path, other: Path) -> str:
    """What is not bit for bit the same in two runs: weights, moments, random states, log, files; "" where all is."""
    here, there = _tensors(run), _tensors(other)
    if here.keys() != there.keys():
        return f"tensors {sorted(here.keys() ^ there.keys())[:5]}"
    unequal = [name for name in here if not torch.equal(here[name], there[name])]
    if unequal:
        return f"values of {unequal[:5]}"
    if _log(run) != _log(other):
        return "the log"
    left = sorted(_names(run) ^ _names(other))
    return f"files {left[:5]}" if left else ""


def _tensors(run: Path) -> dict[str, torch.Tensor]:
    checkpoints = Checkpoints(run)
    last = checkpoints.path(checkpoints.updates()[-1])
    files = [
        last / "model.safetensors",
        last / "training.safetensors",
        run / "best.safetensors",
        run / "last.safetensors",
    ]
    return {f"{file.name}:{name}": tensor for file in files for name, tensor in load_file(file).items()}


def _log(run: Path) -> list[dict[str, Any]]:
    lines = (json.loads(line) for line in (run / "log.jsonl").read_text().splitlines())
    return [{k: v for k, v in line.items() if k not in TIMINGS} for line in lines if line["kind"] != "start"]


def _names(run: Path) -> set[str]:
    """Every file, a second checkpoint of the same update under the name of the first."""
    return {str(path.relative_to(run)).replace(".1/", "/").removesuffix(".1") for path in run.rglob("*")}
