"""Real translators, trained by two real processes that torchrun starts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

import regard
from tests.training.runs import log, start, tensors, write_config
from tests.translation import grammar
from tests.translation.conftest import run_file

TRANSFORMER = {"kind": "transformer", "layers": 2, "size": 16, "feedforward": 32, "heads": 2}
KINDS: dict[str, dict[str, Any]] = {
    "rnn": {},
    "local-p": {"attention": "general", "span": "local-p", "window": 2, "cell": "lstm", "input_feeding": True},
    "transformer": {**TRANSFORMER, **dict.fromkeys(["dropout", "dropout_attention", "dropout_feedforward"], 0.0)},
}


def settings(folder: Path, kind: str, batch_tokens: int) -> dict[str, Any]:
    rows = grammar.pairs()
    folder.mkdir()
    (folder / "train.tsv").write_text(grammar.tsv(rows[100:300]))
    (folder / "dev.tsv").write_text(grammar.tsv(rows[:20]))
    values: dict[str, Any] = run_file(folder, **KINDS[kind])
    if kind == "transformer":
        values["model"] = KINDS[kind]
    values["training"] |= {"updates": 10, "validate_every": 5, "batch_tokens": batch_tokens}
    return values


@pytest.mark.parametrize("kind", KINDS)
def test_two_processes_are_one_with_twice_the_batch(tmp_path: Path, kind: str) -> None:
    one, two = settings(tmp_path / "one", kind, 160), settings(tmp_path / "two", kind, 80)
    regard.train(one)
    done = start("regard", "train", write_config(tmp_path / "two.toml", two), processes=2)
    assert done.returncode == 0, done.stderr
    left, right = log(one["run"], "update", "validation"), log(two["run"], "update", "validation")
    assert [line.get("tokens") for line in left] == [line.get("tokens") for line in right]
    for mine, others in zip(left, right, strict=True):
        for name in {"loss", "nll", "gradient_norm"} & mine.keys():
            assert others[name] == pytest.approx(mine[name], rel=1e-4), (name, mine["update"])
    weights, others = tensors(one["run"]), tensors(two["run"])
    for name in weights:
        # A key's bias adds the same to all scores of a query: its gradient is rounding alone, which Adam makes large.
        if name.startswith("last") and not name.endswith("W_k.bias"):
            torch.testing.assert_close(weights[name], others[name], rtol=1e-3, atol=1e-4)
