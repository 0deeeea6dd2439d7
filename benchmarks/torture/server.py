"""The explorer's server, over sockets on loopback: hostile requests, slow clients, a storm; then it must be well."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.torture import folders
from benchmarks.torture.harness import Wrong, dice

NAME = "server"
WHAT = (
    "the server on loopback: 200 traversals, 40 hosts, 40 origins, 50 wrong tokens, 50 methods, 10,000 requests by the "
    "documented API and its mistakes, 200 slow clients, a storm over 64 connections: no 5xx but 503, memory level, "
    "well after"
)
ISOLATED = False
BATCH = 100  # requests of a case
STORM = 300.0  # seconds; as many as the deadline leaves in the short form
ROUNDS = 104  # of API requests, after the four kinds of guards and before the slow clients and the storm
FULL, SHORT = ROUNDS + 2, 6
LIMIT = 64 << 20  # bytes that the server may have grown after the storm


class Context(NamedTuple):
    process: subprocess.Popen[str]
    port: int
    token: str
    models: list[str]
    photo: bytes


def prepare(workspace: Path) -> Context:
    made = folders.prepare(workspace, captioner=True)
    command = [sys.executable, "-m", "regard", "serve", str(made.translator), str(made.captioner), "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert process.stdout is not None
    found = re.match(r"http://127\.0\.0\.1:(\d+)/\?token=(\S+)", process.stdout.readline())
    assert found is not None
    photo = next((workspace / "scenes").rglob("*.png")).read_bytes()
    context = Context(process, int(found[1]), found[2], [], photo)
    status, body = _ask(context, "GET", "/api/models")
    assert status == 200, body
    context.models.extend(model["name"] for model in json.loads(body)["models"])
    _well(context, seconds=600)
    return context


def close(context: Context) -> None:
    context.process.send_signal(signal.SIGINT)
    with contextlib.suppress(subprocess.TimeoutExpired):
        context.process.wait(30)
    context.process.kill()


def strike(context: Context, number: int) -> Counter[str]:
    draw = dice(NAME, number)
    if number < 4:
        return (_traversals, _hosts, _tokens, _methods)[number](context, draw)
    if number < ROUNDS:
        return _requests(context, draw)
    return _slow_clients(context) if number == ROUNDS else _storm(context, STORM)


def _ask(
    context: Context,
    method: str,
    path: str,
    body: bytes = b"",
    headers: dict[str, str] | None = None,
    *,
    token: bool = True,
) -> tuple[int, bytes]:
    """One request over a socket of its own; (status, body), 0 where the connection was closed."""
    given = {
        "Host": f"127.0.0.1:{context.port}",
        **({"X-Regard-Token": context.token} if token else {}),
        **(headers or {}),
    }
    lines = [f"{method} {path} HTTP/1.1", *(f"{key}: {value}" for key, value in given.items())]
    lines += [f"Content-Length: {len(body)}", "Connection: close"]
    raw = "\r\n".join(lines).encode("utf-8", "surrogateescape") + b"\r\n\r\n" + body
    return _answer(context, raw)


def _answer(context: Context, raw: bytes, seconds: float = 90.0) -> tuple[int, bytes]:
    with socket.create_connection(("127.0.0.1", context.port), timeout=seconds) as connection:
        try:
            connection.sendall(raw)
            response = http.client.HTTPResponse(connection)
            response.begin()
            return response.status, response.read()
        except (http.client.HTTPException, ConnectionError, ValueError):
            return 0, b""


def _judged(status: int, what: str) -> str:
    if status >= 500 and status != 503:
        raise Wrong(f"{status} for {what[:300]}")
    return f"{status}" if status else "closed"


def _well(context: Context, *, seconds: float = 10.0) -> None:
    """A translation must be answered soon."""
    body = json.dumps({"model": context.models[0], "text": "the red house", "beam": 2}).encode()
    begun = time.monotonic()
    while True:
        status, _ = _ask(context, "POST", "/api/translate", body, {"Content-Type": "application/json"})
        if status == 200:
            return
        if time.monotonic() - begun > seconds or context.process.poll() is not None:
            raise Wrong(f"the server does not answer any more ({status})")
        time.sleep(0.2)


def _traversals(context: Context, draw: random.Random) -> Counter[str]:
    """Paths out of the page's folder, in every spelling."""
    dots = ("..", "%2e%2e", "%2e.", ".%2e", "..%00", "%252e%252e", "..;", "\u2025", "%c0%ae%c0%ae", "....//", "..\\")
    ends = (
        "etc/passwd",
        "app.py",
        "guard.py",
        "../../../etc/passwd",
        "proc/self/environ",
        "page/../app.py",
        "%00",
        ".git/config",
    )
    outcomes: Counter[str] = Counter()
    for _ in range(200):
        slash = draw.choice(("/", "%2f", "\\", "%5c", "//", "/./"))
        path = "/" + slash.join([draw.choice(dots)] * draw.randint(1, 8)) + slash + draw.choice(ends)
        status, body = _ask(context, "GET", path)
        if b"root:" in body or b"def build_app" in body or b"PATH=" in body:
            raise Wrong(f"{path} gave a file from outside")
        outcomes[f"traversals: {_judged(status, path)}"] += 1
    return outcomes


