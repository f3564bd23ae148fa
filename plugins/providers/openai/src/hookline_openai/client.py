"""The official SDK's client: imported and made when the first request is sent.

Bodies go through its low-level ``post``, which sends the bytes as they are, without transforming
the history each time; what comes is read as plain data. What the server refuses by name is left
out and remembered (:mod:`.servers`); ``Retries`` waits and tells.
"""

from __future__ import annotations

import json
from collections.abc import Coroutine, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from hookline_hookspecs import ProviderSettings, WireRequest
from hookline_providerkit import (
    IDENTITY,
    PROVIDER,
    Boundary,
    Cause,
    CleanSink,
    Failures,
    Retries,
    SdkClient,
    ServerSaid,
    post_json,
)

from .dialects import Answer, Dialect
from .options import Options
from .servers import Server

if TYPE_CHECKING:
    from openai import AsyncOpenAI

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
        self._sdk = SdkClient(self._make_sdk, "openai.types")
        self._retries = Retries(settings.name, options.max_retries)
        self._servers: dict[tuple[str, str], Server] = {}

    async def ask(
        self, dialect: Dialect, wire: WireRequest, answer: Answer, model: str, sink: CleanSink
    ) -> Any:
        """Send a request and feed its answer to ``answer``; the raw body of a whole answer.

        Raises:
            ProviderError: the request failed; the text names the provider and ``model``.
        """
        sdk = await self._sdk.get()
        import openai

        address = sdk.base_url
        server = self._server(str(address), model)
        async with self.boundary.asking(openai, sink, model=model, host=str(address.host)):
            while True:
                fields = server.fields(wire.fields)
                asked = replace(wire, fields=fields)
                try:
                    return await self._once(sdk, dialect, asked, answer, sink)
                except openai.APIStatusError as error:
                    if not server.learn(error.status_code, error.body, fields):
                        raise
                except openai.APIError:
                    raise
                except openai.OpenAIError as error:
                    raise self._failures.failure(Cause.UNUSABLE, error) from error

    async def _once(
        self, sdk: AsyncOpenAI, dialect: Dialect, wire: WireRequest, answer: Answer, sink: CleanSink
    ) -> Any:
        import openai

        body = dialect.body(wire)
        stream_class = openai.AsyncStream[object] if wire.fields.get("stream") else None

        def once(headers: Mapping[str, str]) -> Coroutine[Any, Any, Any]:
            return post_json(sdk, dialect.path, body, headers, stream_class)

        sent = await self._retries.send(once, sink, openai)
        if stream_class is None:
            return _read(sent.content, answer)
        kind = sent.response.headers.get("content-type", "")
        if "json" in kind or "html" in kind:
            return _read(await sent.response.aread(), answer)
        async with sent:
            async for chunk in sent:
                answer.add(chunk)
        return None

    def _server(self, base_url: str, model: str) -> Server:
        """What is known of the server, for as long as it is the same."""
        if (base_url, model) not in self._servers:
            self._servers[base_url, model] = Server(base_url, model, self._settings.home)
        return self._servers[base_url, model]

    async def aclose(self) -> None:
        """Close the connections; the next request opens new ones."""
        await self._sdk.aclose()

    def _make_sdk(self) -> AsyncOpenAI:
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
                max_retries=0,  # Retries does it, and tells
                http_client=self.boundary.http_client(openai),
            )
        except Exception as error:
            raise self._failures.failure(Cause.UNUSABLE, error) from error


def _read(content: bytes, answer: Answer) -> Any:
    """An answer in one piece; also from a server that was asked for a stream and sent none."""
    if content.lstrip()[:1] == b"<":
        raise ServerSaid(content.decode("utf-8", "replace"))
    body = json.loads(content)
    answer.whole(body)
    return body
