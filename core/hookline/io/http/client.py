"""The guarded HTTP client that plugins use as ``host.http``.

It is for every URL that a model or a user can choose. The client follows redirects itself, so that
each hop is parsed, checked, resolved and dialled like the first.
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
from .request_slots import RequestSlots

if TYPE_CHECKING:
    import httpx2

    from .transport import Transport

_T = TypeVar("_T")
_METHODS = frozenset({"GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"})
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
# The only headers that are sent to another origin. A deny list would miss the next X-Api-Key.
_CARRIED = frozenset(
    {"accept", "accept-language", "cache-control", "content-type", "range", "user-agent"}
)
# Headers that define where a message goes or ends (RFC 9110, section 7; RFC 9112, section 6).
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

    url: the one that answered, after redirects. headers: lookup ignores case; the values of a
    repeated header are joined by commas. body: decompressed.
    """

    status: int
    url: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def text(self) -> str:
        """The body, decoded by the header's charset or UTF-8; invalid bytes become U+FFFD."""
        named = _CHARSET.search(self.headers.get("content-type", ""))
        try:
            encoding = codecs.lookup(named[1]).name if named else "utf-8"
            return self.body.decode(encoding, errors="replace")
        except (LookupError, UnicodeError):  # unknown, or not a text codec
            return self.body.decode("utf-8", errors="replace")

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        """The body, in one piece."""
        yield self.body


class _Budget:
    """The time and bytes that one call may take, including redirects and body."""

    def __init__(self, seconds: float, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        self._seconds = seconds
        self._deadline = asyncio.get_running_loop().time() + seconds

    async def wait(self, result: Awaitable[_T], url: str) -> _T:
        """Await `result`. Raises HttpFailed if the time is up."""
        try:
            async with asyncio.timeout_at(self._deadline):
                return await result
        except TimeoutError:
            raise HttpFailed(f"{url[:200]} took longer than {self._seconds:g} s.") from None


class HttpStream:
    """A response whose body is not read yet; the fields are those of `HttpResponse`.

    body: always empty; read the bytes with `chunks`.
    """

    body = b""

    def __init__(self, response: httpx2.Response, budget: _Budget) -> None:
        self.status = response.status_code
        self.url = str(response.url)
        self.headers: Mapping[str, str] = response.headers
        self._response = response
        self._budget = budget

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        """The body, decompressed, in pieces. Raises HttpFailed above the size or time limit."""
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
    """One request in a chain of redirects."""

    method: str
    target: Target
    headers: dict[str, str]
    content: bytes | None


class GuardedHttp:
    """Fetches public URLs, and URLs that the operator's policy exempts.

    policy: checks names and addresses. timeout: seconds for one call, from the first lookup to the
    last byte, including redirects. max_redirects: the maximum number. max_bytes: the maximum size
    of a body, both as sent and decompressed. resolve: resolves a name and port to IP addresses; by
    default the system's resolver. ssl_context: verifies servers; by default with the certificates
    that SSL_CERT_FILE or SSL_CERT_DIR names, or else with the system's. chat: returns the chat that
    the running task works for, so that one chat's requests do not block those of others (see
    `RequestSlots`); waiting for a slot does not count against the time limit.

    No proxy, cookie or credential is taken from the environment or kept between calls. One instance
    can serve any number of calls at once. Every method raises HttpRefused for what is not allowed
    and HttpFailed for what did not work, with a sentence. An HTTP error status is not an exception.
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
        self._slots = RequestSlots()
        self._timeout = timeout
        self._max_redirects = max_redirects
        self._max_bytes = max_bytes
        self._resolve = resolve
        self._ssl_context = ssl_context
        self._transport: Transport | None = None
        self.credentials: Callable[[str, int], Awaitable[Mapping[str, str]]] | None = None
        """Returns headers to add for a host and port over HTTPS; the call's own headers win.

        It is called for every hop, and its headers are not sent to the next hop.
        """

    def check_url(self, url: str) -> str | None:
        """Why the text of `url` would be refused, or None. Makes no lookup."""
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
        """Like `request`, but the caller reads the body with `HttpStream.chunks`.

        The time limit also covers the ``async with`` block, and ends the next read.
        """
        if method.upper() not in _METHODS:
            raise HttpRefused(f"The method {method[:20]!r} is not supported. Use GET or POST.")
        target = _with_query(parse_url(url), options.get("params"))
        headers = _headers(options.get("headers") or {})
        content = options.get("content")
        if "json" in options:
            content = json.dumps(options["json"]).encode()
            headers.setdefault("content-type", "application/json")
        hop = _Hop(method.upper(), target, headers, content)
        max_bytes = options.get("max_bytes", self._max_bytes)
        async with self._slots.slot(self._chat()):
            budget = _Budget(options.get("timeout", self._timeout), max_bytes)
            response = await budget.wait(self._follow(hop, max_bytes, options.get("before")), url)
            try:
                yield HttpStream(response, budget)
            finally:
                await response.aclose()

    async def connect(
        self, host: str, port: int
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Open a TCP connection to a checked address of `host`.

        Raises HttpRefused, and HttpFailed, also after the client's time limit.
        """
        address = f"{host}:{port}"
        budget = _Budget(self._timeout, self._max_bytes)
        return await budget.wait(self._open().connect(host, port), address)

    async def aclose(self) -> None:
        """Close all connections; the next request opens new ones."""
        transport, self._transport = self._transport, None
        if transport is not None:
            await transport.aclose()

    async def _follow(
        self, hop: _Hop, max_bytes: int, before: Callable[[str], Awaitable[None]] | None
    ) -> httpx2.Response:
        """Follow redirects to the first other response."""
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


def _headers(headers: Mapping[str, str]) -> dict[str, str]:
    """The request's headers, names in lower case, with Hookline's defaults."""
    return {"user-agent": f"Hookline/{version('hookline')}", "accept": "*/*", **_checked(headers)}


def _checked(headers: Mapping[str, str]) -> dict[str, str]:
    """The headers with names in lower case. Raises HttpRefused for one that cannot be sent."""
    fields = {}
    for name, value in headers.items():
        if _FRAMING.fullmatch(name.lower()):
            raise HttpRefused(f"The header {name!r} is set by the client itself; leave it out.")
        # Checked here, because the HTTP library would quote the value, which may be a key.
        if not _NAME.fullmatch(name) or not _VALUE.fullmatch(value):
            raise HttpRefused(
                f"The header {name[:80]!r} cannot be sent: names and values must be printable "
                "ASCII without line breaks or spaces at either end. The value is not shown."
            )
        fields[name.lower()] = value
    return fields


def _with_query(target: Target, params: Mapping[str, Any] | None) -> Target:
    if not params:
        return target
    joint = "&" if "?" in target.path else "?"
    return replace(target, path=target.path + joint + urlencode(params, doseq=True))


def _next_hop(hop: _Hop, status: int, location: str) -> _Hop:
    """The request that follows a redirect (RFC 9110, section 15.4)."""
    try:
        target = parse_url(urljoin(hop.target.url, location))
    except ValueError as fault:  # from urljoin; HttpRefused is not a ValueError
        raise HttpRefused(f"A redirect to {location[:200]!r} is refused: {fault}.") from None
    method, content, headers = hop.method, hop.content, hop.headers
    if (status == 303 and method != "HEAD") or (status in (301, 302) and method == "POST"):
        method, content = "GET", None
        headers = {name: value for name, value in headers.items() if name != "content-type"}
    if target.origin != hop.target.origin:
        headers = {name: value for name, value in headers.items() if name in _CARRIED}
    return _Hop(method, target, headers, content)
