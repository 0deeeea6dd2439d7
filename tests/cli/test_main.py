"""Errors around a verb are one line on stderr, with exit code 2."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings

import pytest

from regard import cli
from tests.cli.test_attend import KEYS, QUERY, regard

ATTEND = ["attend", "--query", QUERY, "--keys", KEYS]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["tranlate"], 'regard: unknown command "tranlate". Did you mean "translate"?'),
        (["translate", "--beem", "3"], "Did you mean"),
        (["translate", "a", "--beam", "two"], "unable to convert"),
        (["train"], "requires an argument"),
        (["align", "a", "b", "c"], "unused Tokens: ['c']"),
        ([*ATTEND, "--score", "general", "--weight", "W=1", "--weight", "W=2"], "--weight W is given twice"),
    ],
)
def test_usage_errors_are_one_line(words, message):
    printed = regard(*words, code=2)
    assert message in printed
    assert printed.startswith("regard: ")
    assert printed.count("\n") == 1


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no full device here")
@pytest.mark.parametrize("words", [["--help"], ATTEND, [*ATTEND, "--json"]])
def test_a_full_disk_is_said(words):
    with open("/dev/full", "w") as full:
        done = subprocess.run([sys.executable, "-m", "regard", *words], stdout=full, stderr=subprocess.PIPE, text=True)
    assert (done.returncode, done.stderr) == (2, "regard: cannot write the output: No space left on device\n")


def test_a_stdout_that_cannot_hold_the_text_is_said():
    variables = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run([sys.executable, "-m", "regard", *ATTEND], env=variables, capture_output=True, text=True)
    assert done.returncode == 2
    assert "regard: stdout is ascii, which cannot hold" in done.stderr
    assert done.stderr.endswith("set PYTHONIOENCODING=utf-8\n")


def _stand_in(verb, monkeypatch):
    monkeypatch.setattr(cli, "build_app", lambda: verb)
    monkeypatch.setattr(sys, "argv", ["regard"])
    monkeypatch.setattr(warnings, "formatwarning", warnings.formatwarning)  # main sets it for good


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        MemoryError("Unable to allocate 8.00 TiB for an array"),
        RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 8000000000000 bytes."),
        RuntimeError("CUDA out of memory. Tried to allocate 80.00 GiB."),
    ],
)
def test_too_little_memory_is_said(error, monkeypatch, capsys):
    def run_out(*_, **__):
        raise error

    _stand_in(run_out, monkeypatch)
    with pytest.raises(SystemExit, match="2"):
        cli.main()
    message = capsys.readouterr().err
    assert message.startswith("regard: there is not enough memory")
    assert message.count("\n") == 1


def test_an_error_of_our_own_is_not_hidden(monkeypatch):
    def fail(*_, **__):
        raise RuntimeError("sizes do not fit")

    _stand_in(fail, monkeypatch)
    with pytest.raises(RuntimeError, match="sizes do not fit"):
        cli.main()
