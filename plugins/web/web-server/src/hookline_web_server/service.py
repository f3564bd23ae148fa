"""The service ``WebServer``: starts the server for its first user and stops it after the last."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import quote

from hookline_hookspecs import HooklineError, Host
from hookline_hookspecs.people import WebRole
from hookline_hookspecs.web import (
    Device,
    Identity,
    LoginLink,
    PageLink,
    SiteRoute,
    WebChange,
    t,
    translate,
)

from .audit_log import AuditLog
from .config import WebServerConfig
from .logins import CHANNEL, Logins

if TYPE_CHECKING:
    from .server import HttpServer


class SharedServer:
    """The server of this process (protocol ``WebServer``).

    Args:
        config: the plugin's settings.
        host: the plugin's host.
    """

    def __init__(self, config: WebServerConfig, host: Host) -> None:
        self._config = config
        self._host = host
        self.audit = AuditLog(host)
        self.logins = Logins(host, self.audit)
        self._users = 0
        self._changing = asyncio.Lock()
        self._server: HttpServer | None = None
        self._stopped = asyncio.Event()
        self._is_up = False

    @property
    def server(self) -> HttpServer:
        """The server, created on first use."""
        if self._server is None:
            from .server import HttpServer

            self._server = HttpServer(self._config, self._host, self.logins, self.audit)
            self._server.health.is_up = self._is_up
        return self._server

    def set_ready(self, *, is_up: bool) -> None:
        """Set what ``/readyz`` reports."""
        self._is_up = is_up
        if self._server is not None:
            self._server.health.is_up = is_up

    async def acquire(self) -> str:
        """Start listening unless already started, and return the base URL."""
        async with self._changing:
            if not self._users:
                self._stopped.clear()
                try:
                    await self.server.start()
                except BaseException:
                    await self.server.stop()
                    raise
            self._users += 1
        return self.url()

    async def release(self) -> None:
        """Stop listening if this was the last user."""
        async with self._changing:
            if not self._users:
                return
            self._users -= 1
            if not self._users:
                await self.server.stop()
                self._stopped.set()

    async def aclose(self) -> None:
        """Stop, even if there are users left."""
        async with self._changing:
            if self._users:
                self._users = 0
                await self.server.stop()
                self._stopped.set()
        await self.audit.flush()

    async def wait(self) -> None:
        """Return when the server has stopped. Raises its error if it failed."""
        if not self._users:
            return
        await self.server.wait()
        await self._stopped.wait()

    def url(self) -> str:
        """Return the URL that people open."""
        return self._server.url() if self._server is not None else self._config.url()

    def routes(self) -> list[SiteRoute]:
        """Return the plugin's own routes; none before the server was used."""
        return self._server.routes() if self._server is not None else []

    def pages(self, who: Identity) -> Sequence[PageLink]:
        """Return the pages that a person may open, in the order of the navigation."""
        links = [
            PageLink(page.title, entry.path, page.section, page.order, entry.plugin)
            for entry in self.server.application.table.entries
            if (page := entry.route.page) is not None
            and entry.auth in ("person", "operator")
            and self.server.application.may_call(who, entry)
        ]
        return sorted(links, key=lambda one: (one.section, one.order, one.title))

    async def link(
        self, person: str, role: WebRole, by: str = "terminal", *, url: str | None = None
    ) -> LoginLink:
        """Return a login link for ``web:NAME``. Raises ``HooklineError``."""
        return await self.logins.link(url or self.url(), person, role, by)

    async def devices(self, person: str | None = None) -> Sequence[Device]:
        """Return the browsers that are signed in; ``person`` is ``web:NAME`` or NAME."""
        name = person.removeprefix(f"{CHANNEL}:") if person is not None else None
        return await self.logins.devices(name)

    async def revoke(self, *, device: str | None = None, person: str | None = None) -> int:
        """Sign out a device, or all devices of a person, at once. Return their number."""
        if device is None and person is None:
            raise HooklineError("revoke needs a device or a person")
        ids = [device] if device is not None else [one.id for one in await self.devices(person)]
        return sum([await self.logins.revoke(one) for one in ids])

    def on_revoked(self, callback: Callable[[str], None]) -> None:
        """Call ``callback(device)`` when a device is signed out."""
        self.logins.on_revoked(callback)

    async def changes(self, limit: int = 100) -> Sequence[WebChange]:
        """Return the changes by operators and the logins, newest first."""
        return [replace(one, words=self._words(one.what)) for one in await self.audit.newest(limit)]

    def _words(self, what: str) -> str:
        """What a request did, as its route says."""
        method, _, path = what.partition(" ")
        if not path.startswith("/"):
            return translate(what)
        found = self.server.application.table.find(method, quote(path))
        return t(found.entry.route.log, **found.params) if found and found.entry.route.log else ""
