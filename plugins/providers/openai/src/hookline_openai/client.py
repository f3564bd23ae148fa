"""Sends requests through the official SDK, and reads the responses as plain data.

Bodies are bytes that are encoded already, so that the SDK does not transform the whole history for
each request. What the server refuses by name is left out, told to the person and remembered
(:mod:`.server_quirks`).
"""

from __future__ import annotations

import asyncio
import codecs
import itertools
import json
import os
import re
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from hookline_hookspecs import Delta, ProviderError, ProviderSettings, Usage, WireRequest
from hookline_providerkit import (
    MAX_REPAIRS,
    NO_COMPRESSION,
    PROVIDER_SENTENCES,
    Cause,
    ErrorInResponse,
    Failures,
    KnownWindows,
    PeekedStream,
    ResponseGuard,
    Retries,
    SanitizingSink,
    SdkClient,
    ask_server,
    is_context_too_long,
    post_json,
    window_in_error,
)
from hookline_providerkit.servers import proxy_for, resolvable

from .dialects import Dialect, ResponseReader
from .options import Options
from .repairs import IMAGES, find_repair, has_image, repair_sentence
from .server_quirks import ServerQuirks

if TYPE_CHECKING:
    from openai import AsyncOpenAI

SENTENCES = PROVIDER_SENTENCES | {
    Cause.NO_ANSWER: (
        "{name} answered the request to {model} with a web page instead of JSON ({detail}). Check "
        "`providers.{name}.base_url`; most servers need /v1 at its end."
    )
}


_STREAM_LINE = re.compile(rb"(?:data|event|id|retry|error)?:")
"""What a line of a stream begins with; a server that begins otherwise does not stream."""
WINDOW_TIMEOUT = 2.0
"""Seconds that a server has to answer each question about its window."""
MAX_CLOSE_WAIT = 0.5
"""Seconds that the end of the process waits for such an answer."""
MIN_MEASURED_BYTES = 40_000
"""Smaller requests say too little about how many bytes a token has."""
MAX_BYTES_PER_TOKEN = 12
"""Prose has about 4; with more than this the server cannot have read all."""
CUT_NOTICE = (
    "{model} read only {tokens:,} tokens of a longer prompt: {name} cuts it at the model's window. "
    "Raise the window at the server (ollama: num_ctx), and set `providers.{name}.window` to it."
)


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
        self._retries = Retries(settings.name, options.max_retries, options.retry_seconds)
        self._windows = KnownWindows(settings.home)
        self._measured: set[str] = set()
        self._asked: set[str] = set()
        self._asking: threading.Thread | None = None
        self._quirks: dict[tuple[str, str], ServerQuirks] = {}

    async def send(
        self,
        dialect: Dialect,
        wire: WireRequest,
        make_reader: Callable[[], ResponseReader],
        model: str,
        sink: SanitizingSink,
    ) -> tuple[ResponseReader, Any]:
        """Send a request and read the response with a new reader for each attempt.

        Returns the reader, and the body of a response that was not streamed.

        Raises:
            ProviderError: the request failed; the text names the provider and ``model``.
        """
        sdk = await self._sdk.get()
        import openai

        address = sdk.base_url
        quirks = self._quirks_of(str(address), model)
        proxy = proxy_for(str(address))
        host = f"{address.host} through the proxy {proxy}" if proxy else str(address.host)
        async with self.guard.request(openai, sink, model=model, host=host):
            if quirks.refuses_images() and wire.fragments and has_image(wire.fragments[-1]):
                sink(Delta(repair_sentence(IMAGES, model), "notice"))
            for attempt in itertools.count():
                request = quirks.repaired(wire)
                try:
                    return await self._send_with_retries(sdk, dialect, request, make_reader, sink)
                except openai.APIStatusError as error:
                    self._learn_window(model, error.body)
                    if error.status_code in (404, 405) and _complete_path(sdk):
                        continue
                    if quirks.learn_from(error.status_code, error.body, request.fields):
                        continue
                    repair = quirks.learn_repair(error.status_code, error.body, request)
                    if repair is None or attempt >= MAX_REPAIRS:
                        raise
                    sink(Delta(repair_sentence(repair, model), "notice"))
                except openai.APIError as error:
                    self._learn_window(model, error.body or error.message)
                    raise
                except ErrorInResponse as error:
                    self._learn_window(model, error.body)
                    raise
                except openai.OpenAIError as error:
                    raise self._failures.failure(Cause.INVALID_REQUEST, error) from error
        raise AssertionError

    async def _send_with_retries(
        self,
        sdk: AsyncOpenAI,
        dialect: Dialect,
        wire: WireRequest,
        make_reader: Callable[[], ResponseReader],
        sink: SanitizingSink,
    ) -> tuple[ResponseReader, Any]:
        import openai

        body = dialect.body(wire)
        stream_class = openai.AsyncStream[object] if wire.fields.get("stream") else None

        async def once(headers: Mapping[str, str]) -> tuple[ResponseReader, Any]:
            reader = make_reader()
            response = await post_json(sdk, dialect.path, body, headers, stream_class)
            if stream_class is None:
                return reader, _read_whole(response.content, reader)
            return reader, await _read_stream(response, reader)

        def can_repair(status: int, body: Any) -> bool:
            return find_repair(status, body, wire) is not None

        return await self._retries.send(once, sink, openai, wire.retry_seconds, can_repair)

    def window(self, model: str) -> int | None:
        """Return the model's context window in tokens, if its server has named it."""
        return self._windows.get(self._address(), model)

    def _address(self) -> str:
        """The server's address; empty for the SDK's own."""
        return self._settings.base_url or os.environ.get("OPENAI_BASE_URL") or ""

    def _learn_window(self, model: str, body: Any) -> None:
        """Remember the window that an error names."""
        if is_context_too_long(body) and (window := window_in_error(body)):
            self._windows.learn(self._address(), model, window)

    def ask_window(self, model: str) -> None:
        """Ask the server for a model's window, once, without waiting for the answer.

        It is known from the next request on, and in later processes.
        """
        address, settings = self._address(), self._settings
        if not address or settings.home is None or model in self._asked or self.window(model):
            return
        self._asked.add(model)
        key = settings.api_key.strip() or "none"
        headers = {"Authorization": f"Bearer {key}", **settings.headers}

        def ask() -> None:
            window = ask_server(resolvable(address), model, headers, WINDOW_TIMEOUT)
            if window is not None:
                with suppress(OSError):
                    self._windows.learn(address, model, window)

        # A daemon thread, so that a slow server does not delay the end of the process.
        self._asking = threading.Thread(target=ask, name="ask for a window", daemon=True)
        self._asking.start()

    def notice_cut(self, wire: WireRequest, model: str, usage: Usage, sink: SanitizingSink) -> None:
        """Tell the person if the server has read much less than was sent.

        Some servers cut a prompt that is longer than the model's window, and say so nowhere. Only
        the first large request of a model is looked at: later ones may be counted without what the
        server has cached.
        """
        sent = sum(map(len, wire.fragments)) + sum(map(len, wire.stable.values()))
        if sent < MIN_MEASURED_BYTES or not usage.input or model in self._measured:
            return
        self._measured.add(model)
        if sent > usage.input * MAX_BYTES_PER_TOKEN:
            sink(
                Delta(
                    CUT_NOTICE.format(model=model, name=self._settings.name, tokens=usage.input),
                    "notice",
                )
            )

    def _quirks_of(self, base_url: str, model: str) -> ServerQuirks:
        """Return what is known of a model's server."""
        if (base_url, model) not in self._quirks:
            self._quirks[base_url, model] = ServerQuirks(base_url, model, self._settings.home)
        return self._quirks[base_url, model]

    async def aclose(self) -> None:
        """Close the connections; the next request opens new ones."""
        await self._sdk.aclose()
        if (asking := self._asking) is not None and asking.is_alive():
            await asyncio.to_thread(asking.join, MAX_CLOSE_WAIT)

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
                base_url=resolvable(settings.base_url) if settings.base_url else None,
                default_headers=dict(NO_COMPRESSION) | dict(settings.headers),
                timeout=timeout,
                max_retries=0,  # Retries handles it and notifies the person
                http_client=self.guard.http_client(openai, self._address()),
            )
        except ProviderError:
            raise
        except Exception as error:
            raise self._failures.failure(Cause.INVALID_REQUEST, error) from error


