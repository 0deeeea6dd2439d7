"""What one request may cost: bytes, time, places in the queue; and what its JSON may be."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NoReturn, TypeVar

from starlette.requests import Request

from regard.errors import did_you_mean

T = TypeVar("T")

JSON_BYTES = 64 << 10
EXPORT_BYTES = 8 << 20
PHOTO_BYTES = 16 << 20
PHOTO_PIXELS = 40_000_000
BODY_SECONDS = 30.0
WORK_SECONDS = 60.0
WAITING = 16
REQUESTS = 64
IDLE_SECONDS = 5
ENDING = "the server is ending"


class Refused(Exception):  # noqa: N818 - it is an answer, not a failure
    """An answer that says why there is no other."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status, self.why = status, why


async def read_body(request: Request, limit: int) -> bytes:
    """The body, read no further than the limit."""
    too_large = Refused(413, f"the request is larger than the {limit >> 10} KB that are read")
    declared = request.headers.get("content-length", "")
    if declared.isdecimal() and int(declared[:20]) > limit:
        raise too_large
    parts, size = [], 0
    try:
        async with asyncio.timeout(BODY_SECONDS):
            async for part in request.stream():
                size += len(part)
                if size > limit:
                    raise too_large
                parts.append(part)
    except TimeoutError:
        raise Refused(408, f"the request did not arrive within {BODY_SECONDS:.0f} seconds") from None
    return b"".join(parts)


async def read_object(request: Request, limit: int = JSON_BYTES) -> dict[str, Any]:
    """The body as a JSON object; NaN and infinity are not JSON."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise Refused(415, f"send application/json; the request is {kind or 'of no type'!r}")
    raw = await read_body(request, limit)

    def refuse(constant: str) -> NoReturn:
        raise Refused(400, f"{constant} is not a number in JSON")

    try:
        found = json.loads(raw, parse_constant=refuse)
    except RecursionError:
        raise Refused(400, "the JSON is nested too deeply") from None
    except ValueError as error:  # also bytes that are not UTF-8, and integers of thousands of digits
        raise Refused(400, f"this is not JSON: {error}") from None
    if b"\\u" in raw:
        try:
            json.dumps(found, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise Refused(400, "the JSON holds half a character (a lone surrogate escape)") from None
    if not isinstance(found, dict):
        raise Refused(400, f"send a JSON object; {_name(found)} came")
    return found


def field(given: dict[str, Any], name: str, kind: type[T], default: T | None = None) -> T:
    """A field of a JSON object, of the type it must have (an int is not a bool)."""
    if name not in given:
        if default is not None:
            return default
        raise Refused(400, f"{name!r} is missing; the request has {', '.join(map(repr, given)) or 'nothing'}"[:300])
    value = given[name]
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise Refused(400, f"{name!r} must be {_NAMES[kind]}; {_name(value)} came")
    return value


def only(given: dict[str, Any], *names: str) -> None:
    """Refuse fields that mean nothing here: a misspelt one would go unnoticed."""
    for name in given:
        if name not in names:
            raise Refused(
                400, f"there is no field {name[:80]!r}; there are {', '.join(names)}.{did_you_mean(name, names)}"
            )


_NAMES: dict[type, str] = {
    str: "a string",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    list: "a list",
    dict: "an object",
    type(None): "null",
}


def _name(value: Any) -> str:
    return _NAMES.get(type(value), type(value).__name__)


class Work:
    """Computes in a thread, one thing at a time, while a few may wait: two at once would slow each other down."""

    def __init__(self, *, waiting: int = WAITING, seconds: float = WORK_SECONDS) -> None:
        self.waiting, self.seconds = waiting, seconds
        self._places = threading.BoundedSemaphore(waiting + 1)
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="regard")
        self._begun: list[Future[Any]] = []
        self._awaited: set[asyncio.Future[Any]] = set()
        self._ended = False

    def begin(self, function: Callable[..., T], *arguments: Any) -> Future[T]:
        """Do it as soon as nothing else is under way, however many wait."""
        future = self._pool.submit(function, *arguments)
        self._begun = [*(before for before in self._begun if not before.done()), future]
        return future

    async def do(self, function: Callable[..., T], *arguments: Any) -> T:
        """The function's result, or a refusal when too many wait, it takes too long, or the server ends."""
        if self._ended:
            raise Refused(503, ENDING)
        if not self._places.acquire(blocking=False):
            raise Refused(503, f"busy: {self.waiting} requests wait already; try again in a moment")
        future = self.begin(function, *arguments)
        future.add_done_callback(lambda _: self._places.release())  # a thread cannot be stopped: it keeps its place
        answer = asyncio.wrap_future(future)
        self._awaited.add(answer)
        try:
            return await asyncio.wait_for(answer, self.seconds)
        except TimeoutError:
            raise Refused(503, f"this took longer than {self.seconds:.0f} seconds; try something shorter") from None
        except asyncio.CancelledError:
            if not self._ended:
                raise
            raise Refused(503, ENDING) from None
        finally:
            self._awaited.discard(answer)

    def end(self) -> bool:
        """Drop what waits, and tell those it was for; whether nothing is under way any more."""
        self._ended = True
        self._pool.shutdown(wait=False, cancel_futures=True)
        for answer in [*self._awaited]:
            answer.cancel()
        return all(future.done() for future in self._begun)
