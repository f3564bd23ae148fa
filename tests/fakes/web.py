"""A web server for tests: in a harness, or a real gateway, with clients that are logged in.

In the event loop of a harness::

    h = harness(MyPages, *web_plugins(), config={"my-pages": {}, **WEB})

    async def story():
        async with listening(h) as site:
            async with site.client() as owner, site.client("mia", "person") as mia:
                assert (await owner.get("/my-pages")).status_code == 200

    h.run(story())
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib.metadata import entry_points
from typing import Any, Literal

import httpx2

WEB: dict[str, Any] = {"web-server": {"listen": "127.0.0.1:0"}, "access": {}}
"""Settings of :func:`web_plugins`: a port that the system chooses, and nobody let in."""
AGENT = "a test"


def plugin(name: str) -> type[Any]:
    """Return the class of an installed plugin, for a harness."""
    (point,) = entry_points(group="hookline.plugins", name=name)
    found: type[Any] = point.load()
    return found


def web_plugins() -> tuple[type[Any], ...]:
    """Return the plugins that a page needs: ``access`` and ``web-server``."""
    return plugin("access"), plugin("web-server")


@dataclass(frozen=True)
class Site:
    """A web server that listens: its address, and the service ``WebServer``."""

    url: str
    server: Any

    @asynccontextmanager
    async def client(
        self, name: str | None = "owner", role: Literal["operator", "person"] = "operator"
    ) -> AsyncIterator[httpx2.AsyncClient]:
        """Yield a client that is logged in as ``web:NAME``; as nobody, if ``name`` is None."""
        own = {"Origin": self.url, "User-Agent": AGENT}
        async with httpx2.AsyncClient(
            base_url=self.url, headers=own, trust_env=False, timeout=60
        ) as client:
            if name is not None:
                link = await self.server.link(name, role)
                found = await client.post("/login", json={"code": link.code})
                assert found.status_code == 200, found.text
            yield client


@asynccontextmanager
async def listening(harness: Any) -> AsyncIterator[Site]:
    """Listen while the block runs, in the loop of a harness with :func:`web_plugins`."""
    await harness.aopen()
    server = harness.plugin(plugin("web-server")).shared
    url = await server.acquire()
    try:
        yield Site(url, server)
    finally:
        await server.release()
