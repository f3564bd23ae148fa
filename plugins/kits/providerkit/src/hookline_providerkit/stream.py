"""A response's bytes on their way to an SDK: counted, unpacked within bounds, and timed.

:func:`response_hook` makes an event hook of an ``httpx2`` client, so that it holds for whatever
reads from the client.
"""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from .limits import Exceeded, Limits, Stalled

if TYPE_CHECKING:
    import httpx2

_PIECE = 65_536
"""Bytes that are unpacked at a time."""
_PACKED = {"gzip": 16 + zlib.MAX_WBITS, "x-gzip": 16 + zlib.MAX_WBITS, "deflate": zlib.MAX_WBITS}
_ENDS = (b"\n\n", b"\r\n\r\n", b"\r\r")
"""What ends an event of a stream."""


def response_hook(limits: Limits) -> Callable[[httpx2.Response], Coroutine[Any, Any, None]]:
    """An event hook ``response`` that keeps what is read of every response within ``limits``."""
    import httpx2

    class Bounded(httpx2.AsyncByteStream):
        """The stream of a response, measured piece by piece as it is read."""

        def __init__(self, inner: Any, pieces: _Pieces) -> None:
            self._inner = inner
            self._pieces = pieces

        async def __aiter__(self) -> AsyncIterator[bytes]:
            async for chunk in self._inner:
                for piece in self._pieces.take(chunk):
                    yield piece
                if self._pieces.full:
                    return
                # Silence is the HTTP client's to notice; this is for bytes that make no event.
                if self._pieces.idle() > limits.idle:
                    raise Stalled(f"no event came for {limits.idle:g} s")

        async def aclose(self) -> None:
            await self._inner.aclose()

    async def hook(response: httpx2.Response) -> None:
        packing = response.headers.pop("content-encoding", "identity").strip().lower()
        streamed = "event-stream" in response.headers.get("content-type", "")
        pieces = _Pieces(limits, response.status_code >= 400, streamed, packing)
        response.stream = Bounded(response.stream, pieces)

    return hook


class _Pieces:
    """Unpacks and counts the bytes of one response.

    Attributes:
        last: when the last event ended, by the event loop's clock.
        full: enough of a refusal has been read.
    """

    def __init__(self, limits: Limits, refusal: bool, streamed: bool, packing: str) -> None:
        self.last = asyncio.get_running_loop().time()
        self.full = False
        self._limits = limits
        self._refusal = refusal
        self._streamed = streamed
        self._most = limits.stream if streamed else limits.refusal if refusal else limits.body
        self._read = 0
        self._open = 0
        self._tail = b""
        self._unpack: Any = None
        if packing in _PACKED:
            self._unpack = zlib.decompressobj(_PACKED[packing])
        elif packing != "identity":
            raise Exceeded(f"its answer is packed as {packing[:40]!r}, which was not asked for")

    def idle(self) -> float:
        """Seconds since the last event ended."""
        return asyncio.get_running_loop().time() - self.last

    def take(self, chunk: bytes) -> Iterable[bytes]:
        """The pieces of a chunk, unpacked. Raises ``Exceeded``."""
        if self._unpack is not None:
            return self._unpacked(chunk)
        self._count(chunk)
        return (chunk,)

    def _unpacked(self, chunk: bytes) -> Iterator[bytes]:
        try:
            while chunk and not self.full:
                piece = self._unpack.decompress(chunk, _PIECE)
                chunk = self._unpack.unconsumed_tail
                self._count(piece)
                yield piece
        except zlib.error as error:
            raise Exceeded(f"its answer cannot be unpacked ({error})") from None

    def _count(self, piece: bytes) -> None:
        self._read += len(piece)
        if self._read > self._most:
            if not self._refusal:
                raise Exceeded(f"its answer is longer than {self._most:,} bytes")
            self.full = True
        if self._streamed:
            self._measure(piece)
        else:
            self.last = asyncio.get_running_loop().time()

    def _measure(self, piece: bytes) -> None:
        """Hold the event that has not ended yet to its limit."""
        joined = self._tail + piece
        end = max([at + len(mark) for mark in _ENDS if (at := joined.rfind(mark)) >= 0], default=0)
        if end:
            self.last = asyncio.get_running_loop().time()
            self._open = len(joined) - end
        else:
            self._open += len(piece)
        self._tail = joined[-3:]
        if self._open > self._limits.event:
            raise Exceeded(f"an event in its answer is longer than {self._limits.event:,} bytes")
