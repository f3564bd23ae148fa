"""Checks Host, Origin and token of HTTP requests.

This module imports Starlette, so it is itself imported only when the server listens.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Sequence
from urllib.parse import urlsplit

from hookline_hookspecs import Host
from hookline_webkit.address import is_loopback
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

KEY = "token"
PREFIX = "hm-"


async def load_token(host: Host, *, fresh: bool) -> tuple[str, str | None]:
    """Return the SHA-256 of the token, and the token itself if it was created now.

    Only the digest is stored.
    """
    kept = await host.storage.kv.get(KEY)
    if isinstance(kept, str) and not fresh:
        return kept, None
    made = PREFIX + secrets.token_urlsafe(32)
    digest = hashlib.sha256(made.encode()).hexdigest()
    await host.storage.kv.set(KEY, digest)
    return digest, made


class AuthenticatedApp:
    """Refuses requests without valid Host, Origin and token before they reach ``app``.

    Another site's page in a browser sends a foreign Origin; after DNS rebinding, a foreign Host.

    Args:
        app: answers valid requests.
        digest: SHA-256 of the token in hexadecimal.
        hosts: names, with port, besides those of loopback.
    """

    def __init__(self, app: ASGIApp, digest: str, hosts: Sequence[str]) -> None:
        self._app = app
        self._digest = digest
        self._hosts = {host.casefold() for host in hosts}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            return
        headers = Headers(scope=scope)
        if (refusal := self._refusal(headers)) is not None:
            status, text, more = refusal
            await PlainTextResponse(f"{text}\n", status, more)(scope, receive, send)
            return
        await self._app(scope, receive, send)

    def _refusal(self, headers: Headers) -> tuple[int, str, dict[str, str]] | None:
        hosts = headers.getlist("host")
        if len(hosts) != 1 or not self._is_ours(hosts[0]):
            return 421, "Unknown Host. Add it to `hosts` of plugin mcp-server.", {}
        for origin in headers.getlist("origin"):
            if not self._is_ours(urlsplit(origin).netloc if "://" in origin else ""):
                return 403, "Pages of other sites may not call this server.", {}
        scheme, _, token = headers.get("authorization", "").partition(" ")
        digest = hashlib.sha256(token.strip().encode("utf-8", "replace")).hexdigest()
        if scheme.casefold() != "bearer" or not hmac.compare_digest(digest, self._digest):
            text = "Send the token as `Authorization: Bearer TOKEN`."
            return 401, text, {"WWW-Authenticate": "Bearer"}
        return None

    def _is_ours(self, place: str) -> bool:
        if place.casefold() in self._hosts:
            return True
        try:
            parts = urlsplit(f"//{place}")
            _ = parts.port
        except ValueError:
            return False
        plain = parts.hostname is not None and parts.username is None and not parts.path
        return plain and is_loopback(parts.hostname or "")
