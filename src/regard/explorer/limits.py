"""What one request may cost, in bytes and in time, and how it is refused."""

from __future__ import annotations

import asyncio

from starlette.requests import Request

JSON_BYTES = 64 << 10
EXPORT_BYTES = 8 << 20
PHOTO_BYTES = 16 << 20
PHOTO_PIXELS = 40_000_000
BODY_SECONDS = 30.0
WORK_SECONDS = 60.0
WAITING = 16
REQUESTS = 64
IDLE_SECONDS = 5
TILE_WEIGHTS = 1 << 27  # of one tile that is not sampled, all heads together: about a second
TILE_CELLS = 256  # to a side
PROFILE_BINS = 1024
LABELS = 4096
FOUND = 1000  # places that a search gives


class Refused(Exception):  # noqa: N818 - it is an answer, not a failure
    """An error response: its status, and the reason that the client is told."""

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
