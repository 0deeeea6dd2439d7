"""Pickles, which run code when they are read, under every name that regard reads."""

from __future__ import annotations

import io
import os
import pickle
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.torture import folders
from benchmarks.torture.harness import Wrong
from benchmarks.torture.runs import settings

NAME = "pickles"
WHAT = "pickles under every name that is read, plain, as torch writes them, inside .npy and .npz; none may be unpickled"
ISOLATED = True
NAMES = ("best.safetensors", "last.safetensors", "vocabulary.model", "config.toml", "run.json", "log.jsonl")
CACHED = ("features.npy", "digests.npy", "files.json")
FORMS = ("pickle", "torch", "torch-legacy", "npy", "npz")
FULL = SHORT = (len(NAMES) + len(CACHED)) * len(FORMS)


class Bomb:
    """Writes a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = str(path)

    def __reduce__(self) -> Any:
        return os.mkdir, (self.path,)


def prepare(workspace: Path) -> folders.Context:
    context = folders.prepare(workspace, captioner=True)
    canary = workspace / "proof"
    np.load(io.BytesIO(_pickled("npy", canary)), allow_pickle=True)  # the bombs are live
    canary.rmdir()
    return context


def strike(context: folders.Context, number: int) -> str:
    name, form = (*NAMES, *CACHED)[number // len(FORMS)], FORMS[number % len(FORMS)]
    canary = context.workspace / f"canary-{number}"
    bomb = _pickled(form, canary)
    if name in CACHED:
        found = _cached(context, number, name, bomb)
    else:
        folder = folders.copied(context, number)
        if name == "last.safetensors":
            (folder / "best.safetensors").unlink()
        (folder / name).write_bytes(bomb)
        found = folders.outcome(lambda: folders.use(folder))
    if canary.exists():
        raise Wrong(f"{name} as {form} was unpickled")
    return found


def _cached(context: folders.Context, number: int, name: str, bomb: bytes) -> str:
    """Features of photographs in a cache that a stranger gave."""
    import regard

    cache = context.workspace / f"cache-{number}"
    shutil.copytree(context.workspace / "features", cache)
    for path in cache.rglob(name):
        path.write_bytes(bomb)
    values = settings(context.workspace, "captioner", context.workspace / f"captioner-{number}")
    values["data"]["cache"] = str(cache)
    values["training"]["updates"] = 1
    return folders.outcome(lambda: regard.train(values))


def _pickled(form: str, canary: Path) -> bytes:
    bomb, written = Bomb(canary), io.BytesIO()
    if form == "pickle":
        return pickle.dumps(bomb)
    if form.startswith("torch"):
        torch.save(bomb, written, _use_new_zipfile_serialization=form == "torch")
    elif form == "npy":
        np.save(written, np.array([bomb], dtype=object), allow_pickle=True)
    else:
        np.savez(written, a=np.array([bomb], dtype=object))
    return written.getvalue()
