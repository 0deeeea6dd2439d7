"""The server's process: its socket on 127.0.0.1, and uvicorn on it."""

from __future__ import annotations

import contextlib
import errno
import secrets
import socket
import sys
from collections.abc import Sequence

import uvicorn
from starlette.types import ASGIApp

from regard.errors import InputError
from regard.explorer.app import build_app
from regard.explorer.limits import Work
from regard.explorer.models import Model, find_models

HOST = "127.0.0.1"
CONNECTIONS = 64


def serve(names: Sequence[str] = (), *, port: int) -> None:
    """Serve until Ctrl-C: the address goes to stdout at once, the models are loaded meanwhile."""
    models = find_models(names)
    work = Work()
    with bind(port) as bound:
        port, token = bound.getsockname()[1], secrets.token_urlsafe(24)
        server = uvicorn.Server(_settings(build_app(models, work=work, token=token, port=port)))
        sys.stdout.write(f"http://{HOST}:{port}/?token={token}\n")
        sys.stdout.flush()
        loading = work.begin(_load, models, server)
        with contextlib.suppress(KeyboardInterrupt):  # uvicorn raises it again once all is shut
            server.run(sockets=[bound])
        work.end()
    if loading.done() and not loading.cancelled():
        loading.result()  # a model that could not be loaded ends the server, and is said here


def _settings(app: ASGIApp) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        ws="none",
        limit_concurrency=CONNECTIONS,
        timeout_graceful_shutdown=2,
    )


def _load(models: Sequence[Model], server: uvicorn.Server) -> None:
    try:
        for model in models:
            if server.should_exit:
                return
            sys.stderr.write(f"loading {model.card.name} …\n")
            model.load()
            sys.stderr.write(f"loaded {model.card.name}\n")
    except BaseException:
        server.should_exit = True
        raise


def bind(port: int) -> socket.socket:
    """A socket on ``port``, or on a free one where that is taken."""
    for asked in (port, 0):
        bound = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            bound.bind((HOST, asked))
            bound.listen(128)
        except OSError as error:
            bound.close()
            if asked and error.errno == errno.EADDRINUSE:
                sys.stderr.write(f"port {asked} is taken; taking a free one\n")
                continue
            raise InputError(f"cannot listen on {HOST}:{asked}: {error.strerror}. Choose another --port.") from None
        return bound
    raise AssertionError("port 0 is never taken")
