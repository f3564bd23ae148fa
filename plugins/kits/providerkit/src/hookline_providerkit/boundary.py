"""The one boundary for what a model's server says: :class:`Boundary`."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from hookline_hookspecs import DeltaSink, ModelResponse, ProviderError

from .causes import Cause
from .content import CleanSink, SinkFault, clean, within
from .failures import Failures
from .limits import Exceeded, Limits
from .stream import response_hook

if TYPE_CHECKING:
    import httpx2

_log = logging.getLogger("hookline.providers")
IDENTITY: Mapping[str, str] = {"Accept-Encoding": "identity"}
"""A header for every request: what is not packed need not be unpacked."""


class Boundary:
    """Lets through an answer within bounds or a ``ProviderError``, and nothing else.

    Give the SDK :meth:`http_client`, with :data:`IDENTITY` among its headers; ask inside
    :meth:`asking`; show pieces through :meth:`sink`; return what :meth:`admit` returns.

    Args:
        failures: makes the errors.
        limits: the bounds.
    """

    def __init__(self, failures: Failures, limits: Limits | None = None) -> None:
        self.limits = limits or Limits()
        self._failures = failures

    def http_client(self, sdk: Any) -> httpx2.AsyncClient:
        """The SDK's HTTP client on aiohttp, which keeps every response within the limits.

        It follows no redirect, so that the key goes nowhere else.
        """
        hooks = {"response": [response_hook(self.limits)]}
        client: httpx2.AsyncClient = sdk.DefaultAioHttpClient(
            event_hooks=hooks, follow_redirects=False
        )
        return client

    @asynccontextmanager
    async def asking(self, sdk: Any, sink: CleanSink, **fields: str) -> AsyncIterator[None]:
        """Everything about one request, its repetitions and its answer, within the total time.

        Args:
            sdk: as for ``Failures.explained``.
            sink: from :meth:`sink`; what it was told stands in the error as ``partial``.
            fields: for the sentence of an error.

        Raises:
            ProviderError: in place of every exception but those of whoever is shown the pieces.
        """
        try:
            async with asyncio.timeout(self.limits.total):
                yield
        except SinkFault as fault:
            raise fault.error from None
        except Exception as error:
            failure = self._failure(error, sdk, fields)
            failure.partial = sink.said
            if failure is error:
                raise
            raise failure from self._failures.shown_cause(error)

    def _failure(self, error: Exception, sdk: Any, fields: Mapping[str, str]) -> ProviderError:
        if isinstance(error, ProviderError):
            return error
        if isinstance(error, TimeoutError):
            return self._failures.failure(Cause.TIMED_OUT, **fields)
        failure = self._failures.explained(error, sdk, **fields)
        if failure is None:
            _log.warning("an answer could not be read", exc_info=error)
            failure = self._failures.failure(Cause.UNREADABLE, error, **fields)
        return failure

    def sink(self, on_delta: DeltaSink | None) -> CleanSink:
        """A sink for pieces as they come off the wire, which passes them on cleaned."""
        return CleanSink(on_delta, self.limits)

    def admit(self, response: ModelResponse, **fields: str) -> ModelResponse:
        """The response cleaned.

        Raises:
            ProviderError: it holds more than the limits allow, or it is empty and has no end. One
                that has content and no end is ``incomplete``, which core makes an error of.
        """
        if response.stop == "incomplete" and not response.blocks:
            said = "it ended before anything was said"
            raise self._failures.failure(Cause.BROKEN, said, **fields)
        try:
            return within(response, self.limits)
        except Exceeded as error:
            failure = self._failures.failure(Cause.TOO_MUCH, error, **fields)
            failure.partial = clean(response.text)[: self.limits.characters]
            raise failure from None
