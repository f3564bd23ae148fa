"""``GET /api/events``: the one stream of a browser."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from hookline_hookspecs.web import Identity, Problem

from .hub import Hub
from .reading import Reader

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import StreamingResponse

MOST_SESSIONS = 64
"""Sessions that a stream follows."""
ALIVE = 15.0
"""Seconds after which a comment is sent where nothing else was."""
HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}


async def events(hub: Hub, reader: Reader, who: Identity, request: Request) -> StreamingResponse:
    """Return the stream of the sessions that the query names.

    Raises :class:`Problem` (404, 503).
    """
    from starlette.responses import StreamingResponse

    if hub.closed:
        told = "Hookline is about to stop."
        raise Problem(503, "stopping", told, "Try again.", {"Retry-After": "2"})
    last = request.headers.get("last-event-id") or request.query_params.get("last", "")
    named = [one for one in request.query_params.get("sessions", "").split(",") if one]
    starts: dict[str, int | None] = {}
    for one in named[:MOST_SESSIONS]:
        session, _, cursor = one.partition("@")
        await reader.row(who, session)
        starts[session] = _start(hub, cursor, last)
    body = _body(hub, who, starts, last)
    return StreamingResponse(body, media_type="text/event-stream", headers=HEADERS)


def _start(hub: Hub, cursor: str, last: str) -> int | None:
    """The number after which a session's events begin: now, where a page knows nothing of it.

    A cursor of the session counts alone: ``last`` may have been heard on a stream that did not tell
    of the session.
    """
    if not cursor and not last:
        return hub.n
    return hub.number(cursor or last)


async def _body(
    hub: Hub, who: Identity, starts: dict[str, int | None], last: str
) -> AsyncIterator[bytes]:
    since = hub.number(last) if last else hub.n
    stream = hub.listen(who, starts, hub.n if since is None else since)
    try:
        first = hub.begin(stream)
        yield (b": connected\n\n" if since is not None else hub.resync(None)) + first
        while not stream.ended and not hub.closed:
            if data := hub.read(stream):
                yield data
                continue
            at = hub.n
            await stream.wait(ALIVE)
            if hub.n == at and not stream.ended:
                yield b": alive\n\n"
    finally:
        hub.leave(stream)
