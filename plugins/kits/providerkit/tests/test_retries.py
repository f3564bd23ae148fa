"""A request is retried, and the wait is reported before it starts."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Mapping
from typing import Any

import httpx2
import pytest
from hookline_hookspecs import Delta
from hookline_providerkit import Limits, Retries, SanitizingSink, retries


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

    def __init__(self, *failures: Exception) -> None:
        self.failures = list(failures)
        self.headers: list[Mapping[str, str]] = []

    async def once(self, headers: Mapping[str, str]) -> str:
        self.headers.append(headers)
        if self.failures:
            raise self.failures.pop(0)
        return "answered"


async def send_with_retries(server: Server, most: int = 2) -> tuple[str, list[Delta]]:
    shown: list[Delta] = []
    sink = SanitizingSink(shown.append, Limits())
    try:
        answer = await Retries("parrot", most).send(server.once, sink, sdk)
    except sdk.APIError as error:
        answer = type(error).__name__
    return answer, shown


@pytest.fixture
def slept(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    found: list[float] = []
    sleep_for, own = asyncio.sleep, threading.get_ident()

    async def sleep(seconds: float) -> None:
        if threading.get_ident() != own:  # a server's thread
            await sleep_for(seconds)
            return
        found.append(seconds)

    monkeypatch.setattr(retries.asyncio, "sleep", sleep)
    return found


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
    failure: Exception, sentence: str, slept: list[float]
) -> None:
    answer, [delta] = await send_with_retries(server := Server(failure))
    assert answer == "answered"
    assert delta.kind == "waiting"
    assert delta.text.endswith(sentence)
    assert [f"{one:g}" for one in slept] == [sentence.split()[-2]]
    assert [one["x-stainless-retry-count"] for one in server.headers] == ["0", "1"]


@pytest.mark.parametrize(
    ("failure", "sentence"),
    [
        (sdk.APIConnectionError(), "the connection to parrot failed; "),
        (sdk.APITimeoutError(), "parrot did not answer in time; "),
    ],
)
async def test_lost_connection_is_retried(
    failure: Exception, sentence: str, slept: list[float]
) -> None:
    answer, shown = await send_with_retries(Server(failure, failure))
    assert answer == "answered"
    assert [delta.text.startswith(sentence) for delta in shown] == [True, True]
    assert 0.375 <= slept[0] <= 0.5
    assert 0.75 <= slept[1] <= 1.0


@pytest.mark.parametrize(
    "failure",
    [
        refused(400),
        refused(401),
        refused(429, retry_after="61"),
        refused(429, {"code": "insufficient_quota"}),
        refused(500, x_should_retry="false"),
    ],
)
async def test_permanent_error_is_not_retried(failure: Exception, slept: list[float]) -> None:
    assert await send_with_retries(Server(failure)) == ("APIStatusError", [])
    assert slept == []


async def test_total_wait_is_limited(slept: list[float]) -> None:
    answer, shown = await send_with_retries(Server(*[refused(429, retry_after="50")] * 9), most=9)
    assert (answer, len(shown), sum(slept)) == ("APIStatusError", 2, 100)
    assert (await send_with_retries(Server(*[refused(503)] * 3), most=2))[0] == "APIStatusError"


async def test_cancellation_ends_the_wait() -> None:
    task = asyncio.create_task(send_with_retries(Server(refused(429, retry_after="50"))))
    await asyncio.sleep(0.05)
    started = time.monotonic()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert time.monotonic() - started < 1
