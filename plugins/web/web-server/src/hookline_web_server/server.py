"""The listener that the web plugins share, and the service by which they find it.

Imports the web framework, so it is imported when somebody needs to listen.
"""

from __future__ import annotations

import asyncio
import resource
import secrets
from contextlib import suppress
from typing import Any

from hookline_hookspecs import HooklineError, Host
from hookline_hookspecs.web import Problem, SiteRoute
from hookline_webkit.listener import Listener

from .audit import Audit
from .config import WebServerConfig
from .cookies import Cookies
from .health import Health
from .limits import MOST_OTHERS, MOST_STREAMS
from .login import LoginPages
from .logins import Logins
from .metrics import Metrics
from .rules import Sender
from .running import LISTENING
from .site import SENDER, Site

IDLE_SECONDS = 75.0
"""For the next request on a connection; longer than proxies wait, so that they close first."""
MOST_WAITING = 1024
"""Connections without a whole request; fewer where the system allows few open files."""
OPEN_FILES = 4 * (MOST_STREAMS + MOST_OTHERS)
"""What is asked of the system: each connection is an open file."""
LONGEST_HEAD = 32_768
"""Bytes of a request's headers."""


class Server:
    """Site and listener.

    Args:
        config: the plugin's settings.
        host: the plugin's host.
        logins: who is logged in.
        audit: where changes are noted.
    """

    def __init__(self, config: WebServerConfig, host: Host, logins: Logins, audit: Audit) -> None:
        self._config = config
        self._host = host
        self._logins = logins
        self._audit = audit
        self._metrics = Metrics()
        self._cookies = Cookies(lambda: self.port)
        self.site = Site(config, host, logins, self._cookies, audit, self._metrics)
        self._instance = secrets.token_hex(8)
        self.health = Health(
            host, self._metrics, self._may_read, self.site.count_streams, self._instance
        )
        self._login = LoginPages(logins, self._cookies, self.site.rules, self.site.rates)
        self._listener: Listener | None = None
        self._watching: asyncio.Task[None] | None = None
        self.port = config.address.port

    def routes(self) -> list[SiteRoute]:
        """Return the plugin's own routes."""
        return [*self.health.routes(), *self._login.routes()]

    async def start(self) -> None:
        """Listen. Raises ``HooklineError`` or ``OSError`` with a sentence."""
        fault = self._config.fault()
        if fault is not None:
            raise HooklineError(fault)
        self._listener = Listener(
            self.site,
            max_concurrent=None,
            max_incomplete=min(MOST_WAITING, _open_files() // 4),
            idle_seconds=IDLE_SECONDS,
            h11_max_incomplete_event_size=LONGEST_HEAD,
            date_header=True,
            **self._tls(),
        )
        try:
            address = await self._listener.start(self._config.address)
        except OSError as error:
            fix = f"listen: {self._config.address.host}:PORT"
            raise HooklineError(
                f"{error}; stop what listens there, or set plugins: {{web-server: {{{fix}}}}}"
            ) from None
        self.port = address.port
        self._watching = self._host.spawn(self.site.under_way.watch(), "watch streams")
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
        """End the streams, answer what is under way, and listen no more."""
        listener, self._listener = self._listener, None
        if self._watching is not None:
            self._watching.cancel()
        if listener is None:
            return
        await self._host.storage.kv.delete(LISTENING)
        stopping = asyncio.ensure_future(listener.stop())
        self.site.under_way.end_streams()
        await stopping
        await self._logins.flush()
        await self._audit.flush()

    async def wait(self) -> None:
        """Return when the listener has stopped. Raises ``OSError`` if it has ended by itself."""
        if self._listener is not None:
            await self._listener.wait()

    def url(self) -> str:
        """Return the address to open."""
        return self._config.url(self.port)

    async def _may_read(self, request: Any) -> None:
        sender = request.scope[SENDER]
        assert isinstance(sender, Sender)
        # A proxy that tells nothing of whom it speaks for looks like this machine.
        tells = self._config.public_url is None or bool(self._config.trusted_proxies)
        if sender.is_local and tells:
            return
        token = self._cookies.read(request, sender)
        who = await self._logins.identify(token) if token else None
        if who is None:
            raise Problem(401, "unauthorized", "You are not logged in.", "Run `hookline web`.")
        if not who.is_operator:
            raise Problem(403, "forbidden", "Only the operator may read the metrics.")


def _open_files() -> int:
    """Raise the limit of open files as far as needed and allowed; return what it is then."""
    now, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = OPEN_FILES if most == resource.RLIM_INFINITY else min(OPEN_FILES, most)
    if now != resource.RLIM_INFINITY and now < wanted:
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, most))
            now = wanted
    return OPEN_FILES if now == resource.RLIM_INFINITY else now
