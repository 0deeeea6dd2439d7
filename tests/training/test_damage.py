"""What a disk damaged is named, and the checkpoint before it is used; what killed processes left is removed."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time

import pytest
import torch

from regard import files
from regard.errors import CheckpointError
from regard.training import train
from regard.training.checkpoint import Checkpoints
from regard.training.directory import Log, RunDirectory
from regard.training.weights import read_weights, save_weights
from tests.training.runs import assert_same_run, log, tensors
from tests.training.toy_task import settings


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A run without interruption."""
    run = tmp_path_factory.mktemp("whole") / "run"
    train(settings(run))
    return run


@pytest.fixture(scope="module")
def stopped(tmp_path_factory):
    """A run that was stopped in update 9: it has checkpoints of 8 and 9, and the best weights of 6."""
    run = tmp_path_factory.mktemp("stopped") / "run"
    os.environ["TOY_INTERRUPT_AT"] = "9"
    try:
        with pytest.raises(KeyboardInterrupt):
            train(settings(run))
    finally:
        del os.environ["TOY_INTERRUPT_AT"]
    return run


@pytest.fixture
def run(stopped, tmp_path):
    """A copy of the stopped run to damage."""
    shutil.copytree(stopped, tmp_path / "run")
    return tmp_path / "run"


def flip(path, place=-1, bit=0):
    """Flip one bit of a file, at the last byte or another, with a new inode: links to it stay whole."""
    content = bytearray(path.read_bytes())
    content[place] ^= 1 << bit
    path.unlink()
    path.write_bytes(content)


