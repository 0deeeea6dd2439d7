"""What people see of a training: lines where stderr is no terminal, a bar where it is."""

from __future__ import annotations

import io
import os
import pty
import signal
import subprocess
import sys

from regard.training.progress import Lines, Silent, progress
from regard.training.signals import Signals
from regard.training.task import Validation
from tests.training.runs import ROOT, write_config
from tests.training.toy_task import settings

VALUES = {"epoch": 2, "update": 30, "loss": 1.5, "tokens": 100, "seconds": 0.5}


def test_lines_tell_loss_speed_and_time_left(capsys, monkeypatch):
    now = 1000.0
    monkeypatch.setattr("regard.training.progress.time.monotonic", lambda: now)
    lines = Lines()
    lines.begin(0.5)
    now += 20
    lines.step(0.6, VALUES)
    lines.step(0.6, VALUES)  # too soon for another line
    assert capsys.readouterr().err == " 60.0%  epoch 2  update 30  loss 1.500  200 tokens/s  1:20 left\n"


def test_what_a_signal_says_can_come_while_something_is_written(capfd, monkeypatch):
    class Busy(io.TextIOWrapper):
        """As Python's stderr is inside a handler that interrupted a write."""

        def write(self, _):
            raise RuntimeError("reentrant call")

    monkeypatch.setattr(sys, "stderr", Busy(io.BytesIO()))
    with Signals(Lines().at_once) as signals:
        signal.raise_signal(signal.SIGTERM)
    assert signals.stop
    assert "stopping after this update" in capfd.readouterr().err
    Silent().at_once("nothing")
    assert capfd.readouterr().err == ""


def test_a_validation_is_told_with_its_samples(capsys):
    Lines().validation(30, Validation({"loss": 1.25, "bleu": 31.5}, [{"source": "[a]", "model": "b"}]), best=True)
    expected = "validation at update 30: loss 1.25, bleu 31.5 (best so far)\n     source: [a]\n      model: b\n"
    assert capsys.readouterr().err == expected


def test_only_the_first_process_speaks():
    assert type(progress(first=False)) is Silent
    assert type(progress(first=True)) is Lines  # pytest's stderr is no terminal


def test_a_terminal_gets_a_bar(tmp_path):
    config = write_config(
        tmp_path / "run.toml", settings(tmp_path / "run", updates=400, validate_every=200, checkpoint_every=0)
    )
    main, other = pty.openpty()
    variables = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}", "TERM": "xterm", "COLUMNS": "120"}
    command = [sys.executable, "-m", "tests.training.toy_task", str(config)]
    with subprocess.Popen(command, stderr=other, stdout=subprocess.PIPE, env=variables) as process:
        os.close(other)
        shown = b""
        try:
            while block := os.read(main, 65536):
                shown += block
        except OSError:  # the terminal's other end was closed
            pass
        assert process.stdout.read() == b""
    os.close(main)
    assert process.returncode == 0
    text = shown.decode()
    assert "tokens/s" in text
    assert "left" in text
    assert "\u2501" in text  # the bar
    assert "validation at update 200: loss" in text
    assert "finished (updates) after 400 updates" in text
