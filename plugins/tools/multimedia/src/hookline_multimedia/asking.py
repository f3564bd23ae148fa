"""Requests to the services: clients of the official SDK, answers as bytes up to a limit.

A service that makes a request wait is asked again by ``Retries``, and a person is told of the wait.

The SDK is imported and a client is made when the first request is sent, for each address and key.
Answers are looked at by the caller, because servers answer with anything.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from hookline_hookspecs import BadRequest, DeltaSink, HooklineError
from hookline_providerkit import Cause, Retries, SdkClient

from .endpoints import Endpoint
from .failures import failures_at
from .reading import size

if TYPE_CHECKING:
    from openai import AsyncOpenAI

    Request: TypeAlias = Callable[
        [AsyncOpenAI, Mapping[str, str]], AbstractAsyncContextManager[Any]
    ]
    """Makes the SDK's streamed response of a client and of headers."""

CONNECT = 5.0
"""Seconds to wait for a connection; the SDK's own."""


class Asker:
    """Sends requests. ``timeout`` is for a whole request in seconds, repeats included; ``tell``
    is told of each wait before a repeat."""

    def __init__(self, timeout: float, max_retries: int, tell: DeltaSink) -> None:
        self._timeout = timeout
        self._max_retries = max_retries
        self._tell = tell
        self._clients: dict[tuple[str, str], SdkClient[AsyncOpenAI]] = {}

    async def ask(self, at: Endpoint, request: Request, most: int) -> bytes:
        """The body of the answer to ``request``.

        Raises:
            ProviderError: the service cannot be reached, says no or answers with more than
                ``most`` bytes; the text is a sentence.
        """
        retries = Retries(f"the {at.service} service", self._max_retries)
        try:
            client = await self._client_of(at).get()
            async with asyncio.timeout(self._timeout), AsyncExitStack() as opened:
                import openai

                async def once(headers: Mapping[str, str]) -> Any:
                    return await opened.enter_async_context(request(client, headers))

                response = await retries.send(once, self._tell, openai)
                return await _bounded(response.iter_bytes(), at, most)
        except Exception as error:
            raise _explained(error, at) from error

    async def fetch(self, at: Endpoint, url: str, most: int) -> bytes:
        """What a service's own server has at ``url``; without the key, redirects not followed."""
        import httpx2

        try:
            async with (
                asyncio.timeout(self._timeout),
                httpx2.AsyncClient(timeout=self._timeout) as client,
                client.stream("GET", url) as response,
            ):
                response.raise_for_status()
                return await _bounded(response.aiter_bytes(), at, most)
        except Exception as error:
            raise _explained(error, at) from error

    async def aclose(self) -> None:
        """Close the connections."""
        for client in self._clients.values():
            await client.aclose()

    def _client_of(self, at: Endpoint) -> SdkClient[AsyncOpenAI]:
        key = (at.base_url, at.api_key)
        if key not in self._clients:
            self._clients[key] = SdkClient(partial(self._make_client, at), "openai.types")
        return self._clients[key]

    def _make_client(self, at: Endpoint) -> AsyncOpenAI:
        import openai

        return openai.AsyncOpenAI(
            api_key=at.api_key,
            base_url=at.base_url,
            max_retries=0,  # Retries does it, and tells
            timeout=openai.Timeout(self._timeout, connect=min(CONNECT, self._timeout)),
        )


async def _bounded(chunks: AsyncIterator[bytes], at: Endpoint, most: int) -> bytes:
    body = bytearray()
    async for chunk in chunks:
        body += chunk
        if len(body) > most:
            raise BadRequest(f"The {at.service} service sent more than {size(most)}.")
    return bytes(body)


def _explained(error: Exception, at: Endpoint) -> Exception:
    """``error`` as a sentence; one that is nobody's but ours stays what it is."""
    import httpx2
    import openai

    if isinstance(error, HooklineError):
        return error
    failures = failures_at(at)
    if isinstance(error, TimeoutError | httpx2.TimeoutException):
        return failures.failure(Cause.TIMED_OUT)
    if isinstance(error, httpx2.HTTPError | httpx2.InvalidURL):
        return failures.failure(Cause.TRUNCATED, error)
    if failure := failures.from_exception(error, openai):
        return failure
    if isinstance(error, openai.OpenAIError):
        return failures.failure(Cause.INVALID_REQUEST, error)
    return error
