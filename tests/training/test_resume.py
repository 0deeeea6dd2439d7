"""A run that was stopped goes on bit for bit, whatever stopped it; a changed one is refused by name."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import torch

from regard import files
from regard.errors import CheckpointError, TrainingError
from regard.training import checkpoint, train
from regard.training.checkpoint import Checkpoints, State
from regard.training.directory import Log, RunDirectory
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
    assert Checkpoints(run).updates() == [6]
    assert toy(config, "--resume", TOY_DIE="publish:2").returncode == -9  # of 8 and 12: the second is not there
    assert Checkpoints(run).updates() == [8]
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


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("training.seed=2", r"training\.seed was 1 in .*half, is 2 now\."),
        ("training.batch_tokens=41", r"training\.batch_tokens was 40 in .*half, is 41 now\."),
        ("toy.dropout=0.1", r"toy\.dropout was 0\.3 in .*half, is 0\.1 now\."),
        ("toy.corpus=xyz", r"toy\.corpus has changed since .*half was begun\."),
    ],
)
def test_a_changed_setting_or_corpus_is_refused_by_name(half, change, message):
    with pytest.raises(CheckpointError, match=message):
        train(settings(half), resume=True, overrides=[change])
    assert Checkpoints(half).latest().update == 14


def test_a_schedule_that_ends_at_updates_fixes_it(tmp_path):
    run = tmp_path / "run"
    train(settings(run, updates=4, schedule="linear"))
    with pytest.raises(CheckpointError, match=r"training\.updates was 4 in .*, is 8 now"):
        train(settings(run, updates=8, schedule="linear"), resume=True)


def test_another_number_of_processes_or_version_is_told(half, capsys):
    facts = json.loads((half / "run.json").read_text())
    facts["environment"]["torch"] = "1.0"
    (half / "run.json").write_text(json.dumps(facts))
    train(settings(half, updates=15), resume=True)
    err = capsys.readouterr().err
    assert "torch was 1.0, is" in err
    assert "not bit for bit" in err
    assert "training.updates was 14, is 15 now." in err
    facts["processes"] = 2
    (half / "run.json").write_text(json.dumps(facts))
    with pytest.raises(CheckpointError, match=r"trained by 2 processes, now there are 1: .*--nproc-per-node 2"):
        train(settings(half), resume=True)


def test_what_was_not_noted_when_the_run_began_is_not_held_against_it(half):
    facts = json.loads((half / "run.json").read_text())
    facts["fingerprints"] = {}
    (half / "run.json").write_text(json.dumps(facts))
    train(settings(half, updates=15), resume=True)
    with pytest.raises(CheckpointError, match=r"toy\.corpus has changed"):
        train(settings(half, updates=16), resume=True, overrides=["toy.corpus=xyz"])


def test_a_directory_in_use_is_refused(half, tmp_path):
    with pytest.raises(CheckpointError, match=r"half already holds a run\. Go on with it by --resume, .*--set run="):
        train(settings(half))
    strange = tmp_path / "strange"
    strange.mkdir()
    (strange / "thesis.tex").write_text("")
    with pytest.raises(CheckpointError, match=r"strange is not empty \(it holds thesis\.tex\)"):
        train(settings(strange))
    with pytest.raises(CheckpointError, match=r"holds no run to resume\. Start it without --resume"):
        train(settings(strange), resume=True)
    assert [p.name for p in strange.iterdir()] == ["thesis.tex"]


def test_a_run_is_trained_by_one_at_a_time(half):
    with (
        RunDirectory(half).lock(),
        pytest.raises(CheckpointError, match=r"half is being trained by another process"),
    ):
        train(settings(half), resume=True)
    train(settings(half, updates=15), resume=True)


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
    publish = checkpoint.publish

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


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is full")
def test_a_log_on_a_full_disk_is_closed_without_a_second_error():
    log_file = Log(Path("/dev/full"), 0)
    log_file.write("update", {"update": 1})
    log_file.close()
    log_file.close()


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


def test_a_run_begun_on_a_cpu_may_go_on_elsewhere():
    """There is no state of that device in the checkpoint; the notes on resuming say that it is another."""
    before = torch.get_rng_state()
    checkpoint.restore_random_states({"cpu": before}, torch.device("cuda"))
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("there", [True, False])
def test_a_file_that_cannot_be_written_leaves_nothing_behind(tmp_path, monkeypatch, there):
    def full(_):
        raise OSError(28, "No space left on device")

    if there:
        (tmp_path / "x.html").write_text("before")
    monkeypatch.setattr(files.os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        files.write_text(tmp_path / "x.html", "after")
    assert [path.read_text() for path in tmp_path.iterdir()] == ["before"] * there


def test_the_same_update_can_be_saved_again_without_a_moment_of_none(tmp_path):
    """An interrupt before a validation saves that update; the validation after resuming saves it again."""
    checkpoints = Checkpoints(tmp_path)
    model = torch.nn.Linear(2, 2)
    optimizer = torch.optim.AdamW(model.parameters())
    for since_best in range(3):
        checkpoints.save(State(update=6, since_best=since_best), model, optimizer, {})
        assert checkpoints.latest().since_best == since_best
        checkpoints.prune(set())
        assert len(list((tmp_path / "checkpoints").iterdir())) == 1
    assert checkpoints.updates() == [6]


def test_a_run_directory_that_cannot_be_made_is_told(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(CheckpointError, match=r"file/run cannot be made: Not a directory"):
        train(settings(tmp_path / "file" / "run"))
    with pytest.raises(CheckpointError, match=r"file is a file; a run needs a directory"):
        train(settings(tmp_path / "file"))


def test_a_loss_that_is_not_finite_ends_it(tmp_path):
    values = settings(tmp_path / "run")
    values["toy"] = {"poison": 8}
    with pytest.raises(
        TrainingError, match=r"loss is no longer finite at update 8; the checkpoint of update 6 is kept"
    ):
        train(values)
    assert Checkpoints(tmp_path / "run").updates() == [6]
