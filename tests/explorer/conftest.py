"""A real server on loopback, for the tests of the page: ``site.address("/steps")`` is a view's address, with the token.

``page``, a page of a real Chromium, comes from ``tests/chromium.py``.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pytest
import uvicorn

from regard.explorer.app import build_app
from regard.explorer.models import Model
from regard.explorer.server import Server, bound_socket, uvicorn_config
from regard.explorer.work_queue import WorkQueue
from regard.training import runs
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


@contextlib.contextmanager
def served(models: Sequence[Model], **changed: float) -> Iterator[Site]:
    """The explorer with these models, served by a thread of this process on a free port."""
    bound, queue = bound_socket(0), WorkQueue()
    port = bound.getsockname()[1]
    config: uvicorn.Config = uvicorn_config(build_app(models, queue=queue, token=TOKEN, port=port))
    for name, value in changed.items():
        setattr(config, name, value)
    server = Server(config, queue)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]}, daemon=True)
    thread.start()
    while not server.started:
        assert thread.is_alive(), "the server did not start"
        time.sleep(0.01)
    yield Site(port)
    server.should_exit = True
    thread.join()


@pytest.fixture(scope="session")
def site() -> Iterator[Site]:
    """The explorer with the models of ``stand_ins``."""
    with served(MODELS) as site:
        yield site


@pytest.fixture(scope="module")
def run(browser, site):
    """Run JavaScript with ``m`` the module and ``x`` the argument."""
    page = browser.new_page()
    page.goto(site.address("/steps"))

    def run(module, expression, x=None):
        return page.evaluate(f"async (x) => {{ const m = await import('/{module}'); return {expression}; }}", x)

    yield run
    page.close()


@pytest.fixture
def bare_site(monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    """The explorer without a model, of a package that ships none."""
    monkeypatch.setattr(runs, "names", list)
    with served([]) as site:
        yield site
