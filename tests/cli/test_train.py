"""``regard train``: settings, overrides and resuming from the command line."""

from __future__ import annotations

import subprocess
import sys

import pytest

from regard.cli.train import train
from regard.errors import CheckpointError, ConfigError
from tests.cli.verbs import run


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
