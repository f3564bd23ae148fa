"""The official SDK's client: imported and made when the first request is sent.

Bodies go through its low-level ``post``, which sends the bytes as they are and has the same
retries, backoff and streaming as the typed methods, without transforming the history each time.
"""

from __future__ import annotations

import asyncio
import json
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hookline_hookspecs import ProviderError, ProviderSettings

from .dialects import Answer
from .failures import Failures, ServerSaid
from .options import Options

if TYPE_CHECKING:
    from openai import AsyncOpenAI, AsyncStream

JSON_BODY: Any = {"headers": {"Content-Type": "application/json"}}
POOLED = 64
"""Requests at a time through one pool: the HTTP client looks at every connection of its pool for
each request, which with a thousand of them takes longer than the request."""


@dataclass(slots=True)
class _Pool:
    """A client of the SDK, with its connections, and how many requests it has under way."""

    sdk: AsyncOpenAI
    active: int = 0


class Client:
    """Connections to one server, for any number of requests at a time."""

    def __init__(self, settings: ProviderSettings, options: Options) -> None:
        self._settings = settings
        self._options = options
        self._failures = Failures(settings.name, settings.key_env)
        self._pools: list[_Pool] = []
        self._making = threading.Lock()

    async def ask(self, path: str, body: bytes, answer: Answer, model: str, streamed: bool) -> Any:
        """Send ``body`` and feed the answer to ``answer``; the raw body of a whole answer.

        Raises:
            ProviderError: the request failed; the text names the provider and ``model``.
        """
        while (pool := self._free()) is None:
            # Importing the SDK takes a second: on a thread, other sessions are not held up by it.
            await asyncio.to_thread(self._grow, len(self._pools))
        pool.active += 1
        try:
            if streamed:
                return await _stream(pool.sdk, path, body, answer)
            return await _whole(pool.sdk, path, body, answer)
        except Exception as error:
            if failure := self._explain(error, model, str(pool.sdk.base_url.host)):
                raise failure from error
            raise
        finally:
            pool.active -= 1

    async def close(self) -> None:
        """Close the connections; the next request opens new ones."""
        pools, self._pools = self._pools, []
        for pool in pools:
            await pool.sdk.close()

    def _free(self) -> _Pool | None:
        return next((pool for pool in self._pools if pool.active < POOLED), None)

    def _grow(self, known: int) -> None:
        """Add a pool, unless somebody has since there were so many."""
        with self._making:
            if len(self._pools) == known:
                self._pools.append(_Pool(self._made()))

    def _made(self) -> AsyncOpenAI:
        import openai

        options, settings = self._options, self._settings
        timeout: Any = openai.not_given
        if options.timeout is not None:
            # 5 s to connect is the SDK's own; a longer wait for words is no reason to raise it.
            timeout = openai.Timeout(options.timeout, connect=min(options.timeout, 5.0))
        try:
            return openai.AsyncOpenAI(
                api_key=settings.api_key.strip() or "none",
                base_url=settings.base_url,
                default_headers=dict(settings.headers),
                timeout=timeout,
                max_retries=options.max_retries,
            )
        except Exception as error:
            raise self._failures.unusable(str(error)) from error

    def _explain(self, error: Exception, model: str, host: str) -> ProviderError | None:
        """The error for people, or None if ``error`` is not the server's or the network's."""
        import httpx2
        import openai

        failures = self._failures
        match error:
            case openai.APIStatusError():
                headers = error.response.headers
                return failures.refused(model, error.status_code, error.body, headers)
            case openai.APITimeoutError() | httpx2.TimeoutException():
                return failures.timed_out(model)
            case openai.APIConnectionError() if isinstance(
                error.__cause__, httpx2.LocalProtocolError | httpx2.UnsupportedProtocol
            ):
                # Its text may quote the header, and with it the key.
                return failures.unusable("the address or a header is not valid in HTTP")
            case openai.APIConnectionError() | httpx2.HTTPError():
                return failures.lost(model, host, error)
            case ServerSaid():
                return failures.in_stream(model, error.body)
            case openai.APIError():
                return failures.in_stream(model, error.body or error.message)
            case json.JSONDecodeError() | UnicodeDecodeError():
                return failures.unreadable(model, error)
            case UnicodeEncodeError():
                return failures.unusable("the key or a header holds letters HTTP cannot carry")
            case openai.OpenAIError():
                return failures.unusable(str(error))
        return None


async def _stream(sdk: AsyncOpenAI, path: str, body: bytes, answer: Answer) -> Any:
    from openai import AsyncStream

    # Typed as object, the SDK hands out plain dicts and builds no model for each chunk.
    stream: AsyncStream[Any] = await sdk.post(
        path,
        content=body,
        cast_to=object,
        stream=True,
        stream_cls=AsyncStream[object],
        options=JSON_BODY,
    )
    async with stream:
        kind = stream.response.headers.get("content-type", "")
        if "json" in kind or "html" in kind:
            return _read(await stream.response.aread(), answer)
        async for chunk in stream:
            answer.add(chunk)
    return None


async def _whole(sdk: AsyncOpenAI, path: str, body: bytes, answer: Answer) -> Any:
    import httpx2

    response = await sdk.post(path, content=body, cast_to=httpx2.Response, options=JSON_BODY)
    return _read(response.content, answer)


def _read(content: bytes, answer: Answer) -> Any:
    """An answer in one piece; also from a server that was asked for a stream and sent none."""
    if content.lstrip()[:1] == b"<":
        raise ServerSaid(content.decode("utf-8", "replace"))
    body = json.loads(content)
    answer.whole(body)
    return body
