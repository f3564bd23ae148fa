"""``GET /api/events``: the stream of server-sent events of a browser."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from hookline_hookspecs.web import Identity, Problem, t

from .event_hub import EventHub
from .session_reader import SessionReader

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import StreamingResponse

MAX_SESSIONS_PER_STREAM = 64
KEEPALIVE_SECONDS = 15.0
"""Seconds without an event after which a comment is sent."""
HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}


async def events(
    hub: EventHub, reader: SessionReader, who: Identity, request: Request
) -> StreamingResponse:
    """Return the stream of the sessions that the query names.

    Raises :class:`Problem` (404, 503).
    """
    from starlette.responses import StreamingResponse

    if hub.closed:
        later = {"Retry-After": "2"}
        raise Problem(503, "stopping", t("Hookline is stopping."), t("Try again."), later)
    last = request.headers.get("last-event-id") or request.query_params.get("last", "")
    named = [one for one in request.query_params.get("sessions", "").split(",") if one]
    starts: dict[str, int | None] = {}
    for one in named[:MAX_SESSIONS_PER_STREAM]:
        session, _, cursor = one.partition("@")
        await reader.row(who, session)
        starts[session] = _start(hub, cursor, last)
    body = _body(hub, who, starts, last)
    return StreamingResponse(body, media_type="text/event-stream", headers=HEADERS)


def _start(hub: EventHub, cursor: str, last: str) -> int | None:
    """Return the number after which a session's events start; without a cursor, the current one.

    A cursor of the session overrides ``last``, which may be from a stream without that session.
    """
    if not cursor and not last:
        return hub.n
    return hub.number(cursor or last)


async def _body(
    hub: EventHub, who: Identity, starts: dict[str, int | None], last: str
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
            await stream.wait(KEEPALIVE_SECONDS)
            if hub.n == at and not stream.ended:
                yield b": alive\n\n"
    finally:
        hub.leave(stream)
