"""Checks of every request before anything else: its host, its origin, and that it is
unambiguous."""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from hookline_hookspecs.web import Problem, t
from hookline_webkit.address import is_loopback

from .config import WebServerConfig

SAFE = ("GET", "HEAD", "OPTIONS")
SINGLE_HEADERS = (
    *(b"host", b"origin", b"content-length", b"content-type", b"authorization", b"cookie"),
    *(b"transfer-encoding", b"sec-fetch-site", b"sec-fetch-mode", b"x-forwarded-proto"),
)
"""Headers that may occur only once; of two, a proxy may have read the other one."""
MAX_PATH_BYTES = 8192
LOOPBACK = ("localhost", "127.0.0.1", "::1")
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self' blob:; media-src 'self' blob:; connect-src 'self'; frame-src 'self'; "
    "form-action 'self'; manifest-src 'self'; "
    "base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; "
    "trusted-types hookline-worker",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(self), payment=(), usb=()",
    "Cache-Control": "no-store",
}
"""Defaults for every response."""
RAW_HEADERS = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]


@dataclass(frozen=True, slots=True)
class RequestSender:
    """Where a request comes from.

    Attributes:
        address: the client's address, as reported by trusted proxies.
        is_direct: True if no proxy has added its headers.
        host: the header ``Host`` in lower case.
        is_https: True if the browser uses HTTPS.
    """

    address: str
    is_direct: bool
    host: str
    is_https: bool

    @property
    def is_local(self) -> bool:
        """True if it was sent from this machine to this machine, without a proxy."""
        return self.is_direct and is_loopback(self.address) and _name(self.host) in LOOPBACK

    @property
    def origin(self) -> str:
        """The origin of our own pages for this sender."""
        return f"{'https' if self.is_https else 'http'}://{self.host}"


class RequestRules:
    """The checks of one server.

    Args:
        config: the plugin's settings.
    """

    def __init__(self, config: WebServerConfig) -> None:
        self._config = config
        self._public = urlsplit(config.public_url or "")
        listening = config.address.host
        self._names = {*LOOPBACK, *config.hosts, listening} - {"0.0.0.0", "::"}  # noqa: S104
        self._trusted = [ipaddress.ip_network(one, strict=False) for one in config.trusted_proxies]

    def check(self, scope: dict[str, Any]) -> RequestSender:
        """Check a request and return its sender. Raises :class:`Problem`.

        Sets the client's address and scheme in ``scope``, as reported by trusted proxies.
        """
        headers = _headers(scope)
        _check_unambiguous(scope, headers)
        sender = self._sender(scope, headers)
        self._check_host(sender.host)
        scope["client"] = (sender.address, (scope.get("client") or ("", 0))[1])
        scope["scheme"] = "https" if sender.is_https else "http"
        self._check_origin(scope, headers, sender)
        return sender

    def require_own_origin(self, scope: dict[str, Any], sender: RequestSender) -> None:
        """Refuse a request that changes something unless one of our own pages sent it."""
        if scope["method"] in SAFE:
            return
        headers = _headers(scope)
        is_vouched = headers.get(b"sec-fetch-site") == "same-origin"
        if is_vouched or self._is_own_origin(headers.get(b"origin"), sender):
            return
        raise Problem(
            403,
            "foreign_origin",
            t("Only Hookline's own pages may change something."),
            t("Programs: send the header Origin: {origin}.", origin=sender.origin),
        )

    def _sender(self, scope: dict[str, Any], headers: dict[bytes, str]) -> RequestSender:
        address = str((scope.get("client") or ("", 0))[0])
        is_direct = not {b"x-forwarded-for", b"forwarded", b"via"} & headers.keys()
        scheme = str(scope["scheme"])
        host = headers[b"host"].lower()
        if self._is_trusted(address):
            hops = headers.get(b"x-forwarded-for", "").split(",")
            for hop in reversed([one.strip() for one in hops if one.strip()]):
                address = hop if _is_address(hop) else address
                if not self._is_trusted(hop):
                    break
            scheme = headers.get(b"x-forwarded-proto", scheme).strip().lower()
        is_https = scheme == "https" or self._is_public(host)
        return RequestSender(address, is_direct, host, is_https)

    def _is_public(self, host: str) -> bool:
        return self._public.scheme == "https" and host in _with_and_without_port(
            self._public.netloc, "443"
        )

    def _is_trusted(self, address: str) -> bool:
        if not self._trusted or not _is_address(address):
            return False
        found = ipaddress.ip_address(address)
        return any(found in network for network in self._trusted)

    def _check_host(self, host: str) -> None:
        default = "443" if self._public.scheme == "https" else "80"
        if (
            host in _with_and_without_port(self._public.netloc, default)
            or host in self._config.hosts
        ):
            return
        if _name(host) in self._names and _is_port(host):
            return
        shown = "".join(one for one in host if one.isalnum() or one in ".:-[]_")[:253]
        line = f'plugins: {{web-server: {{hosts: ["{_name(shown)}"]}}}}'
        proxy = f"public_url: https://{_name(shown)}"
        raise Problem(
            421,
            "wrong_host",
            t("This server does not answer to the host name {name}.", name=shown or "(none)"),
            t(
                "To allow it, add to config.yaml: {line}; behind a proxy: {proxy}",
                line=line,
                proxy=proxy,
            ),
        )

    def _check_origin(
        self, scope: dict[str, Any], headers: dict[bytes, str], sender: RequestSender
    ) -> None:
        """Refuse requests from pages of other sites, except a followed link."""
        site = headers.get(b"sec-fetch-site")
        mode = headers.get(b"sec-fetch-mode")
        origin = headers.get(b"origin")
        own_site = site in (None, "same-origin", "none")
        follows_link = mode == "navigate" and scope["method"] in ("GET", "HEAD") and origin is None
        if site == "same-origin" and scope["method"] not in SAFE:
            return  # the browser guarantees it, even if a proxy has changed Host
        own_origin = origin is None or self._is_own_origin(origin, sender) or site == "same-origin"
        if (own_site or follows_link) and own_origin:
            return
        raise Problem(
            403,
            "foreign_origin",
            t("A page of another site sent this request."),
            t("Open Hookline at its own address. Behind a proxy, set web-server.public_url to it."),
        )

    def _is_own_origin(self, origin: str | None, sender: RequestSender) -> bool:
        if origin is None:
            return False
        return origin.lower() in (sender.origin, self._config.public_url)


