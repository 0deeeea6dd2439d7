"""The application: its folders, its views, and the answers of its API."""

from __future__ import annotations

import io
import posixpath
import re
import zlib

import pytest
from PIL import Image

from regard.explorer.app import FOLDERS, VIEWS
from regard.explorer.guard import POLICY
from tests.explorer.asking import SENTENCE, Gated, application, ask, photograph, refused
from tests.explorer.stand_ins import MODELS


@pytest.fixture
def app():
    return application()


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


def test_a_caption_of_a_photograph(app):
    found = ask(app, "POST", "/api/caption?model=diagonal-hard", content=photograph()).json()["caption"]
    assert found["kind"] == "photo"
    assert found["image"].startswith("data:image/jpeg;base64,")
    assert found["hard"] is True
    assert len(found["weights"]) == len(found["words"]) == 5
    assert len(found["weights"][0]) == len(found["weights"][0][0]) == 7


def test_hidden_words_and_what_was_needed(app):
    plain = ask(app, "POST", "/api/translate", json=SENTENCE).json()["translation"]
    assert "needed" not in plain
    hidden = {**SENTENCE, "hide": [1], "needed": True}
    found = ask(app, "POST", "/api/translate", json=hidden).json()["translation"]
    assert found["rows"] == ["CAT", "?", "THE"]
    assert [row[1] for row in found["weights"]] == [0, 0, 0]
    assert found["needed"] == [[-0.25, 0, 2.5], [-0.25, 0, -0.25], [2.5, 0, -0.25]]
    found = ask(app, "POST", "/api/translate", json={**SENTENCE, "hide": [1], "hide_input": True}).json()["translation"]
    assert found["columns"] == ["the", "cat"]


def test_hidden_cells_and_what_was_needed(app):
    path = "/api/caption?model=diagonal-soft&hide=2,2;0,1&needed=true"
    found = ask(app, "POST", path, content=photograph()).json()["caption"]
    assert found["words"] == ["a", "thing", "runs", "on", "grass"]
    assert found["weights"][1][2][2] == found["weights"][0][0][1] == 0
    assert found["needed"][0][0][1] == -0.1
    answer = ask(app, "POST", "/api/caption?model=diagonal-soft&hide=7,0", content=photograph())
    assert refused(answer, 400, "no cell (7, 0) to hide", "from 0 to 6")


def test_a_model_is_asked_for_what_the_request_says():
    model = Gated()
    model.go.set()
    asked = {"model": "gated", "text": "a b", "beam": 3, "hide": [1], "hide_input": True, "needed": True}
    found = ask(application([model]), "POST", "/api/translate", json=asked).json()["translation"]
    assert found == {"given": "a b", "beam": 3, "hide": [1], "hide_input": True, "needed": True}


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_folder_is_served_as_it_is_and_nothing_beside_it(app, folder):
    types = {".js": "text/javascript", ".css": "text/css", ".html": "text/html", ".svg": "image/svg+xml"}
    types[".jpg"] = "image/jpeg"
    for file in (path for path in FOLDERS[folder].rglob("*") if path.is_file()):
        place = file.relative_to(FOLDERS[folder]).as_posix()
        answer = ask(app, "GET", f"/{folder}/{place}", headers={"X-Regard-Token": None})
        assert answer.content == file.read_bytes()
        assert answer.headers["content-type"].startswith(types.get(file.suffix, "application/json"))
        assert answer.headers["cache-control"] == "no-cache"
    outside = ["../app.py", "%2e%2e/app.py", "..%2fapp.py", "..%2fhtml.py", "....//app.py"]
    for path in ("", "/", *(f"/{name}" for name in (*outside, "%00", "%2fetc%2fpasswd", "nothing.js"))):
        assert refused(ask(app, "GET", f"/{folder}{path}"), 404), path
    assert refused(ask(app, "POST", f"/{folder}/{place}"), 405)


def test_nothing_outside_the_folders_is_served(app):
    for path in ("/../app.py", "/%2e%2e/app.py", "/..%2fapp.py", "/....//app.py", "/%00", "/app.py", "//etc/passwd"):
        assert refused(ask(app, "GET", path), 404)
    for path in ("/map.js", "/steps/", "/api/models/"):
        assert refused(ask(app, "GET", path), 404)
    assert refused(ask(app, "DELETE", "/api/models"), 405)


def test_every_view_has_its_own_address(app):
    pages = {ask(app, "GET", view, headers={"X-Regard-Token": None}).text for view in VIEWS}
    assert pages == {(FOLDERS["page"] / "index.html").read_text()}


def test_what_the_page_imports_is_fetched_at_once():
    """A browser need not read one module to learn of the next: index.html names all that app.js imports."""
    text = (FOLDERS["page"] / "index.html").read_text()
    named = re.findall(r'rel="modulepreload" href="/([^"]+)"', text)
    assert sorted(named) == sorted(imported("page/app.js") - {"page/app.js"})


def imported(module: str) -> set[str]:
    """A module and all that it imports when it is read, at any depth."""
    found, new = set(), [module]
    while new:
        module = new.pop()
        found.add(module)
        folder, _, name = module.partition("/")
        for specifier in re.findall(
            r'^(?:import|export) .*?from "([^"]+)"', (FOLDERS[folder] / name).read_text(), re.M | re.S
        ):
            imported = posixpath.normpath(posixpath.join(posixpath.dirname(module), specifier))
            new += [imported] if imported not in found else []
    return found


def test_models_that_are_not_there(app):
    assert refused(ask(app, "POST", "/api/translate", json={**SENTENCE, "model": "capitels"}), 404, "'capitals'?")
    assert refused(ask(app, "POST", "/api/caption?model=capitals", content=b"x"), 404, "diagonal-soft")
    bare = application([])
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


def test_a_failure_is_said_without_its_traceback():
    model = Gated(RuntimeError("secret of the inside"))
    model.go.set()
    app = application([model])
    answer = ask(app, "POST", "/api/translate", json={"model": "gated", "text": "a"})
    assert refused(answer, 500, "its terminal says more")
    assert "secret" not in answer.text
    assert answer.headers["content-security-policy"] == POLICY
