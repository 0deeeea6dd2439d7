"""``regard serve`` as a person starts it: a process on loopback that prints its address and ends with Ctrl-C."""

from __future__ import annotations

import contextlib
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

import regard
from regard.explorer.server import bind
from tests.translation import grammar

ADDRESS = re.compile(r"http://127\.0\.0\.1:(\d+)/\?token=([\w-]{32})\n")


@contextlib.contextmanager
def serving(*arguments: str, port: int = 0) -> Iterator[tuple[subprocess.Popen[str], int, str]]:
    """The process, its port and its token."""
    command = [sys.executable, "-m", "regard", "serve", *arguments, "--port", str(port)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        found = ADDRESS.fullmatch(process.stdout.readline())
        assert found, process.communicate()[1]
        yield process, int(found[1]), found[2]
    finally:
        process.kill()
        process.communicate()


def ended(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    """Press Ctrl-C; the exit code and what was still said."""
    process.send_signal(signal.SIGINT)
    said, told = process.communicate(timeout=60)
    return process.returncode, said, told


def test_prints_its_address_takes_the_token_and_ends_with_ctrl_c():
    with serving() as (process, port, token):
        address = f"http://127.0.0.1:{port}"
        assert httpx.get(f"{address}/map.js").status_code == 200
        assert httpx.get(f"{address}/api/models").status_code == 401
        answer = httpx.get(f"{address}/api/models", headers={"X-Regard-Token": token})
        assert isinstance(answer.json()["models"], list)
        assert "server" not in answer.headers
        assert ended(process) == (0, "", "")


def test_a_port_that_is_taken_is_left_alone():
    with socket.create_server(("127.0.0.1", 0)) as other:
        taken = other.getsockname()[1]
        with serving(port=taken) as (process, port, _):
            assert port != taken
            assert httpx.get(f"http://127.0.0.1:{port}/map.js").status_code == 200
            assert ended(process) == (0, "", f"port {taken} is taken; taking a free one\n")


def test_listens_on_loopback_alone():
    with bind(0) as bound:
        assert bound.getsockname()[0] == "127.0.0.1"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run directory of a model that has learned next to nothing."""
    folder = tmp_path_factory.mktemp("serve")
    for name in ("train", "dev"):
        (folder / f"{name}.tsv").write_text(grammar.tsv(grammar.pairs()[:60]))
    regard.train(
        {
            "task": "translate",
            "run": str(folder / "run"),
            "data": {"train": [{"path": str(folder / "train.tsv")}], "validation": [{"path": str(folder / "dev.tsv")}]},
            "vocabulary": {"size": 90},
            "model": {"embedding": 8, "encoder_size": 8, "decoder_size": 8, "attention_size": 8},
            "training": {"updates": 1, "epochs": 0, "batch_tokens": 200, "validate_every": 1, "threads": 1},
        }
    )
    return folder / "run"


def test_serves_a_run_directory(run):
    with serving(str(run)) as (process, port, token):
        headers = {"X-Regard-Token": token}
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", headers=headers, timeout=60) as client:
            (model,) = client.get("/api/models").json()["models"]
            assert model == {"name": str(run), "task": "translate", "attention": "additive", "description": "gru"}
            answer = client.post("/api/translate", json={"model": str(run), "text": "a red house", "beam": 2})
            found = answer.json()["translation"]
            assert found["columns"] == ["a", "red", "house"]
            assert len(found["steps"]) == len(found["rows"])
        code, said, told = ended(process)
        assert (code, said) == (0, "")
        assert told == f"loading {run} …\nloaded {run}\n"


def test_a_model_that_cannot_be_found_or_read_is_said(run, tmp_path):
    command = [sys.executable, "-m", "regard", "serve"]
    missing = subprocess.run([*command, "nowhere"], capture_output=True, text=True)
    assert missing.returncode == 2
    assert "no model is called 'nowhere'" in missing.stderr
    for name in ("config.toml", "vocabulary.model"):
        (tmp_path / name).write_bytes((run / name).read_bytes())
    (tmp_path / "best.safetensors").write_bytes(b"damaged")
    damaged = subprocess.run([*command, str(tmp_path), "--port", "0"], capture_output=True, text=True)
    assert damaged.returncode == 2
    assert "best.safetensors is damaged" in damaged.stderr
    assert "Traceback" not in damaged.stderr


def test_a_port_that_cannot_be():
    command = [sys.executable, "-m", "regard", "serve", "--port", "70000"]
    failed = subprocess.run(command, capture_output=True, text=True)
    assert failed.returncode != 0
    assert "65535" in failed.stdout + failed.stderr
