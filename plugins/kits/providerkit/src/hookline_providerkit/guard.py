"""Checks and limits the responses of a model's server: :class:`ResponseGuard`."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from hookline_hookspecs import DeltaSink, ModelResponse, ProviderError
from hookline_hookspecs.certificates import certificates_fault
from hookline_hookspecs.proxies import proxy_fault

from .causes import Cause
from .failures import Failures
from .limits import LimitExceeded, Limits
from .response_limits import limit_responses
from .sanitize import SanitizingSink, SinkError, sanitize_response, sanitize_text
from .servers import is_local

if TYPE_CHECKING:
    import httpx2

_log = logging.getLogger("hookline.providers")
NO_COMPRESSION: Mapping[str, str] = {"Accept-Encoding": "identity"}
"""A header for every request, so that responses need not be unpacked."""


class ResponseGuard:
    """Ensures that a request ends in a response within limits or in a ``ProviderError``.

    Give the SDK :meth:`http_client`, with :data:`NO_COMPRESSION` among its headers. Send inside
    :meth:`request`, stream through :meth:`sink`, and return what :meth:`check` returns.

    Args:
        failures: makes the errors.
        limits: the limits of one response.
    """

    def __init__(self, failures: Failures, limits: Limits | None = None) -> None:
        self.limits = limits or Limits()
        self._failures = failures

    def http_client(self, sdk: Any, address: str = "") -> httpx2.AsyncClient:
        """Return the SDK's HTTP client on aiohttp, which keeps every response within the limits.

        It follows no redirect, so that the key goes nowhere else. A server on this machine is not
        asked through a proxy.

        Args:
            sdk: the module ``openai`` or ``anthropic``.
            address: of the server; empty for the SDK's own.

        Raises:
            ProviderError: the environment names a proxy whose address cannot be used.
            ValueError: the file of certificates that the environment names cannot be read.
        """
        import httpx2

        if not is_local(address) and (fault := proxy_fault(address)):
            raise self._failures.failure(Cause.BAD_PROXY, fault)
        if fault := certificates_fault():
            raise ValueError(fault)
        client: httpx2.AsyncClient = sdk.DefaultAioHttpClient(
            event_hooks={"response": [limit_responses(self.limits)]},
            follow_redirects=False,
            trust_env=not is_local(address),
            verify=httpx2.create_ssl_context(),
        )
        return client

    @asynccontextmanager
    async def request(self, sdk: Any, sink: SanitizingSink, **fields: str) -> AsyncIterator[None]:
        """Enclose one request with its retries and its response, within the total time.

        Args:
            sdk: as for ``Failures.from_exception``.
            sink: from :meth:`sink`; its text so far becomes the error's ``partial``.
            fields: for the error's sentence.

        Raises:
            ProviderError: for every exception except those that ``on_delta`` raises.
        """
        try:
            async with asyncio.timeout(self.limits.total):
                yield
        except SinkError as fault:
            raise fault.error from None
        except Exception as error:
            failure = self._failure(error, sdk, fields)
            failure.partial = sink.text
            if failure is error:
                raise
            raise failure from self._failures.loggable_cause(error)

    def _failure(self, error: Exception, sdk: Any, fields: Mapping[str, str]) -> ProviderError:
        if isinstance(error, ProviderError):
            return error
        if isinstance(error, TimeoutError):
            return self._failures.failure(Cause.TIMED_OUT, **fields)
        failure = self._failures.from_exception(error, sdk, **fields)
        if failure is None:
            _log.warning("a response could not be read", exc_info=error)
            failure = self._failures.failure(Cause.UNREADABLE, error, **fields)
        return failure

    def sink(self, on_delta: DeltaSink | None) -> SanitizingSink:
        """Return a sink that sanitizes the pieces of a response and passes them on."""
        return SanitizingSink(on_delta, self.limits)

    def check(self, response: ModelResponse, **fields: str) -> ModelResponse:
        """Return the response sanitized.

        Raises:
            ProviderError: it exceeds a limit, or is empty and ended too early. With content, it is
                ``incomplete`` then, which core turns into an error.
        """
        if response.stop == "incomplete" and not response.blocks:
            raise self._failures.failure(Cause.TRUNCATED, "it was empty", **fields)
        try:
            return sanitize_response(response, self.limits)
        except LimitExceeded as error:
            failure = self._failures.failure(Cause.RESPONSE_TOO_LARGE, error, **fields)
            failure.partial = sanitize_text(response.text)[: self.limits.characters]
            raise failure from None
