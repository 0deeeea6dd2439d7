"""Who is let in: this machine's own page, with the token."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from regard.explorer import guard
from regard.explorer.guard import POLICY
from tests.explorer.asking import HOST, PORT, SENTENCE, TOKEN, application, ask, refused
from tests.explorer.conftest import TOKEN as SITE_TOKEN
from tests.explorer.conftest import served
from tests.explorer.stand_ins import Capitals


@pytest.fixture
def app():
    return application()


@pytest.mark.parametrize(
    "host", ["evil.example", f"evil.example:{PORT}", "127.0.0.1:80", "127.0.0.1", "", f"{HOST}@evil.example"]
)
def test_foreign_hosts(app, host):
    for path in ("/", "/api/models"):
        assert refused(ask(app, "GET", path, headers={"Host": host}), 403, HOST)
    assert ask(app, "GET", "/api/models", headers={"Host": f"localhost:{PORT}"}).status_code == 200


@pytest.mark.parametrize("origin", ["http://evil.example", "null", f"https://{HOST}", "http://127.0.0.1:81", ""])
def test_foreign_origins(app, origin):
    answer = ask(app, "POST", "/api/translate", json=SENTENCE, headers={"Origin": origin})
    assert refused(answer, 403, "own page")
    assert "access-control-allow-origin" not in answer.headers
    assert ask(app, "POST", "/api/translate", json=SENTENCE, headers={"Origin": f"http://{HOST}"}).status_code == 200


@pytest.mark.parametrize("token", [None, "", "wrong", TOKEN[:-1], TOKEN + "x", "ä"])
@pytest.mark.parametrize("path", ["/api/models", "/api/translate", "/api/caption", "/api/export", "/api/none", "/api"])
def test_the_api_needs_the_token(app, token, path):
    given = None if token is None else token.encode()
    assert refused(ask(app, "GET", path, headers={"X-Regard-Token": given}), 401, "regard serve")


def test_every_answer_has_the_strict_headers(app):
    for path in ("/api/models", "/api/none", "/nothing.js", "/viewer/map.js", "/page/page.css"):
        headers = ask(app, "GET", path).headers
        assert headers["content-security-policy"] == POLICY
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
    assert "default-src 'none'; script-src 'self'; style-src 'self'" in POLICY
    assert "unsafe" not in POLICY


def test_requests_under_way_are_limited(monkeypatch):
    monkeypatch.setattr(guard, "REQUESTS", 1)
    begun, go = threading.Event(), threading.Event()
    model = Capitals("gated", "dot")
    monkeypatch.setattr(model, "answer", lambda *_, **__: {"begun": begun.set(), "went": go.wait(60)})
    with served([model]) as site, ThreadPoolExecutor(1) as pool:
        asked = {"json": {"model": "gated", "text": "a"}, "headers": {"X-Regard-Token": SITE_TOKEN}, "timeout": 60}
        first = pool.submit(httpx.post, f"{site.origin}/api/translate", **asked)
        assert begun.wait(60)
        answer = httpx.get(f"{site.origin}/viewer/map.js", timeout=60)
        go.set()
        assert answer.status_code == 503
        assert answer.json() == {"error": "busy: 1 requests are under way already; try again in a moment"}
        assert first.result().status_code == 200
        assert httpx.get(f"{site.origin}/viewer/map.js", timeout=60).status_code == 200


def test_only_an_embedded_beat_may_stand_in_a_frame(app):
    def policy(path):
        return ask(app, "GET", path).headers["content-security-policy"]

    assert policy("/story/look-back/4?embed") == POLICY.replace("frame-ancestors 'none'", "frame-ancestors *")
    for path in ("/story/look-back/4", "/?embed", "/translate?embed", "/api/models?embed"):
        assert policy(path) == POLICY
