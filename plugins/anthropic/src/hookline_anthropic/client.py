"""The SDK's client, made once, and the one call that is made of it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from hookline_hookspecs import DeltaSink, ProviderSettings

from .answer import StreamReader
from .errors import Errors, retry_after
from .options import Options

if TYPE_CHECKING:
    import httpx2
    from anthropic import AsyncAnthropic

PATIENCE = 60.0
"""Longest wait in seconds that is slept through before the SDK tries again. A longer
``retry-after`` is told at once, so that a person or a fallback can act on it."""

POOLED = 64
"""Requests at a time through one pool: the HTTP client looks at every connection of its pool for
each request, which with a thousand of them takes longer than the request."""

_JSON = {"headers": {"Content-Type": "application/json"}}
_AUTH = {"authorization", "x-api-key"}


@dataclass(slots=True)
class _Pool:
    """A client of the SDK, with its connections, and how many requests it has under way."""

    sdk: AsyncAnthropic
    active: int = 0


class Client:
    """Sends bodies to ``/v1/messages`` and gives back messages as plain data.

    The SDK parses every event into typed objects unless it is asked for ``object``; plain data
    costs a fraction of that and cannot fail on an event that is newer than the SDK.
    """

    def __init__(self, settings: ProviderSettings, options: Options, errors: Errors) -> None:
        """Import the SDK and make its client.

        Raises:
            AuthError: there is no key.
            BadRequest: the SDK cannot use the settings.
        """
        self._errors = errors
        key = settings.api_key.strip()
        signed = _AUTH & {name.lower() for name in settings.headers}
        if not key and not settings.base_url and not signed:
            raise errors.no_key()
        if not (key.isascii() and key.isprintable()):
            raise errors.settings(ValueError("the key holds characters that no key has"))
        import httpx2
        from anthropic import APIConnectionError, APIStatusError, AsyncStream

        self._status_error = APIStatusError
        self._connection_error = APIConnectionError
        self._transport_error = httpx2.HTTPError
        self._stream_cls: Any = AsyncStream[object]
        try:
            self._make = partial(_make_sdk, settings, options, key or "none")
            self._pools = [_Pool(self._make())]
        except (ValueError, TypeError, httpx2.InvalidURL) as error:
            raise errors.settings(error) from error

    async def stream(self, body: bytes, model: str, on_delta: DeltaSink | None) -> dict[str, Any]:
        """Send and read a stream.

        Raises:
            ProviderError: as :meth:`whole`; also when the stream breaks off.
        """
        reader = StreamReader(on_delta)
        async with self._sdk() as sdk, await self._post(sdk, body, model, stream=True) as stream:
            if "event-stream" not in stream.response.headers.get("content-type", ""):
                return await self._unstreamed(stream.response, model)
            async for event in self._events(stream, model):
                reader.feed(event)
        if not reader.begun:
            raise self._errors.broken(None, model)
        return reader.message()

    async def whole(self, body: bytes, model: str) -> dict[str, Any]:
        """Send and read one whole message.

        Raises:
            ProviderError: no connection, an error of the API, or no message.
        """
        async with self._sdk() as sdk:
            answer = await self._post(sdk, body, model, stream=False)
        if isinstance(answer, dict):
            return self._checked(answer, str(answer), model)
        raise self._errors.no_message(str(answer), model)

    @asynccontextmanager
    async def _sdk(self) -> AsyncIterator[Any]:
        """A client with a free connection. It is typed loosely, because the overloads of its
        ``post`` tell apart streamed and whole by a literal, which is not known here."""
        pools = self._pools
        while (pool := next((one for one in pools if one.active < POOLED), None)) is None:
            known, made = len(pools), await asyncio.to_thread(self._make)
            if len(pools) == known:
                pools.append(_Pool(made))
            else:
                await made.close()
        pool.active += 1
        try:
            yield pool.sdk
        finally:
            pool.active -= 1

    async def _post(self, sdk: Any, body: bytes, model: str, *, stream: bool) -> Any:
        try:
            return await sdk.post(
                "/v1/messages",
                content=body,
                cast_to=object,
                stream=stream,
                stream_cls=self._stream_cls,
                options=_JSON,
            )
        except self._status_error as error:
            raise self._errors.status(error, model) from error
        except (self._connection_error, self._transport_error) as error:
            raise self._errors.connection(error, model) from error
        except json.JSONDecodeError as error:
            raise self._errors.broken(error, model) from error
        except (ValueError, TypeError) as error:
            # A header of the settings that cannot be put into a request.
            raise self._errors.settings(error) from error

    async def _events(self, stream: Any, model: str) -> AsyncIterator[Any]:
        try:
            async for event in stream:
                yield event
        except self._status_error as error:
            raise self._errors.status(error, model) from error
        except (self._transport_error, self._connection_error, ValueError) as error:
            raise self._errors.broken(error, model) from error

    async def _unstreamed(self, response: httpx2.Response, model: str) -> dict[str, Any]:
        # Some servers pay no heed to ``stream`` and answer with the whole message.
        try:
            text = (await response.aread()).decode("utf-8", "replace")
            message = json.loads(text)
        except self._transport_error as error:
            raise self._errors.broken(error, model) from error
        except ValueError:
            raise self._errors.no_message(text, model) from None
        return self._checked(message, text, model)

    def _checked(self, message: Any, text: str, model: str) -> dict[str, Any]:
        if not isinstance(message, dict) or not isinstance(message.get("content"), list):
            raise self._errors.no_message(text, model)
        return message

    async def aclose(self) -> None:
        """Close connections."""
        for pool in self._pools:
            await pool.sdk.close()


def _make_sdk(settings: ProviderSettings, options: Options, key: str) -> AsyncAnthropic:
    from anthropic import AsyncAnthropic, DefaultAsyncHttpxClient, omit

    headers: dict[str, Any] = {}
    if options.auth_header == "x-api-key":
        headers = {"X-Api-Key": key, "Authorization": omit}
    given: dict[str, Any] = {"timeout": options.timeout, "max_retries": options.max_retries}
    return AsyncAnthropic(
        api_key=key,
        base_url=settings.base_url,
        default_headers=headers | dict(settings.headers),
        http_client=DefaultAsyncHttpxClient(event_hooks={"response": [_refuse_long_waits]}),
        **{name: value for name, value in given.items() if value is not None},
    )


async def _refuse_long_waits(response: httpx2.Response) -> None:
    wait = retry_after(response.headers)
    if wait is not None and wait > PATIENCE:
        response.headers["x-should-retry"] = "false"
