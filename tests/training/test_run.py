"""A run that was stopped goes on bit for bit, whatever stopped it; a changed one is refused by name."""

from __future__ import annotations

import shutil

import pytest
import torch

from regard import files
from regard.errors import CheckpointError, TrainingError
from regard.training import checkpoint, train
from regard.training.checkpoint import Checkpoints
from regard.training.directory import Log
from tests.training.runs import assert_same_run, log, tensors, toy, write_config
from tests.training.toy_task import ToyTask, settings


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A run without interruption."""
    run = tmp_path_factory.mktemp("whole") / "run"
    train(settings(run))
    return run


@pytest.fixture
def half(tmp_path):
    """A run that ended half-way."""
    run = tmp_path / "half"
    train(settings(run, updates=14))
    return run


def stopped_at(run, update, monkeypatch):
    """Stop a run with Ctrl-C in the given update."""
    monkeypatch.setenv("TOY_INTERRUPT_AT", str(update))
    with pytest.raises(KeyboardInterrupt):
        train(settings(run))
    monkeypatch.delenv("TOY_INTERRUPT_AT")


@pytest.mark.parametrize("update", [1, 6, 9])
def test_after_an_interrupt(update, whole, tmp_path, monkeypatch):
    run = tmp_path / "run"
    stopped_at(run, update, monkeypatch)
    assert Checkpoints(run).latest().update == update
    train(settings(run), resume=True)
    assert_same_run(run, whole)


def test_after_a_limit_was_raised(whole, half):
    assert log(half, "stop")[0]["update"] == 14
    result = train(settings(half), resume=True)
    assert result.updates == 24
    one, two = tensors(half), tensors(whole)
    assert all(torch.equal(one[name], two[name]) for name in one if not name.startswith("best"))
    assert log(half, "update") == log(whole, "update")


def test_after_kill_9_at_the_worst_moments(whole, tmp_path):
    """In an update, before a checkpoint is published, and before the best weights are linked to it."""
    run = tmp_path / "run"
    config = write_config(tmp_path / "run.toml", settings(run))
    killed = toy(config, TOY_KILL_AT="7")  # checkpoints were made after 4 and 6
    assert killed.returncode == -9
    assert Checkpoints(run).updates() == [4, 6]
    assert toy(config, "--resume", TOY_DIE="publish:2").returncode == -9  # of 8 and 12: the second is not there
    assert Checkpoints(run).updates() == [6, 8]
    assert list((run / "checkpoints").glob("*.partial-*"))
    assert toy(config, "--resume", TOY_DIE="link:5").returncode == -9  # last of 8 on resuming; 12: last; last, best; 16
    assert Checkpoints(run).updates()[-1] == 16
    finished = toy(config, "--resume")
    assert finished.returncode == 0, finished.stderr
    assert_same_run(run, whole)
    assert not list((run / "checkpoints").glob("*.partial-*"))


def test_after_a_validation_that_failed(whole, tmp_path, monkeypatch):
    """Its updates are kept, and it is the first thing that is done again."""
    run = tmp_path / "run"
    monkeypatch.setattr(ToyTask, "validate", lambda *_: (_ for _ in ()).throw(RuntimeError("no memory")))
    with pytest.raises(RuntimeError, match="no memory"):
        train(settings(run))
    assert Checkpoints(run).latest().update == 6
    monkeypatch.undo()
    train(settings(run), resume=True)
    assert_same_run(run, whole)


def test_before_the_first_checkpoint_it_begins_anew(whole, tmp_path, monkeypatch):
    run = tmp_path / "run"
    monkeypatch.setattr("regard.training.loop.Trainer._save", lambda *_: (_ for _ in ()).throw(RuntimeError("power")))
    with pytest.raises(RuntimeError, match="power"):
        train(settings(run))
    monkeypatch.undo()
    train(settings(run), resume=True)
    assert_same_run(run, whole)


def test_ctrl_c_says_how_to_go_on(tmp_path):
    config = write_config(tmp_path / "run.toml", settings(tmp_path / "run"))
    stopped = toy(config, TOY_INTERRUPT_AT="9")
    assert stopped.returncode == 130
    assert "stopping after this update" in stopped.stderr
    assert "stopped after update 9; the checkpoint is in" in stopped.stderr
    assert "--resume" in stopped.stderr
    assert "Traceback" not in stopped.stderr


def test_a_finished_run_stays_as_it_is(half, capsys):
    before = (half / "log.jsonl").read_text().count('"update", ')
    result = train(settings(half, updates=14), resume=True)
    assert (result.updates, result.reason) == (14, "updates")
    assert (half / "log.jsonl").read_text().count('"update", ') == before
    assert "finished (updates) after 14 updates" in capsys.readouterr().err


def test_what_a_cut_off_beginning_left_is_no_obstacle(whole, tmp_path):
    run = tmp_path / "run"
    shutil.copytree(whole, run, ignore=lambda _, names: set(names) - {"config.toml", "vocabulary.json"})
    train(settings(run))
    assert_same_run(run, whole)


@pytest.mark.parametrize("file", ["model.safetensors", "training.safetensors", "state.json"])
def test_a_damaged_checkpoint_is_named(half, file):
    path = Checkpoints(half).path(14) / file
    path.write_bytes(path.read_bytes()[:50])
    with pytest.raises(CheckpointError, match=file.replace(".", r"\.")):
        train(settings(half), resume=True)


def test_a_checkpoint_that_cannot_be_written_leaves_the_one_before(whole, tmp_path, monkeypatch):
    run = tmp_path / "run"
    publish = files.publish

    def full(partial, path):
        if path.name == "00000008":
            raise OSError(28, "No space left on device")
        publish(partial, path)

    monkeypatch.setattr(checkpoint, "publish", full)
    with pytest.raises(CheckpointError, match=r"update 8 cannot be written: .*No space left.* of update 6 is complete"):
        train(settings(run))
    monkeypatch.undo()
    train(settings(run), resume=True)
    assert_same_run(run, whole)


def test_a_log_that_cannot_be_brought_to_the_disk_is_told_with_the_checkpoint(tmp_path, monkeypatch):
    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Log, "sync", full)
    with pytest.raises(CheckpointError, match=r"cannot be written: .*No space left.*Make room"):
        train(settings(tmp_path / "run"))


def test_a_log_that_cannot_be_written_between_checkpoints_is_told_alike(whole, tmp_path, monkeypatch):
    run, original = tmp_path / "run", Log.write

    def full(self, kind, values):
        if values["update"] == 7:
            raise OSError(28, "No space left on device")
        original(self, kind, values)

    monkeypatch.setattr(Log, "write", full)
    with pytest.raises(CheckpointError, match=r"log.* cannot be written: .*No space left.* of update 6 .*--resume"):
        train(settings(run))
    monkeypatch.undo()
    train(settings(run), resume=True)
    assert_same_run(run, whole)


def test_a_run_goes_on_without_the_one_it_began_with(whole, tmp_path):
    first = tmp_path / "first"
    shutil.copytree(whole, first)
    run = tmp_path / "run"
    train(settings(run, updates=14, begin_with=str(first)))
    shutil.rmtree(first)
    assert train(settings(run, updates=15, begin_with=str(first)), resume=True).updates == 15


def test_a_run_does_not_begin_with_weights_of_other_words(whole, tmp_path):
    other = tmp_path / "other"
    shutil.copytree(whole, other)
    (other / "vocabulary.json").write_text('"other words, as many"')
    with pytest.raises(CheckpointError, match=r"begin_with = .*other.*: its vocabulary\.json is not that of .*run"):
        train(settings(tmp_path / "run", begin_with=str(other)))


@pytest.mark.parametrize("there", [True, False])
def test_a_file_that_cannot_be_written_leaves_nothing_behind(tmp_path, monkeypatch, there):
    def full(_):
        raise OSError(28, "No space left on device")

    if there:
        (tmp_path / "x.html").write_text("before")
    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space left"):
        files.write_text(tmp_path / "x.html", "after")
    assert [path.read_text() for path in tmp_path.iterdir()] == ["before"] * there


def test_a_loss_that_is_not_finite_ends_it(tmp_path):
    values = settings(tmp_path / "run")
    values["toy"] = {"poison": 8}
    with pytest.raises(
        TrainingError, match=r"loss is no longer finite at update 8; the checkpoint of update 6 is kept"
    ):
        train(values)
    assert Checkpoints(tmp_path / "run").updates() == [4, 6]
