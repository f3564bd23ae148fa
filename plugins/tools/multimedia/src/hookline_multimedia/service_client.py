"""Sends requests to the configured services and returns the bytes of the answers.

``Retries`` repeats a request that the service delays, and the person is informed of the wait. The
SDK is imported, and a client is created for each address and key, with the first request. Callers
parse the answers, because servers may send anything.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from hookline_hookspecs import BadRequest, Delta, HooklineError, Host, ToolError
from hookline_hookspecs.certificates import certificates_fault
from hookline_providerkit import Cause, Retries, SdkClient

from .config import MultimediaConfig
from .endpoints import SERVICES, ServiceEndpoint, ServiceName, resolve_endpoint
from .failures import failures_of
from .media_reader import format_bytes

if TYPE_CHECKING:
    from openai import AsyncOpenAI

    Request: TypeAlias = Callable[
        [AsyncOpenAI, Mapping[str, str]], AbstractAsyncContextManager[Any]
    ]
    """Creates the SDK's streamed response from a client and headers."""

CONNECT_TIMEOUT = 5.0
"""Seconds to wait for a connection; the SDK's own default."""
MAX_TEXT_BYTES = 4_000_000
"""Bytes of an answer that is text."""


class ServiceClient:
    """The endpoints of all services, and requests to them.

    ``config.timeout`` limits a whole request in seconds, repeats included.
    """

    def __init__(self, host: Host, config: MultimediaConfig) -> None:
        openai = host.provider("openai")
        self._endpoints = {name: resolve_endpoint(config, name, openai) for name in SERVICES}
        self._host = host
        self._timeout = config.timeout
        self._max_retries = config.max_retries
        self._clients: dict[tuple[str, str], SdkClient[AsyncOpenAI]] = {}

    def endpoint(self, service: ServiceName) -> ServiceEndpoint | None:
        """The endpoint of ``service``; None if it is not configured."""
        return self._endpoints[service]

    def require(self, service: ServiceName) -> ServiceEndpoint:
        """The endpoint of ``service``. Raises ``ToolError`` if it is not configured."""
        endpoint = self._endpoints[service]
        if endpoint is None:
            raise ToolError(f"there is no {service} service; the operator has to set it up")
        return endpoint

    async def send(self, endpoint: ServiceEndpoint, request: Request, max_bytes: int) -> bytes:
        """Send ``request`` and return the body of the answer.

        Raises:
            ProviderError: the service cannot be reached, refuses, or sends more than
                ``max_bytes`` bytes.
        """
        retries = Retries(f"the {endpoint.service} service", self._max_retries)
        try:
            client = await self._client_of(endpoint).get()
            async with asyncio.timeout(self._timeout), AsyncExitStack() as opened:
                import openai

                async def send_once(headers: Mapping[str, str]) -> Any:
                    return await opened.enter_async_context(request(client, headers))

                response = await retries.send(send_once, self._report_wait, openai)
                return await _read_body(response.iter_bytes(), endpoint, max_bytes)
        except Exception as error:
            raise _translate_error(error, endpoint) from error

    async def fetch(self, endpoint: ServiceEndpoint, url: str, max_bytes: int) -> bytes:
        """Fetch ``url`` from a service's own server, without the key and without redirects."""
        import httpx2

        _check_certificates()
        try:
            async with (
                asyncio.timeout(self._timeout),
                httpx2.AsyncClient(timeout=self._timeout) as client,
                client.stream("GET", url) as response,
            ):
                response.raise_for_status()
                return await _read_body(response.aiter_bytes(), endpoint, max_bytes)
        except Exception as error:
            raise _translate_error(error, endpoint) from error

    def _report_wait(self, delta: Delta) -> None:
        """Show a wait to the person whom the running turn or command is for."""
        self._host.signals.send("delta", delta)

    async def aclose(self) -> None:
        """Close the connections."""
        for client in self._clients.values():
            await client.aclose()

    def _client_of(self, endpoint: ServiceEndpoint) -> SdkClient[AsyncOpenAI]:
        key = (endpoint.base_url, endpoint.api_key)
        if key not in self._clients:
            self._clients[key] = SdkClient(partial(self._make_client, endpoint), "openai.types")
        return self._clients[key]

    def _make_client(self, endpoint: ServiceEndpoint) -> AsyncOpenAI:
        import openai

        _check_certificates()
        return openai.AsyncOpenAI(
            api_key=endpoint.api_key,
            base_url=endpoint.base_url,
            max_retries=0,  # Retries repeats, and reports the wait
            timeout=openai.Timeout(self._timeout, connect=min(CONNECT_TIMEOUT, self._timeout)),
        )


def _check_certificates() -> None:
    if fault := certificates_fault():
        raise ToolError(f"{fault}.")


async def _read_body(
    chunks: AsyncIterator[bytes], endpoint: ServiceEndpoint, max_bytes: int
) -> bytes:
    body = bytearray()
    async for chunk in chunks:
        body += chunk
        if len(body) > max_bytes:
            raise BadRequest(
                f"The {endpoint.service} service sent more than {format_bytes(max_bytes)}."
            )
    return bytes(body)


def _translate_error(error: Exception, endpoint: ServiceEndpoint) -> Exception:
    """The service's error for ``error``; a fault of this program is returned unchanged."""
    import httpx2
    import openai

    if isinstance(error, HooklineError):
        return error
    failures = failures_of(endpoint)
    if isinstance(error, TimeoutError | httpx2.TimeoutException):
        return failures.failure(Cause.TIMED_OUT)
    if isinstance(error, httpx2.HTTPError | httpx2.InvalidURL):
        return failures.failure(Cause.TRUNCATED, error)
    if failure := failures.from_exception(error, openai):
        return failure
    if isinstance(error, openai.OpenAIError):
        return failures.failure(Cause.INVALID_REQUEST, error)
    return error