def _hosts(context: Context, draw: random.Random) -> Counter[str]:  # noqa: ARG001
    """Host and Origin of others: none may be answered with 200."""
    names = [
        "evil.example",
        "127.0.0.1",
        "localhost",
        "127.0.0.1.evil.example",
        f"127.0.0.1:{context.port}.evil.example",
        "[::1]",
    ]
    names += [
        f"evil.example:{context.port}",
        "",
        " ",
        "0.0.0.0",
        f"127.0.0.2:{context.port}",
        "127.1",
        "2130706433",
        "0x7f.1",
    ]
    names += [
        f"user@127.0.0.1:{context.port}",
        f"127.0.0.1:{context.port}@evil",
        "localhost.",
        "LOCALHOST",
        "127.0.0.1:0",
        "\udcff",
    ]
    names += [f"127.0.0.1:{port}" for port in range(1, 21)]
    outcomes: Counter[str] = Counter()
    for name in names[:40]:
        for kind, headers in (("host", {"Host": name}), ("origin", {"Origin": f"http://{name}"})):
            status, _ = _ask(context, "GET", "/api/models", headers=headers)
            if status == 200:
                raise Wrong(f"a request with the {kind} {name!r} was answered")
            outcomes[f"{kind}s: {_judged(status, name)}"] += 1
    return outcomes


def _tokens(context: Context, draw: random.Random) -> Counter[str]:
    outcomes: Counter[str] = Counter()
    for _ in range(50):
        wrong = draw.choice(
            ("", context.token[:-1], context.token + "x", context.token.swapcase(), "é", "\udcff", "x" * 5000, "null")
        )
        status, _ = _ask(context, "GET", "/api/models", headers={"X-Regard-Token": wrong}, token=False)
        if status == 200 and wrong != context.token:
            raise Wrong(f"the token {wrong[:40]!r} was taken")
        outcomes[f"tokens: {_judged(status, wrong)}"] += 1
    return outcomes


def _methods(context: Context, draw: random.Random) -> Counter[str]:
    outcomes: Counter[str] = Counter()
    for _ in range(50):
        method = draw.choice(
            ("PUT", "DELETE", "PATCH", "TRACE", "OPTIONS", "CONNECT", "HEAD", "FOO", "get", "POST", "GET", "PRI")
        )
        path = draw.choice(
            ("/", "/api/models", "/api/translate", "/api/export", "/api", "/steps", "*", "http://evil/", "//evil")
        )
        status, _ = _ask(context, method, path)
        outcomes[f"methods: {_judged(status, f'{method} {path}')}"] += 1
    return outcomes


def _requests(context: Context, draw: random.Random) -> Counter[str]:
    outcomes: Counter[str] = Counter()
    for _ in range(BATCH):
        method, path, body, headers = _drawn(context, draw)
        status, _ = _ask(context, method, path, body, headers)
        outcomes[f"requests: {_judged(status, f'{path} {body[:200]!r} {headers}')}"] += 1
    _well(context)
    return outcomes


