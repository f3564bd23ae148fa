"""Sends a request again after a temporary failure, and reports each wait.

The SDKs' own retries wait silently, up to two minutes if a server asks for it, and end after about
two seconds otherwise. Use these with the SDK's ``max_retries=0``.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import random
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from hookline_hookspecs import Delta, DeltaSink, Wait

from .causes import Cause, cause_of, is_context_too_long
from .error_body import error_status, retry_after
from .failures import ErrorInResponse, is_invalid_request, is_lost_connection
from .limits import LimitExceeded, StreamStalled
from .sanitize import SanitizingSink

T = TypeVar("T")
RETRY_SECONDS = 300.0
"""Seconds after the first failure during which a request is sent again: restarts of local servers
and most outages of hosted ones are shorter, and a person can end the wait."""
MIN_BACKOFF, MAX_BACKOFF = 0.5, 30.0
"""Seconds before the first retry, doubled for each further one, if the server does not say."""
MAX_BROKEN_RESPONSES = 2
"""Retries of responses that broke off before any of their text was shown. The provider may charge
for each."""
_RETRYABLE_STATUSES = frozenset({408, 409, 429})
_OVERLOADED_STATUSES = frozenset({503, 529})
_log = logging.getLogger("hookline.providers")


@dataclass(frozen=True, slots=True)
class _TemporaryFailure:
    """Why a request failed, and the seconds to wait that the server asks for.

    ``begun``: the response had begun.
    """

    reason: str
    asked: float | None = None
    begun: bool = False


class Retries:
    """Sends a request to one server, and again if it fails temporarily.

    Args:
        name: the server's name, for people.
        max_retries: how often a request is sent again; None only limits the time.
        seconds: for how long after its first failure a request is sent again. If a server asks
            for a longer wait, the request fails at once, so that a person or another model can act.
        sleep: waits; tests replace it.
        now: a monotonic clock; tests replace it.
    """

    def __init__(
        self,
        name: str,
        max_retries: int | None = None,
        seconds: float = RETRY_SECONDS,
        *,
        sleep: Callable[[float], Awaitable[None]] | None = None,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._name = name
        self._max_retries = max_retries
        self._seconds = seconds
        self._sleep = sleep
        self._now = now

    async def send(
        self,
        once: Callable[[Mapping[str, str]], Awaitable[T]],
        sink: DeltaSink,
        sdk: Any,
        seconds: float | None = None,
        can_repair: Callable[[int, Any], bool] = lambda _status, _body: False,
    ) -> T:
        """Await ``once(headers)``, again after temporary failures, and return its result.

        When a wait begins, ``sink`` gets a :class:`Delta` of the kind ``waiting``. If ``once``
        reads the response too, it must show its text through the same
        :class:`SanitizingSink`: after the first piece, nothing is sent again.

        Args:
            once: sends the request with these ``headers``, which contain the number of the retry.
            sink: receives the sentence.
            sdk: the module ``openai`` or ``anthropic``, whose exceptions have the same names.
            seconds: a shorter time than that of this server.
            can_repair: called with the status and body of an error; if it returns True, the error
                is raised at once, so that the caller can send another request.
        """
        limit = self._seconds if seconds is None else min(self._seconds, seconds)
        until: float | None = None
        broken = 0
        for attempt in itertools.count():
            try:
                return await once({"x-stainless-retry-count": str(attempt)})
            except Exception as error:
                failure = None if _has_shown(sink) else self._temporary_failure(error, sdk)
                if failure is None or (
                    isinstance(error, sdk.APIStatusError)
                    and can_repair(error.status_code, error.body)
                ):
                    raise
                broken += failure.begun
                until = self._now() + limit if until is None else until
                wait = _backoff(attempt) if failure.asked is None else failure.asked
                if self._is_over(attempt, broken) or self._now() + wait > until:
                    raise
            await self._wait(Wait(failure.reason, wait), sink)
        raise AssertionError

    def _is_over(self, attempt: int, broken: int) -> bool:
        most = self._max_retries
        return broken > MAX_BROKEN_RESPONSES or (most is not None and attempt >= most)

    async def _wait(self, wait: Wait, sink: DeltaSink) -> None:
        sentence = f"{wait.reason}; trying again in {_seconds(wait.seconds)}"
        _log.info("%s", sentence)
        sink(Delta(sentence, "waiting", wait))
        await (self._sleep or asyncio.sleep)(wait.seconds)

    def _temporary_failure(self, error: Exception, sdk: Any) -> _TemporaryFailure | None:
        """Return what failed; None if a retry would fail too."""
        import httpx2

        if _is_permanent(error):
            return None
        match error:
            case sdk.APIStatusError():
                headers = error.response.headers
                if not _is_temporary(error.status_code, error.body, headers):
                    return None
                reason = self._status_reason(error.status_code)
                return _TemporaryFailure(reason, retry_after(headers, error.body) or None)
            case sdk.APITimeoutError() if not is_lost_connection(error):
                return _TemporaryFailure(f"{self._name} did not answer in time")
            case sdk.APIConnectionError():
                return _TemporaryFailure(f"the connection to {self._name} failed")
            case httpx2.TransportError():
                return _TemporaryFailure(f"the response of {self._name} broke off", begun=True)
            case sdk.APIError() | ErrorInResponse():
                status = error_status(error.body)
                if not _is_temporary(status, error.body, {}) or is_context_too_long(error.body):
                    return None
                return _TemporaryFailure(self._status_reason(status))
        return None

    def _status_reason(self, status: int) -> str:
        if status == 429:
            return f"rate-limited by {self._name}"
        if status in _OVERLOADED_STATUSES:
            return f"{self._name} is overloaded"
        return f"{self._name} answered with error {status}"


def _has_shown(sink: DeltaSink) -> bool:
    return isinstance(sink, SanitizingSink) and sink.has_shown


def _backoff(attempt: int) -> float:
    doubled: float = MIN_BACKOFF * 2 ** min(attempt, 16)
    return min(doubled, MAX_BACKOFF) * (1 - 0.25 * random.random())


def _is_temporary(status: int, body: Any, headers: Mapping[str, str]) -> bool:
    should_retry = headers.get("x-should-retry")
    if should_retry in ("true", "false"):
        return should_retry == "true"
    if status and cause_of(status, body) in (Cause.NO_CREDIT, Cause.CONTEXT_TOO_LONG):
        return False  # waiting does not help
    return status in _RETRYABLE_STATUSES or status >= 500


def _is_permanent(error: BaseException | None) -> bool:
    """Return whether a retry would fail too, because of an address, a header or a limit."""
    if error is not None and is_invalid_request(error):
        return True
    for _ in range(8):
        if error is None or isinstance(error, LimitExceeded | StreamStalled):
            return error is not None
        error = error.__cause__ or error.__context__
    return False


def _seconds(wait: float) -> str:
    return f"{wait:.0f} s" if wait >= 10 else f"{max(wait, 0.1):.1f}".removesuffix(".0") + " s"
