"""The events of a stream: :func:`read_events`.

The SDKs read a stream through six generators, one inside the other, and each piece of an answer
passes all of them. Here a piece of the response is cut into its events at once.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from .failures import ServerSaid

if TYPE_CHECKING:
    import httpx2

DRAIN = 0.1
"""Seconds for what follows the event that ends a stream. A connection whose response was read to
its end is used again; most servers send the end with that event."""
_DONE = "[DONE]"


async def read_events(response: httpx2.Response, take: Callable[[Any], None]) -> None:
    """Give ``take`` the data of each event, decoded, until the stream ends or says ``[DONE]``.

    An event without data is passed over. The response is closed in any case.

    Raises:
        ServerSaid: an event is an error.
        ValueError: its data is not JSON, or not valid UTF-8.
        Exception: whatever ``take`` and the HTTP client raise.
    """
    import httpx2

    events, pieces = Events(), aiter(response.stream)  # type: ignore[arg-type]
    try:
        async for piece in pieces:
            for name, data in events.feed(piece):
                if data.startswith(_DONE):
                    with suppress(TimeoutError, httpx2.HTTPError):
                        async with asyncio.timeout(DRAIN):
                            async for _ in pieces:
                                pass
                    return
                if name == "error":
                    raise ServerSaid(_decoded(data))
                if data:
                    take(json.loads(data))
    finally:
        await pieces.aclose()  # type: ignore[attr-defined]
        await response.aclose()


def _decoded(data: str) -> Any:
    with suppress(ValueError, RecursionError):
        return json.loads(data)
    return data


class Events:
    """Cuts a stream of server-sent events into events."""

    def __init__(self) -> None:
        self._open = bytearray()
        self._after_cr = False

    def feed(self, piece: bytes) -> Iterator[tuple[str, str]]:
        """The events that ``piece`` completes: name, empty if it has none, and data."""
        if piece and (self._after_cr or b"\r" in piece):
            piece = self._with_newlines(piece)
        start = max(len(self._open) - 1, 0)
        self._open += piece
        begin = 0
        while (end := self._open.find(b"\n\n", start)) >= 0:
            yield _event(self._open[begin:end].decode())
            begin = start = end + 2
        del self._open[:begin]

    def _with_newlines(self, piece: bytes) -> bytes:
        """``piece`` with every line ended by a newline alone."""
        if self._after_cr:
            piece = piece.removeprefix(b"\n")
        self._after_cr = piece.endswith(b"\r")
        return piece.replace(b"\r\n", b"\n").replace(b"\r", b"\n")


def _event(text: str) -> tuple[str, str]:
    name, data = "", []
    for line in text.split("\n"):
        field, _, value = line.partition(":")
        if field == "data":
            data.append(value.removeprefix(" "))
        elif field == "event":
            name = value.removeprefix(" ")
    return name, "\n".join(data)
