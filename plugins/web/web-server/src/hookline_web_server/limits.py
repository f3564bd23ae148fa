"""How much, how often and how slowly: rates, requests at a time, and bodies."""

from __future__ import annotations

import asyncio
from collections import Counter, OrderedDict, deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any, TypeAlias

from hookline_hookspecs.web import Identity, Problem

Receive: TypeAlias = Callable[[], Awaitable[dict[str, Any]]]
MINUTE = 60.0
MOST_KEYS = 10_000
"""Whose requests are counted at a time; above, who sent none for the longest is forgotten."""
MOST_STREAMS, MOST_OTHERS, MOST_UNKNOWN = 1100, 128, 64
"""At a time: streams, other requests of who is known, and those of everybody else, who keep only
each other out."""
STREAMS_EACH = 16
WAIT_SECONDS = 10.0
"""For another request to end, before 503 is answered."""
CHUNK_SECONDS = 10.0
"""For the next piece of a body."""
SLOWEST = 4096.0
"""Bytes a second, over a whole body; after :data:`CHUNK_SECONDS`."""

REST_BYTES, REST_SECONDS = 64_000_000, 10.0
"""Of a refused request's body: what is read and thrown away at most, so that the answer arrives."""


class Rates:
    """Counts requests by key over the last minute."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._times: OrderedDict[tuple[str, str], deque[float]] = OrderedDict()

    def take(self, what: str, who: str, most: int) -> None:
        """Count a request. Raises :class:`Problem` (429) if ``most`` were counted in a minute."""
        times = self._times.setdefault((what, who), deque())
        self._times.move_to_end((what, who))
        if len(self._times) > MOST_KEYS:
            self._times.popitem(last=False)
        now = self._now()
        while times and times[0] <= now - MINUTE:
            times.popleft()
        if len(times) >= most:
            raise too_many(times[0] + MINUTE - now)
        times.append(now)


def too_many(seconds: float, what: str = "Too many requests.") -> Problem:
    """Return the problem that asks somebody to come back later."""
    wait = max(1, int(seconds) + 1)
    return Problem(
        429, "too_many", what, f"Try again in {wait} seconds.", {"Retry-After": str(wait)}
    )


class Slots:
    """Requests under way: streams, counted apart for each person, and all others."""

    def __init__(self) -> None:
        self._known = asyncio.Semaphore(MOST_OTHERS)
        self._unknown = asyncio.Semaphore(MOST_UNKNOWN)
        self.streams = 0
        self.each: Counter[str] = Counter()

    @asynccontextmanager
    async def other(self, *, is_known: bool) -> AsyncIterator[Callable[[], None]]:
        """Hold a slot; the function gives it back early. Raises :class:`Problem` (503)."""
        slots = self._known if is_known else self._unknown
        try:
            async with asyncio.timeout(WAIT_SECONDS):
                await slots.acquire()
        except TimeoutError:
            raise Problem(
                503,
                "busy",
                "Too many requests are under way.",
                "Try again in a few seconds.",
                {"Retry-After": "5"},
            ) from None
        is_held = True

        def release() -> None:
            nonlocal is_held
            if is_held:
                is_held = False
                slots.release()

        try:
            yield release
        finally:
            release()

    @contextmanager
    def stream(self, who: Identity | None, address: str) -> Iterator[None]:
        """Hold a stream's slot. Raises :class:`Problem` (429, 503)."""
        person = who.person if who is not None else address
        if self.each[person] >= STREAMS_EACH:
            raise too_many(5, "Too many streams are open.")
        if self.streams >= MOST_STREAMS:
            fix, later = "Try again in a few seconds.", {"Retry-After": "5"}
            raise Problem(503, "busy", "Too many streams are open.", fix, later)
        self.streams += 1
        self.each[person] += 1
        try:
            yield
        finally:
            self.streams -= 1
            self.each[person] -= 1
            if not self.each[person]:
                del self.each[person]


def limited(receive: Receive, most: int, headers: list[tuple[bytes, bytes]]) -> Receive:
    """Return ``receive`` for a body of at most ``most`` bytes, which comes without long breaks.

    It raises :class:`Problem`: 413 for a larger body, 408 for one that does not come.
    """
    announced = dict(headers).get(b"content-length", b"")
    if announced and not announced.isdigit():
        raise Problem(400, "bad_request", "The request is not sound: its length is no number.")
    if len(announced) > 18 or int(announced or b"0") > most:
        raise _too_large(most)
    taken, is_whole, began = 0, False, asyncio.get_running_loop().time()

    async def take() -> dict[str, Any]:
        nonlocal taken, is_whole
        if is_whole:
            return await receive()
        try:
            async with asyncio.timeout(CHUNK_SECONDS):
                message = await receive()
        except TimeoutError:
            raise _too_slow() from None
        taken += len(message.get("body", b""))
        is_whole = message["type"] != "http.request" or not message.get("more_body")
        if taken > most:
            raise _too_large(most)
        seconds = asyncio.get_running_loop().time() - began - CHUNK_SECONDS
        if not is_whole and seconds > 0 and taken < seconds * SLOWEST:
            raise _too_slow()
        return message

    return take


class Body:
    """The body of a request as it is received; it knows whether there is more."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._is_whole = False

    async def __call__(self) -> dict[str, Any]:
        """Return the next part."""
        message = await self._receive()
        self._is_whole = message["type"] != "http.request" or not message.get("more_body")
        return message

    async def drain(self) -> None:
        """Read what is still coming. A connection that is closed before that is reset, and then
        many clients never see the answer."""
        left = REST_BYTES
        with suppress(TimeoutError):
            async with asyncio.timeout(REST_SECONDS):
                while left > 0 and not self._is_whole:
                    left -= len((await self()).get("body", b""))


def _too_large(most: int) -> Problem:
    text = f"This is larger than the {most:,} bytes that are taken here."
    return Problem(413, "too_large", text, "Send less.", {"Connection": "close"})


def _too_slow() -> Problem:
    text = "The request did not come in time."
    return Problem(408, "too_slow", text, "Send it again.", {"Connection": "close"})
