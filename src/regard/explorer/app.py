"""The application: the page's files and the API behind the guard."""

from __future__ import annotations

import mimetypes
from collections.abc import Sequence
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
from regard.explorer.exported import exported
from regard.explorer.guard import Guard, refusal
from regard.explorer.limits import (
    EXPORT_BYTES,
    PHOTO_BYTES,
    Refused,
    Work,
    field,
    only,
    read_body,
    read_object,
)
from regard.explorer.models import TASKS, Model, advice

PAGE = Path(__file__).parent / "page"
VIEWS = ("/", "/steps", "/translate", "/caption", "/kinds")
CHARACTERS, WORDS, BEAM = 2000, 200, 10

mimetypes.add_type("text/javascript", ".js")  # some systems' own tables say text/plain, which browsers refuse to run


def build_app(models: Sequence[Model] = (), *, work: Work, token: str, port: int) -> ASGIApp:
    """The application that listens on ``port`` and takes ``token``."""
    api = Api(models, work)
    routes = [
        *(Route(view, _index) for view in VIEWS),
        Route("/api/models", api.models),
        Route("/api/translate", api.translate, methods=["POST"]),
        Route("/api/caption", api.caption, methods=["POST"]),
        Route("/api/export", api.export, methods=["POST"]),
        Mount("/", StaticFiles(directory=PAGE)),
    ]
    handlers = {Refused: _refused, RegardError: _mendable, HTTPException: _no_route, Exception: _failed}
    return Guard(Starlette(routes=routes, exception_handlers=handlers), token=token, port=port)


class Api:
    """The calls under ``/api/``."""

    def __init__(self, models: Sequence[Model], work: Work) -> None:
        self.cards = [model.card for model in models]
        self.by_task = {task: {model.card.name: model for model in models if model.card.task == task} for task in TASKS}
        self.work = work

    async def models(self, _: Request) -> JSONResponse:
        missing = {task: advice(task) for task, models in self.by_task.items() if not models}
        return JSONResponse({"models": [card.to_json() for card in self.cards], "advice": missing})

    async def translate(self, request: Request) -> JSONResponse:
        given = await read_object(request)
        only(given, "model", "text", "beam")
        model = self._model("translate", field(given, "model", str))
        text, beam = field(given, "text", str), _beam(field(given, "beam", int, 5))
        words = len(text.split())
        if len(text) > CHARACTERS or words > WORDS:
            raise Refused(
                422,
                f"the sentence has {words} words and {len(text)} characters; at most {WORDS} words and {CHARACTERS} "
                "characters are translated here. Split it, or use `regard translate`.",
            )
        return JSONResponse({"translation": await self.work.do(model.answer, text, beam)})

    async def caption(self, request: Request) -> JSONResponse:
        asked = dict(request.query_params)
        only(asked, "model")
        model = self._model("caption", field(asked, "model", str))
        photo = await read_body(request, PHOTO_BYTES)
        return JSONResponse({"caption": await self.work.do(model.answer, photo, 5)})

    async def export(self, request: Request) -> Response:
        name, html = await self.work.do(exported, await read_object(request, EXPORT_BYTES))
        headers = {"Content-Disposition": f'attachment; filename="{name}"'}
        return Response(html, media_type="text/html", headers=headers)

    def _model(self, task: str, name: str) -> Model:
        models = self.by_task[task]
        if not models:
            raise Refused(404, advice(task))
        try:
            return choose("model", name[:200], models)
        except UnknownName as error:
            raise Refused(404, str(error)) from None


def _beam(beam: int) -> int:
    if not 1 <= beam <= BEAM:
        raise Refused(400, f"'beam' must be from 1 to {BEAM}; {str(beam)[:20]} came")
    return beam


async def _index(_: Request) -> FileResponse:
    return FileResponse(PAGE / "index.html")


async def _refused(_: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, Refused)
    return refusal(error.status, error.why)


async def _mendable(_: Request, error: Exception) -> JSONResponse:
    return refusal(422, str(error))


async def _no_route(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    said = HTTPStatus(error.status_code).phrase.lower()
    return JSONResponse(
        {"error": f"{request.method} {request.url.path}: {said}"}, status_code=error.status_code, headers=error.headers
    )


async def _failed(_: Request, error: Exception) -> JSONResponse:  # noqa: ARG001 - uvicorn writes it to stderr
    return refusal(500, "the server failed on this request; its terminal says more")
