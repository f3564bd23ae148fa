"""Limits on the rate of requests, on concurrent requests, and on their bodies."""

from __future__ import annotations

import asyncio
from collections import Counter, OrderedDict, deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any, TypeAlias

from hookline_hookspecs.web import Identity, Problem, t, tn

Receive: TypeAlias = Callable[[], Awaitable[dict[str, Any]]]
MINUTE = 60.0
MAX_RATE_KEYS = 10_000
"""Tracked senders; above it, the least recently active is forgotten."""
MAX_STREAMS = 1100
"""Concurrent streams."""
MAX_REQUESTS = 128
"""Concurrent other requests of signed-in people and clients."""
MAX_ANONYMOUS_REQUESTS = 64
"""Concurrent requests of all others, who can only block each other."""
MAX_STREAMS_PER_PERSON = 16
SLOT_WAIT_SECONDS = 10.0
"""Seconds to wait for another request to end before 503 is returned."""
BODY_CHUNK_SECONDS = 10.0
"""Seconds to wait for the next chunk of a body."""
MIN_BODY_BYTES_PER_SECOND = 4096.0
"""Average over a body, after the first :data:`BODY_CHUNK_SECONDS`."""

MAX_DRAIN_BYTES = 64_000_000
DRAIN_SECONDS = 10.0
"""Limits on reading and discarding the body of a refused request, so that the response arrives."""


class RateLimits:
    """Counts the requests of each sender over the last minute."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._times: OrderedDict[tuple[str, str], deque[float]] = OrderedDict()

    def take(self, what: str, who: str, most: int) -> None:
        """Count a request. Raises :class:`Problem` (429) above ``most`` per minute."""
        times = self._times.setdefault((what, who), deque())
        self._times.move_to_end((what, who))
        if len(self._times) > MAX_RATE_KEYS:
            self._times.popitem(last=False)
        now = self._now()
        while times and times[0] <= now - MINUTE:
            times.popleft()
        if len(times) >= most:
            raise rate_limit_problem(times[0] + MINUTE - now)
        times.append(now)


def rate_limit_problem(seconds: float, what: str = "Too many requests.") -> Problem:
    """Return the problem with status 429."""
    wait = max(1, int(seconds) + 1)
    return Problem(
        429,
        "rate_limited",
        what,
        tn("Try again in {n} second.", "Try again in {n} seconds.", wait),
        {"Retry-After": str(wait)},
    )


class ConcurrencyLimits:
    """Limits concurrent requests: streams, also per person, and all others."""

    def __init__(self) -> None:
        self._known = asyncio.Semaphore(MAX_REQUESTS)
        self._unknown = asyncio.Semaphore(MAX_ANONYMOUS_REQUESTS)
        self.streams = 0
        self.streams_per_person: Counter[str] = Counter()

    @asynccontextmanager
    async def request(self, *, is_known: bool) -> AsyncIterator[Callable[[], None]]:
        """Hold a slot; the yielded function releases it early. Raises :class:`Problem` (503)."""
        slots = self._known if is_known else self._unknown
        try:
            async with asyncio.timeout(SLOT_WAIT_SECONDS):
                await slots.acquire()
        except TimeoutError:
            raise Problem(
                503,
                "busy",
                t("The server is handling too many requests."),
                t("Try again in a few seconds."),
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
        """Hold a slot for a stream. Raises :class:`Problem` (429, 503)."""
        person = who.person if who is not None else address
        if self.streams_per_person[person] >= MAX_STREAMS_PER_PERSON:
            raise rate_limit_problem(5, "Too many streams are open.")
        if self.streams >= MAX_STREAMS:
            fix = t("Try again in a few seconds.")
            later = {"Retry-After": "5"}
            raise Problem(503, "busy", t("Too many streams are open."), fix, later)
        self.streams += 1
        self.streams_per_person[person] += 1
        try:
            yield
        finally:
            self.streams -= 1
            self.streams_per_person[person] -= 1
            if not self.streams_per_person[person]:
                del self.streams_per_person[person]


def limit_body(receive: Receive, most: int, headers: list[tuple[bytes, bytes]]) -> Receive:
    """Return ``receive`` with limits on the size and the speed of the body.

    It raises :class:`Problem`: 413 above ``most`` bytes, 408 if the body is too slow.
    """
    announced = dict(headers).get(b"content-length", b"")
    if announced and not announced.isdigit():
        raise Problem(400, "bad_request", "Invalid request: Content-Length is not a number.")
    if len(announced) > 18 or int(announced or b"0") > most:
        raise _too_large(most)
    taken = 0
    is_whole = False
    began = asyncio.get_running_loop().time()

    async def take() -> dict[str, Any]:
        nonlocal taken, is_whole
        if is_whole:
            return await receive()
        try:
            async with asyncio.timeout(BODY_CHUNK_SECONDS):
                message = await receive()
        except TimeoutError:
            raise _too_slow() from None
        taken += len(message.get("body", b""))
        is_whole = message["type"] != "http.request" or not message.get("more_body")
        if taken > most:
            raise _too_large(most)
        seconds = asyncio.get_running_loop().time() - began - BODY_CHUNK_SECONDS
        if not is_whole and seconds > 0 and taken < seconds * MIN_BODY_BYTES_PER_SECOND:
            raise _too_slow()
        return message

    return take


class RequestBody:
    """The body of a request; tracks whether all of it was received."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._is_whole = False

    async def __call__(self) -> dict[str, Any]:
        """Return the next message."""
        message = await self._receive()
        self._is_whole = message["type"] != "http.request" or not message.get("more_body")
        return message

    async def drain(self) -> None:
        """Read and discard the rest.

        Closing the connection earlier would reset it, and many clients would never see the
        response.
        """
        left = MAX_DRAIN_BYTES
        with suppress(TimeoutError):
            async with asyncio.timeout(DRAIN_SECONDS):
                while left > 0 and not self._is_whole:
                    left -= len((await self()).get("body", b""))


def _too_large(most: int) -> Problem:
    text = t("The request is larger than {most} bytes.", most=most)
    return Problem(413, "too_large", text, t("Send less."), {"Connection": "close"})


def _too_slow() -> Problem:
    text = t("The request took too long to arrive.")
    return Problem(408, "too_slow", text, t("Send it again."), {"Connection": "close"})
