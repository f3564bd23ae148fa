"""Retries a request after a temporary failure, and reports the wait.

The SDKs' own retries wait silently, up to two minutes if a server asks for it. These report each
wait; use them with the SDK's ``max_retries=0``.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import random
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeVar

from hookline_hookspecs import Delta, DeltaSink

from .causes import Cause, cause_of
from .error_body import retry_after
from .failures import is_invalid_request, is_lost_connection
from .limits import LimitExceeded, StreamStalled

T = TypeVar("T")
DEFAULT_RETRIES = 2
"""As in the SDKs."""
MAX_WAIT = 60.0
"""Maximum seconds of one wait. If a server asks for more, the request fails at once, so that a
person or a fallback can act."""
MAX_TOTAL_WAIT = 120.0
"""Maximum seconds of all waits of a request."""
MIN_BACKOFF, MAX_BACKOFF = 0.5, 8.0
"""Seconds before the first retry, doubled for each further one, if the server does not say; as in
the SDKs."""
_RETRYABLE_STATUSES = frozenset({408, 409, 429})
_OVERLOADED_STATUSES = frozenset({503, 529})
_log = logging.getLogger("hookline.providers")


class Retries:
    """Sends a request to one server, and again if it fails temporarily.

    Args:
        name: the server's name, for people.
        max_retries: how often a request is sent again.
    """

    def __init__(self, name: str, max_retries: int = DEFAULT_RETRIES) -> None:
        self._name = name
        self._max_retries = max_retries

    async def send(
        self, once: Callable[[Mapping[str, str]], Awaitable[T]], sink: DeltaSink, sdk: Any
    ) -> T:
        """Await ``once(headers)``, again after temporary failures, and return its result.

        When a wait begins, ``sink`` gets a :class:`Delta` of the kind ``waiting``. ``once`` only
        opens the stream: the caller reads it afterwards, so that no text is shown twice.

        Args:
            once: sends the request with these ``headers``, which contain the number of the retry.
            sink: receives the sentence.
            sdk: the module ``openai`` or ``anthropic``, whose exceptions have the same names.
        """
        waited = 0.0
        for attempt in itertools.count():
            try:
                return await once({"x-stainless-retry-count": str(attempt)})
            except sdk.APIError as error:
                wait = self._wait(error, sdk, attempt)
                if wait is None or attempt >= self._max_retries or waited + wait > MAX_TOTAL_WAIT:
                    raise
                sentence = f"{self._reason(error, sdk)}; trying again in {_seconds(wait)}"
            _log.info("%s", sentence)
            sink(Delta(sentence, "waiting"))
            await asyncio.sleep(wait)
            waited += wait
        raise AssertionError

    def _wait(self, error: Any, sdk: Any, attempt: int) -> float | None:
        """Return the seconds until the next retry; None if the error is permanent."""
        backoff = min(MIN_BACKOFF * 2**attempt, MAX_BACKOFF) * (1 - 0.25 * random.random())
        if isinstance(error, sdk.APIConnectionError):
            return None if _is_permanent(error) else backoff
        if not isinstance(error, sdk.APIStatusError):
            return None
        headers = error.response.headers
        asked = retry_after(headers)
        if not _is_temporary(error, headers) or (asked is not None and asked > MAX_WAIT):
            return None
        return asked or backoff

    def _reason(self, error: Any, sdk: Any) -> str:
        match error:
            case sdk.APIStatusError(status_code=429):
                return f"rate-limited by {self._name}"
            case sdk.APIStatusError() if error.status_code in _OVERLOADED_STATUSES:
                return f"{self._name} is overloaded"
            case sdk.APIStatusError():
                return f"{self._name} answered with error {error.status_code}"
            case sdk.APITimeoutError() if not is_lost_connection(error):
                return f"{self._name} did not answer in time"
        return f"the connection to {self._name} failed"


def _is_temporary(error: Any, headers: Mapping[str, str]) -> bool:
    should_retry = headers.get("x-should-retry")
    if should_retry in ("true", "false"):
        return should_retry == "true"
    if cause_of(error.status_code, error.body) is Cause.NO_CREDIT:
        return False  # waiting does not help
    status: int = error.status_code
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