def _headers(scope: dict[str, Any]) -> dict[bytes, str]:
    """Return the headers by name; of several with the same name, the last."""
    return {name: value.decode("latin-1") for name, value in scope["headers"]}


def _check_unambiguous(scope: dict[str, Any], headers: dict[bytes, str]) -> None:
    """Refuse a request that two parsers could read differently."""
    names: Sequence[bytes] = [name for name, _ in scope["headers"]]
    raw = bytes(scope.get("raw_path") or b"")
    pieces = raw.decode("ascii", "replace").lower().split("/")
    dots = {"..", ".", "%2e", "%2e%2e", ".%2e", "%2e."}
    wrong = ""
    if b"host" not in headers:
        wrong = "no Host header"
    elif b"transfer-encoding" in headers and b"content-length" in headers:
        wrong = "both Content-Length and Transfer-Encoding"
    elif twice := next((name for name in SINGLE_HEADERS if names.count(name) > 1), None):
        wrong = f"duplicate header {twice.decode()}"
    elif not raw.startswith(b"/") or len(raw) > MAX_PATH_BYTES:
        wrong = "the path does not start with a slash or is too long"
    elif any(byte <= 32 or byte >= 127 or byte in b'"<>\\^`{|}' for byte in raw):
        wrong = "the path has a character that must be percent-encoded"
    elif dots & set(pieces):
        wrong = "the path contains . or .."
    elif any(ord(one) < 32 or ord(one) == 127 for one in scope["path"]):
        wrong = "the path contains a control character"
    if wrong:
        raise Problem(400, "bad_request", f"Invalid request: {wrong}.")


def _with_and_without_port(netloc: str, port: str) -> tuple[str, ...]:
    """Return a host with and without the default port of its scheme."""
    if not netloc:
        return ()
    return (netloc, f"{netloc}:{port}", netloc.removesuffix(f":{port}"))


def _name(host: str) -> str:
    """Return a host without port and brackets."""
    name = host.rpartition(":")[0] if _has_port(host) else host
    return name.removeprefix("[").removesuffix("]")


def _has_port(host: str) -> bool:
    return ":" in host and not host.endswith("]")


def _is_port(host: str) -> bool:
    port = host.rpartition(":")[2] if _has_port(host) else "80"
    return port.isascii() and port.isdecimal() and 0 < int(port[:6]) <= 65535


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True
