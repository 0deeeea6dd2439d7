"""``regard init``: a run file with every default."""

from __future__ import annotations

from typing import Any

import pytest

from regard.cli.init import init
from regard.errors import ConfigError
from regard.training.config import load_config, template
from tests.cli.verbs import run


def test_init_writes_a_run_file_to_stdout(capsys, tmp_path):
    run(init, "translate", "--set", "training.seed=7", "--set", "model.kind=transformer")
    text = capsys.readouterr().out
    (tmp_path / "run.toml").write_text(text)
    stored: Any = load_config(tmp_path / "run.toml")
    assert stored == template("translate", ["training.seed=7", "model.kind=transformer"])
    assert (stored.training.seed, stored.model.kind) == (7, "transformer")
    assert "# Adam's step size" in text


def test_init_refuses_an_unknown_task():
    with pytest.raises(ConfigError, match=r"task = 'translat' is not known; .*Did you mean 'translate'\?"):
        run(init, "translat")
