"""A request is retried, and the wait is reported before it starts."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from typing import Any

import httpx2
import pytest
from hookline_hookspecs import Delta
from hookline_providerkit import ErrorInResponse, Limits, Retries, SanitizingSink, retries


class sdk:
    """The exceptions of the SDKs, by their names and with their fields."""

    class APIError(Exception):
        pass

    class APIStatusError(APIError):
        def __init__(self, response: httpx2.Response, body: Any) -> None:
            self.response, self.status_code, self.body = response, response.status_code, body

    class APIConnectionError(APIError):
        pass

    class APITimeoutError(APIConnectionError):
        pass


def refused(status: int, body: Any = None, **headers: str) -> sdk.APIStatusError:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return sdk.APIStatusError(httpx2.Response(status, headers=named), body)


class Server:
    """Fails with these errors, one after the other, then answers."""

    sink: SanitizingSink

    def __init__(self, *failures: Exception, begins: bool = False) -> None:
        self.failures = list(failures)
        self.begins = begins
        self.headers: list[Mapping[str, str]] = []

    async def once(self, headers: Mapping[str, str]) -> str:
        self.headers.append(headers)
        if self.begins:
            self.sink(Delta("The begin"))
        if self.failures:
            raise self.failures.pop(0)
        return "answered"


class Clock:
    """A clock that waits move on, without waiting."""

    def __init__(self) -> None:
        self.time = 0.0
        self.waits: list[float] = []

    def now(self) -> float:
        return self.time

    async def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.time += seconds


async def send_with_retries(
    server: Server, clock: Clock | None = None, seconds: float | None = None, **options: Any
) -> tuple[str, list[Delta]]:
    shown: list[Delta] = []
    sink = SanitizingSink(shown.append, Limits())
    server.sink = sink
    if clock is not None:
        options |= {"sleep": clock.sleep, "now": clock.now}
    try:
        answer = await Retries("parrot", **options).send(server.once, sink, sdk, seconds)
    except Exception as error:
        answer = type(error).__name__
    return answer, shown


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.mark.parametrize(
    ("failure", "sentence"),
    [
        (refused(429, retry_after="12"), "rate-limited by parrot; trying again in 12 s"),
        (refused(429, retry_after_ms="1500"), "rate-limited by parrot; trying again in 1.5 s"),
        (refused(529, retry_after="2"), "parrot is overloaded; trying again in 2 s"),
        (refused(500, retry_after="3"), "parrot answered with error 500; trying again in 3 s"),
        (refused(400, x_should_retry="true", retry_after="1"), "error 400; trying again in 1 s"),
    ],
)
async def test_wait_is_shown_with_its_seconds(
    failure: Exception, sentence: str, clock: Clock
) -> None:
    answer, [delta] = await send_with_retries(server := Server(failure), clock)
    assert answer == "answered"
    assert delta.kind == "waiting"
    assert delta.text.endswith(sentence)
    assert [f"{one:g}" for one in clock.waits] == [sentence.split()[-2]]
    assert [one["x-stainless-retry-count"] for one in server.headers] == ["0", "1"]


@pytest.mark.parametrize(
    ("failure", "sentence"),
    [
        (sdk.APIConnectionError(), "the connection to parrot failed; "),
        (sdk.APITimeoutError(), "parrot did not answer in time; "),
    ],
)
async def test_lost_connection_is_retried(failure: Exception, sentence: str, clock: Clock) -> None:
    answer, shown = await send_with_retries(Server(failure, failure), clock)
    assert answer == "answered"
    assert [delta.text.startswith(sentence) for delta in shown] == [True, True]
    assert 0.375 <= clock.waits[0] <= 0.5
    assert 0.75 <= clock.waits[1] <= 1.0


@pytest.mark.parametrize(
    "failure",
    [
        refused(400),
        refused(401),
        refused(429, retry_after="301"),
        refused(429, {"code": "insufficient_quota"}),
        refused(500, x_should_retry="false"),
    ],
)
async def test_permanent_error_is_not_retried(failure: Exception, clock: Clock) -> None:
    assert await send_with_retries(Server(failure), clock) == ("APIStatusError", [])
    assert clock.waits == []


async def test_outage_is_waited_out_for_minutes_with_growing_pauses(clock: Clock) -> None:
    down = [sdk.APIConnectionError() for _ in range(10)]
    answer, shown = await send_with_retries(Server(*down), clock)
    assert (answer, len(shown)) == ("answered", 10)
    assert 90 < clock.time < 300
    assert clock.waits[-1] <= retries.MAX_BACKOFF
    assert len({round(one / retries.MAX_BACKOFF, 6) for one in clock.waits[-3:]}) == 3  # at random
    assert [delta.wait and delta.wait.seconds for delta in shown] == clock.waits


async def test_outage_ends_in_its_error_after_the_set_time(clock: Clock) -> None:
    endless = Server(*[refused(503)] * 99)
    assert (await send_with_retries(endless, clock))[0] == "APIStatusError"
    assert 240 < clock.time <= 300
    clock.time = 0
    assert (await send_with_retries(endless, clock, seconds=20))[0] == "APIStatusError"
    assert 0 < clock.time <= 20
    clock.waits.clear()
    await send_with_retries(endless, clock, seconds=0)
    await send_with_retries(endless, clock, max_retries=0)
    with pytest.raises(sdk.APIStatusError):
        await Retries("parrot", seconds=0).send(endless.once, lambda _delta: None, sdk)
    assert clock.waits == []


async def test_long_wait_that_a_server_asks_for_is_kept(clock: Clock) -> None:
    answer, _ = await send_with_retries(Server(*[refused(429, retry_after="140")] * 2), clock)
    assert (answer, clock.waits) == ("answered", [140, 140])
    third = Server(*[refused(429, retry_after="140")] * 3)
    assert (await send_with_retries(third, clock))[0] == "APIStatusError"


async def test_error_within_a_response_is_retried_before_the_first_piece(clock: Clock) -> None:
    overloaded = {"code": 529, "message": "busy"}
    answer, _ = await send_with_retries(Server(ErrorInResponse(overloaded)), clock)
    assert answer == "answered"
    broken = [httpx2.ReadError("gone")] * 2
    assert (await send_with_retries(Server(*broken), clock))[0] == "answered"
    broken += [httpx2.ReadError("gone")]
    assert (await send_with_retries(Server(*broken), clock))[0] == "ReadError"
    clock.waits.clear()
    begun = Server(httpx2.ReadError("gone"), begins=True)
    assert (await send_with_retries(begun, clock))[0] == "ReadError"
    too_long = ErrorInResponse({"code": 400, "message": "maximum context length is 8 tokens"})
    assert (await send_with_retries(Server(too_long), clock))[0] == "ErrorInResponse"
    assert clock.waits == []


async def test_cancellation_ends_the_wait() -> None:
    task = asyncio.create_task(send_with_retries(Server(refused(429, retry_after="50"))))
    await asyncio.sleep(0.05)
    started = time.monotonic()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert time.monotonic() - started < 1
