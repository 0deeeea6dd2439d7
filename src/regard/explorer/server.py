"""The server's process: its socket on 127.0.0.1, and uvicorn on it."""

from __future__ import annotations

import contextlib
import errno
import secrets
import socket
import sys

import uvicorn

from regard.errors import InputError
from regard.explorer.app import build_app

HOST = "127.0.0.1"


def serve(*, port: int) -> None:
    """Serve until Ctrl-C; the address goes to stdout."""
    bound = bind(port)
    port, token = bound.getsockname()[1], secrets.token_urlsafe(24)
    config = uvicorn.Config(
        build_app(token=token, port=port),
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        ws="none",
        limit_concurrency=64,
        timeout_graceful_shutdown=2,
    )
    sys.stdout.write(f"http://{HOST}:{port}/?token={token}\n")
    sys.stdout.flush()
    with bound, contextlib.suppress(KeyboardInterrupt):  # uvicorn raises it again once all is shut
        uvicorn.Server(config).run(sockets=[bound])


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
