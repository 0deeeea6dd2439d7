"""Training itself: what an update computes, what is kept, when it ends, and what it leaves alone."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from regard.errors import ConfigError
from regard.training import train
from regard.training.checkpoint import Checkpoints
from regard.training.config import load_config
from regard.training.feed import groups
from regard.training.order import Order, Position
from regard.training.task import Validation
from tests.training.runs import log
from tests.training.toy_task import ToyTask, settings


def without_dropout(run, **training):
    values = settings(run, **training)
    values["toy"] = {"dropout": 0.0}
    return values


def test_updates_are_those_of_a_plain_loop(tmp_path):
    values = without_dropout(
        tmp_path / "run", updates=5, label_smoothing=0.2, clip_norm=0.4, weight_decay=0.1, warmup=3
    )
    train(values)
    config: Any = load_config(values)
    task, plain = ToyTask(config), config.training
    model = task.build_model(torch.Generator().manual_seed(plain.seed))
    optimizer = torch.optim.AdamW(model.parameters(), lr=plain.learning_rate, weight_decay=0.1)
    order = Order(examples=task.examples, batch_tokens=plain.batch_tokens, seed=plain.seed)
    lines = log(tmp_path / "run", "update")
    for (share,), line in zip(groups(order, 1, Position(), 0), lines, strict=False):
        loss = model(task.examples.batch(share.rows), label_smoothing=0.2)
        optimizer.zero_grad()
        (loss.objective / loss.tokens).backward()
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 0.4)
        rate = 0.02 * min(1, line["update"] / 3)
        optimizer.param_groups[0]["lr"] = rate
        optimizer.step()
        assert line["loss"] == pytest.approx(float(loss.objective.detach()) / loss.tokens, rel=1e-5)
        assert line["nll"] == pytest.approx(float(loss.nll.detach()) / loss.tokens, rel=1e-5)
        assert line["gradient_norm"] == pytest.approx(float(norm), rel=1e-5)
        assert (line["tokens"], line["learning_rate"]) == (loss.tokens, pytest.approx(rate))
    assert len(lines) == 5
    assert min(line["gradient_norm"] for line in lines) > 0.4  # clipping did something
    trained = load_file(tmp_path / "run" / "last.safetensors")
    for name, parameter in model.named_parameters():
        torch.testing.assert_close(trained[name], parameter.detach(), rtol=1e-5, atol=1e-6)


def test_accumulated_batches_are_one_update(tmp_path):
    train(without_dropout(tmp_path / "one", updates=6, epochs=0))
    train(without_dropout(tmp_path / "two", updates=3, accumulate=2))
    single, double = log(tmp_path / "one", "update"), log(tmp_path / "two", "update")
    assert [line["tokens"] for line in double] == [
        single[i]["tokens"] + single[i + 1]["tokens"] for i in range(0, 6, 2)
    ]
    first = sum(line["loss"] * line["tokens"] for line in single[:1])
    assert double[0]["loss"] * double[0]["tokens"] > first


def test_the_loss_falls(tmp_path):
    result = train(settings(tmp_path / "run", updates=120, validate_every=40))
    losses = [entry["loss"] for entry in result.history]
    assert losses[-1] < losses[0] < math.log(11)
    assert losses[-1] < 1.2  # two choices of ten words: ln 2 = 0.69 is the least


@pytest.fixture
def scripted(monkeypatch):
    """Make validations find the given losses, one after another."""

    def script(losses):
        validations = iter([Validation({"loss": loss, "bleu": 5 - loss}, []) for loss in losses])
        monkeypatch.setattr(ToyTask, "validate", lambda *_: next(validations))

    return script


@pytest.mark.parametrize("best_by", ["loss", "bleu"])
def test_best_and_last_are_kept(tmp_path, scripted, best_by):
    run = tmp_path / "run"
    scripted([3.0, 1.0, 2.0, 1.0])
    result = train(settings(run, updates=12, validate_every=3, best_by=best_by))
    assert (result.best.update, result.best.value) == (6, {"loss": 1.0, "bleu": 4.0}[best_by])
    assert int(load_file(run / "best.safetensors")["seen"]) == 6
    assert int(load_file(run / "last.safetensors")["seen"]) == 12
    assert Checkpoints(run).updates() == [12]
    assert [line["best"] for line in log(run, "validation")] == [True, True, False, False]


def test_it_ends_when_patience_does(tmp_path, scripted):
    scripted([3.0, 2.0, math.nan, 2.5, 9.0])
    result = train(settings(tmp_path / "run", updates=500, validate_every=3, patience=2))
    assert (result.reason, result.best.update, result.updates) == ("patience", 6, 12)


def test_it_ends_after_the_epochs(tmp_path):
    result = train(settings(tmp_path / "run", epochs=2, updates=0, validate_every=1000))
    assert (result.reason, result.epochs) == ("epochs", 2.0)
    assert [entry["update"] for entry in result.history] == [result.updates]
    assert {line["epoch"] for line in log(tmp_path / "run", "update")} == {1, 2}


def test_the_last_validations_are_averaged(tmp_path):
    run, plain = tmp_path / "run", tmp_path / "plain"
    noisy = {"learning_rate": 0.3, "updates": 24, "validate_every": 6, "checkpoint_every": 0}
    weights = []
    for updates in (12, 18, 24):
        train(settings(plain, **{**noisy, "updates": updates}), resume=plain.exists())
        weights.append(load_file(plain / "last.safetensors"))
    result = train(settings(run, average_last=3, **noisy))
    averaged = load_file(Checkpoints(run).path(24) / "averaged.safetensors")
    for name in ("embedding.weight", "output.bias"):
        mean = torch.stack([w[name].double() for w in weights]).mean(0).float()
        torch.testing.assert_close(averaged[name], mean, rtol=0, atol=0)
    (line,) = log(run, "average")
    assert line["averaged"] == 3
    assert line["best"] == result.best.averaged == (line["loss"] < min(e["loss"] for e in result.history))
    assert result.best.averaged  # the mean of noisy weights is better than each
    torch.testing.assert_close(load_file(run / "best.safetensors"), averaged, rtol=0, atol=0)
    torch.testing.assert_close(load_file(run / "last.safetensors"), weights[-1], rtol=0, atol=0)


def test_checkpoints_by_the_clock(tmp_path, monkeypatch):
    saved = []
    monkeypatch.setattr("regard.training.loop.Trainer._save", lambda self, *_: saved.append(self.state.update))
    train(settings(tmp_path / "run", checkpoint_every=0, checkpoint_minutes=1e-9, updates=4, validate_every=100))
    assert saved == [1, 2, 3, 4, 4]  # the last one before its validation and after it


def test_the_callers_random_state_and_threads_are_left_alone(tmp_path):
    torch.manual_seed(3)
    np.random.seed(3)  # noqa: NPY002
    before, before_numpy = torch.get_rng_state(), np.random.get_state(legacy=False)  # noqa: NPY002
    threads = torch.get_num_threads()
    train(settings(tmp_path / "run", threads=threads + 1, updates=2))
    assert torch.equal(torch.get_rng_state(), before)
    np.testing.assert_equal(np.random.get_state(legacy=False), before_numpy)  # noqa: NPY002
    assert torch.get_num_threads() == threads


def test_the_seed_decides_everything_and_the_frequency_of_validation_nothing(tmp_path):
    torch.manual_seed(1)
    train(settings(tmp_path / "a", updates=9))
    torch.manual_seed(2)
    train(settings(tmp_path / "b", updates=9, validate_every=2, checkpoint_every=1))
    train(settings(tmp_path / "c", updates=9, seed=2))
    a, b, c = (log(tmp_path / name, "update") for name in "abc")
    assert a == b
    assert a != c


def test_the_log_says_how_long_training_waited_for_data(tmp_path):
    result = train(settings(tmp_path / "run"))
    lines = [json.loads(line) for line in (tmp_path / "run" / "log.jsonl").read_text().splitlines()]
    updates = [line for line in lines if line["kind"] == "update"]
    share = sum(line["waited"] for line in updates) / sum(line["seconds"] for line in updates)
    assert lines[-1]["kind"] == "stop"
    assert lines[-1]["data_wait"] == pytest.approx(share, abs=1e-3)
    assert result.data_wait == pytest.approx(share, abs=1e-3)


def test_best_by_what_is_not_measured_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(ToyTask, "validate", lambda *_: Validation({"loss": 1.0}, []))
    with pytest.raises(ConfigError, match=r"best_by = 'bleu', but validation gives only loss"):
        train(settings(tmp_path / "run", best_by="bleu", updates=1))


def test_bfloat16_trains(tmp_path):
    result = train(settings(tmp_path / "run", precision="bfloat16", updates=60, validate_every=20))
    assert result.history[-1]["loss"] < result.history[0]["loss"]
