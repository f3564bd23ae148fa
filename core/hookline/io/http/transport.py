"""One request over one checked connection. The only module here that imports httpx2.

`hookline.io.http.client` imports it with its first request, because importing httpx2 takes time.
No cookies or connections are kept between requests, so that every hop is resolved and checked
again.
"""

from __future__ import annotations

import asyncio
import ipaddress
import os
import socket
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import lru_cache, partial
from typing import Any

import httpcore2
import httpx2
from hookline_hookspecs.certificates import certificates_fault
from hookline_hookspecs.plain_http import plain_http_advice

from .addresses import Target
from .errors import HttpFailed
from .policy import NetworkPolicy
from .request_slots import MAX_TOTAL

MAX_HEADER_BYTES = 65_536
"""Maximum size of a response's header: names, values, and 32 per field (RFC 9113, 6.5.2)."""
ENCODINGS = "gzip, deflate"
"""The only accepted compressions."""
DIAL_SECONDS = 5.0
"""Seconds to connect to each address of a name; the whole call has its own limit."""
HANDSHAKE_SECONDS = 10.0
"""Seconds to begin TLS."""

_Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
_LOOK_UPS = ThreadPoolExecutor(MAX_TOTAL, "hookline-look-up")
"""Separate threads, so that a name server that does not answer blocks nothing else."""


async def resolve_name(host: str, port: int) -> list[str]:
    """The addresses of `host` in the order of the system's resolver. Raises OSError."""
    look_up = partial(socket.getaddrinfo, host, port, type=socket.SOCK_STREAM)
    found = await asyncio.get_running_loop().run_in_executor(_LOOK_UPS, look_up)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


class _JudgedBackend(httpcore2.AsyncNetworkBackend):
    """Dials exactly the addresses that passed the policy; the name is not looked up again."""

    def __init__(self, policy: NetworkPolicy, resolve: _Resolve) -> None:
        self._policy = policy
        self._resolve = resolve
        self._plain = httpcore2.AnyIOBackend()

    async def connect_tcp(
        self, host: str, port: int, *_: Any, **__: Any
    ) -> httpcore2.AsyncNetworkStream:
        addresses = await self.checked_addresses(host, port)
        dial = partial(self._plain.connect_tcp, port=port, timeout=DIAL_SECONDS)
        for address in addresses[:-1]:
            with suppress(httpcore2.ConnectError, httpcore2.ConnectTimeout):
                return await dial(address)
        return await dial(addresses[-1])

    async def checked_addresses(self, host: str, port: int) -> list[str]:
        """The addresses of `host`, all of them checked. Raises HttpRefused, HttpFailed."""
        self._policy.check_name(host, port)
        with suppress(ValueError):
            return [str(ipaddress.ip_address(host))]
        try:
            found = await self._resolve(host, port)
        except (OSError, UnicodeError) as error:
            raise HttpFailed(f"The host {host} was not found: {error}.") from error
        if not found:
            raise HttpFailed(f"The host {host} has no address.")
        self._policy.check_addresses(host, port, found)
        return [str(ipaddress.ip_address(address)) for address in found]


class _Body(httpx2.AsyncByteStream):
    """A response's body as it arrives, limited to `limit` bytes."""

    def __init__(self, response: httpcore2.Response, url: str, limit: int) -> None:
        self._response = response
        self._url = url
        self._limit = limit

    async def __aiter__(self) -> AsyncIterator[bytes]:
        taken = 0
        with _errors_as_sentences(self._url):
            async for chunk in self._response.aiter_stream():
                # Also counted here, because compressed bytes that decode to nothing have no end.
                taken += len(chunk)
                if taken > self._limit:
                    raise HttpFailed(too_large(self._url, self._limit))
                yield chunk

    async def aclose(self) -> None:
        with _errors_as_sentences(self._url):
            await self._response.aclose()


