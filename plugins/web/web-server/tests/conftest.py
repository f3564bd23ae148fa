"""Routes of every kind, behind a server that listens."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any

import pytest
from hookline.testing import Harness
from hookline_hookspecs import Host, Page, Plugin, Route, hookimpl
from hookline_hookspecs.web import Identity, Keys, SiteRoute, Text, View, identity
from starlette.responses import StreamingResponse
from support.web import WEB, Site, listening, web_plugins

KEY = "a-key-of-a-client"
Story = Callable[[Site], Coroutine[Any, Any, Any]]
Serve = Callable[..., Any]


class Everything(Plugin):
    """A route of each ``auth`` and kind."""

    @hookimpl
    def setup(self, host: Host) -> None:
        host.services.add(Keys, self)

    async def identify(self, token: str) -> Identity | None:
        return Identity("api", "client", "person", "key-1") if token == KEY else None

    @hookimpl
    def register_routes(self, register: Callable[[Route], None]) -> None:
        for auth in ("operator", "person", "key", "none"):
            register(Route("GET", f"/{auth}", self.read, auth=auth, page=Page(auth)))
            register(
                Route("POST", f"/{auth}", self.change, auth=auth, max_bytes=1000, log=f"was {auth}")
            )
        register(Route("GET", "/stream", self.stream, auth="person"))
        register(Route("GET", "/slow", self.slow, auth="person"))
        register(SiteRoute("POST", "/rated", self.change, auth="person", rate=3))
        register(Route("GET", "/fails", self.fails, auth="none"))
        register(Route("GET", "/plain", self.plain, auth="person"))
        register(Route("*", "/mounted", mounted, auth="person"))

    async def read(self, request: Any) -> View:
        return View("Everything", [Text("text")])

    async def change(self, request: Any) -> Any:
        return {"size": len(await request.body())}

    async def stream(self, request: Any) -> Any:
        async def events() -> AsyncIterator[str]:
            yield f"data: {identity(request).name}\n\n"
            await asyncio.Event().wait()

        return StreamingResponse(events(), media_type="text/event-stream")

    async def slow(self, request: Any) -> Any:
        await asyncio.Event().wait()

    def plain(self, request: Any) -> Any:
        return {"person": identity(request).person, "thread": threading.current_thread().name}

    async def fails(self, request: Any) -> Any:
        raise RuntimeError("a secret in the traceback")


async def mounted(scope: Any, receive: Any, send: Any) -> None:
    """A whole ASGI application."""
    name = scope["hookline.identity"].name
    body = f"{name} {scope['root_path']} {scope['path']}".encode()
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": body})


@pytest.fixture
def serve(harness: Callable[..., Harness]) -> Serve:
    """Runs a story with a listening server; settings of ``web-server`` as keywords."""

    def run(story: Story, *plugins: type[Plugin[Any]], **changed: Any) -> Any:
        config = {**WEB, "web-server": {**WEB["web-server"], **changed}}
        h = harness(Everything, *plugins, *web_plugins(), config=config)

        async def fetched() -> Any:
            async with listening(h) as site:
                return await story(site)

        return h.run(fetched())

    return run


async def raw(site: Site, head: str, body: bytes = b"") -> tuple[int, bytes]:
    """Send bytes as they are; return the status and all that came back."""
    reader, writer = await asyncio.open_connection("127.0.0.1", int(site.url.rpartition(":")[2]))
    try:
        writer.write(head.replace("\n", "\r\n").encode("latin-1") + b"\r\n\r\n" + body)
        found = await asyncio.wait_for(reader.read(65536), 60)
    except ConnectionError:
        found = b""
    finally:
        writer.close()
    return (int(found.split()[1]) if found.startswith(b"HTTP/") else 0), found
