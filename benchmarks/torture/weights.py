"""Weights of model folders with bits flipped and bytes changed, with and without the digest that would tell."""

from __future__ import annotations

from pathlib import Path

import torch
from safetensors.torch import load_file, save_file

from benchmarks.torture import folders
from benchmarks.torture.harness import Wrong, dice
from regard.training.weights import read_weights

NAME = "weights"
WHAT = "model folders whose weights are mutated: a file with a digest must be refused, one without it must do no harm"
FULL, SHORT = 2_000, 60
ISOLATED = True
_ODD = (float("nan"), float("inf"), -float("inf"), 65504.0, 1e-8, 0.0)


def prepare(workspace: Path) -> folders.Context:
    return folders.prepare(workspace)


def strike(context: folders.Context, number: int) -> str:
    draw = dice(NAME, number)
    folder = folders.copied(context, number % 50)
    path = folder / "best.safetensors"
    content = path.read_bytes()
    if number % 2:
        begin = 8 + int.from_bytes(content[:8], "little")
        data = folders.mutated(content[begin:], draw)
        path.write_bytes(content[:begin] + data)
        found = folders.outcome(lambda: folders.use(folder))
        if found == "used" and data != content[begin:]:
            raise Wrong("weights that are not those that were written were used without a word")
        return found
    weights = load_file(path)
    for name in draw.sample(sorted(weights), draw.randint(1, len(weights))):
        if weights[name].is_floating_point() and weights[name].numel():
            flat = weights[name].view(-1)
            flat[draw.randrange(len(flat))] = draw.choice(_ODD)
            if draw.random() < 0.2:
                flat.fill_(draw.choice(_ODD))
    save_file(weights, path)  # a stranger's, without a digest
    assert all(torch.is_tensor(tensor) for tensor in read_weights(path).values())
    return folders.outcome(lambda: folders.use(folder)) + ", odd weights"
