"""Sends requests through the official SDK, and reads the responses as plain data.

Bodies are bytes that are encoded already, so that the SDK does not transform the whole history for
each request. What the server refuses by name is left out, told to the person and remembered
(:mod:`.server_quirks`).
"""

from __future__ import annotations

import codecs
import itertools
import json
from collections.abc import Coroutine, Mapping
from typing import TYPE_CHECKING, Any

from hookline_hookspecs import Delta, ProviderSettings, WireRequest
from hookline_providerkit import (
    MAX_REPAIRS,
    NO_COMPRESSION,
    PROVIDER_SENTENCES,
    Cause,
    ErrorInResponse,
    Failures,
    PeekedStream,
    ResponseGuard,
    Retries,
    SanitizingSink,
    SdkClient,
    post_json,
)

from .dialects import Dialect, ResponseReader
from .options import Options
from .repairs import IMAGES, has_image, repair_sentence
from .server_quirks import ServerQuirks

if TYPE_CHECKING:
    from openai import AsyncOpenAI

SENTENCES = PROVIDER_SENTENCES | {
    Cause.NO_ANSWER: (
        "{name} answered the request to {model} with a web page instead of JSON ({detail}). Check "
        "`providers.{name}.base_url`; most servers need /v1 at its end."
    )
}


class Client:
    """The client of one server, for any number of requests at a time."""

    def __init__(self, settings: ProviderSettings, options: Options) -> None:
        self._settings = settings
        self._options = options
        key = f"{settings.key_env} or " if settings.key_env else ""
        self._failures = Failures(
            {"name": settings.name, "key": f"{key}`providers.{settings.name}.api_key`"},
            settings.api_key.strip(),
            SENTENCES,
        )
        self.guard = ResponseGuard(self._failures, options.limits())
        self._sdk = SdkClient(self._make_sdk, "openai.types")
        self._retries = Retries(settings.name, options.max_retries)
        self._quirks: dict[tuple[str, str], ServerQuirks] = {}

    async def send(
        self,
        dialect: Dialect,
        wire: WireRequest,
        reader: ResponseReader,
        model: str,
        sink: SanitizingSink,
    ) -> Any:
        """Send a request and feed the response to ``reader``.

        Returns the body of a response that was not streamed.

        Raises:
            ProviderError: the request failed; the text names the provider and ``model``.
        """
        sdk = await self._sdk.get()
        import openai

        address = sdk.base_url
        quirks = self._quirks_of(str(address), model)
        async with self.guard.request(openai, sink, model=model, host=str(address.host)):
            if quirks.refuses_images() and wire.fragments and has_image(wire.fragments[-1]):
                sink(Delta(repair_sentence(IMAGES, model), "notice"))
            for attempt in itertools.count():
                request = quirks.repaired(wire)
                try:
                    return await self._send_once(sdk, dialect, request, reader, sink)
                except openai.APIStatusError as error:
                    if quirks.learn_from(error.status_code, error.body, request.fields):
                        continue
                    repair = quirks.learn_repair(error.status_code, error.body, request)
                    if repair is None or attempt >= MAX_REPAIRS:
                        raise
                    sink(Delta(repair_sentence(repair, model), "notice"))
                except openai.APIError:
                    raise
                except openai.OpenAIError as error:
                    raise self._failures.failure(Cause.INVALID_REQUEST, error) from error
        raise AssertionError

    async def _send_once(
        self,
        sdk: AsyncOpenAI,
        dialect: Dialect,
        wire: WireRequest,
        reader: ResponseReader,
        sink: SanitizingSink,
    ) -> Any:
        import openai

        body = dialect.body(wire)
        stream_class = openai.AsyncStream[object] if wire.fields.get("stream") else None

        def once(headers: Mapping[str, str]) -> Coroutine[Any, Any, Any]:
            return post_json(sdk, dialect.path, body, headers, stream_class)

        if stream_class is None:
            response = await self._retries.send(once, sink, openai)
            return _read_whole(response.content, reader)
        stream = await self._retries.send(once, sink, openai)
        peeked = PeekedStream(stream.response)
        if (await peeked.beginning())[:1] in (b"{", b"[", b"<"):
            # Some servers send JSON where a stream was requested, under any content type.
            return _read_whole(await stream.response.aread(), reader)
        async with stream:
            async for chunk in stream:
                reader.add(chunk)
        reader.end(complete=peeked.has_done)
        return None

    def _quirks_of(self, base_url: str, model: str) -> ServerQuirks:
        """Return what is known of a model's server."""
        if (base_url, model) not in self._quirks:
            self._quirks[base_url, model] = ServerQuirks(base_url, model, self._settings.home)
        return self._quirks[base_url, model]

    async def aclose(self) -> None:
        """Close the connections; the next request opens new ones."""
        await self._sdk.aclose()

    def _make_sdk(self) -> AsyncOpenAI:
        import openai

        options, settings = self._options, self._settings
        timeout: Any = openai.not_given
        if options.timeout is not None:
            # 5 s to connect is the SDK's own; a longer timeout is for the model, not the network.
            timeout = openai.Timeout(options.timeout, connect=min(options.timeout, 5.0))
        try:
            return openai.AsyncOpenAI(
                api_key=settings.api_key.strip() or "none",
                base_url=settings.base_url,
                default_headers=dict(NO_COMPRESSION) | dict(settings.headers),
                timeout=timeout,
                max_retries=0,  # Retries handles it and notifies the person
                http_client=self.guard.http_client(openai),
            )
        except Exception as error:
            raise self._failures.failure(Cause.INVALID_REQUEST, error) from error


def _read_whole(content: bytes, reader: ResponseReader) -> Any:
    """Read a response in one piece, or a stream that was not requested."""
    content = content.removeprefix(codecs.BOM_UTF8)
    if content.startswith((b"data:", b"event:", b":")):
        for line in content.splitlines():
            if line.startswith(b"data:") and line[5:].strip() != b"[DONE]":
                reader.add(json.loads(line[5:]))
        reader.end(complete=b"[DONE]" in content[-64:])
        return None
    if content.lstrip()[:1] == b"<":
        raise ErrorInResponse(content.decode("utf-8", "replace"))
    body = json.loads(content)
    reader.add_whole(body)
    return body
