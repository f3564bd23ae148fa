"""The service ``WebServer``: it counts who needs the listener, and starts it for the first."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from hookline_hookspecs import HooklineError, Host
from hookline_hookspecs.people import WebRole
from hookline_hookspecs.web import Device, Identity, LoginLink, PageLink, SiteRoute, WebChange

from .audit import Audit
from .config import WebServerConfig
from .logins import CHANNEL, Logins

if TYPE_CHECKING:
    from .server import Server


class SharedServer:
    """The listener of this process (protocol ``WebServer``).

    Args:
        config: the plugin's settings.
        host: the plugin's host.
    """

    def __init__(self, config: WebServerConfig, host: Host) -> None:
        self._config = config
        self._host = host
        self.audit = Audit(host)
        self.logins = Logins(host, self.audit)
        self._users = 0
        self._changing = asyncio.Lock()
        self._server: Server | None = None
        self._stopped = asyncio.Event()
        self._is_up = False

    @property
    def server(self) -> Server:
        """Site and listener; made when somebody needs them."""
        if self._server is None:
            from .server import Server

            self._server = Server(self._config, self._host, self.logins, self.audit)
            self._server.health.is_up = self._is_up
        return self._server

    def become(self, *, is_up: bool) -> None:
        """Tell ``/readyz`` whether the gateway is up."""
        self._is_up = is_up
        if self._server is not None:
            self._server.health.is_up = is_up

    # The listener

    async def acquire(self) -> str:
        """Start listening, unless it does; return the base URL."""
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
        """Stop listening once nobody needs it any more."""
        async with self._changing:
            if not self._users:
                return
            self._users -= 1
            if not self._users:
                await self.server.stop()
                self._stopped.set()

    async def aclose(self) -> None:
        """Stop, whoever needs it."""
        async with self._changing:
            if self._users:
                self._users = 0
                await self.server.stop()
                self._stopped.set()
        await self.audit.flush()

    async def wait(self) -> None:
        """Return when the listener has stopped. Raises the error if it failed."""
        if not self._users:
            return
        await self.server.wait()
        await self._stopped.wait()

    def url(self) -> str:
        """Return where people find the server."""
        return self._server.url() if self._server is not None else self._config.url()

    def routes(self) -> list[SiteRoute]:
        """Return the plugin's own routes; none before somebody needs the listener."""
        return self._server.routes() if self._server is not None else []

    # What the pages ask

    def pages(self, who: Identity) -> Sequence[PageLink]:
        """Return the pages that this person may open."""
        links = [
            PageLink(page.title, entry.path, page.section, page.order, entry.plugin)
            for entry in self.server.site.table.entries
            if (page := entry.route.page) is not None
            and entry.auth in ("person", "operator")
            and self.server.site.may_call(who, entry)
        ]
        return sorted(links, key=lambda one: (one.section, one.order, one.title))

    async def link(
        self, person: str, role: WebRole, by: str = "terminal", *, url: str | None = None
    ) -> LoginLink:
        """Make a login link for ``web:NAME``. Raises ``HooklineError``."""
        return await self.logins.link(url or self.url(), person, role, by)

    async def devices(self, person: str | None = None) -> Sequence[Device]:
        """Return the browsers that are logged in; ``person`` is ``web:NAME`` or NAME."""
        name = person.removeprefix(f"{CHANNEL}:") if person is not None else None
        return await self.logins.devices(name)

    async def revoke(self, *, device: str | None = None, person: str | None = None) -> int:
        """Log out a device, or all of a person's, at once; return how many there were."""
        if device is None and person is None:
            raise HooklineError("say which device or whose devices are to be logged out")
        ids = [device] if device is not None else [one.id for one in await self.devices(person)]
        return sum([await self.logins.revoke(one) for one in ids])

    def on_revoked(self, callback: Callable[[str], None]) -> None:
        """Call ``callback(device)`` when a device is logged out."""
        self.logins.on_revoked(callback)

    async def changes(self, limit: int = 100) -> Sequence[WebChange]:
        """Return what operators changed and who came in, the newest first."""
        return await self.audit.newest(limit)
