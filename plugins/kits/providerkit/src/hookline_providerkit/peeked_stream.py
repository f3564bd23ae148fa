"""Looks at the beginning and the end of a response's bytes while an SDK reads it.

Servers send JSON where a stream was requested, or the reverse, under any content type.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from typing import Any

_BOM = b"\xef\xbb\xbf"
_DONE = re.compile(rb"^data:\s*\[DONE\]", re.MULTILINE)
_EMPTY_DATA = re.compile(rb"^data:[ \t]*(?=\r?\n)", re.MULTILINE)
"""Sent by some servers to keep a connection open; the SDKs take it for broken JSON."""
_ERROR_LINE = re.compile(rb"^error:(?=[ \t]*\{)", re.MULTILINE)
"""How llama.cpp begins the line of an error."""
_TAIL_BYTES = 64
"""Enough for the line ``data: [DONE]`` and the line breaks around it."""


class PeekedStream:
    """The bytes of a response, of which :meth:`beginning` is known before an SDK reads them.

    ``has_done`` is true once the line ``data: [DONE]`` came, with which OpenAI's streams end.
    """

    def __init__(self, response: Any) -> None:
        self.has_done = False
        self._inner = response.stream
        self._chunks: AsyncIterator[bytes] | None = None
        self._first = b""
        self._tail = b"\n"
        response.stream = _as_stream(self)

    async def beginning(self) -> bytes:
        """Return the first bytes that are not blank, without a byte order mark."""
        self._chunks = self._chunks or aiter(self._inner)
        while not self._first.lstrip():
            chunk = await anext(self._chunks, None)
            if chunk is None:
                break
            self._first = (self._first + chunk).removeprefix(_BOM)
        return self._first.lstrip()

    async def read(self) -> AsyncIterator[bytes]:
        """Yield all bytes."""
        await self.beginning()
        yield self._watched(self._first)
        assert self._chunks is not None
        async for chunk in self._chunks:
            yield self._watched(chunk)

    async def close(self) -> None:
        """Close the response."""
        await self._inner.aclose()

    def _watched(self, chunk: bytes) -> bytes:
        """Note the end of a chunk; return it without lines that an SDK fails at."""
        before = b"" if self._tail.endswith((b"\n", b"\r")) else b"."  # it begins within a line
        joined = self._tail + chunk
        self.has_done = self.has_done or (b"[DONE]" in joined and bool(_DONE.search(joined)))
        self._tail = joined[-_TAIL_BYTES:]
        readable = _ERROR_LINE.sub(b"data:", _EMPTY_DATA.sub(b":", before + chunk))
        return readable.removeprefix(before)


def _as_stream(peeked: PeekedStream) -> Any:
    import httpx2

    class Stream(httpx2.AsyncByteStream):
        """The stream that replaces the response's own."""

        def __aiter__(self) -> AsyncIterator[bytes]:
            return peeked.read()

        async def aclose(self) -> None:
            await peeked.close()

    return Stream()
