"""``regard serve`` hands models and port to the server, and does not wait for what cannot be stopped."""

from __future__ import annotations

import pytest
from cyclopts import CycloptsError

from regard.cli import build_app
from regard.cli import serve as module
from tests.cli.verbs import run


@pytest.mark.parametrize(("idle", "left"), [(True, []), (False, [0])])
def test_models_and_port_are_handed_on(monkeypatch, idle, left):
    asked, ended = [], []
    monkeypatch.setattr("regard.explorer.server.serve", lambda models, port: asked.append((models, port)) or idle)
    monkeypatch.setattr("os._exit", ended.append)
    run(module.serve, "en-fr", "runs/mine", "--port", "0")
    assert asked == [(("en-fr", "runs/mine"), 0)]
    assert ended == left


def test_a_port_that_is_none_is_refused(monkeypatch):
    monkeypatch.setattr("regard.explorer.server.serve", lambda *_, **__: pytest.fail("served"))
    with pytest.raises(CycloptsError, match="65535"):
        build_app()(["serve", "--port", "70000"], exit_on_error=False, print_error=False)