def _drawn(context: Context, draw: random.Random) -> tuple[str, str, bytes, dict[str, str]]:
    """A request by the documented API, with mistakes."""
    kind = draw.choice(("translate", "translate", "caption", "export", "raw"))
    json_type = {
        "Content-Type": draw.choice(
            ("application/json", "application/json", "text/plain", "application/json; charset=x", "")
        )
    }
    if kind == "translate":
        fields = {
            "model": draw.choice((context.models[0], _value(draw))),
            "text": draw.choice(("a red house", _value(draw))),
        }
        fields |= draw.choice(({}, {"beam": 2}, {"beam": _value(draw)}, {"x": 1}))
        return "POST", "/api/translate", json.dumps(fields).encode("utf-8", "surrogatepass"), json_type
    if kind == "caption":
        photo = folders.mutated(context.photo, draw) if draw.random() < 0.7 else context.photo
        return "POST", f"/api/caption?model={context.models[-1]}&{draw.choice(('', 'x=1'))}", photo, {}
    if kind == "export":
        result = {"kind": draw.choice(("map", "photo", "steps", _value(draw)))}
        names = (
            "rows",
            "columns",
            "weights",
            "scores",
            "text",
            "source",
            "score",
            "heads",
            "steps",
            "image",
            "words",
            "hard",
        )
        result |= {name: _value(draw) for name in draw.sample(names, draw.randint(0, 8))}
        return "POST", "/api/export", json.dumps(result).encode("utf-8", "surrogatepass"), json_type
    return "POST", "/api/translate", draw.randbytes(draw.choice((0, 1, 100, 70_000))), json_type


def _value(draw: random.Random) -> Any:
    depth = draw.choice((1, 1, 1, 5))
    plain = (
        None,
        True,
        0,
        -1,
        1.5,
        1e308,
        10**30,
        "",
        "x",
        "a" * 3000,
        "\0",
        "\ud800",
        [],
        {},
        [[0.5, 0.5]],
        ["a", "b"],
        "<script>",
    )
    value: Any = draw.choice(plain)
    for _ in range(depth - 1):
        value = [value] if draw.random() < 0.5 else {"a": value}
    return value


def _slow_clients(context: Context) -> Counter[str]:
    """200 connections that say nothing, or a byte now and then; others must be answered meanwhile."""
    held = []
    for number in range(200):
        connection = socket.create_connection(("127.0.0.1", context.port), timeout=10)
        if number % 2:
            connection.sendall(b"POST /api/translate HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Le")
        held.append(connection)
    try:
        _well(context, seconds=30)
        for connection in held:
            with contextlib.suppress(OSError):
                connection.sendall(b"x")
        _well(context, seconds=30)
    finally:
        for connection in held:
            connection.close()
    return Counter({"slow clients, others answered meanwhile": 200})


def _storm(context: Context, seconds: float) -> Counter[str]:
    """64 connections of mixed traffic; afterwards the memory is level and an answer comes at once."""
    before = _memory(context)
    outcomes: Counter[str] = Counter()
    wrong: list[str] = []
    until = time.monotonic() + seconds

    def client(number: int) -> None:
        draw = random.Random(number)
        while time.monotonic() < until and not wrong:
            method, path, body, headers = _drawn(context, draw)
            try:
                outcomes[f"storm: {_judged(_ask(context, method, path, body, headers)[0], path)}"] += 1
            except Wrong as error:
                wrong.append(str(error))
            except OSError as error:
                outcomes[f"storm: {type(error).__name__}"] += 1

    threads = [threading.Thread(target=client, args=(number,)) for number in range(64)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if wrong:
        raise Wrong(wrong[0])
    _well(context, seconds=70)  # what waits in the queue is answered first
    grown = _memory(context) - before
    if grown > LIMIT:
        raise Wrong(f"the server has grown by {grown >> 20} MB in the storm")
    return outcomes


def _memory(context: Context) -> int:
    pages = int(Path(f"/proc/{context.process.pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")
