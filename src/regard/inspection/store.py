"""Maps on disk: a safetensors file a map and one JSON index, memory-mapped when they are opened again."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from regard.errors import DataError, InputError
from regard.inspection.call import Bias, Call
from regard.inspection.checking import Dense
from regard.inspection.dense import DenseCall
from regard.inspection.passes import row_logsumexp
from regard.inspection.recorded import Recorded
from regard.inspection.visibility import Visible

INDEX = "recorded.json"
FORMAT = 1


class Store:
    """A directory of maps. ``dtype`` rounds queries and keys, for half the size; each row still sums to 1."""

    def __init__(self, directory: str | os.PathLike[str], *, dtype: torch.dtype | None = None) -> None:
        self.directory, self.dtype = Path(directory), dtype
        if self.directory.exists() and not self.directory.is_dir():
            raise InputError(f"{self.directory} is a file; a store is a directory")

    def write(self, recorded: Recorded) -> None:
        """Write all maps, and let ``recorded`` read them from here instead of memory."""
        kind = type(recorded._model).__name__
        if (self.directory / INDEX).exists() and (known := self._index()["model"]) != kind:
            raise InputError(
                f"{self.directory} holds the maps of a {known}; those of a {kind} go to another directory, or delete it"
            )
        self.directory.mkdir(parents=True, exist_ok=True)
        maps = []
        for number, name in enumerate(recorded):
            file = f"{number:04}.safetensors"
            found = recorded[name]
            tensors, entry = _parts(found.call, self.dtype)
            save_file({key: tensor.contiguous() for key, tensor in tensors.items()}, self.directory / file)
            size = (self.directory / file).stat().st_size
            entry |= {"heads": found.heads, "pass": recorded.passes.get(name)}
            maps.append({"name": name, "file": file, "bytes": size, **entry})
        labels = {"tokens": recorded._tokens, "ids": recorded.ids, "source_ids": recorded.source_ids}
        index = {"format": FORMAT, "model": kind, **labels, "maps": maps}
        (self.directory / INDEX).write_text(json.dumps(index, ensure_ascii=False, indent=1), "utf-8")
        self._fill(recorded, index)

    def read(self, model: Any = None) -> Recorded:
        """The maps of the store; with ``model``, refused unless they are those of a model of its kind."""
        index = self._index()
        if model is not None and type(model).__name__ != index["model"]:
            raise DataError(f"{self.directory} holds the maps of a {index['model']}, not of a {type(model).__name__}")
        recorded = Recorded(model)
        self._fill(recorded, index)
        recorded._tokens, recorded.ids, recorded.source_ids = (index[key] for key in ("tokens", "ids", "source_ids"))
        return recorded

    def _index(self) -> dict[str, Any]:
        path = self.directory / INDEX
        try:
            index = json.loads(path.read_text("utf-8"))
        except OSError:
            raise DataError(f"{self.directory} is not a store of maps: it has no {INDEX}") from None
        except ValueError as error:
            raise DataError(f"{path} is damaged ({error}); record the maps again") from None
        if not isinstance(index, dict) or index.get("format") != FORMAT:
            raise DataError(f"{path} is of another format than {FORMAT}; record the maps again with this version")
        return index

    def _fill(self, recorded: Recorded, index: dict[str, Any]) -> None:
        for entry in index["maps"]:
            path = self.directory / entry["file"]
            try:
                size = path.stat().st_size
                if size != entry["bytes"]:
                    raise DataError(
                        f"{path} is cut or of another store: it has {size} bytes, {entry['bytes']} were written. "
                        "Copy the directory again, or record the maps again."
                    )
                with safe_open(path, "pt") as file:
                    tensors = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118 - not a mapping
            except (OSError, SafetensorError) as error:
                raise DataError(f"{path} cannot be read: {error}. Record the maps again.") from None
            recorded.add(entry["name"], _call(tensors, entry), entry["heads"], number=entry.get("pass"))


def open_store(directory: str | os.PathLike[str], model: Any = None) -> Recorded:
    """The maps that record(..., store=directory) wrote, also in another process."""
    return Store(directory).read(model)


def _parts(call: Call | DenseCall, dtype: torch.dtype | None) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Tensors and the numbers beside them."""
    if isinstance(call, DenseCall):
        return {"weights": call.table if dtype is None else call.table.to(dtype)}, {}
    lse = call.lse
    if dtype is not None and dtype != call.query.dtype:
        rounded = {"query": call.query.to(dtype), "key": call.key.to(dtype)}
        call = Call(**{**vars(call), **rounded})
        lse = row_logsumexp(call)
    assert lse is not None
    tensors = {"query": call.query, "key": call.key, "lse": lse}
    tensors |= {"start": call.visible.start, "end": call.visible.end}
    optional = {
        "dense": call.visible.dense,
        "bias": None if call.bias is None else call.bias.table,
        "sinks": call.sinks,
        "norms": call.norms,
    }
    tensors |= {name: tensor for name, tensor in optional.items() if tensor is not None}
    hidden = [[None if part is None else part.tolist() for part in edges] for edges in call.hidden]
    queries = None if call.bias is None else call.bias.queries
    return tensors, {"scale": call.scale, "softcap": call.softcap, "bias_queries": queries, "hidden": hidden}


def _call(tensors: dict[str, Tensor], entry: dict[str, Any]) -> Call | Dense:
    if "weights" in tensors:
        return Dense(tensors["weights"])
    bias = tensors.get("bias")
    edges = [tuple(None if part is None else torch.tensor(part) for part in some) for some in entry["hidden"]]
    return Call(
        tensors["query"],
        tensors["key"],
        entry["scale"],
        Visible(tensors["key"].shape[2], tensors["start"], tensors["end"], tensors.get("dense")),
        softcap=entry["softcap"],
        bias=None if bias is None else Bias(bias, entry["bias_queries"]),
        sinks=tensors.get("sinks"),
        lse=tensors["lse"],
        hidden=tuple(edges),  # type: ignore[arg-type]
        norms=tensors.get("norms"),
    )
