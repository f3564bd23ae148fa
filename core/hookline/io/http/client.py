"""The guarded HTTP client that plugins reach as ``host.http``.

For every URL that a model or a user can choose. Redirects are followed here, by hand, so that each
hop is read, checked, resolved and dialled like the first.
"""

from __future__ import annotations

import asyncio
import codecs
import json
import re
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, replace
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, TypeVar, Unpack
from urllib.parse import urlencode, urljoin

from hookline_hookspecs.network import RequestOptions

from .addresses import Target, parse_url
from .errors import HttpFailed, HttpRefused
from .policy import NetworkPolicy
from .turns import Turns

if TYPE_CHECKING:
    import httpx2

    from .transport import Transport

_T = TypeVar("_T")
_METHODS = frozenset({"GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"})
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
# All that goes along to another origin. A list of what to drop would miss the next X-Api-Key.
_CARRIED = frozenset(
    {"accept", "accept-language", "cache-control", "content-type", "range", "user-agent"}
)
# They say where a message goes or where it ends (RFC 9110, section 7; RFC 9112, section 6).
_FRAMING = re.compile(
    "connection|content-length|expect|host|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade"
)
# RFC 9110, section 5.
_NAME = re.compile(r"[\w!#$%&'*+.^`|~-]+", re.ASCII)
_VALUE = re.compile(r"([!-~]([\t -~]*[!-~])?)?")
_CHARSET = re.compile(r"charset\s*=\s*[\"']?([\w.:-]+)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """A whole response.

    url: the one that answered, after redirects. headers: look-up ignores case; a repeated header's
    values are joined by commas. body: decompressed.
    """

    status: int
    url: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def text(self) -> str:
        """The body in the charset its header names, else UTF-8; U+FFFD where it does not fit."""
        named = _CHARSET.search(self.headers.get("content-type", ""))
        try:
            encoding = codecs.lookup(named[1]).name if named else "utf-8"
            return self.body.decode(encoding, errors="replace")
        except (LookupError, UnicodeError):  # unknown, or a codec that is none for text
            return self.body.decode("utf-8", errors="replace")

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        """The body, in one piece."""
        yield self.body


class _Budget:
    """The time and the bytes that one call may take, redirects and body included."""

    def __init__(self, seconds: float, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        self._seconds = seconds
        self._deadline = asyncio.get_running_loop().time() + seconds

    async def wait(self, result: Awaitable[_T], url: str) -> _T:
        """What `result` brings, or HttpFailed once the time is up."""
        try:
            async with asyncio.timeout_at(self._deadline):
                return await result
        except TimeoutError:
            raise HttpFailed(f"{url[:200]} took longer than {self._seconds:g} s.") from None


class HttpStream:
    """A response whose body has yet to be read; the fields are those of `HttpResponse`.

    body: stays empty; the bytes come from `chunks`.
    """

    body = b""

    def __init__(self, response: httpx2.Response, budget: _Budget) -> None:
        self.status = response.status_code
        self.url = str(response.url)
        self.headers: Mapping[str, str] = response.headers
        self._response = response
        self._budget = budget

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        """The body, decompressed, in pieces. Raises HttpFailed over the size or the time limit."""
        from .transport import decoded, too_large

        taken = 0
        async with aclosing(decoded(self._response)) as source:
            while (chunk := await self._budget.wait(anext(source, None), self.url)) is not None:
                taken += len(chunk)
                if taken > self._budget.max_bytes:
                    raise HttpFailed(too_large(self.url, self._budget.max_bytes))
                yield chunk


@dataclass(frozen=True, slots=True)
class _Hop:
    """One request of a chain of redirects."""

    method: str
    target: Target
    headers: dict[str, str]
    content: bytes | None


class GuardedHttp:
    """Fetches public URLs, and those that the operator's policy exempts.

    policy: checks names and addresses. timeout: seconds for one call, from the first look-up to
    the last byte, redirects included. max_redirects: followed at most. max_bytes: of a body, both
    as sent and decompressed. resolve: a name and a port to IP addresses, by default the system's
    resolver. ssl_context: for verifying servers, by default the system's certificates. chat: names
    the chat for which the running task asks, so that the requests of one do not keep out those of
    others (see `Turns`); waiting for a turn does not count against the time limit.

    No proxy, cookie or credential is taken from the environment, nor kept between calls. One
    instance may serve any number of calls at once. Every method raises HttpRefused for what is not
    allowed and HttpFailed for what did not work, with sentences; an HTTP status raises nothing.
    """

    def __init__(
        self,
        policy: NetworkPolicy,
        *,
        timeout: float = 15.0,
        max_redirects: int = 10,
        max_bytes: int = 5_000_000,
        resolve: Callable[[str, int], Awaitable[Sequence[str]]] | None = None,
        ssl_context: ssl.SSLContext | None = None,
        chat: Callable[[], str] = str,
    ) -> None:
        self.policy = policy
        self._chat = chat
        self._turns = Turns()
        self._timeout = timeout
        self._max_redirects = max_redirects
        self._max_bytes = max_bytes
        self._resolve = resolve
        self._ssl_context = ssl_context
        self._transport: Transport | None = None
        self.credentials: Callable[[str, int], Awaitable[Mapping[str, str]]] | None = None
        """Gives the headers that go to a host and a port over HTTPS beside those of the call, which
        win. Asked for every hop, and never carried to the next."""

    def check_url(self, url: str) -> str | None:
        """Why `url` would be refused as far as its text tells, or None. Looks nothing up."""
        try:
            target = parse_url(url)
            self.policy.check_name(target.host, target.port)
        except HttpRefused as refusal:
            return str(refusal)
        return None

    async def get(self, url: str, **options: Unpack[RequestOptions]) -> HttpResponse:
        """GET `url` and read the whole response."""
        return await self.request("GET", url, **options)

    async def request(
        self, method: str, url: str, **options: Unpack[RequestOptions]
    ) -> HttpResponse:
        """Send one request, follow its redirects and read the whole response."""
        async with self.stream(method, url, **options) as response:
            body = b"".join([chunk async for chunk in response.chunks()])
        return HttpResponse(response.status, response.url, response.headers, body)

    @asynccontextmanager
    async def stream(
        self, method: str, url: str, **options: Unpack[RequestOptions]
    ) -> AsyncIterator[HttpStream]:
        """Like `request`, but the body is read by the block, through `HttpStream.chunks`.

        The time limit goes on running in the block, and ends the next read.
        """
        if method.upper() not in _METHODS:
            raise HttpRefused(f"The method {method[:20]!r} is not sent; use GET, POST or the like.")
        target = _with_query(parse_url(url), options.get("params"))
        headers = _headers(options.get("headers") or {})
        content = options.get("content")
        if "json" in options:
            content = json.dumps(options["json"]).encode()
            headers.setdefault("content-type", "application/json")
        hop = _Hop(method.upper(), target, headers, content)
        max_bytes = options.get("max_bytes", self._max_bytes)
        async with self._turns.turn(self._chat()):
            budget = _Budget(options.get("timeout", self._timeout), max_bytes)
            response = await budget.wait(self._follow(hop, max_bytes, options.get("before")), url)
            try:
                yield HttpStream(response, budget)
            finally:
                await response.aclose()

    async def connect(
        self, host: str, port: int
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Open a TCP connection to an address that was checked after the one look-up.

        Raises HttpRefused and HttpFailed; gives up after the client's own time limit.
        """
        shown = f"{host}:{port}"
        budget = _Budget(self._timeout, self._max_bytes)
        return await budget.wait(self._open().connect(host, port), shown)

    async def aclose(self) -> None:
        """Close what is still open; the next request opens anew."""
        transport, self._transport = self._transport, None
        if transport is not None:
            await transport.aclose()

    async def _follow(
        self, hop: _Hop, max_bytes: int, before: Callable[[str], Awaitable[None]] | None
    ) -> httpx2.Response:
        """The first response that is no redirect."""
        first, transport = hop.target.url, self._open()
        for _ in range(self._max_redirects + 1):
            if before is not None:
                await before(hop.target.url)
            headers = await self._with_credentials(hop)
            response = await transport.send(hop.method, hop.target, headers, hop.content, max_bytes)
            location = response.headers.get("location")
            if response.status_code not in _REDIRECTS or not location:
                return response
            await response.aclose()
            hop = _next_hop(hop, response.status_code, location)
        raise HttpFailed(f"{first[:200]} redirects more than {self._max_redirects} times.")

    async def _with_credentials(self, hop: _Hop) -> dict[str, str]:
        if self.credentials is None or hop.target.scheme != "https":
            return hop.headers
        added = await self.credentials(hop.target.host, hop.target.port)
        return {**_checked(added), **hop.headers} if added else hop.headers

    def _open(self) -> Transport:
        if self._transport is None:
            from .transport import Transport

            self._transport = Transport(self.policy, self._resolve, self._ssl_context)
        return self._transport


def _headers(given: Mapping[str, str]) -> dict[str, str]:
    """The request's header, names in lower case, with Hookline's defaults."""
    return {"user-agent": f"Hookline/{version('hookline')}", "accept": "*/*", **_checked(given)}


def _checked(given: Mapping[str, str]) -> dict[str, str]:
    """Headers that can be sent, names in lower case. Raises HttpRefused for one that cannot."""
    fields = {}
    for name, value in given.items():
        if _FRAMING.fullmatch(name.lower()):
            raise HttpRefused(f"The header {name!r} is set by the client itself; leave it out.")
        # Here, because the library below would quote the value, and with it perhaps a key.
        if not _NAME.fullmatch(name) or not _VALUE.fullmatch(value):
            raise HttpRefused(
                f"The header {name[:80]!r} cannot be sent: HTTP carries printable ASCII, without "
                "line breaks, and no space at either end. Its value is not shown."
            )
        fields[name.lower()] = value
    return fields


def _with_query(target: Target, params: Mapping[str, Any] | None) -> Target:
    if not params:
        return target
    joint = "&" if "?" in target.path else "?"
    return replace(target, path=target.path + joint + urlencode(params, doseq=True))


def _next_hop(hop: _Hop, status: int, location: str) -> _Hop:
    """The request that a redirect asks for (RFC 9110, section 15.4)."""
    try:
        target = parse_url(urljoin(hop.target.url, location))
    except ValueError as fault:  # urljoin's own; a refusal is no ValueError
        raise HttpRefused(f"A redirect to {location[:200]!r} is refused: {fault}.") from None
    method, content, headers = hop.method, hop.content, hop.headers
    if (status == 303 and method != "HEAD") or (status in (301, 302) and method == "POST"):
        method, content = "GET", None
        headers = {name: value for name, value in headers.items() if name != "content-type"}
    if target.origin != hop.target.origin:
        headers = {name: value for name, value in headers.items() if name in _CARRIED}
    return _Hop(method, target, headers, content)
