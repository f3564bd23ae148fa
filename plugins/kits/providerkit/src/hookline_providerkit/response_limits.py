"""Keeps a response within limits while an SDK reads it: size, unpacked size, and idle time.

Bytes that are not UTF-8 arrive as U+FFFD.

:func:`limit_responses` makes an event hook of an ``httpx2`` client, so it applies to every reader.
"""

from __future__ import annotations

import asyncio
import codecs
import zlib
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from .limits import LimitExceeded, Limits, StreamStalled

if TYPE_CHECKING:
    import httpx2

_UNPACK_BYTES = 65_536
"""Bytes that are decompressed at a time."""
_WBITS = {"gzip": 16 + zlib.MAX_WBITS, "x-gzip": 16 + zlib.MAX_WBITS, "deflate": zlib.MAX_WBITS}
_EVENT_ENDS = (b"\n\n", b"\r\n\r\n", b"\r\r")
"""The empty line after an event."""


def limit_responses(limits: Limits) -> Callable[[httpx2.Response], Coroutine[Any, Any, None]]:
    """Return an event hook ``response`` that keeps every response within ``limits``."""
    import httpx2

    class LimitedStream(httpx2.AsyncByteStream):
        """The stream of a response, measured as it is read."""

        def __init__(self, inner: Any, meter: _ResponseMeter) -> None:
            self._inner = inner
            self._meter = meter
            self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

        async def __aiter__(self) -> AsyncIterator[bytes]:
            chunks = aiter(self._inner)
            while (chunk := await self._next(chunks)) is not None:
                for piece in self._meter.take(chunk):
                    # Some local servers cut a character that two tokens make up.
                    if valid := self._decoder.decode(piece).encode():
                        yield valid
                if self._meter.is_full:
                    return
                if self._meter.idle() > limits.idle:  # bytes came, but no event
                    raise StreamStalled(f"no event came for {limits.idle:g} s")
            if cut := self._decoder.decode(b"", final=True).encode():
                yield cut

        async def _next(self, chunks: AsyncIterator[bytes]) -> bytes | None:
            """Return the next bytes, or None at the end.

            The HTTP client notices silence by itself, except after a chunk that cannot be parsed:
            aiohttp 3.14 then closes the connection and leaves the reader waiting.
            """
            try:
                async with asyncio.timeout(limits.idle + 1):
                    return await anext(chunks, None)
            except TimeoutError:
                raise StreamStalled(f"nothing came for {limits.idle:g} s") from None

        async def aclose(self) -> None:
            await self._inner.aclose()

    async def hook(response: httpx2.Response) -> None:
        encoding = response.headers.pop("content-encoding", "identity").strip().lower()
        streamed = "event-stream" in response.headers.get("content-type", "")
        meter = _ResponseMeter(limits, response.status_code >= 400, streamed, encoding)
        response.stream = LimitedStream(response.stream, meter)

    return hook


class _ResponseMeter:
    """Decompresses and counts the bytes of one response.

    Attributes:
        last_event: when the last event ended, by the event loop's clock.
        is_full: enough of an error response has been read.
    """

    def __init__(self, limits: Limits, is_error: bool, streamed: bool, encoding: str) -> None:
        self.last_event = asyncio.get_running_loop().time()
        self.is_full = False
        self._limits = limits
        self._is_error = is_error
        self._streamed = streamed
        self._max_bytes = limits.stream if streamed else limits.refusal if is_error else limits.body
        self._total_bytes = 0
        self._event_bytes = 0
        self._tail = b""
        self._has_content = False
        self._unpack: Any = None
        if encoding in _WBITS:
            self._unpack = zlib.decompressobj(_WBITS[encoding])
        elif encoding != "identity":
            raise LimitExceeded(f"it is compressed as {encoding[:40]!r}, which was not requested")

    def idle(self) -> float:
        """Seconds since the last event ended."""
        return asyncio.get_running_loop().time() - self.last_event

    def take(self, chunk: bytes) -> Iterable[bytes]:
        """Return the pieces of a chunk, unpacked. Raises ``LimitExceeded``."""
        if self._unpack is not None:
            return self._unpacked(chunk)
        self._count(chunk)
        return (chunk,)

    def _unpacked(self, chunk: bytes) -> Iterator[bytes]:
        try:
            while chunk and not self.is_full:
                piece = self._unpack.decompress(chunk, _UNPACK_BYTES)
                chunk = self._unpack.unconsumed_tail
                self._count(piece)
                yield piece
        except zlib.error as error:
            raise LimitExceeded(f"it cannot be decompressed ({error})") from None

    def _count(self, piece: bytes) -> None:
        self._total_bytes += len(piece)
        if self._total_bytes > self._max_bytes:
            if not self._is_error:
                raise LimitExceeded(f"longer than {self._max_bytes:,} bytes")
            self.is_full = True
        if self._streamed:
            self._measure(piece)
        else:
            self.last_event = asyncio.get_running_loop().time()

    def _measure(self, piece: bytes) -> None:
        """Check the size of the event that has not ended yet. Blank lines alone are no event."""
        self._has_content = self._has_content or bool(piece.strip(b"\r\n"))
        joined = self._tail + piece
        end = max(
            [at + len(mark) for mark in _EVENT_ENDS if (at := joined.rfind(mark)) >= 0], default=0
        )
        if end and self._has_content:
            self.last_event = asyncio.get_running_loop().time()
            self._event_bytes = len(joined) - end
            self._has_content = bool(joined[end:].strip(b"\r\n"))
        else:
            self._event_bytes += len(piece)
        self._tail = joined[-3:]  # an event may end within two chunks
        if self._event_bytes > self._limits.event:
            raise LimitExceeded(f"an event is longer than {self._limits.event:,} bytes")
