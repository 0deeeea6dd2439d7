"""Connections that ask nothing: they are closed, and keep nobody out."""

import asyncio
import contextlib
import socket
import time
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from uvicorn.server import ServerState

from regard.explorer import connection, server
from tests.explorer.asking import application
from tests.explorer.conftest import TOKEN, served
from tests.explorer.stand_ins import MODELS, Capitals

SOON = 0.3


@pytest.fixture
def hasty(monkeypatch):
    """A server that waits for a request a third of a second."""
    monkeypatch.setattr(connection, "IDLE_SECONDS", SOON)
    with served(MODELS, timeout_keep_alive=SOON) as site:
        yield site


def connected(site):
    return socket.create_connection(("127.0.0.1", site.port), timeout=10)


def head(site):
    return f"GET /page/icon.svg HTTP/1.1\r\nHost: 127.0.0.1:{site.port}\r\n\r\n".encode()


def until_closed(open_socket):
    """All that the server still says, and how long it took to close."""
    start, response = time.monotonic(), b""
    while part := open_socket.recv(1 << 16):
        response += part
    return response, time.monotonic() - start


def test_many_idle_connections_keep_nobody_out(site):
    with contextlib.ExitStack() as stack:
        for _ in range(200):
            stack.enter_context(connected(site))
        answer = httpx.get(f"{site.origin}/api/models", headers={"X-Regard-Token": TOKEN}, timeout=60)
        assert answer.status_code == 200


def test_a_connection_that_asks_nothing_is_closed(hasty):
    with connected(hasty) as silent:
        response, waited = until_closed(silent)
    assert response == b""
    assert waited > SOON / 2


def dripped(open_socket, data):
    """Send a byte now and then; whether the server closed meanwhile."""
    open_socket.settimeout(SOON / 5)
    for byte in data:
        try:
            open_socket.sendall(bytes([byte]))
            if open_socket.recv(1) == b"":
                return True
        except TimeoutError:
            continue
        except OSError:  # closed, and the last byte came too late
            return True
    return False


@pytest.mark.parametrize("before", [0, 1], ids=["first", "second"])
def test_a_request_that_comes_too_slowly_is_not_waited_for(hasty, before):
    with connected(hasty) as slow:
        if before:
            slow.sendall(head(hasty))
            response = b""
            while b"</svg>" not in response:
                response += slow.recv(1 << 16)
        assert dripped(slow, b"GET /viewer/map.js HTTP/1.1\r\nX-Long: " + b"x" * 60)


def test_between_two_requests_a_connection_is_closed(hasty):
    with connected(hasty) as kept:
        kept.sendall(head(hasty))
        response, _ = until_closed(kept)
    assert response.startswith(b"HTTP/1.1 200")


class Slow(Capitals):
    """A translator that takes longer than a connection may be idle."""

    def answer(self, given, beam, **hidden):
        time.sleep(3 * SOON)
        return super().answer(given, beam, **hidden)


def test_a_connection_that_waits_for_its_answer_stays(monkeypatch):
    monkeypatch.setattr(connection, "IDLE_SECONDS", SOON)
    with served([Slow("slow", "dot")], timeout_keep_alive=SOON) as site:
        headers = {"X-Regard-Token": TOKEN}
        asked = {"json": {"model": "slow", "text": "a b"}, "headers": headers, "timeout": 60}
        answer = httpx.post(f"{site.origin}/api/translate", **asked)
    assert answer.json()["translation"]["text"] == "B A"


def test_uvicorn_has_what_idle_connections_are_closed_by():
    """What breaks when uvicorn renames these: connections that ask nothing stay open. pyproject.toml bounds uvicorn."""

    async def made():
        config = server.uvicorn_config(application([]))
        config.load()
        return connection.Connection(config=config, server_state=ServerState(), app_state={})

    with ThreadPoolExecutor(1) as pool:  # a browser may run the loop of this thread
        protocol = pool.submit(lambda: asyncio.run(made())).result()
    missing = {"loop", "cycle", "timeout_keep_alive_handler"} - set(dir(protocol))
    assert not missing, f"uvicorn's H11Protocol has no {missing} now: explorer/connection.py cannot close idle ones"
    assert protocol.cycle is None  # before the first request
