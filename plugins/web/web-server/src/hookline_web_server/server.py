"""The server: the application and its listener.

This module imports Starlette, so it is itself imported only when the server starts.
"""

from __future__ import annotations

import asyncio
import resource
import secrets
from contextlib import suppress
from typing import Any

from hookline_hookspecs import HooklineError, Host
from hookline_hookspecs.web import Problem, SiteRoute, t
from hookline_webkit.listener import Listener

from .application import SENDER, WebApplication
from .audit_log import AuditLog
from .config import WebServerConfig
from .cookies import LoginCookie
from .gateway_lookup import LISTENING
from .health import HealthRoutes
from .limits import MAX_REQUESTS, MAX_STREAMS
from .login_routes import LoginPages
from .logins import Logins
from .metrics import HttpMetrics
from .passkey_routes import PasskeyRoutes
from .passkeys import Passkeys
from .request_rules import RequestSender

IDLE_SECONDS = 75.0
"""Seconds to wait for the next request on a connection; longer than proxies, which close first."""
MAX_INCOMPLETE_REQUESTS = 1024
"""Connections with an incomplete request; fewer if the system allows few open files."""
REQUESTED_OPEN_FILES = 4 * (MAX_STREAMS + MAX_REQUESTS)
"""The limit of open files to request from the system; each connection is one."""
MAX_HEADER_BYTES = 32_768
"""Bytes of a request's headers."""


class HttpServer:
    """The application and its listener.

    Args:
        config: the plugin's settings.
        host: the plugin's host.
        logins: the browsers that are signed in.
        audit: records changes.
    """

    def __init__(
        self, config: WebServerConfig, host: Host, logins: Logins, audit: AuditLog
    ) -> None:
        self._config = config
        self._host = host
        self._logins = logins
        self._audit = audit
        self._metrics = HttpMetrics()
        self._cookies = LoginCookie(lambda: self.port)
        self.application = WebApplication(config, host, logins, self._cookies, audit, self._metrics)
        self._instance = secrets.token_hex(8)
        self.health = HealthRoutes(
            host, self._metrics, self._may_read, self.application.count_streams, self._instance
        )
        self._login = LoginPages(
            logins, self._cookies, self.application.rules, self.application.rates
        )
        passkeys = Passkeys(host, logins, audit)
        self._passkeys = PasskeyRoutes(
            passkeys, logins, self._cookies, self.application.rules, self.application.rates
        )
        self._listener: Listener | None = None
        self._watch_task: asyncio.Task[None] | None = None
        self.port = config.address.port

    def routes(self) -> list[SiteRoute]:
        """Return the plugin's own routes."""
        return [*self.health.routes(), *self._login.routes(), *self._passkeys.routes()]

    async def start(self) -> None:
        """Start listening. Raises ``HooklineError`` or ``OSError``."""
        fault = self._config.startup_error()
        if fault is not None:
            raise HooklineError(fault)
        self._listener = Listener(
            self.application,
            max_concurrent=None,
            max_incomplete=min(MAX_INCOMPLETE_REQUESTS, _raise_open_files_limit() // 4),
            idle_seconds=IDLE_SECONDS,
            h11_max_incomplete_event_size=MAX_HEADER_BYTES,
            date_header=True,
            **self._tls(),
        )
        try:
            address = await self._listener.start(self._config.address)
        except OSError as error:
            fix = f"listen: {self._config.address.host}:PORT"
            raise HooklineError(
                f"{error}. Stop the program that uses it, or set plugins: {{web-server: {{{fix}}}}}"
            ) from None
        self.port = address.port
        self._watch_task = self._host.spawn(
            self.application.active_requests.watch(), "watch streams"
        )
        where = {
            "instance": self._instance,
            "url": self.url(),
            "address": str(address),
            "tls": self._config.tls is not None,
        }
        await self._host.storage.kv.set(LISTENING, where)
        self._host.log.info("listening on %s", address)

    def _tls(self) -> dict[str, Any]:
        tls = self._config.tls
        if tls is None:
            return {}
        for file in (tls.cert, tls.key):
            try:
                file.expanduser().open("rb").close()
            except OSError as error:
                raise HooklineError(f"web-server.tls: {file}: {error.strerror}") from None
        return {
            "ssl_certfile": str(tls.cert.expanduser()),
            "ssl_keyfile": str(tls.key.expanduser()),
        }

    async def stop(self) -> None:
        """End the streams, finish running requests, and stop listening."""
        listener = self._listener
        self._listener = None
        if self._watch_task is not None:
            self._watch_task.cancel()
        if listener is None:
            return
        await self._host.storage.kv.delete(LISTENING)
        stopping = asyncio.ensure_future(listener.stop())
        self.application.active_requests.end_streams()
        await stopping
        await self._logins.flush()
        await self._audit.flush()

    async def wait(self) -> None:
        """Return when the server was stopped. Raises ``OSError`` if it ended by itself."""
        if self._listener is not None:
            await self._listener.wait()

    def url(self) -> str:
        """Return the URL to open."""
        return self._config.url(self.port)

    async def _may_read(self, request: Any) -> None:
        sender = request.scope[SENDER]
        assert isinstance(sender, RequestSender)
        # Behind a proxy that does not forward addresses, every client looks local.
        knows_client = self._config.public_url is None or bool(self._config.trusted_proxies)
        if sender.is_local and knows_client:
            return
        token = self._cookies.read(request, sender)
        who = await self._logins.identify(token) if token else None
        if who is None:
            raise Problem(
                401, "unauthorized", t("You are not signed in."), t("Run `hookline web`.")
            )
        if not who.is_operator:
            raise Problem(403, "forbidden", "Only an admin may read the metrics.")


def _raise_open_files_limit() -> int:
    """Raise the limit of open files as far as needed and allowed, and return it."""
    now, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = (
        REQUESTED_OPEN_FILES if most == resource.RLIM_INFINITY else min(REQUESTED_OPEN_FILES, most)
    )
    if now != resource.RLIM_INFINITY and now < needed:
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (needed, most))
            now = needed
    return REQUESTED_OPEN_FILES if now == resource.RLIM_INFINITY else now