class Transport:
    """Sends one request to one target and follows no redirects."""

    def __init__(
        self, policy: NetworkPolicy, resolve: _Resolve | None, context: ssl.SSLContext | None
    ) -> None:
        self._backend = _JudgedBackend(policy, resolve or resolve_name)
        self._pool = httpcore2.AsyncConnectionPool(
            ssl_context=context or _certificates(),
            max_connections=100,
            max_keepalive_connections=0,
            network_backend=self._backend,
        )

    async def send(
        self, method: str, target: Target, headers: dict[str, str], content: bytes | None, cap: int
    ) -> httpx2.Response:
        """Return the response before its body is read; the caller closes it.

        cap: maximum bytes of the body as sent. Raises HttpRefused and HttpFailed. It has no time
        limit.
        """
        with _errors_as_sentences(target.url):
            sent = {**headers, "accept-encoding": ENCODINGS}
            request = httpx2.Request(method, target.url, headers=sent, content=content)
            # Use the host and port that were checked instead of parsing the URL again.
            scheme, host, port = target.origin
            url = httpcore2.URL(scheme=scheme, host=host, port=port, target=request.url.raw_path)
            sent_request = httpcore2.Request(
                method,
                url,
                headers=request.headers.raw,
                content=content,
                extensions={"timeout": {"connect": HANDSHAKE_SECONDS}},
            )
            try:
                raw = await self._pool.handle_async_request(sent_request)
            except (httpcore2.ConnectTimeout, httpcore2.ConnectError):
                if advice := await plain_http_advice(target.url, self.connect):
                    raise HttpFailed(f"{target.url[:200]} cannot be reached: {advice}.") from None
                raise
        body = _Body(raw, target.url, cap)
        response = httpx2.Response(raw.status, headers=raw.headers, stream=body, request=request)
        if fault := _header_fault(response):
            await response.aclose()
            raise HttpFailed(f"{target.url[:200]} answered with {fault}.")
        return response

    async def connect(
        self, host: str, port: int
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """A plain connection to a checked address of `host`. Raises HttpRefused, HttpFailed."""
        with _errors_as_sentences(f"{host}:{port}"):
            addresses = await self._backend.checked_addresses(host, port)
            for address in addresses[:-1]:
                with suppress(OSError):
                    return await _dialled(address, port)
            return await _dialled(addresses[-1], port)

    async def aclose(self) -> None:
        """Close all connections."""
        await self._pool.aclose()


CERTIFICATE_VARIABLES = ("SSL_CERT_FILE", "SSL_CERT_DIR")


def _certificates() -> ssl.SSLContext:
    """Trusts the certificates that the environment names, or else those of the system.

    Raises HttpFailed.
    """
    if fault := certificates_fault():
        raise HttpFailed(f"{fault}.")
    return _ssl_context(tuple(os.environ.get(name) for name in CERTIFICATE_VARIABLES))


@lru_cache(1)
def _ssl_context(_named: object) -> ssl.SSLContext:
    """Cached for all clients of the process, because loading the certificates takes 20 ms."""
    return httpx2.create_ssl_context()


async def _dialled(address: str, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    async with asyncio.timeout(DIAL_SECONDS):
        return await asyncio.open_connection(address, port)


async def decoded(response: httpx2.Response) -> AsyncGenerator[bytes, None]:
    """The body, decompressed, in pieces of at most 1 MiB. Raises HttpFailed."""
    with _errors_as_sentences(str(response.url)):
        async for chunk in response.aiter_bytes():
            yield chunk


def too_large(url: str, limit: int) -> str:
    """The error for a body of more than `limit` bytes."""
    return f"{url[:200]} answered with more than {limit:,} bytes, which is the limit."


def _header_fault(response: httpx2.Response) -> str | None:
    if sum(len(name) + len(value) + 32 for name, value in response.headers.raw) > MAX_HEADER_BYTES:
        return f"a header of more than {MAX_HEADER_BYTES:,} bytes"
    coding = response.headers.get("content-encoding", "identity").strip().lower()
    # At most one layer of compression: each further one multiplies how much a small body expands.
    if coding not in ("", "identity", "gzip", "deflate"):
        return f"an encoding that was not asked for ({coding[:80]!r})"
    return None


@contextmanager
def _errors_as_sentences(url: str) -> Iterator[None]:
    """Convert the errors of the HTTP libraries to HttpFailed with a sentence."""
    try:
        yield
    except (httpcore2.TimeoutException, httpcore2.ConnectError, OSError) as error:
        raise _failed(url, "cannot be reached", error) from error
    except (httpcore2.NetworkError, httpcore2.ProtocolError, httpx2.DecodingError) as error:
        raise _failed(url, "did not answer properly", error) from error
    except (httpx2.InvalidURL, ValueError) as error:
        raise _failed(url, "cannot be requested", error) from error


def _failed(url: str, what: str, error: Exception) -> HttpFailed:
    reason = str(error).strip().rstrip(".") or type(error).__name__
    return HttpFailed(f"{url[:200]} {what}: {reason}.")
