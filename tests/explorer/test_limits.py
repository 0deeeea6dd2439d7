"""What one request may cost: bytes and time."""

from __future__ import annotations

import asyncio

import pytest

from regard.explorer import limits
from regard.explorer.limits import PHOTO_BYTES
from tests.explorer.asking import HOST, TOKEN, application, ask, elsewhere, refused


@pytest.fixture
def app():
    return application()


def test_reading_stops_at_the_limit(app):
    """The body has no end in sight; what was read of it is little more than the limit."""
    read = 0

    async def endless():
        nonlocal read
        while read < 2 * PHOTO_BYTES:  # a server that goes on reading is seen to, and ends
            read += 1 << 16
            yield b"\0" * (1 << 16)

    async def stream():
        messages, sent = endless(), []

        async def receive():
            return {"type": "http.request", "body": await anext(messages, b""), "more_body": read < 2 * PHOTO_BYTES}

        async def send(message):
            sent.append(message)

        headers = [(b"host", HOST.encode()), (b"x-regard-token", TOKEN.encode())]
        scope = {"type": "http", "method": "POST", "path": "/api/caption", "headers": headers, "app": None}
        await app({**scope, "query_string": b"model=diagonal-soft", "root_path": ""}, receive, send)
        return sent

    sent = elsewhere(stream())
    assert sent[0]["status"] == 413
    assert PHOTO_BYTES < read <= PHOTO_BYTES + (1 << 17)


def test_a_declared_length_beyond_the_limit_is_refused_unread(app):
    large = {"Content-Length": str(PHOTO_BYTES + 1)}
    answer = ask(app, "POST", "/api/caption?model=diagonal-soft", content=b"x", headers=large)
    assert refused(answer, 413, "KB")


def test_a_request_that_never_arrives(app, monkeypatch):
    monkeypatch.setattr(limits, "BODY_SECONDS", 0.02)

    async def slow():
        yield b'{"model":'
        await asyncio.sleep(30)

    answer = ask(app, "POST", "/api/translate", content=slow(), headers={"Content-Type": "application/json"})
    assert refused(answer, 408, "did not arrive")
