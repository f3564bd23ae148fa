"""Requests to the services: clients of the official SDK, answers as bytes up to a limit.

The SDK is imported and a client is made when the first request is sent, one for each address and
key. Answers are looked at by the caller, because servers answer with anything.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any, TypeAlias

from hookline_hookspecs import BadRequest, HooklineError, NetworkError

from .endpoints import Endpoint
from .failures import failure, safe, timed_out
from .reading import size

if TYPE_CHECKING:
    from openai import AsyncOpenAI

    Request: TypeAlias = Callable[[AsyncOpenAI], AbstractAsyncContextManager[Any]]

CONNECT = 5.0
"""Seconds to wait for a connection; the SDK's own."""


class Asker:
    """Sends requests. ``timeout`` is for a whole request in seconds, repeats included."""

    def __init__(self, timeout: float, max_retries: int) -> None:
        self._timeout = timeout
        self._max_retries = max_retries
        self._clients: dict[tuple[str, str], AsyncOpenAI] = {}
        self._making = threading.Lock()

    async def ask(self, at: Endpoint, request: Request, most: int) -> bytes:
        """The body of the answer. ``request`` makes the SDK's streamed response of a client.

        Raises:
            ProviderError: the service cannot be reached, says no or answers with more than
                ``most`` bytes; the text is a sentence.
        """
        try:
            client = self._clients.get((at.base_url, at.api_key))
            if client is None:
                # Importing the SDK takes a second: on a thread, nobody else is held up by it.
                client = await asyncio.to_thread(self._client, at)
            async with asyncio.timeout(self._timeout), request(client) as response:
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
        clients, self._clients = list(self._clients.values()), {}
        for client in clients:
            await client.close()

    def _client(self, at: Endpoint) -> AsyncOpenAI:
        import openai

        with self._making:
            client = self._clients.get((at.base_url, at.api_key))
            if client is None:
                client = self._clients[at.base_url, at.api_key] = openai.AsyncOpenAI(
                    api_key=at.api_key,
                    base_url=at.base_url,
                    max_retries=self._max_retries,
                    timeout=openai.Timeout(self._timeout, connect=min(CONNECT, self._timeout)),
                )
            return client


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

    if isinstance(error, HooklineError):
        return error
    if isinstance(error, TimeoutError | httpx2.TimeoutException):
        return timed_out(at)
    if isinstance(error, httpx2.HTTPError | httpx2.InvalidURL):
        return NetworkError(
            f"The answer of the {at.service} service ({at.base_url}) broke off: "
            f"{safe(str(error), at) or type(error).__name__}. Try again."
        )
    return failure(error, at) or error
