"""The calls under ``/api/inspect``: maps of a recording, and the parts of them that are on screen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from regard.errors import InputError
from regard.explorer import requests as asked
from regard.explorer.limits import FOUND
from regard.explorer.recordings import ADVICE, Recordings, only
from regard.explorer.requests import from_json, read_json
from regard.explorer.work_queue import WorkQueue

R = TypeVar("R", bound=asked.MapsRequest)


class InspectApi:
    """Answers are computed in the queue's worker; tiles and thumbnails are sent as little-endian binary."""

    def __init__(self, models: Sequence[object], queue: WorkQueue) -> None:
        self.recordings, self.queue = Recordings(models), queue

    def routes(self) -> list[Route]:
        answers: dict[str, tuple[type[Any], Callable[[Any], Response]]] = {
            "maps": (asked.MapsRequest, self.maps),
            "heads": (asked.MapRequest, self.heads),
            "thumbnails": (asked.ThumbnailsRequest, self.thumbnails),
            "tile": (asked.TileRequest, self.tile),
            "profile": (asked.ProfileRequest, self.profile),
            "labels": (asked.LabelsRequest, self.labels),
            "search": (asked.SearchRequest, self.search),
        }
        calls = [
            Route(f"/api/inspect/{name}", self._answering(cls, answer), methods=["POST"])
            for name, (cls, answer) in answers.items()
        ]
        return [Route("/api/inspect", self.recordings_list), *calls]

    def _answering(self, cls: type[R], answer: Callable[[R], Response]) -> Callable[[Request], Any]:
        async def endpoint(request: Request) -> Response:
            return await self.queue.run(answer, from_json(cls, await read_json(request)))

        return endpoint

    async def recordings_list(self, _: Request) -> JSONResponse:
        found = [
            {"name": name, "takes_text": model.takes_text, "description": model.card.description}
            for name, model in self.recordings.by_name.items()
        ]
        return JSONResponse({"recordings": found, "advice": ADVICE})

    def maps(self, request: asked.MapsRequest) -> Response:
        from regard.inspection.names import layer_number

        recorded = self.recordings.find(request.recording, request.text)
        maps = []
        for name, found in recorded.items():
            batch, _, rows, columns = found.shape
            sizes = {"batch": batch, "heads": found.heads, "rows": rows, "columns": columns}
            maps.append({"name": name, "layer": layer_number(name), **sizes, "cross": recorded.is_cross(name)})
        return JSONResponse({"maps": maps})

    def heads(self, request: asked.MapRequest) -> Response:
        """What the heads of one module do: those of all would keep the worker from the tiles on screen."""
        alone = only(self.recordings.find(request.recording, request.text), request.map)
        return JSONResponse({"heads": alone.heads().to_json()})

    def thumbnails(self, request: asked.ThumbnailsRequest) -> Response:
        from regard.explorer.tiles import thumbnails

        found = self.recordings.find(request.recording, request.text)[request.map]
        tables, sampled = thumbnails(found, request.batch, request.size)
        return _binary(tables, "float16", sampled=sampled)

    def tile(self, request: asked.TileRequest) -> Response:
        from regard.explorer.tiles import tile

        table = tile(
            self._heads(request), request.rows, request.columns, request.cell, request.by, sampled=request.sampled
        )
        return _binary(table, "float32" if request.precise else "float16", sampled=request.sampled)

    def profile(self, request: asked.ProfileRequest) -> Response:
        from regard.explorer.tiles import profile

        heads = self._heads(request)
        found = profile(heads, request.axis, request.place, request.span, request.bins)
        return JSONResponse(found)

    def labels(self, request: asked.LabelsRequest) -> Response:
        labels = self._axis(request)
        first, last = request.span
        if last > len(labels):
            raise InputError(f"labels {first} to {last} are not there; the map has {len(labels)}, from 0")
        return JSONResponse({"labels": labels[first:last]})

    def search(self, request: asked.SearchRequest) -> Response:
        wanted = request.find.casefold()
        places = [place for place, label in enumerate(self._axis(request)) if wanted in label.casefold()]
        return JSONResponse({"places": places[:FOUND], "count": len(places)})

    def _heads(self, request: asked.HeadsRequest) -> Any:
        return self.recordings.heads(request.recording, request.text, request.map, request.batch, request.heads)

    def _axis(self, request: asked.LabelsRequest | asked.SearchRequest) -> list[str]:
        found = self.recordings.find(request.recording, request.text)[request.map]
        return found.rows if request.axis == "row" else found.columns


def _binary(table: Any, dtype: str, *, sampled: bool) -> Response:
    """The numbers of a table row by row; headers say their shape and type."""
    headers = {
        "X-Regard-Shape": ",".join(str(size) for size in table.shape),
        "X-Regard-Type": dtype,
        "X-Regard-Sampled": str(sampled).lower(),
    }
    numbers = table.numpy().astype(np.dtype(dtype).newbyteorder("<"))
    return Response(numbers.tobytes(), 200, headers, "application/octet-stream")
