"""Headers of safetensors files, mutated: lengths, offsets, shapes, types and names that are lies."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import torch
from torch import nn

from benchmarks.torture import folders
from benchmarks.torture.harness import dice
from regard.training.weights import load_weights, sizes_of

NAME = "headers"
WHAT = "model folders whose safetensors header is mutated, as JSON and as bytes"
FULL, SHORT = 100_000, 2_000
ISOLATED = True
_NUMBERS = (-1, 0, 1, 3, 7, 255, 2**31 - 1, 2**32, 2**53, 2**63 - 1, 2**63, 2**64, 10**30, 1.5, "1", None, [], {}, True)
_TYPES = (
    "F64",
    "F32",
    "F16",
    "BF16",
    "I64",
    "I8",
    "U8",
    "BOOL",
    "F8_E4M3",
    "F8_E5M2",
    "C64",
    "F4",
    "F6_E2M3",
    "",
    7,
    None,
)


class Small(nn.Module):
    """Weights enough for a header of several entries."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding, self.hidden, self.output = nn.Embedding(11, 6), nn.GRU(6, 5), nn.Linear(5, 11)
        self.register_buffer("seen", torch.zeros((), dtype=torch.int64))


def prepare(workspace: Path) -> tuple[Path, bytes, bytes]:
    from regard.training.weights import save_weights, weights_of

    path = workspace / "whole.safetensors"
    save_weights(weights_of(Small()), path)
    content = path.read_bytes()
    length = int.from_bytes(content[:8], "little")
    return workspace, content[8 : 8 + length], content[8 + length :]


def strike(context: tuple[Path, bytes, bytes], number: int) -> str:
    workspace, header, data = context
    draw = dice(NAME, number)
    changed = _as_json(json.loads(header), draw) if draw.random() < 0.6 else folders.mutated(header, draw)
    length = len(changed) if draw.random() < 0.9 else draw.choice((0, 1, 7, len(changed) - 1, 2**31, 2**63, 2**64 - 1))
    path = workspace / "changed.safetensors"
    path.write_bytes(length.to_bytes(8, "little") + changed + data)

    def use() -> None:
        with sizes_of(path):
            model = Small()
        load_weights(model, path)

    return folders.outcome(use)


def _as_json(header: dict[str, Any], draw: random.Random) -> bytes:
    for _ in range(draw.choice((1, 1, 2, 5))):
        name = draw.choice(list(header)) if header else "x"
        entry = header.get(name)
        what = draw.choice(("dtype", "shape", "data_offsets", "name", "drop", "twin", "metadata", "whole"))
        if what == "dtype" and isinstance(entry, dict):
            entry["dtype"] = draw.choice(_TYPES)
        elif what in ("shape", "data_offsets") and isinstance(entry, dict):
            values = entry.get(what)
            if isinstance(values, list) and values and draw.random() < 0.7:
                values[draw.randrange(len(values))] = draw.choice(_NUMBERS)
            else:
                entry[what] = draw.choice(([], [0], [0, 2**63], [1] * 1000, None, "x", {}, [[1]]))
        elif what == "name":
            header[draw.choice(("", "x" * 5000, "\0", "../../x", "é", "__metadata__"))] = header.pop(name, None)
        elif what == "drop":
            header.pop(name, None)
        elif what == "twin":
            header[f"{name}.twin"] = entry
        elif what == "metadata":
            header["__metadata__"] = draw.choice(({}, {"a": 1}, {"blake2b": "0"}, [], None, {"a": "b" * 10_000}))
        else:
            header[name] = draw.choice((None, 1, "x", [], {}, {"dtype": "F32"}))
    return json.dumps(header).encode()
