"""Opens the pages of a harness's plugins in tests, without a server.

::

    pages = PageClient(harness(Visitors))
    view = pages.get("/visitors/")
    assert "Ada" in pages.text(view)

Routes are called as the web server calls them: by path, for an operator or a person, with the
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
from hookline_hookspecs.web import (
    IDENTITY,
    TABLES_TASK,
    Identity,
    Problem,
    SiteRoute,
    View,
    view_as_json,
)

OPERATOR = Identity("web", "owner", "operator", "device-1")
"""Opens the pages by default."""
PERSON = Identity("web", "mia", "person", "device-2")
"""A person who is not an admin."""


@dataclass(frozen=True, slots=True)
class FakeRequest:
    """The part of a Starlette request that pages use."""

    scope: dict[str, Any]
    content: bytes

    async def body(self) -> bytes:
        """Return the body."""
        return self.content


TABLE_QUERIES = {
    "sqlite": "SELECT name FROM sqlite_master WHERE type = 'table'",
    "postgres": "SELECT tablename AS name FROM pg_tables WHERE schemaname = current_schema() "
    "AND tablename NOT IN ('nodes', 'writers', 'beats', 'owners')",
}
"""SQL that lists the tables of each kind of store, except PostgreSQL's live-process tables."""


class PageClient:
    """The routes of the plugins of a harness.

    Args:
        harness: a ``hookline.testing.Harness``.
    """

    def __init__(self, harness: Any) -> None:
        self._harness = harness
        self._routes: list[tuple[str, Route]] | None = None

    def routes(self) -> list[tuple[str, Route]]:
        """Return all routes with their full paths."""
        found: list[tuple[str, Route]] = self._harness.run(self._registered())
        return found

    async def _registered(self) -> list[tuple[str, Route]]:
        if self._routes is None:
            runtime = await self._harness.aopen()
            found = runtime.bus.registered(Route)
            self._routes = [(full_path(plugin, route), route) for plugin, route in found]
            tasks = [task for task in asyncio.all_tasks() if TABLES_TASK in task.get_name()]
            await asyncio.gather(*tasks)
        return self._routes

    def get(self, address: str, who: Identity = OPERATOR) -> Any:
        """Return what a page's handler returns, such as a view. Raises ``Problem``."""
        return self._call("GET", address, b"", who)

    def post(
        self, address: str, fields: Mapping[str, str] | None = None, who: Identity = OPERATOR
    ) -> Any:
        """Submit a form. Return the ``Redirect``, or the view with errors. Raises ``Problem``."""
        return self._call("POST", address, urlencode(fields or {}).encode(), who)

    def text(self, view: View) -> str:
        """Return all text of a view as one JSON string."""
        return json.dumps(view_as_json(view), ensure_ascii=False)

    def say(self, text: str, who: Identity = PERSON, session: str = "a") -> None:
        """Send a message in one of a person's conversations and run its turn."""
        self._harness.run(self._say(text, who, session))

    async def _say(self, text: str, who: Identity, session: str) -> None:
        runtime = await self._harness.aopen()
        inbound = Inbound(
            who.channel, who.name, who.name, uuid4().hex, text, session_id=session, private=True
        )
        submission = await runtime.dispatcher.submit(inbound, "ask")
        await submission.mark_delivered()
        await runtime.finish_background(30.0)

    def stored(self) -> dict[str, Any]:
        """Return all rows of all tables, to compare before and after a page was opened."""
        rows: dict[str, Any] = self._harness.run(self._stored())
        return rows

    async def _stored(self) -> Any:
        await self._registered()
        store = (await self._harness.aopen()).engine.store

        def read(db: Any) -> dict[str, Any]:
            tables = db.fetch(TABLE_QUERIES[store.dialect], {})
            names = sorted(row["name"] for row in tables)
            queries = {name: f'SELECT * FROM "{name}"' for name in names}  # noqa: S608
            return {name: db.fetch(sql, {}) for name, sql in queries.items()}

        return await store.read(read)

    def _call(self, method: str, address: str, body: bytes, who: Identity) -> Any:
        return self._harness.run(self._answer(method, address, body, who))

    async def _answer(self, method: str, address: str, body: bytes, who: Identity) -> Any:
        split = urlsplit(address)
        path = unquote(split.path)
        for route_path, route in await self._registered():
            match = re.fullmatch(path_pattern(route_path), path)
            if match is None or route.method != method:
                continue
            if route.auth == "operator" and not who.is_operator:
                raise Problem(403, "forbidden", "Only an admin may do this.")
            scope = {
                "type": "http",
                "path": path,
                "query_string": split.query.encode(),
                "path_params": match.groupdict(),
                IDENTITY: who,
            }
            result: Awaitable[Any] | Any = route.handler(FakeRequest(scope, body))
            return await result if isawaitable(result) else result
        raise Problem(404, "not_found", f"No route for {method} {path}.")


def full_path(plugin: str, route: Route) -> str:
    """Return the path of a route from the root of the server."""
    if isinstance(route, SiteRoute):
        return route.path
    return f"/{plugin}{route.path}".removesuffix("/")


def path_pattern(path: str) -> str:
    """Return the regular expression of a route's path. ``{name:path}`` may contain slashes."""
    return "".join(_pieces(path))


def _pieces(path: str) -> Iterator[str]:
    for text, name, kind in re.findall(r"([^{]+)|\{(\w+)(?::(\w+))?\}", path):
        yield re.escape(text) if text else f"(?P<{name}>{'.+' if kind == 'path' else '[^/]+'})"
