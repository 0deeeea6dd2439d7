"""The application: the page's files and the API behind the guard."""

from __future__ import annotations

import mimetypes
from collections.abc import Sequence
from functools import partial
from http import HTTPStatus
from pathlib import Path

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from regard.errors import RegardError, UnknownName, choose
from regard.explorer.exported import single_file
from regard.explorer.guard import Guard, refusal
from regard.explorer.inspect_api import InspectApi
from regard.explorer.limits import EXPORT_BYTES, PHOTO_BYTES, Refused, read_body
from regard.explorer.models import TASKS, Model, advice
from regard.explorer.requests import CaptionRequest, TranslateRequest, from_json, from_query, read_json
from regard.explorer.work_queue import WorkQueue
from regard.show.html import VIEWER

_HERE = Path(__file__).parent
FOLDERS = {name: _HERE / name for name in ("page", "views", "maths", "maps", "stage")} | {"viewer": VIEWER}
"""what the browser may load: the first part of an address, and the folder it stands for"""
STORY = ("/story", "/story/{chapter}", "/story/{chapter}/{beat}")
VIEWS = ("/", *STORY, "/steps", "/translate", "/caption", "/kinds", "/inspect")

mimetypes.add_type("text/javascript", ".js")  # some systems' own tables say text/plain, which browsers refuse to run


def build_app(models: Sequence[Model] = (), *, queue: WorkQueue, token: str, port: int) -> ASGIApp:
    """The application that listens on ``port`` and takes ``token``."""
    api = Api(models, queue)
    routes = [
        *(Route(view, _index) for view in VIEWS),
        Route("/api/models", api.models),
        Route("/api/translate", api.translate, methods=["POST"]),
        Route("/api/caption", api.caption, methods=["POST"]),
        Route("/api/export", api.export, methods=["POST"]),
        *InspectApi(models, queue).routes(),
        *(Mount(f"/{name}", StaticFiles(directory=folder)) for name, folder in FOLDERS.items()),
    ]
    handlers = {
        Refused: _refused,
        UnknownName: _bad_request,  # a word or a cell to hide that is not there
        RegardError: _unprocessable,
        HTTPException: _http_error,
        Exception: _internal_error,
    }
    app = Starlette(routes=routes, exception_handlers=handlers)
    app.router.redirect_slashes = False  # an address has one spelling; any other is not found
    return Guard(app, token=token, port=port)


class Api:
    """The calls under ``/api/``."""

    def __init__(self, models: Sequence[Model], queue: WorkQueue) -> None:
        self.cards = [model.card for model in models]
        self.by_task = {task: {model.card.name: model for model in models if model.card.task == task} for task in TASKS}
        self.queue = queue

    async def models(self, _: Request) -> JSONResponse:
        missing = {task: advice(task) for task, models in self.by_task.items() if not models}
        return JSONResponse({"models": [card.to_json() for card in self.cards], "advice": missing})

    async def translate(self, request: Request) -> JSONResponse:
        asked = from_json(TranslateRequest, await read_json(request))
        model = self._model("translate", asked.model)
        work = partial(model.answer, hide=asked.hide, hide_input=asked.hide_input, needed=asked.needed)
        return JSONResponse({"translation": await self.queue.run(work, asked.text, asked.beam)})

    async def caption(self, request: Request) -> JSONResponse:
        asked = from_query(CaptionRequest, request)
        model = self._model("caption", asked.model)
        photo = await read_body(request, PHOTO_BYTES)
        work = partial(model.answer, hide=asked.hide, hide_input=asked.hide_input, needed=asked.needed)
        return JSONResponse({"caption": await self.queue.run(work, photo, 5)})

    async def export(self, request: Request) -> Response:
        name, html = await self.queue.run(single_file, await read_json(request, EXPORT_BYTES))
        headers = {"Content-Disposition": f'attachment; filename="{name}"'}
        return Response(html, media_type="text/html", headers=headers)

    def _model(self, task: str, name: str) -> Model:
        models = self.by_task[task]
        if not models:
            raise Refused(404, advice(task))
        try:
            return choose("model", name, models)
        except UnknownName as error:
            raise Refused(404, str(error)) from None


async def _index(_: Request) -> FileResponse:
    return FileResponse(FOLDERS["page"] / "index.html")


async def _refused(_: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, Refused)
    return refusal(error.status, error.why)


async def _bad_request(_: Request, error: Exception) -> JSONResponse:
    return refusal(400, str(error))


async def _unprocessable(_: Request, error: Exception) -> JSONResponse:
    return refusal(422, str(error))


async def _http_error(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    reason = HTTPStatus(error.status_code).phrase.lower()
    return JSONResponse(
        {"error": f"{request.method} {request.url.path}: {reason}"},
        status_code=error.status_code,
        headers=error.headers,
    )


async def _internal_error(_: Request, error: Exception) -> JSONResponse:  # noqa: ARG001 - uvicorn writes it to stderr
    return refusal(500, "the server failed on this request; its terminal says more")
