"""The SDK's client, made when the first request is sent, and the one call that is made of it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Coroutine, Mapping
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any

from hookline_hookspecs import ProviderSettings
from hookline_providerkit import (
    IDENTITY,
    RETRIES,
    Boundary,
    Cause,
    CleanSink,
    Failures,
    Retries,
    SdkClient,
    post_json,
)

from .answer import StreamReader
from .options import Options

if TYPE_CHECKING:
    import httpx2
    from anthropic import AsyncAnthropic

_AUTH = {"authorization", "x-api-key"}
KEY_ENV = "ANTHROPIC_API_KEY"
"""The variable of the key where core names none."""


class Client:
    """Sends bodies to ``/v1/messages`` and gives back messages as plain data.

    The SDK sends a request, and its answer is read here: plain data costs a fraction of the SDK's
    typed objects and cannot fail on an event that is newer than the SDK.
    """

    def __init__(self, settings: ProviderSettings, options: Options) -> None:
        self._settings = settings
        self._options = options
        self._key = settings.api_key.strip()
        name = f"`providers.{settings.name}.api_key`"
        fields = {"name": settings.name, "key": f"{settings.key_env or KEY_ENV} or {name}"}
        self._failures = Failures(fields, self._key)
        self.boundary = Boundary(self._failures, options.limits())
        self._sdk = SdkClient(self._make_sdk, "anthropic.types")
        most = RETRIES if options.max_retries is None else options.max_retries
        self._retries = Retries(settings.name, most)

    @asynccontextmanager
    async def _asking(self, model: str, sink: CleanSink) -> AsyncIterator[AsyncAnthropic]:
        """The SDK's client, for one request."""
        sdk = await self._sdk.get()
        import anthropic

        host = self._settings.base_url or "api.anthropic.com"
        async with self.boundary.asking(anthropic, sink, model=model, host=host):
            yield sdk

    async def stream(self, body: bytes, model: str, sink: CleanSink) -> dict[str, Any]:
        """Send and read a stream.

        Raises:
            ProviderError: as :meth:`whole`; also when the stream breaks off.
        """
        reader = StreamReader(sink, self.boundary.limits)
        async with self._asking(model, sink) as sdk:
            from anthropic import AsyncStream

            stream = await self._post(sdk, body, sink, AsyncStream[object])
            if "event-stream" not in stream.response.headers.get("content-type", ""):
                # Some servers ignore ``stream`` and answer with the whole message.
                await stream.response.aread()
                return self._read(stream.response, model)
            async with stream:
                async for event in stream:
                    reader.feed(event)
        if not reader.begun:
            raise self._failures.failure(Cause.BROKEN, model=model)
        return reader.message()

    async def whole(self, body: bytes, model: str, sink: CleanSink) -> dict[str, Any]:
        """Send and read one whole message.

        Raises:
            ProviderError: there is no key, the settings cannot be used, no connection, an error of
                the API, or no message.
        """
        async with self._asking(model, sink) as sdk:
            return self._read(await self._post(sdk, body, sink), model)

    async def aclose(self) -> None:
        """Close the connections; the next request opens new ones."""
        await self._sdk.aclose()

    async def _post(
        self, sdk: AsyncAnthropic, body: bytes, sink: CleanSink, stream_class: Any = None
    ) -> Any:
        import anthropic

        def once(headers: Mapping[str, str]) -> Coroutine[Any, Any, Any]:
            return post_json(sdk, "/v1/messages", body, headers, stream_class)

        return await self._retries.send(once, sink, anthropic)

    def _read(self, response: httpx2.Response, model: str) -> dict[str, Any]:
        """A message in one piece."""
        message: Any = response.content.decode("utf-8", "replace")
        if "json" in response.headers.get("content-type", ""):
            message = json.loads(message)
        else:
            with suppress(ValueError, RecursionError):
                message = json.loads(message)
        if not isinstance(message, dict) or not isinstance(message.get("content"), list):
            raise self._failures.failure(Cause.NO_ANSWER, message, model=model)
        return message

    def _make_sdk(self) -> AsyncAnthropic:
        settings, key = self._settings, self._key
        signed = _AUTH & {name.lower() for name in settings.headers}
        if not key and not settings.base_url and not signed:
            raise self._failures.failure(Cause.NO_KEY)
        if not (key.isascii() and key.isprintable()):
            fault = "the key holds characters that no key has"
            raise self._failures.failure(Cause.UNUSABLE, fault)
        try:
            return _client(settings, self._options, key or "none", self.boundary)
        except Exception as error:
            raise self._failures.failure(Cause.UNUSABLE, error) from error


def _client(
    settings: ProviderSettings, options: Options, key: str, boundary: Boundary
) -> AsyncAnthropic:
    import anthropic
    from anthropic import AsyncAnthropic, omit

    headers: dict[str, Any] = {}
    if options.auth_header == "x-api-key":
        headers = {"X-Api-Key": key, "Authorization": omit}
    given: dict[str, Any] = {} if options.timeout is None else {"timeout": options.timeout}
    return AsyncAnthropic(
        api_key=key,
        base_url=settings.base_url,
        default_headers=headers | dict(IDENTITY) | dict(settings.headers),
        max_retries=0,  # :class:`Retries` does it, and tells
        http_client=boundary.http_client(anthropic),
        **given,
    )
