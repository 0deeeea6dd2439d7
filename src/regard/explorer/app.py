"""The application: the page's files and the API behind the guard."""

from __future__ import annotations

from pathlib import Path

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import FileResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from regard.explorer.guard import Guard

PAGE = Path(__file__).parent / "page"
VIEWS = ("/", "/steps", "/translate", "/caption", "/kinds")


def build_app(*, token: str, port: int) -> Starlette:
    """The application that listens on ``port`` and takes ``token``."""
    routes = [Route(view, _index) for view in VIEWS]
    return Starlette(
        routes=[*routes, Mount("/", StaticFiles(directory=PAGE))],
        middleware=[Middleware(Guard, token=token, port=port)],
    )


async def _index(_: Request) -> FileResponse:
    return FileResponse(PAGE / "index.html")