def _complete_path(sdk: AsyncOpenAI) -> bool:
    """Add ``/v1`` to an address without a path, where most servers have their API."""
    if sdk.base_url.path.strip("/"):
        return False
    sdk.base_url = sdk.base_url.copy_with(path="/v1/")
    return True


async def _read_stream(stream: Any, reader: ResponseReader) -> Any:
    """Read a stream; return the body if the server sent a response in one piece instead."""
    peeked = PeekedStream(stream.response)
    async with stream:
        begin = await peeked.beginning()
        if begin and not _STREAM_LINE.match(begin):
            # Some servers send JSON where a stream was requested, under any content type.
            return _read_whole(await stream.response.aread(), reader)
        try:
            async for chunk in stream:
                reader.add(chunk)
        except json.JSONDecodeError as error:
            is_page = error.doc.lstrip().startswith("<")  # says nothing about the address here
            raise (None if is_page else _plain_error(error.doc)) or error from error
    reader.end(complete=peeked.has_done)
    return None


def _plain_error(text: str) -> ErrorInResponse | None:
    """Return the error that a server wrote where JSON is due; None for broken JSON."""
    is_text = text.strip() and not text.lstrip().startswith(("{", "[", '"'))
    return ErrorInResponse(text.strip()) if is_text else None


def _read_whole(content: bytes, reader: ResponseReader) -> Any:
    """Read a response in one piece, or a stream that was not requested."""
    content = content.removeprefix(codecs.BOM_UTF8)
    if content.startswith((b"data:", b"event:", b":")):
        for line in content.splitlines():
            if line.startswith(b"data:") and line[5:].strip() != b"[DONE]":
                reader.add(json.loads(line[5:]))
        reader.end(complete=b"[DONE]" in content[-64:])
        return None
    try:
        body = json.loads(content)
    except json.JSONDecodeError as error:
        raise (_plain_error(content.decode("utf-8", "replace")) or error) from error
    reader.add_whole(body)
    return body
