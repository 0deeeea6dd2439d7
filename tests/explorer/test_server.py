"""``regard serve`` as a person starts it: a process on loopback that prints its address and ends with Ctrl-C."""

from __future__ import annotations

import contextlib
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

import regard
from regard.explorer.server import bound_socket
from tests.translation import grammar

ADDRESS = re.compile(r"http://127\.0\.0\.1:(\d+)/\?token=([\w-]{32})\n")


@contextlib.contextmanager
def started(command: list[str]) -> Iterator[tuple[subprocess.Popen[str], int, str]]:
    """The process, its port and its token."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        found = ADDRESS.fullmatch(process.stdout.readline())
        assert found, process.communicate()[1]
        yield process, int(found[1]), found[2]
    finally:
        process.kill()
        process.communicate()


@contextlib.contextmanager
def serving(*arguments: str, port: int = 0) -> Iterator[tuple[subprocess.Popen[str], int, str]]:
    """``regard serve`` as a person starts it."""
    with started([sys.executable, "-m", "regard", "serve", *arguments, "--port", str(port)]) as process:
        yield process


def ended(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    """Press Ctrl-C; the exit code and what was still said."""
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=60)
    return process.returncode, output, errors


def test_prints_its_address_takes_the_token_and_ends_with_ctrl_c():
    with serving() as (process, port, token):
        address = f"http://127.0.0.1:{port}"
        assert httpx.get(f"{address}/viewer/map.js", timeout=60).status_code == 200
        assert httpx.get(f"{address}/api/models", timeout=60).status_code == 401
        answer = httpx.get(f"{address}/api/models", headers={"X-Regard-Token": token}, timeout=60)
        assert isinstance(answer.json()["models"], list)
        assert "server" not in answer.headers
        code, output, errors = ended(process)
        assert (code, output) == (0, "")
        assert "Traceback" not in errors


def test_a_port_that_is_taken_is_left_alone():
    with socket.create_server(("127.0.0.1", 0)) as other:
        taken = other.getsockname()[1]
        with serving(port=taken) as (process, port, _):
            assert port != taken
            assert httpx.get(f"http://127.0.0.1:{port}/viewer/map.js", timeout=60).status_code == 200
            code, output, errors = ended(process)
            assert (code, output) == (0, "")
            assert errors.startswith(f"port {taken} is taken; taking a free one\n")


def test_listens_on_loopback_alone():
    with bound_socket(0) as bound:
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
            output = "GRU decoder, additive scores"
            assert model == {"name": str(run), "task": "translate", "attention": "additive", "description": output}
            answer = client.post("/api/translate", json={"model": str(run), "text": "a red house", "beam": 2})
            found = answer.json()["translation"]
            assert found["columns"] == ["a", "red", "house"]
            assert len(found["steps"]) == len(found["rows"])
        code, output, errors = ended(process)
        assert (code, output) == (0, "")
        assert errors == f"loading {run} …\nloaded {run}\n"


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


SLEEPER = """
import time
from regard.cli.serve import serve
from regard.explorer import server
from regard.explorer.models import Card

class Sleeper:
    card = Card("sleeper", "translate", "dot", "")

    def load(self):
        time.sleep({load})

    def answer(self, given, beam, **hidden):
        print("at it", flush=True)
        time.sleep(30)

server.find_models = lambda names: [Sleeper()]
serve(port=0)
"""


@contextlib.contextmanager
def sleeping(load: float = 0) -> Iterator[tuple[subprocess.Popen[str], int, str]]:
    """The command with a model that takes half a minute for an answer."""
    with started([sys.executable, "-c", SLEEPER.format(load=load)]) as process:
        yield process


def ended_in_time(process: subprocess.Popen[str]) -> str:
    """Press Ctrl-C; what is said on stderr. It takes a second at most, and longer only where the machine is busy."""
    pressed = time.monotonic()
    code, _, errors = ended(process)
    assert code == 0
    assert time.monotonic() - pressed < 10
    return errors


def test_ctrl_c_ends_at_once_whatever_is_computed_and_tells_who_waits():
    with sleeping() as (process, port, token), ThreadPoolExecutor(1) as pool:
        asked = {"json": {"model": "sleeper", "text": "a"}, "headers": {"X-Regard-Token": token}, "timeout": 60}
        waiting = pool.submit(httpx.post, f"http://127.0.0.1:{port}/api/translate", **asked)
        assert process.stdout.readline() == "at it\n"
        assert ended_in_time(process) == "loading sleeper …\nloaded sleeper\n"
        assert waiting.result().status_code == 503
        assert waiting.result().json() == {"error": "the server is ending"}


def test_ctrl_c_ends_at_once_while_a_model_is_loaded():
    with sleeping(load=30) as (process, port, _):
        assert httpx.get(f"http://127.0.0.1:{port}/viewer/map.js", timeout=60).status_code == 200
        assert ended_in_time(process) == "loading sleeper …\n"


def test_ctrl_c_ends_at_once_whatever_is_still_to_arrive():
    with sleeping() as (process, port, token), socket.create_connection(("127.0.0.1", port)) as slow:
        head = f"POST /api/translate HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nX-Regard-Token: {token}\r\n"
        slow.sendall(f"{head}Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{{".encode())
        assert httpx.get(f"http://127.0.0.1:{port}/viewer/map.js", timeout=60).status_code == 200
        assert "Traceback" not in ended_in_time(process)


def test_without_a_model_it_serves_and_says_in_one_line_how_to_get_one():
    code = "from regard.training import runs; runs.names = list; from regard.cli.serve import serve; serve(port=0)"
    with started([sys.executable, "-c", code]) as (process, port, token):
        answer = httpx.get(f"http://127.0.0.1:{port}/api/models", headers={"X-Regard-Token": token}, timeout=60)
        assert answer.json()["models"] == []
        assert ended(process) == (0, "", f"{answer.json()['advice']['translate']}\n")
    assert "`regard train run.toml`, then `regard serve runs/translate`" in answer.json()["advice"]["translate"]
