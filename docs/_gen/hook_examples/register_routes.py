from collections.abc import Callable

from hookline_hookspecs import Plugin, Route, hookimpl
from hookline_hookspecs.web import RequestLike


class Health(Plugin):
    """Answers ``GET /health/ping`` to whoever has logged in."""

    @hookimpl
    def register_routes(self, register: Callable[[Route], None]) -> None:
        register(Route("GET", "/ping", self.ping, auth="person"))

    async def ping(self, request: RequestLike) -> dict[str, bool]:
        """Return JSON."""
        return {"ok": True}
