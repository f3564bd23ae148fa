"""Opens the pages of a harness's plugins in tests, without a server.

::

    site = Site(harness(Visitors))
    view = site.get("/visitors/")
    assert "Ada" in site.text(view)

A route is called as a web server would call it: by its path, for an operator or a person, with the
fields of a form. Nothing is rendered.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Awaitable, Iterator, Mapping
from dataclasses import dataclass
from inspect import isawaitable
from typing import Any
from urllib.parse import unquote, urlencode, urlsplit
from uuid import uuid4

from hookline_hookspecs import Inbound, Route

from .requests import IDENTITY, Identity, Problem, SiteRoute
from .services import TABLES
from .views import View, plain

OPERATOR = Identity("web", "owner", "operator", "device-1")
"""Who opens a page unless a test says otherwise."""
PERSON = Identity("web", "mia", "person", "device-2")
"""Somebody who was let in."""


@dataclass(frozen=True, slots=True)
class FakeRequest:
    """The part of a Starlette request that a page may use."""

    scope: dict[str, Any]
    sent: bytes

    async def body(self) -> bytes:
        """Return what was sent."""
        return self.sent


LISTS = {
    "sqlite": "SELECT name FROM sqlite_master WHERE type = 'table'",
    "postgres": "SELECT tablename AS name FROM pg_tables WHERE schemaname = current_schema() "
    "AND tablename NOT IN ('nodes', 'writers', 'beats', 'owners')",
}
"""The tables of each kind of store, without those in which PostgreSQL's keeps who lives."""


class Site:
    """The routes of the plugins of a harness.

    Args:
        harness: a ``hookline.testing.Harness``.
    """

    def __init__(self, harness: Any) -> None:
        self._harness = harness
        self._routes: list[tuple[str, Route]] | None = None

    def routes(self) -> list[tuple[str, Route]]:
        """Return every route with its whole path."""
        found: list[tuple[str, Route]] = self._harness.run(self._registered())
        return found

    async def _registered(self) -> list[tuple[str, Route]]:
        if self._routes is None:
            runtime = await self._harness.aopen()
            found = runtime.bus.registered(Route)
            self._routes = [(whole_path(plugin, route), route) for plugin, route in found]
            making = [one for one in asyncio.all_tasks() if TABLES in one.get_name()]
            await asyncio.gather(*making)
        return self._routes

    def get(self, address: str, who: Identity = OPERATOR) -> Any:
        """Return what a page returns: a view, or a download. Raises ``Problem``."""
        return self._call("GET", address, b"", who)

    def post(
        self, address: str, fields: Mapping[str, str] | None = None, who: Identity = OPERATOR
    ) -> Any:
        """Send a form; return a ``Redirect``, or a view with errors. Raises ``Problem``."""
        return self._call("POST", address, urlencode(fields or {}).encode(), who)

    def text(self, view: View) -> str:
        """Return everything that a view says, for an ``in`` of a test."""
        return json.dumps(plain(view), ensure_ascii=False)

    def say(self, text: str, who: Identity = PERSON, session: str = "a") -> None:
        """Send a message as a person writes it in one of their conversations, and run its turn."""
        self._harness.run(self._said(text, who, session))

    async def _said(self, text: str, who: Identity, session: str) -> None:
        runtime = await self._harness.aopen()
        more: dict[str, Any] = {"session_id": session, "private": True}
        inbound = Inbound(who.channel, who.name, who.name, uuid4().hex, text, **more)
        submission = await runtime.dispatcher.submit(inbound, "ask")
        await submission.confirm()
        await runtime.finish_background(30.0)

    def stored(self) -> dict[str, Any]:
        """Return every row of every table, to compare before and after a page was opened."""
        found: dict[str, Any] = self._harness.run(self._stored())
        return found

    async def _stored(self) -> Any:
        await self._registered()
        store = (await self._harness.aopen()).engine.store

        def read(db: Any) -> dict[str, Any]:
            tables = db.fetch(LISTS[store.dialect], {})
            names = sorted(row["name"] for row in tables)
            every = {name: f'SELECT * FROM "{name}"' for name in names}  # noqa: S608
            return {name: db.fetch(sql, {}) for name, sql in every.items()}

        return await store.read(read)

    def _call(self, method: str, address: str, body: bytes, who: Identity) -> Any:
        return self._harness.run(self._answer(method, address, body, who))

    async def _answer(self, method: str, address: str, body: bytes, who: Identity) -> Any:
        split = urlsplit(address)
        asked = unquote(split.path)
        for path, route in await self._registered():
            found = re.fullmatch(pattern(path), asked)
            if found is None or route.method != method:
                continue
            if route.auth == "operator" and not who.is_operator:
                raise Problem(403, "forbidden", "Only the operator may do this.")
            scope = {
                "type": "http",
                "path": asked,
                "query_string": split.query.encode(),
                "path_params": found.groupdict(),
                IDENTITY: who,
            }
            made: Awaitable[Any] | Any = route.handler(FakeRequest(scope, body))
            return await made if isawaitable(made) else made
        raise Problem(404, "not_found", f"There is no {method} {asked}.")


def whole_path(plugin: str, route: Route) -> str:
    """Return a route's path from the root of the server."""
    if isinstance(route, SiteRoute):
        return route.path
    return f"/{plugin}{route.path}".removesuffix("/")


def pattern(path: str) -> str:
    """Return the pattern of a route's path, in which ``{name:path}`` may hold slashes."""
    return "".join(_pieces(path))


def _pieces(path: str) -> Iterator[str]:
    for text, name, kind in re.findall(r"([^{]+)|\{(\w+)(?::(\w+))?\}", path):
        yield re.escape(text) if text else f"(?P<{name}>{'.+' if kind == 'path' else '[^/]+'})"
