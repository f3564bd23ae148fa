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
    Pools,
    Retries,
    Sender,
    ServerSaid,
    read_events,
)

from .dialects import Answer, Dialect
from .options import Options
from .servers import Server

if TYPE_CHECKING:
    import httpx2

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
        self._pools = Pools(self._made, "openai.types")
        self._retries = Retries(settings.name, options.max_retries)
        self._servers: dict[tuple[str, str], Server] = {}

    async def ask(
        self, dialect: Dialect, wire: WireRequest, answer: Answer, model: str, sink: CleanSink
    ) -> Any:
        """Send a request and feed its answer to ``answer``; the raw body of a whole answer.

        Raises:
            ProviderError: the request failed; the text names the provider and ``model``.
        """
        async with self._pools.client() as sender:
            import openai

            address = sender.sdk.base_url
            host, server = str(address.host), self._server(str(address), model)
            async with self.boundary.asking(openai, sink, model=model, host=host):
                while True:
                    fields = server.fields(wire.fields)
                    asked = replace(wire, fields=fields)
                    try:
                        return await self._once(sender, dialect, asked, answer, sink)
                    except openai.APIStatusError as error:
                        if not server.learn(error.status_code, error.body, fields):
                            raise
                    except openai.APIError:
                        raise
                    except openai.OpenAIError as error:
                        raise self._failures.failure(Cause.UNUSABLE, error) from error

    async def _once(
        self, sender: Sender, dialect: Dialect, wire: WireRequest, answer: Answer, sink: CleanSink
    ) -> Any:
        import openai

        body, stream = dialect.body(wire), bool(wire.fields.get("stream"))

        def once(headers: Mapping[str, str]) -> Coroutine[Any, Any, httpx2.Response]:
            return sender.post(dialect.path, body, headers, stream=stream)

        response = await self._retries.send(once, sink, openai)
        kind = response.headers.get("content-type", "")
        if not stream or "json" in kind or "html" in kind:
            return _read(await response.aread(), answer)
        await read_events(response, answer.add)
        return None

    def _server(self, base_url: str, model: str) -> Server:
        """What is known of the server, for as long as it is the same."""
        if (base_url, model) not in self._servers:
            self._servers[base_url, model] = Server(base_url, model, self._settings.home)
        return self._servers[base_url, model]

    async def aclose(self) -> None:
        """Close the connections; the next request opens new ones."""
        await self._pools.aclose()

    def _made(self) -> Sender:
        import openai

        options, settings = self._options, self._settings
        timeout: Any = openai.not_given
        if options.timeout is not None:
            # 5 s to connect is the SDK's own; a longer wait for words is no reason to raise it.
            timeout = openai.Timeout(options.timeout, connect=min(options.timeout, 5.0))
        try:
            http = openai.DefaultAsyncHttpxClient(**self.boundary.client_options())
            sdk = openai.AsyncOpenAI(
                api_key=settings.api_key.strip() or "none",
                base_url=settings.base_url,
                default_headers=dict(IDENTITY) | dict(settings.headers),
                timeout=timeout,
                max_retries=0,  # Retries does it, and tells
                http_client=http,
            )
            return Sender(sdk, http, openai)
        except Exception as error:
            raise self._failures.failure(Cause.UNUSABLE, error) from error


def _read(content: bytes, answer: Answer) -> Any:
    """An answer in one piece; also from a server that was asked for a stream and sent none."""
    if content.lstrip()[:1] == b"<":
        raise ServerSaid(content.decode("utf-8", "replace"))
    body = json.loads(content)
    answer.whole(body)
    return body
