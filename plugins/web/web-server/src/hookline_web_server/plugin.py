"""The plugin: offers the service, brings its own routes and the command ``hookline web``."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hookline_hookspecs import Check, GatewayService, Host, Plugin, Route, hookimpl
from hookline_hookspecs.hooks.boot import RegisterCli
from hookline_hookspecs.web import SessionBranches, WebServer

from .branches import StoredSessionBranches
from .config import WebServerConfig
from .service import SharedServer


class WebServerPlugin(Plugin[WebServerConfig]):
    """One HTTP listener for all plugins."""

    needs_no_channel = False
    runs_turns = False

    def __init__(self, config: WebServerConfig, host: Host) -> None:
        super().__init__(config, host)
        self.shared = SharedServer(config, host)

    @hookimpl
    def setup(self, host: Host) -> None:
        """Offer the services; nothing is listened on before somebody needs it."""
        host.services.provide(WebServer, self.shared)
        host.services.provide(SessionBranches, StoredSessionBranches(host))
        host.services.add(GatewayService, self)

    @hookimpl
    async def teardown(self, host: Host) -> None:
        """Listen no more."""
        await self.shared.aclose()

    @hookimpl
    def register_routes(self, register: Callable[[Route], None]) -> None:
        """Login, logout, health and metrics."""
        for route in self.shared.routes():
            register(route)

    @hookimpl
    def register_cli(self, register: RegisterCli) -> None:
        """``hookline web``."""
        from .cli import web_on

        told = "Open Hookline in a browser: print a link that logs it in, start what serves it."
        register("web", web_on(self.host), help=told)

    @hookimpl
    def register_checks(self, register: Callable[[Check], None]) -> None:
        """Port, address, public name, and who lets people in."""
        from . import checks

        register(Check("port", lambda: checks.port_check(self.config, self.host)))
        register(Check("address", lambda: checks.address_check(self.config)))
        register(Check("public_url", lambda: checks.name_check(self.config)))
        register(Check("access", lambda: checks.access_check(self.host)))

    async def gateway_up(self, channels: Sequence[str]) -> None:
        """Be ready."""
        self.shared.become(is_up=True)

    async def gateway_stopping(self) -> None:
        """Be ready no more."""
        self.shared.become(is_up=False)
