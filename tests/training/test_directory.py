"""The directory of a run: what may be begun and resumed in it, and its log."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from regard.errors import CheckpointError
from regard.training import train
from regard.training.checkpoint import Checkpoints
from regard.training.directory import Log, RunDirectory
from tests.training.toy_task import settings


@pytest.fixture
def half(tmp_path):
    """A run that ended half-way."""
    run = tmp_path / "half"
    train(settings(run, updates=14))
    return run


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
    with pytest.raises(CheckpointError, match=r"half already holds a run\. Resume it with --resume, .*--set run="):
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


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is full")
def test_a_log_on_a_full_disk_is_closed_without_a_second_error():
    log_file = Log(Path("/dev/full"), 0)
    log_file.write("update", {"update": 1})
    log_file.close()
    log_file.close()


def test_a_run_directory_that_cannot_be_made_is_told(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(CheckpointError, match=r"file/run cannot be made: Not a directory"):
        train(settings(tmp_path / "file" / "run"))
    with pytest.raises(CheckpointError, match=r"file is a file; a run needs a directory"):
        train(settings(tmp_path / "file"))
