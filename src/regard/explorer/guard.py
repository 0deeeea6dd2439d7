"""Who may talk to the server: this machine's own page, with the token."""

from __future__ import annotations

import hmac

from starlette.datastructures import Headers, MutableHeaders, QueryParams
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from regard.explorer.limits import REQUESTS

TOKEN_HEADER = "X-Regard-Token"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; connect-src 'self'; "
    "base-uri 'none'; frame-ancestors 'none'; form-action 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


def refusal(status: int, why: str, **headers: str) -> JSONResponse:
    """An answer that says what was wrong."""
    return JSONResponse(
        {"error": why}, status_code=status, headers={k.replace("_", "-"): v for k, v in headers.items()}
    )


class Guard:
    """Lets in requests that name this server as their host, come from its own page, and bring the token for the API.

    A foreign page can send requests to 127.0.0.1, and by DNS rebinding under a host name of its own; the browser
    then says so in Host and Origin.
    """

    def __init__(self, app: ASGIApp, *, token: str, port: int) -> None:
        self.app, self.token = app, token.encode()
        names = [f"{name}:{port}" for name in ("127.0.0.1", "localhost")]
        self.hosts = names + (["127.0.0.1", "localhost"] if port == 80 else [])
        self._under_way = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
        elif scope["type"] == "http":
            answer = self._refusal(scope) or self.app
            self._under_way += 1
            try:
                await answer(scope, receive, _with_headers(send, _headers_for(scope)))
            finally:
                self._under_way -= 1
        else:
            await send({"type": "websocket.close", "code": 1008})

    def _refusal(self, scope: Scope) -> JSONResponse | None:
        headers = Headers(scope=scope)
        hosts, origins = headers.getlist("host"), headers.getlist("origin")
        if len(hosts) != 1 or hosts[0].lower() not in self.hosts:
            return refusal(403, f"this server answers to {self.hosts[0]}; the request names the host {hosts}")
        if any(origin.lower() not in [f"http://{host}" for host in self.hosts] for origin in origins):
            return refusal(403, f"requests may come from the server's own page only; this one comes from {origins}")
        if self._under_way >= REQUESTS:
            return refusal(503, f"busy: {REQUESTS} requests are under way already; try again in a moment")
        if "\0" in scope["path"]:  # no file has such a name, and asking the system for it is an error
            return refusal(404, "there is nothing of that name")
        if _is_api(scope):
            given = headers.get(TOKEN_HEADER, "").encode("utf-8", "surrogateescape")
            if not hmac.compare_digest(given, self.token):
                return refusal(
                    401, f"the token ({TOKEN_HEADER}) is missing or wrong; open the address that `regard serve` printed"
                )
        return None


def _is_api(scope: Scope) -> bool:
    return bool(scope["path"] == "/api" or scope["path"].startswith("/api/"))


def _headers_for(scope: Scope) -> dict[str, str]:
    """A beat of the story may stand in the frame of any page; it holds nothing that a click could give away."""
    headers = HEADERS | {"Cache-Control": "no-store" if _is_api(scope) else "no-cache"}
    if scope["path"].startswith("/story/") and "embed" in QueryParams(scope["query_string"]):
        headers["Content-Security-Policy"] = POLICY.replace("frame-ancestors 'none'", "frame-ancestors *")
    return headers


def _with_headers(send: Send, more: dict[str, str]) -> Send:
    async def guarded(message: Message) -> None:
        if message["type"] == "http.response.start":
            MutableHeaders(scope=message).update(more)
        await send(message)

    return guarded
