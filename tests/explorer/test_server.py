"""What the server refuses, and how; each refusal is an {"error": why} that a person can act on."""

from __future__ import annotations

import asyncio
import io
import json
import threading
import zlib
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from PIL import Image

from regard.explorer import limits, models
from regard.explorer.app import CHARACTERS, PAGE, VIEWS, WORDS, build_app
from regard.explorer.guard import POLICY
from regard.explorer.limits import JSON_BYTES, PHOTO_BYTES, Work
from regard.explorer.models import Card
from tests.explorer.stand_ins import MODELS

PORT, TOKEN = 8765, "a-token"
HOST = f"127.0.0.1:{PORT}"
SENTENCE = {"model": "capitals", "text": "the old cat"}


@pytest.fixture
def app():
    return build_app(MODELS, work=Work(), token=TOKEN, port=PORT)


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


def translate(app, content, kind="application/json"):
    return ask(app, "POST", "/api/translate", content=content, headers={"Content-Type": kind})


def test_models_are_listed(app):
    found = ask(app, "GET", "/api/models").json()["models"]
    assert [model["name"] for model in found] == [model.card.name for model in MODELS]
    assert set(found[0]) == {"name", "task", "attention", "description"}
    assert {model["task"] for model in found} == {"translate", "caption"}


def test_a_translation_has_its_steps(app):
    found = ask(app, "POST", "/api/translate", json=SENTENCE).json()["translation"]
    assert found["kind"] == "map"
    assert found["rows"] == ["CAT", "OLD", "THE"]
    assert found["columns"] == ["the", "old", "cat"]
    assert [step["word"] for step in found["steps"]] == found["rows"]
    assert [step["weights"] for step in found["steps"]] == found["weights"]
    assert [step["scores"] for step in found["steps"]] == found["scores"]
    assert {len(step["context"]) for step in found["steps"]} == {64}
    assert {step["context_size"] for step in found["steps"]} == {80}
    assert found["heads"] is None


def test_heads_and_models_without_attention(app):
    heads = ask(app, "POST", "/api/translate", json={**SENTENCE, "model": "capitals-heads"}).json()["translation"]
    assert [head["name"] for head in heads["heads"]][:3] == ["layer 1, head 1", "layer 1, head 2", "layer 2, head 1"]
    none = ask(app, "POST", "/api/translate", json={**SENTENCE, "model": "capitals-none"}).json()["translation"]
    assert none["weights"] is None
    assert none["steps"][0]["weights"] == []
    assert len(none["steps"][0]["context"]) == 64


def photograph(size=(90, 60)):
    written = io.BytesIO()
    Image.radial_gradient("L").resize(size).convert("RGB").save(written, "JPEG")
    return written.getvalue()


def test_a_caption_of_a_photograph(app):
    found = ask(app, "POST", "/api/caption?model=diagonal-hard", content=photograph()).json()["caption"]
    assert found["kind"] == "photo"
    assert found["image"].startswith("data:image/jpeg;base64,")
    assert found["hard"] is True
    assert len(found["weights"]) == len(found["words"]) == 5
    assert len(found["weights"][0]) == len(found["weights"][0][0]) == 7


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
    for path in ("/api/models", "/api/none", "/nothing.js", "/map.js"):
        headers = ask(app, "GET", path).headers
        assert headers["content-security-policy"] == POLICY
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
    assert "default-src 'none'; script-src 'self'; style-src 'self'" in POLICY
    assert "unsafe" not in POLICY


def test_modules_are_served_as_javascript_and_nothing_outside_the_page_is(app):
    module = ask(app, "GET", "/map.js", headers={"X-Regard-Token": None})
    assert module.headers["content-type"].startswith("text/javascript")
    assert module.text == (PAGE / "map.js").read_text()
    for path in ("/../app.py", "/%2e%2e/app.py", "/..%2fapp.py", "/....//app.py", "/%00", "/app.py", "//etc/passwd"):
        assert refused(ask(app, "GET", path), 404)
    assert refused(ask(app, "POST", "/map.js"), 405)
    assert refused(ask(app, "DELETE", "/api/models"), 405)


