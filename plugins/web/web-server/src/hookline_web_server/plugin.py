"""The plugin ``web-server``: its services, routes and checks."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hookline_hookspecs import Check, GatewayService, Host, Plugin, Route, hookimpl
from hookline_hookspecs.web import WebServer

from .config import WebServerConfig
from .service import SharedServer


class WebServerPlugin(Plugin[WebServerConfig]):
    """Runs one HTTP server for all plugins."""

    needs_no_channel = False
    runs_turns = False

    def __init__(self, config: WebServerConfig, host: Host) -> None:
        super().__init__(config, host)
        self.shared = SharedServer(config, host)

    @hookimpl
    def setup(self, host: Host) -> None:
        """Provide the services. The server starts listening when a channel needs it."""
        host.services.provide(WebServer, self.shared)
        host.services.add(GatewayService, self)

    @hookimpl
    async def teardown(self, host: Host) -> None:
        """Stop listening."""
        await self.shared.aclose()

    @hookimpl
    def register_routes(self, register: Callable[[Route], None]) -> None:
        """Register the routes for login, logout, health and metrics."""
        for route in self.shared.routes():
            register(route)

    @hookimpl
    def register_checks(self, register: Callable[[Check], None]) -> None:
        """Register checks of port, address, public URL and access control."""
        from . import doctor_checks

        register(Check("port", lambda: doctor_checks.port_check(self.config, self.host)))
        register(Check("address", lambda: doctor_checks.address_check(self.config)))
        register(Check("public_url", lambda: doctor_checks.name_check(self.config)))
        register(Check("access", lambda: doctor_checks.access_check(self.host)))

    async def gateway_up(self, channels: Sequence[str]) -> None:
        """Report ready on ``/readyz``."""
        self.shared.set_ready(is_up=True)

    async def gateway_stopping(self) -> None:
        """Report not ready on ``/readyz``."""
        self.shared.set_ready(is_up=False)
