"""A real server on loopback, for the tests of the page: ``site.address("/steps")`` is a view's address, with the token.

``page``, a page of a real Chromium, comes from ``tests/chromium.py``.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
import uvicorn

from regard.explorer.app import build_app
from regard.explorer.limits import Work
from regard.explorer.server import bind
from tests.explorer.stand_ins import MODELS

TOKEN = "token-of-the-tests"


@dataclass(frozen=True)
class Site:
    """A running server."""

    port: int
    token: str = TOKEN

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def address(self, path: str = "/") -> str:
        """The address of a view (``/steps``, ``/translate?model=x``), with the token."""
        return f"{self.origin}{path}{'&' if '?' in path else '?'}token={self.token}"


@pytest.fixture(scope="session")
def site() -> Iterator[Site]:
    """The explorer with the models of ``stand_ins``, served by a thread of this process on a free port."""
    bound = bind(0)
    port = bound.getsockname()[1]
    config = uvicorn.Config(build_app(MODELS, work=Work(), token=TOKEN, port=port), log_level="warning", ws="none")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]}, daemon=True)
    thread.start()
    while not server.started:
        assert thread.is_alive(), "the server did not start"
        time.sleep(0.01)
    yield Site(port)
    server.should_exit = True
    thread.join()