def test_every_view_has_its_own_address(app):
    pages = {ask(app, "GET", view, headers={"X-Regard-Token": None}).text for view in VIEWS}
    assert pages == {(PAGE / "index.html").read_text()}


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", ["not JSON"]),
        (b"{", ["not JSON"]),
        (b"\xff\xfe{}", ["not JSON"]),
        (b"[1]", ["a JSON object", "a list"]),
        (b"3", ["a JSON object", "a whole number"]),
        (b"[" * 30_000, ["nested too deeply"]),
        (b'{"a":' * 10_000, ["nested too deeply"]),
        (b'{"model": NaN}', ["NaN"]),
        (b'{"beam": -Infinity}', ["-Infinity"]),
        (b'{"beam": ' + b"9" * 5000 + b"}", ["not JSON", "digit"]),
        (b'{"text": "\\ud800"}', ["half a character"]),
        (b"{}", ["'model' is missing"]),
        (b'{"model": "capitals"}', ["'text' is missing"]),
        (b'{"model": 3, "text": "a"}', ["'model' must be a string", "a whole number"]),
        (b'{"model": "capitals", "text": ["a"]}', ["'text' must be a string", "a list"]),
        (b'{"model": "capitals", "text": null}', ["'text' must be a string", "null"]),
        (b'{"model": "capitals", "text": "a", "beam": true}', ["'beam' must be a whole number", "true or false"]),
        (b'{"model": "capitals", "text": "a", "beam": 1e999}', ["'beam' must be a whole number", "a number"]),
        (b'{"model": "capitals", "text": "a", "beam": 0}', ["from 1 to 10; 0 came"]),
        (b'{"model": "capitals", "text": "a", "beam": 1' + b"0" * 400 + b"}", ["from 1 to 10"]),
        (b'{"model": "capitals", "text": "a", "bean": 1}', ["no field 'bean'", "Did you mean 'beam'?"]),
    ],
)
def test_bad_requests_say_what_is_wrong(app, content, words):
    assert refused(translate(app, content), 400, *words)


def test_a_request_must_say_that_it_is_json(app):
    # A form of a foreign page can send text/plain without asking first.
    assert refused(translate(app, json.dumps(SENTENCE), kind="text/plain"), 415, "application/json")


@pytest.mark.parametrize("text", ["word " * (WORDS + 1), "x" * (CHARACTERS + 1)])
def test_long_sentences(app, text):
    answer = ask(app, "POST", "/api/translate", json={**SENTENCE, "text": text})
    assert refused(answer, 422, f"at most {WORDS} words", "Split it")


def test_a_sentence_of_ten_thousand_words(app):
    answer = ask(app, "POST", "/api/translate", json={**SENTENCE, "text": "word " * 10_000})
    assert refused(answer, 422, "10000 words")
    answer = ask(app, "POST", "/api/translate", json={**SENTENCE, "text": "wonderful " * 10_000})
    assert refused(answer, 413, f"{JSON_BYTES >> 10} KB")


def test_models_that_are_not_there(app):
    assert refused(ask(app, "POST", "/api/translate", json={**SENTENCE, "model": "capitels"}), 404, "'capitals'?")
    assert refused(ask(app, "POST", "/api/caption?model=capitals", content=b"x"), 404, "diagonal-soft")
    assert refused(ask(app, "POST", "/api/caption", content=b"x"), 400, "'model' is missing")
    bare = build_app(work=Work(), token=TOKEN, port=PORT)
    assert ask(bare, "GET", "/api/models").json()["models"] == []
    assert refused(ask(bare, "POST", "/api/translate", json=SENTENCE), 404, "No model to translate", "regard serve")


def bomb():
    """A small file that says it has 9,000 x 9,000 pixels."""
    written = io.BytesIO()
    Image.new("L", (1, 1)).save(written, "PNG")
    size = (9000).to_bytes(4)
    header = b"IHDR" + size + size + written.getvalue()[24:29]
    return written.getvalue()[:12] + header + zlib.crc32(header).to_bytes(4) + written.getvalue()[33:]


