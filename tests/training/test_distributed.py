"""Two real processes, started by torchrun: the same training as one process with twice the batch."""

from __future__ import annotations

import json

import pytest
import torch

from regard.errors import DataError
from regard.training import train
from regard.training.config import TrainingConfig
from regard.training.distributed import Processes, join
from tests.training.runs import assert_same_run, log, tensors, toy, write_config
from tests.training.toy_task import settings

CHANGES = {"updates": 12, "batch_tokens": 6}  # so small that some batches have fewer rows than processes


def toy_settings(run, **training):
    return {**settings(run, **{**CHANGES, **training}), "toy": {"dropout": 0.0}}


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    """A run by two processes."""
    directory = tmp_path_factory.mktemp("two")
    done = toy(write_config(directory / "run.toml", toy_settings(directory / "run")), processes=2)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("finished (updates)") == 1  # only the first process speaks
    return directory / "run"


def test_two_processes_are_one_with_twice_the_batch(two, tmp_path):
    one = tmp_path / "one"
    train(toy_settings(one, batch_tokens=12))
    left, right = log(one, "update"), log(two, "update")
    assert [line["tokens"] for line in left] == [line["tokens"] for line in right]
    for name in ("loss", "nll", "gradient_norm"):
        assert [line[name] for line in right] == pytest.approx([line[name] for line in left], rel=1e-5)
    weights, others = tensors(one), tensors(two)
    for name in weights:
        if name.startswith("last") and not name.endswith("seen"):
            torch.testing.assert_close(weights[name], others[name], rtol=1e-4, atol=1e-6)
    validations = [[line["loss"] for line in log(run, "validation")] for run in (one, two)]
    assert validations[0] == pytest.approx(validations[1], rel=1e-4)


def test_two_processes_go_on_bit_for_bit(two, tmp_path):
    """The second process is killed and both are restarted; then Ctrl-C reaches the second alone, and both stop."""
    run = tmp_path / "run"
    config = write_config(tmp_path / "run.toml", toy_settings(run))
    stopped = toy(config, processes=2, restarts=1, TOY_KILL_AT="6", TOY_INTERRUPT_AT="9", TOY_RANK="1")
    assert "resuming after update 4" in stopped.stderr
    assert "stopped after update 9" in stopped.stderr
    resumed = toy(config, "--resume", processes=2)
    assert resumed.returncode == 0, resumed.stderr
    assert_same_run(run, two)
    last = tensors(run)
    states = [last[f"training.safetensors:random.{rank}.cpu"] for rank in (0, 1)]
    assert not torch.equal(*states)


def test_the_run_says_how_many_processes_made_it(two):
    assert json.loads((two / "run.json").read_text())["processes"] == 2


def test_alone_every_exchange_is_free():
    with join(TrainingConfig(threads=1)) as processes:
        assert (processes.rank, processes.world, processes.first) == (0, 1, True)
        tensor = torch.ones(2)
        assert processes.sum(tensor) is tensor
        assert processes.gather(tensor) == [tensor]
        assert processes.by_first(lambda: "x") == "x"


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), DataError("a bad line")])
def test_what_ends_the_first_process_reaches_those_that_wait(monkeypatch, error):
    sent = []
    monkeypatch.setattr(torch.distributed, "broadcast_object_list", lambda box, **_: sent.append(list(box)))

    def fail():
        raise error

    with pytest.raises(type(error), match=r"No space|a bad line"):
        Processes(0, 2, torch.device("cpu"), 1).by_first(fail)
    assert sent == [[None, error]]


def test_threads_are_shared_out_among_the_processes_of_a_machine(monkeypatch):
    monkeypatch.setattr("regard.training.distributed._cores", lambda: 6)
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "4")
    before = torch.get_num_threads()
    with join(TrainingConfig()) as processes:
        assert processes.threads == torch.get_num_threads() == 1
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "2")
    with join(TrainingConfig()) as processes:
        assert processes.threads == torch.get_num_threads() == 3
    with join(TrainingConfig(threads=2)) as processes:
        assert processes.threads == torch.get_num_threads() == 2
    assert torch.get_num_threads() == before
