"""One request to the application in this process, as a browser's page would send it; and what a refusal looks like."""

from __future__ import annotations

import asyncio
import io
import threading
from concurrent.futures import ThreadPoolExecutor

import httpx
from PIL import Image

from regard.explorer.app import build_app
from regard.explorer.models import Card
from regard.explorer.work_queue import WorkQueue
from tests.explorer.stand_ins import MODELS

PORT, TOKEN = 8765, "a-token"
HOST = f"127.0.0.1:{PORT}"
SENTENCE = {"model": "capitals", "text": "the old cat"}


def application(models=MODELS, **limits):
    """The application with these models, and a queue of its own."""
    return build_app(models, queue=WorkQueue(**limits), token=TOKEN, port=PORT)


def ask(app, method, path, **request):
    """One request, as a browser's page would send it: with its host and the token, unless ``headers`` say otherwise."""

    async def send():
        transport = httpx.ASGITransport(app, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url=f"http://{HOST}") as client:
            headers = {"X-Regard-Token": TOKEN, **request.pop("headers", {})}
            sent = {name: value for name, value in headers.items() if value is not None}
            return await client.request(method, path, headers=sent, **request)

    return elsewhere(send())


def elsewhere(coroutine):
    """In a thread of its own: Playwright keeps an event loop running in the main one."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, coroutine).result()


def refused(answer, status, *words):
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/json"
    assert list(answer.json()) == ["error"]
    for word in words:
        assert word in answer.json()["error"]
    assert "Traceback" not in answer.text
    return True


def photograph(size=(90, 60)):
    written = io.BytesIO()
    Image.radial_gradient("L").resize(size).convert("RGB").save(written, "JPEG")
    return written.getvalue()


class Gated:
    """A model that answers when the test lets it; or fails."""

    def __init__(self, error=None):
        self.card = Card("gated", "translate", "dot", "")
        self.go, self.error = threading.Event(), error

    def load(self):
        pass

    def answer(self, given, beam, **hidden):
        self.go.wait()
        if self.error:
            raise self.error
        return {"given": given, "beam": beam, **hidden}
