"""The queue before the worker: full, too slow, or closed, each is said."""

from __future__ import annotations

import asyncio
import threading

import httpx

from regard.explorer.work_queue import WorkQueue
from tests.explorer.asking import HOST, TOKEN, Gated, application, ask, elsewhere, refused


def test_too_many_at_once_are_told_to_come_back():
    model = Gated()
    app = application([model], waiting=1, seconds=30)

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
    asked = {"given": "a", "beam": 5, "hide": [], "hide_input": False, "needed": False}
    assert [answer.json() for answer in later] == [{"translation": asked}] * 2
    assert ask(app, "POST", "/api/translate", json={"model": "gated", "text": "a"}).status_code == 200


def test_what_takes_too_long_is_given_up_and_keeps_its_place():
    model = Gated()
    app = application([model], waiting=0, seconds=0.05)
    request = {"model": "gated", "text": "a"}
    assert refused(ask(app, "POST", "/api/translate", json=request), 503, "took longer", "something shorter")
    assert refused(ask(app, "POST", "/api/translate", json=request), 503, "busy")
    model.go.set()


def test_a_queue_that_is_closed_drops_what_waits_and_knows_what_is_under_way():
    queue, gate = WorkQueue(), threading.Event()
    assert WorkQueue().close()

    async def ended():
        sent = [asyncio.create_task(queue.run(wait)) for wait in (gate.wait, gate.wait)]
        await asyncio.sleep(0.05)
        idle = queue.close()
        answers = await asyncio.gather(*sent, queue.run(gate.wait), return_exceptions=True)
        return idle, [(answer.status, answer.why) for answer in answers]

    idle, answers = elsewhere(ended())
    assert not idle
    assert answers == [(503, "the server is ending")] * 3
    gate.set()
