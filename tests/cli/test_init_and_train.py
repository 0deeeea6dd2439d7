"""``regard init`` and ``regard train``."""

from __future__ import annotations

import subprocess
import sys

import pytest
from cyclopts import App

from regard.cli.init import init
from regard.cli.train import train
from regard.errors import CheckpointError, ConfigError
from regard.training.config import load_config, template


def run(verb, *arguments):
    App(default_command=verb, result_action="return_value")(list(arguments))


def test_init_writes_a_run_file_to_stdout(capsys, tmp_path):
    run(init, "translate", "--set", "training.seed=7", "--set", "model.kind=transformer")
    text = capsys.readouterr().out
    (tmp_path / "run.toml").write_text(text)
    stored = load_config(tmp_path / "run.toml")
    assert stored == template("translate", ["training.seed=7", "model.kind=transformer"])
    assert (stored.training.seed, stored.model.kind) == (7, "transformer")
    assert "# Adam's step size" in text


def test_init_refuses_an_unknown_task():
    with pytest.raises(ConfigError, match=r"task = 'translat' is not known; .*Did you mean 'translate'\?"):
        run(init, "translat")


def test_train_takes_settings_and_resume(tmp_path):
    (tmp_path / "run.toml").write_text('task = "translate"\nrun = "x"\n[data]\n')
    with pytest.raises(ConfigError, match=r"run\.toml: data\.train is missing"):
        run(train, str(tmp_path / "run.toml"))
    for name in ("a", "b"):
        (tmp_path / f"{name}.tsv").write_text("x y\tz\n")
    arguments = [
        "--set",
        f'data.train=[{{path="{tmp_path}/a.tsv"}}]',
        "--set",
        f'data.validation=[{{path="{tmp_path}/b.tsv"}}]',
    ]
    with pytest.raises(CheckpointError, match=r"elsewhere holds no run to resume"):
        run(train, str(tmp_path / "run.toml"), *arguments, "--set", f"run={tmp_path}/elsewhere", "--resume")


def test_the_verbs_themselves_do_not_import_torch():
    script = "import sys; import regard.cli.init, regard.cli.train, regard.training; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
