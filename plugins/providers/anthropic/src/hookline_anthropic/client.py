"""Sends requests through the official SDK, and returns messages as plain data."""

from __future__ import annotations

import itertools
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hookline_hookspecs import Delta, ProviderError, ProviderSettings
from hookline_providerkit import (
    MAX_REPAIRS,
    NO_COMPRESSION,
    Cause,
    Failures,
    ResponseGuard,
    Retries,
    SanitizingSink,
    SdkClient,
    describe_repair,
    post_json,
)

from .options import Options
from .repairs import apply_repairs, find_repair
from .response_reader import StreamReader

if TYPE_CHECKING:
    import httpx2
    from anthropic import AsyncAnthropic

_AUTH_HEADERS = {"authorization", "x-api-key"}
KEY_ENV = "ANTHROPIC_API_KEY"
"""The environment variable of the key, unless core names another."""


@dataclass(frozen=True, slots=True)
class _Request:
    """A request with how its response is read."""

    sdk: AsyncAnthropic
    body: bytes
    stream_class: Any
    read: Callable[[Any], Awaitable[dict[str, Any]]]
    retry_seconds: float | None


class Client:
    """Sends bodies to ``/v1/messages``.

    Plain data costs a fraction of the SDK's typed objects, and cannot fail on an event that is
    newer than the SDK.
    """

    def __init__(self, settings: ProviderSettings, options: Options) -> None:
        self._settings = settings
        self._options = options
        self._key = settings.api_key.strip()
        name = f"`providers.{settings.name}.api_key`"
        fields = {"name": settings.name, "key": f"{settings.key_env or KEY_ENV} or {name}"}
        self._failures = Failures(fields, self._key)
        self.guard = ResponseGuard(self._failures, options.limits())
        self._sdk = SdkClient(self._make_sdk, "anthropic.types")
        self._retries = Retries(settings.name, options.max_retries, options.retry_seconds)
        self._repairs: dict[str, list[str]] = {}

    @asynccontextmanager
    async def _request(self, model: str, sink: SanitizingSink) -> AsyncIterator[AsyncAnthropic]:
        """Enclose one request, and give the SDK's client."""
        sdk = await self._sdk.get()
        import anthropic

        host = self._settings.base_url or "api.anthropic.com"
        async with self.guard.request(anthropic, sink, model=model, host=host):
            yield sdk

    async def stream(
        self, body: bytes, model: str, sink: SanitizingSink, retry_seconds: float | None = None
    ) -> dict[str, Any]:
        """Send a request and read the stream.

        Raises:
            ProviderError: as :meth:`send`; also when the stream breaks off.
        """

        async def read(stream: Any) -> dict[str, Any]:
            if "event-stream" not in stream.response.headers.get("content-type", ""):
                # Some servers ignore ``stream`` and answer with the whole message.
                await stream.response.aread()
                return self._read_message(stream.response, model)
            reader = StreamReader(sink, self.guard.limits)
            async with stream:
                async for event in stream:
                    reader.feed(event)
            if not reader.has_message:
                raise self._failures.failure(Cause.TRUNCATED, model=model)
            return reader.message()

        async with self._request(model, sink) as sdk:
            from anthropic import AsyncStream

            return await self._post(
                _Request(sdk, body, AsyncStream[object], read, retry_seconds), model, sink
            )

    async def send(
        self, body: bytes, model: str, sink: SanitizingSink, retry_seconds: float | None = None
    ) -> dict[str, Any]:
        """Send a request and read a message in one piece.

        Raises:
            ProviderError: no key, invalid settings, no connection, an error of the API, or no
                message.
        """

        async def read(response: Any) -> dict[str, Any]:
            return self._read_message(response, model)

        async with self._request(model, sink) as sdk:
            return await self._post(_Request(sdk, body, None, read, retry_seconds), model, sink)

    async def aclose(self) -> None:
        """Close the connections; the next request opens new ones."""
        await self._sdk.aclose()

    async def _post(self, request: _Request, model: str, sink: SanitizingSink) -> dict[str, Any]:
        """Send a body and read the response.

        If an item in it is refused, leave it out, tell the person, and remember.
        """
        import anthropic

        repairs = self._repairs.setdefault(model, [])
        for attempt in itertools.count():
            sent = apply_repairs(request.body, repairs)

            async def once(headers: Mapping[str, str], sent: bytes = sent) -> dict[str, Any]:
                return await request.read(
                    await post_json(
                        request.sdk, "/v1/messages", sent, headers, request.stream_class
                    )
                )

            def can_repair(status: int, error: Any, sent: bytes = sent) -> bool:
                return find_repair(status, error, sent) is not None

            try:
                return await self._retries.send(
                    once, sink, anthropic, request.retry_seconds, can_repair
                )
            except anthropic.APIStatusError as error:
                repair = find_repair(error.status_code, error.body, sent)
                if repair is None or repair in repairs or attempt >= MAX_REPAIRS:
                    raise
                repairs.append(repair)
                kind, _, what = repair.partition(":")
                sink(Delta(describe_repair(kind, model, what), "notice"))
        raise AssertionError

    def _read_message(self, response: httpx2.Response, model: str) -> dict[str, Any]:
        """Read a message in one piece."""
        message: Any = response.content.decode("utf-8-sig", "replace")
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
        has_auth = _AUTH_HEADERS & {name.lower() for name in settings.headers}
        if not key and not settings.base_url and not has_auth:
            raise self._failures.failure(Cause.NO_KEY)
        if not (key.isascii() and key.isprintable()):
            detail = "the key holds characters that HTTP does not allow"
            raise self._failures.failure(Cause.INVALID_REQUEST, detail)
        try:
            return _client(settings, self._options, key or "none", self.guard)
        except ProviderError:
            raise
        except Exception as error:
            raise self._failures.failure(Cause.INVALID_REQUEST, error) from error


def _client(
    settings: ProviderSettings, options: Options, key: str, guard: ResponseGuard
) -> AsyncAnthropic:
    import anthropic
    from anthropic import AsyncAnthropic, omit

    headers: dict[str, Any] = {}
    if options.auth_header == "x-api-key":
        headers = {"X-Api-Key": key, "Authorization": omit}
    given: dict[str, Any] = {} if options.timeout is None else {"timeout": options.timeout}
    address = settings.base_url
    return AsyncAnthropic(
        api_key=key,
        base_url=address.rstrip("/").removesuffix("/v1") if address else None,
        default_headers=headers | dict(NO_COMPRESSION) | dict(settings.headers),
        max_retries=0,  # Retries handles it and notifies the person
        http_client=guard.http_client(anthropic, settings.base_url or ""),
        **given,
    )
