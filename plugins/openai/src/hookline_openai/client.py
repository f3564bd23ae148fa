"""The official SDK's client: imported and made when the first request is sent.

Bodies go through its low-level ``post``, which sends the bytes as they are and has the same
retries, backoff and streaming as the typed methods, without transforming the history each time.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from hookline_hookspecs import ProviderSettings
from hookline_providerkit import (
    IDENTITY,
    PROVIDER,
    Boundary,
    Cause,
    CleanSink,
    Failures,
    Pools,
    ServerSaid,
)

from .dialects import Answer
from .options import Options

if TYPE_CHECKING:
    from openai import AsyncOpenAI, AsyncStream

JSON_BODY: Any = {"headers": {"Content-Type": "application/json"}}
SENTENCES = PROVIDER | {
    Cause.NO_ANSWER: (
        "{name} answered the request to {model} with a web page and not with JSON ({said}). Check "
        "`providers.{name}.base_url`; most servers want /v1 at its end."
    )
}


class Client:
    """Connections to one server, for any number of requests at a time."""

    def __init__(self, settings: ProviderSettings, options: Options) -> None:
        self._settings = settings
        self._options = options
        key = f"{settings.key_env} or " if settings.key_env else ""
        self._failures = Failures(
            {"name": settings.name, "key": f"{key}`providers.{settings.name}.api_key`"},
            settings.api_key.strip(),
            SENTENCES,
        )
        self.boundary = Boundary(self._failures, options.limits())
        self._pools = Pools(self._made)

    async def ask(
        self, path: str, body: bytes, answer: Answer, model: str, sink: CleanSink, streamed: bool
    ) -> Any:
        """Send ``body`` and feed the answer to ``answer``; the raw body of a whole answer.

        Raises:
            ProviderError: the request failed; the text names the provider and ``model``.
        """
        async with self._pools.client() as sdk:
            import openai

            host = str(sdk.base_url.host)
            async with self.boundary.asking(openai, sink, model=model, host=host):
                try:
                    if streamed:
                        return await _stream(sdk, path, body, answer)
                    return await _whole(sdk, path, body, answer)
                except openai.APIError:
                    raise
                except openai.OpenAIError as error:
                    raise self._failures.failure(Cause.UNUSABLE, error) from error

    async def aclose(self) -> None:
        """Close the connections; the next request opens new ones."""
        await self._pools.aclose()

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
                default_headers=dict(IDENTITY) | dict(settings.headers),
                timeout=timeout,
                max_retries=options.max_retries,
                http_client=openai.DefaultAsyncHttpxClient(
                    event_hooks=self.boundary.hooks(), follow_redirects=False
                ),
            )
        except Exception as error:
            raise self._failures.failure(Cause.UNUSABLE, error) from error


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
