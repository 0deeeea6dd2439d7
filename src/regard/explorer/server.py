"""The server's process: its socket on 127.0.0.1, and uvicorn on it."""

from __future__ import annotations

import contextlib
import errno
import logging
import secrets
import socket
import sys
from collections.abc import Sequence

import uvicorn
from starlette.types import ASGIApp

from regard.errors import InputError
from regard.explorer.app import build_app
from regard.explorer.connection import Connection
from regard.explorer.limits import IDLE_SECONDS
from regard.explorer.models import Model, advice, find_models
from regard.explorer.work_queue import WorkQueue

HOST = "127.0.0.1"


def serve(names: Sequence[str] = (), *, port: int) -> bool:
    """Serve until Ctrl-C: the address goes to stdout at once, the models are loaded meanwhile.

    Gives whether the worker is idle.
    """
    models = find_models(names)
    queue = WorkQueue()
    with bound_socket(port) as bound:
        port, token = bound.getsockname()[1], secrets.token_urlsafe(24)
        server = Server(uvicorn_config(build_app(models, queue=queue, token=token, port=port)), queue)
        sys.stdout.write(f"http://{HOST}:{port}/?token={token}\n")
        sys.stdout.flush()
        if not models:
            sys.stderr.write(f"{advice('translate')}\n")
        loading = queue.submit(_load, models, server)
        with contextlib.suppress(KeyboardInterrupt):  # uvicorn raises it again once all is shut
            server.run(sockets=[bound])
        idle = queue.close()
    if loading.done() and not loading.cancelled():
        loading.result()  # a model that could not be loaded ends the server, and is said here
    return idle


def uvicorn_config(app: ASGIApp) -> uvicorn.Config:
    """How uvicorn serves the application: requests are counted by the guard, idle connections closed."""
    return uvicorn.Config(
        app,
        http=Connection,
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        ws="none",
        timeout_keep_alive=IDLE_SECONDS,
        timeout_graceful_shutdown=1,
    )


class Server(uvicorn.Server):
    """Ends at once: those who wait for an answer are told, and what is cut off is not reported as a failure."""

    def __init__(self, config: uvicorn.Config, queue: WorkQueue) -> None:
        super().__init__(config)
        self.queue = queue

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self.queue.close()
        logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)
        await super().shutdown(sockets)


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


def bound_socket(port: int) -> socket.socket:
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