@pytest.mark.parametrize("damage", ["flip", "append", "truncate", "delete"])
@pytest.mark.parametrize("file", ["model.safetensors", "training.safetensors", "state.json"])
def test_a_damaged_checkpoint_is_named_and_the_one_before_it_used(run, whole, file, damage, capsys):
    path = Checkpoints(run).path(9) / file
    if damage == "flip":
        flip(path, -20)
    elif damage == "delete":
        path.unlink()
    else:
        content = path.read_bytes()
        path.write_bytes(content + b"\0\0\0\0" if damage == "append" else content[: len(content) // 2])
    train(settings(run), resume=True)
    messages = capsys.readouterr().err
    assert f"00000009/{file}" in messages
    assert "Going on from the checkpoint before it, of update 8." in messages
    assert_same_run(run, whole)
    assert not list((run / "checkpoints").glob("*.damaged"))


def test_a_number_changed_in_the_state_is_noticed(run, capsys):
    path = Checkpoints(run).path(9) / "state.json"
    path.write_text(path.read_text().replace('"since_best": 0', '"since_best": 1'))
    train(settings(run), resume=True)
    assert "00000009/state.json is damaged (it is not what was written" in capsys.readouterr().err


def test_a_damaged_checkpoint_without_another_is_refused(run):
    shutil.rmtree(Checkpoints(run).path(8))
    flip(Checkpoints(run).path(9) / "training.safetensors")
    with pytest.raises(CheckpointError, match=r"training\.safetensors is damaged.*no checkpoint before it.*begin_with"):
        train(settings(run), resume=True)
    assert Checkpoints(run).updates() == [9]


def test_checkpoints_that_are_gone_do_not_begin_the_run_anew_without_a_word(run):
    shutil.rmtree(run / "checkpoints")
    with pytest.raises(CheckpointError, match="holds no checkpoint any more"):
        train(settings(run), resume=True)
    assert len(log(run, "update")) == 9


def test_best_weights_that_are_damaged_are_named(run, capsys):
    flip(run / "best.safetensors")
    with pytest.raises(CheckpointError, match=r"best\.safetensors is damaged.*update 6.*or remove it"):
        train(settings(run), resume=True)
    (run / "best.safetensors").unlink()
    train(settings(run), resume=True)
    assert "best.safetensors, the best weights (of update 6), is gone" in capsys.readouterr().err
    assert (run / "best.safetensors").is_file()


def test_best_weights_that_are_damaged_are_made_anew_where_their_checkpoint_is(tmp_path, monkeypatch):
    run, messages = tmp_path / "run", []
    monkeypatch.setenv("TOY_INTERRUPT_AT", "7")
    with pytest.raises(KeyboardInterrupt):
        train(settings(run))
    monkeypatch.delenv("TOY_INTERRUPT_AT")
    flip(run / "best.safetensors")
    checkpoints = Checkpoints(run)
    state = checkpoints.with_best(checkpoints.latest(), messages.append)
    assert state.best.update == 6
    assert "made anew from the checkpoint of update 6" in messages[0]
    assert read_weights(run / "best.safetensors")["seen"] == 6
    flip(run / "best.safetensors")
    flip(checkpoints.path(6) / "model.safetensors")
    with pytest.raises(CheckpointError, match=r"best\.safetensors is damaged.*no other copy"):
        checkpoints.with_best(state)


@pytest.mark.parametrize(("place", "line"), [(30, 1), (-30, 11)])
def test_a_damaged_line_of_the_log_is_named(run, whole, place, line, capsys):
    assert len((run / "log.jsonl").read_text().splitlines()) == 11  # start, 9 updates, a validation
    flip(run / "log.jsonl", place)
    train(settings(run), resume=True)
    assert f"log.jsonl:{line} is damaged: this line is not what was written." in capsys.readouterr().err
    assert tensors(run).keys() == tensors(whole).keys()


def test_a_log_that_lost_its_end_is_told(run, capsys):
    content = (run / "log.jsonl").read_bytes()
    (run / "log.jsonl").write_bytes(content[: len(content) // 2])
    train(settings(run), resume=True)
    assert "of 11: those after it are lost" in capsys.readouterr().err
    assert all(json.loads(line) for line in (run / "log.jsonl").read_text().splitlines())


def test_checksums_of_the_log_that_are_damaged_are_told_apart_from_a_damaged_log(tmp_path):
    path, messages = tmp_path / "log.jsonl", []
    first = Log(path, 0)
    first.write("update", {"update": 1})
    size, checksums = first.sync(), bytearray(first.checksums())
    first.close()
    Log(path, size, bytes(checksums), messages.append).close()
    assert messages == []
    checksums[0] ^= 1
    Log(path, size, bytes(checksums), messages.append).close()
    assert "the checksums of" in messages[0]


def test_a_run_of_before_digests_is_resumed(run, whole):
    """Runs of regard 0.1.0 have no digests in their weights and states, and no checksums of their log."""
    for checkpoint in (run / "checkpoints").iterdir():
        (checkpoint / "log.crc32").unlink()
        state = json.loads((checkpoint / "state.json").read_text())
        del state["digest"]
        (checkpoint / "state.json").write_text(json.dumps(state))
    for path in [*run.glob("checkpoints/*/*.safetensors"), *run.glob("*.safetensors")]:
        from safetensors.torch import load_file, save_file

        weights = load_file(path)
        path.unlink()
        save_file(weights, path)
    train(settings(run), resume=True)
    assert_same_run(run, whole)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16, torch.int64, torch.bool, torch.uint8])
def test_any_changed_bit_of_the_weights_is_noticed(tmp_path, dtype):
    save_weights({"a": torch.ones(3, 2, dtype=dtype), "b": torch.zeros((), dtype=dtype)}, tmp_path / "w")
    assert read_weights(tmp_path / "w")["a"].dtype == dtype
    size, content = (tmp_path / "w").stat().st_size, (tmp_path / "w").read_bytes()
    begin = 8 + int.from_bytes(content[:8], "little")
    for place in range(begin, size):
        (tmp_path / "w").write_bytes(content)
        flip(tmp_path / "w", place)
        with pytest.raises(CheckpointError, match="damaged"):
            read_weights(tmp_path / "w")


def dead_process():
    done = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, text=True)
    return int(done.stdout)


def test_what_killed_processes_left_is_removed_on_resuming_and_what_the_living_write_is_not(run):
    dead, host = dead_process(), socket.gethostname()
    (run / "cache").mkdir()
    gone = [
        run / f"last.safetensors.partial-{host}-{dead}",
        run / f"config.toml.partial-elsewhere-{os.getppid()}",  # only the holder of the lock writes these
        run / "checkpoints" / f"00000012.partial-elsewhere-{dead}" / "model.safetensors",
        run / "cache" / f"pairs-0.partial-{host}-{dead}" / "source.ids",
    ]
    kept = [
        run / f"exported.partial-{host}-{os.getppid()}" / "best.safetensors",
        run / "cache" / f"pairs-1.partial-{host}-{os.getppid()}" / "source.ids",
        run / "cache" / f"pairs-2.partial-elsewhere-{dead}" / "source.ids",
    ]
    for path in [*gone, *kept]:
        path.parent.mkdir(exist_ok=True)
        path.write_text("")
    train(settings(run, updates=10), resume=True)
    assert set(run.rglob("*.partial-*")) == {path.parent for path in kept}


def test_a_number_that_another_process_has_since_does_not_keep_what_is_left(tmp_path):
    for process in (os.getpid(), os.getppid()):
        leftover = tmp_path / f"x.partial-{socket.gethostname()}-{process}"
        leftover.write_text("")
        files.remove_leftovers(tmp_path)
        assert leftover.exists()
        os.utime(leftover, (0, time.time() - 10**7))  # before the process that has its number began
        files.remove_leftovers(tmp_path)
        assert not leftover.exists()


def test_checkpoints_that_a_killed_process_had_no_time_to_remove_are_removed(run, whole):
    shutil.copytree(Checkpoints(run).path(8), run / "checkpoints" / "00000004")
    train(settings(run), resume=True)
    assert Checkpoints(run).updates() == [24]
    shutil.copytree(Checkpoints(run).path(24), run / "checkpoints" / "00000020")
    train(settings(run), resume=True)  # finished: nothing is trained, but what was left is removed
    assert Checkpoints(run).updates() == [24]
    assert_same_run(run, whole)


def test_a_lock_is_needed_to_clean(run):
    with RunDirectory(run).lock():
        (run / "config.toml.partial-elsewhere-1").write_text("")
        with pytest.raises(CheckpointError, match="another process"):
            train(settings(run), resume=True)
        assert (run / "config.toml.partial-elsewhere-1").exists()
