"""The guarded HTTP client."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol, TypedDict, Unpack

if TYPE_CHECKING:
    import asyncio
    from collections.abc import AsyncGenerator
    from contextlib import AbstractAsyncContextManager


class HttpResponse(Protocol):
    """A response, with its body read, or from :meth:`Http.stream`, to be read by :meth:`chunks`."""

    status: int
    """The HTTP status."""

    url: str
    """The URL after all redirects."""

    headers: Mapping[str, str]
    """The headers; names are in lower case."""

    body: bytes
    """The decompressed body; empty while it is streamed."""

    def chunks(self) -> AsyncGenerator[bytes, None]:
        """Yield the decompressed body in chunks of at most 1 MiB as it arrives. Raises the same
        errors as :meth:`Http.get`."""


class RequestOptions(TypedDict, total=False):
    """Options of a request, all of them optional; see :class:`Http`."""

    headers: Mapping[str, str] | None
    params: Mapping[str, Any] | None
    content: bytes | None
    json: Any
    timeout: float
    max_bytes: int
    before: Callable[[str], Awaitable[None]] | None


class Http(Protocol):
    """A client for URLs that a model or a user can choose. Private addresses are refused.

    Request options: ``headers``; ``params``, added to the query; ``content`` (bytes) or ``json``
    as the body; ``timeout`` in seconds for the whole call, including redirects and the body (15);
    ``max_bytes``, the size of the decompressed body above which the call fails (5,000,000);
    ``before``, an async function awaited with each URL, including redirects, before it is
    requested. If it raises, the call ends with its exception.
    """

    def check_url(self, url: str) -> str | None:
        """Return why the text of ``url`` would be refused, or None; does no DNS lookup."""

    async def get(self, url: str, **options: Unpack[RequestOptions]) -> HttpResponse:
        """GET ``url`` and read the body. Raises ``Refused`` if the URL is not allowed and another
        ``HooklineError`` if the request fails. An HTTP error status does not raise."""

    async def request(
        self, method: str, url: str, **options: Unpack[RequestOptions]
    ) -> HttpResponse:
        """Like :meth:`get`, with any method."""

    def stream(
        self, method: str, url: str, **options: Unpack[RequestOptions]
    ) -> AbstractAsyncContextManager[HttpResponse]:
        """Like :meth:`request`, but the ``async with`` block reads the body through ``chunks``."""

    async def connect(
        self, host: str, port: int
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Open a TCP connection, for a proxy or another protocol. Raises like :meth:`get`."""
