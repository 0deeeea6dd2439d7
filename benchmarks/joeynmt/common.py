"""The model, the batch and the other process: what both comparisons share."""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import torch
from torch import Tensor

from regard.translation.model import TranslationModel, build_model
from regard.translation.model_config import RNNConfig

SIZES = {"vocabulary": 6483, "embedding": 256, "hidden": 256, "dropout": 0.0, "label_smoothing": 0.0}


class Batch(NamedTuple):
    source: Tensor
    source_lengths: Tensor
    target: Tensor
    target_lengths: Tensor


def options(what: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=what)
    parser.add_argument("--joey", required=True, help="the Python of JoeyNMT's environment")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument(
        "--clock",
        choices=("perf_counter", "process_time"),
        default="perf_counter",
        help="process_time counts only what the process itself computes: with --threads 1, for a machine that is busy",
    )
    return parser


def config(attention: str = "concat", **changes: Any) -> RNNConfig:
    """JoeyNMT's recurrent model in this package's words.

    Its additive attention is asked for by the current state, and it feeds its inputs: here that is called concat.
    """
    plain = {"dropout_embedding": 0.0, "dropout_layers": 0.0, "dropout_output": 0.0, "tie": "none"}
    feeding = {"input_feeding": attention != "additive"}
    return RNNConfig(attention=attention, **{**plain, **feeding, **changes})


def model(attention: str = "concat") -> TranslationModel:
    size = SIZES["vocabulary"]
    return build_model(config(attention), size, size, generator=torch.Generator().manual_seed(1))


def batch(sentences: int, words: int, *, spread: int = 0) -> Batch:
    """Sentences of ``words`` words, the end included, or up to ``spread`` fewer; longest first."""
    chance = torch.Generator().manual_seed(2)
    lengths = words - torch.randint(spread + 1, (sentences,), generator=chance).sort().values

    def side(first: int) -> Tensor:
        rows = torch.randint(4, int(SIZES["vocabulary"]), (sentences, first + words), generator=chance)
        rows[torch.arange(first + words) >= lengths[:, None] + first] = 0
        rows[torch.arange(sentences), first + lengths - 1] = 3
        return rows

    source, target = side(0), side(1)
    target[:, 0] = 2
    return Batch(source, lengths, target, lengths + 1)


def joey_weights(ours: TranslationModel) -> dict[str, Tensor]:
    """This package's weights under JoeyNMT's names: the two then compute the same."""
    w = ours.state_dict()
    query, key = w["decoder.attention.score.W.weight"].split([256, 512], 1)
    named = {
        "src_embed.lut.weight": w["source_embedding.weight"],
        "trg_embed.lut.weight": w["target_embedding.weight"],
        "decoder.rnn.weight_ih_l0": torch.cat([w["decoder.from_embedding.weight"], w["decoder.from_feed.weight"]], 1),
        "decoder.rnn.bias_ih_l0": w["decoder.from_embedding.bias"],
        "decoder.rnn.weight_hh_l0": w["decoder.cells.0.weight"],
        "decoder.rnn.bias_hh_l0": w["decoder.cells.0.bias"],
        "decoder.att_vector_layer.weight": w["decoder.readout.linear.weight"],
        "decoder.att_vector_layer.bias": w["decoder.readout.linear.bias"],
        "decoder.output_layer.weight": w["output.weight"],
        "decoder.attention.key_layer.weight": key,
        "decoder.attention.query_layer.weight": query,
        "decoder.attention.energy_layer.weight": w["decoder.attention.score.v"][None],
        "decoder.bridge_layer.weight": w["decoder.first.weight"],
        "decoder.bridge_layer.bias": w["decoder.first.bias"],
    }
    for direction, tail in enumerate(("l0", "l0_reverse")):
        for theirs, layer in (("ih", "inputs"), ("hh", "cell")):
            for part in ("weight", "bias"):
                named[f"encoder.rnn.{part}_{theirs}_{tail}"] = w[f"encoder.layers.0.{direction}.{layer}.{part}"]
    return {name: tensor.detach().clone() for name, tensor in named.items()}


class Joey:
    """JoeyNMT's process: asked for one thing at a time, idle otherwise."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process

    def ask(self, command: str) -> dict[str, Any]:
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        answer: dict[str, Any] = json.loads(self.process.stdout.readline())
        return answer


@contextmanager
def joey(args: argparse.Namespace, weights: dict[str, Tensor], given: Batch, **more: Any) -> Iterator[Joey]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "given.pt"
        settings = {"sizes": SIZES, "threads": args.threads, "clock": args.clock, "weights": weights}
        torch.save({**settings, **given._asdict(), **more}, path)
        worker = Path(__file__).with_name("worker.py")
        with subprocess.Popen(
            [args.joey, str(worker), str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as process:
            yield Joey(process)
            assert process.stdin
            process.stdin.close()


def awake(measure: Callable[[], float]) -> float:
    """The second of two measurements: the first wakes threads and caches that slept while the other one worked."""
    measure()
    return measure()


def table(rounds: list[dict[str, float]], base: str, unit: float, name: str) -> None:
    """The median of each column, and of its ratio to ``base`` within a round."""
    for column in rounds[0]:
        middle = median(times[column] for times in rounds) * unit
        ratio = median(times[base] / times[column] for times in rounds)
        print(f"{column:42} {middle:9.1f} {name}   {ratio:6.2f} x {base}")