@pytest.mark.parametrize(
    ("photo", "words"),
    [
        (b"", "empty"),
        (b"GIF89a", "no photograph"),
        (b"\x89PNG\r\n\x1a\n" + b"\0" * 100, ""),
        (photograph()[:400], "damaged or cut off"),
        (b"<svg onload='alert(1)'/>", "no photograph"),
        (b"%!PS-Adobe-3.0 EPSF-3.0", "no photograph"),
        (bomb(), "9000 x 9000 pixels"),
    ],
)
def test_hostile_photographs(app, photo, words):
    assert refused(ask(app, "POST", "/api/caption?model=diagonal-soft", content=photo), 422, words)


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


class Gated:
    """A model that answers when the test lets it; or fails."""

    def __init__(self, error=None):
        self.card = Card("gated", "translate", "dot", "")
        self.go, self.error = threading.Event(), error

    def load(self):
        pass

    def answer(self, given, beam):
        self.go.wait()
        if self.error:
            raise self.error
        return {"given": given, "beam": beam}


def test_too_many_at_once_are_told_to_come_back():
    model = Gated()
    app = build_app([model], work=Work(waiting=1, seconds=30), token=TOKEN, port=PORT)

    async def three():
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=f"http://{HOST}") as client:
            send = {"json": {"model": "gated", "text": "a"}, "headers": {"X-Regard-Token": TOKEN}}
            sent = [asyncio.create_task(client.post("/api/translate", **send)) for _ in range(3)]
            done, waiting = await asyncio.wait(sent, return_when=asyncio.FIRST_COMPLETED)
            model.go.set()
            (soonest,) = done
            return soonest.result(), [await task for task in waiting]

    soonest, later = elsewhere(three())
    assert refused(soonest, 503, "busy: 1 requests wait already", "try again")
    assert [answer.json() for answer in later] == [{"translation": {"given": "a", "beam": 5}}] * 2
    assert ask(app, "POST", "/api/translate", json={"model": "gated", "text": "a"}).status_code == 200


def test_what_takes_too_long_is_given_up_and_keeps_its_place():
    model = Gated()
    app = build_app([model], work=Work(waiting=0, seconds=0.05), token=TOKEN, port=PORT)
    request = {"model": "gated", "text": "a"}
    assert refused(ask(app, "POST", "/api/translate", json=request), 503, "took longer", "something shorter")
    assert refused(ask(app, "POST", "/api/translate", json=request), 503, "busy")
    model.go.set()


def test_a_failure_is_said_without_its_traceback():
    model = Gated(RuntimeError("secret of the inside"))
    model.go.set()
    app = build_app([model], work=Work(), token=TOKEN, port=PORT)
    answer = ask(app, "POST", "/api/translate", json={"model": "gated", "text": "a"})
    assert refused(answer, 500, "its terminal says more")
    assert "secret" not in answer.text
    assert answer.headers["content-security-policy"] == POLICY


def test_where_a_task_has_no_model_the_way_to_one_is_told(monkeypatch):
    captioner = next(model for model in MODELS if model.card.task == "caption")
    app = build_app([captioner], work=Work(), token=TOKEN, port=PORT)
    monkeypatch.setattr(models.pretrained, "names", list)
    advice = ask(app, "GET", "/api/models").json()["advice"]
    assert list(advice) == ["translate"]
    assert "`regard init translate > run.toml`" in advice["translate"]
    shipped = next(model for model in MODELS if model.card.task == "translate")
    monkeypatch.setattr(models, "find_models", lambda _: [captioner, shipped])
    assert "`regard serve capitals`" in ask(app, "GET", "/api/models").json()["advice"]["translate"]


def test_work_that_ends_drops_what_waits_and_knows_what_is_under_way():
    work, gate = Work(), threading.Event()
    assert Work().end()

    async def ended():
        sent = [asyncio.create_task(work.do(wait)) for wait in (gate.wait, gate.wait)]
        await asyncio.sleep(0.05)
        idle = work.end()
        answers = await asyncio.gather(*sent, work.do(gate.wait), return_exceptions=True)
        return idle, [(answer.status, answer.why) for answer in answers]

    idle, answers = elsewhere(ended())
    assert not idle
    assert answers == [(503, "the server is ending")] * 3
    gate.set()
