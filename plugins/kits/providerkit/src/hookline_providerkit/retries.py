"""Requests that are sent again: when, after how long, and what a person is told meanwhile.

The SDKs' own retries sleep without a word, for up to two minutes where a server asks for it. These
do the same with a sentence, and are used with the SDK's ``max_retries=0``.
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
from .failures import is_lost, is_unusable
from .limits import Exceeded, Stalled
from .reading import retry_after

T = TypeVar("T")
RETRIES = 2
"""How often a request is sent again by default, as by the SDKs."""
LONGEST_WAIT = 60.0
"""Seconds that are waited at once. A server that wants more is told of at once instead, so that a
person or a fallback can act on it."""
ALL_WAITS = 120.0
"""Seconds that all waits of a request take together."""
FIRST_WAIT, MOST_WAIT = 0.5, 8.0
"""Seconds before the first repetition, doubled for each further one, where the server says
nothing; as the SDKs have it."""
_PASSING = frozenset({408, 409, 429})
_OVERLOADED = frozenset({503, 529})
_log = logging.getLogger("hookline.providers")


class Retries:
    """Sends requests to one server until one is answered.

    Args:
        name: of the server, for people.
        most: how often a request is sent again.
    """

    def __init__(self, name: str, most: int = RETRIES) -> None:
        self._name = name
        self._most = most

    async def send(
        self, once: Callable[[Mapping[str, str]], Awaitable[T]], sink: DeltaSink, sdk: Any
    ) -> T:
        """Await ``once(headers)`` until it does not fail in passing, and return its result.

        A wait is told to ``sink`` as a :class:`Delta` of the kind ``waiting`` when it begins.
        Nothing that ``once`` does may be seen by a person: reading a stream begins after it.

        Args:
            once: sends the request with these ``headers``, the number of its repetition.
            sink: receives the sentence.
            sdk: the module ``openai`` or ``anthropic``, whose exceptions have the same names.
        """
        waited = 0.0
        for number in itertools.count():
            try:
                return await once({"x-stainless-retry-count": str(number)})
            except sdk.APIError as error:
                wait = self._wait(error, sdk, number)
                if wait is None or number >= self._most or waited + wait > ALL_WAITS:
                    raise
                sentence = f"{self._reason(error, sdk)}; trying again in {_seconds(wait)}"
            _log.info("%s", sentence)
            sink(Delta(sentence, "waiting"))
            await asyncio.sleep(wait)
            waited += wait
        raise AssertionError

    def _wait(self, error: Any, sdk: Any, number: int) -> float | None:
        """Seconds before the request may be sent again; None if that is of no use."""
        backoff = min(FIRST_WAIT * 2**number, MOST_WAIT) * (1 - 0.25 * random.random())
        if isinstance(error, sdk.APIConnectionError):
            return None if _is_lasting(error) else backoff
        if not isinstance(error, sdk.APIStatusError):
            return None
        headers = error.response.headers
        asked = retry_after(headers)
        if not _passes(error, headers) or (asked is not None and asked > LONGEST_WAIT):
            return None
        return asked or backoff

    def _reason(self, error: Any, sdk: Any) -> str:
        match error:
            case sdk.APIStatusError(status_code=429):
                return f"rate-limited by {self._name}"
            case sdk.APIStatusError() if error.status_code in _OVERLOADED:
                return f"{self._name} is overloaded"
            case sdk.APIStatusError():
                return f"{self._name} answered with the error {error.status_code}"
            case sdk.APITimeoutError() if not is_lost(error):
                return f"{self._name} did not answer in time"
        return f"the connection to {self._name} failed"


def _passes(error: Any, headers: Mapping[str, str]) -> bool:
    said = headers.get("x-should-retry")
    if said in ("true", "false"):
        return said == "true"
    if cause_of(error.status_code, error.body) is Cause.NO_CREDIT:
        return False  # a 429 that no wait mends
    status: int = error.status_code
    return status in _PASSING or status >= 500


def _is_lasting(error: BaseException | None) -> bool:
    """Whether the next request would fail like this one: an address, a header, a limit."""
    if error is not None and is_unusable(error):
        return True
    for _ in range(8):
        if error is None or isinstance(error, Exceeded | Stalled):
            return error is not None
        error = error.__cause__ or error.__context__
    return False


def _seconds(wait: float) -> str:
    return f"{wait:.0f} s" if wait >= 10 else f"{max(wait, 0.1):.1f}".removesuffix(".0") + " s"
