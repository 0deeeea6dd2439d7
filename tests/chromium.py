"""A real Chromium for tests, the system's own.

``page`` is a Playwright page that fails its test on any console error, uncaught exception or request that leaves the
machine.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

import pytest


@pytest.fixture(scope="session")
def browser() -> Iterator[object]:
    """A headless Chromium, the system's own."""
    playwright = pytest.importorskip("playwright.sync_api", reason="the page is tested with playwright, of '.[test]'")
    program = os.environ.get("REGARD_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    if program is None:
        pytest.skip(
            "the page is tested in a Chromium; there is none. Install Debian's chromium, or set REGARD_CHROMIUM"
        )
    root = hasattr(os, "geteuid") and os.geteuid() == 0
    with playwright.sync_playwright() as started:
        # Chromium's sandbox does not run as root, nor its shared memory in a small container.
        arguments = ["--disable-dev-shm-usage", *(["--no-sandbox"] if root else [])]
        chromium = started.chromium.launch(executable_path=program, args=arguments)
        yield chromium
        chromium.close()


@pytest.fixture
def page(browser):
    """A fresh page; at the end of the test nothing may have gone wrong in it, and nothing left the machine."""
    with watched_page(browser) as opened:
        yield opened


@pytest.fixture
def phone(browser):
    """The same with a phone's screen, that is touched."""
    with watched_page(browser, viewport={"width": 390, "height": 844}, has_touch=True) as opened:
        yield opened


@contextmanager
def watched_page(browser, viewport=None, **options):
    """A page of its own that fails when it is closed if anything went wrong in it."""
    viewport = viewport or {"width": 1280, "height": 900}
    context = browser.new_context(viewport=viewport, accept_downloads=True, **options)
    context.set_default_timeout(15_000)
    opened, wrong = context.new_page(), []

    def watch(request):
        parts = urlsplit(request.url)
        if parts.scheme not in ("data", "blob", "file") and parts.hostname != "127.0.0.1":
            wrong.append(f"a request left the machine: {request.url}")

    context.on("request", watch)
    context.on("console", lambda entry: wrong.append(f"console: {entry.text}") if entry.type == "error" else None)
    opened.on("pageerror", lambda error: wrong.append(f"uncaught: {error}"))
    opened.wrong = wrong  # a test that provokes an error on purpose clears this list
    yield opened
    context.close()
    assert wrong == []
