"""Access to every route for every kind of person, generated from the routes."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest
from hookline_hookspecs import Plugin
from hookline_web_server.route_table import MOUNT, RouteEntry
from support.web import Site

from .conftest import KEY, Serve

SAFE = ("GET", MOUNT)
ENDLESS = ("/everything/stream", "/everything/slow", "/everything/fails")
ASIDE = ("/login", "/login/passkey", "/login/passkey/options", "/logout")
"""Routes that are open to all and change the identity; see ``test_login.py``."""
AUDITED = ("/audit", "/insights")
"""The pages of an auditor."""
OF_EVERYONE = (
    *("GET /settings", "POST /settings", "PATCH /api/me"),
    *("GET /login/passkeys", "POST /login/passkeys", "POST /login/passkeys/options"),
    "DELETE /login/passkeys/{id}",
)
"""Routes of every role; what else an auditor requests is refused."""


def entries(site: Site) -> list[RouteEntry]:
    """Every route that answers at once."""
    found: list[RouteEntry] = site.server.server.application.table.entries
    assert len(found) > 15
    return [one for one in found if one.path not in (*ENDLESS, *ASIDE)]


def method(entry: RouteEntry) -> str:
    return "GET" if entry.route.method == MOUNT else entry.route.method


def is_let_in(entry: RouteEntry, who: str) -> int:
    """The status of the refusal that the route declares; 0 if access is allowed."""
    if entry.auth == "none":
        return 0
    if who == "nobody" or (who == "key") != (entry.auth == "key"):
        return 401
    if who == "auditor":
        is_theirs = entry.path in AUDITED or entry.path.startswith("/audit/")
        is_read = is_theirs and method(entry) == "GET"
        return 0 if is_read or entry.name in OF_EVERYONE else 403
    return 403 if entry.auth == "operator" and who != "operator" else 0


async def request_every_route(site: Site) -> None:
    """Send a request of each kind of person to each route, without a body."""
    async with (
        site.client() as operator,
        site.client("mia", "person") as person,
        site.client("ben", "person") as other,
        site.client("aud", "auditor") as auditor,
        site.client(None) as stranger,
        site.client(None) as key,
    ):
        key.headers["Authorization"] = f"Bearer {KEY}"
        clients = {"person": person, "other": other, "key": key, "operator": operator}
        clients["auditor"] = auditor
        for entry in entries(site):
            for who, client in {"nobody": stranger, **clients}.items():
                path = re.sub(r"\{\w+(:\w+)?\}", "x", entry.path)
                async with client.stream(method(entry), path) as found:
                    refusal = is_let_in(entry, who)
                    case = (entry.name, who, found.status_code)
                    # Below, what it returns for a request without sense is the plugin's affair.
                    is_out = found.status_code in (401, 403)
                    assert found.status_code == refusal if refusal else not is_out, case
                    assert found.status_code != 500, case


@pytest.mark.slow
def test_route_access_of_test_plugins_is_enforced(serve: Serve) -> None:
    serve(request_every_route)


@pytest.mark.slow
def test_route_access_of_all_plugins_is_enforced(serve: Serve) -> None:
    async def story(site: Site) -> None:
        assert len({entry.plugin for entry in entries(site)}) > 8
        await request_every_route(site)

    serve(story, *with_routes())


def with_routes() -> list[type[Plugin[Any]]]:
    """Every installed plugin that brings routes, without those that are there anyway, and terminal,
    without which there is no page *Model*."""
    anyway = ("web-server", "access", "webhook")
    points = [one for one in entry_points(group="hookline.plugins") if one.name not in anyway]
    found = {one.name: one.load() for one in points}
    return [
        one for name, one in found.items() if name == "terminal" or "register_routes" in vars(one)
    ]


FOREIGN: list[tuple[str, dict[str, str], int]] = [
    ("host", {"Host": "evil.example"}, 421),
    ("rebinding", {"Host": "evil.example:8780", "Origin": "http://evil.example:8780"}, 421),
    ("dotted", {"Host": "127.0.0.1.evil.example"}, 421),
    ("origin", {"Origin": "https://evil.example"}, 403),
    ("null", {"Origin": "null"}, 403),
    ("port", {"Origin": "http://127.0.0.1:1"}, 403),
    ("scheme", {"Origin": "https://127.0.0.1"}, 403),
    ("site", {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"}, 403),
    ("same site", {"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "cors"}, 403),
]


HOSTS = ("host", "dotted")


@pytest.mark.slow
def test_foreign_origin_is_refused_everywhere(serve: Serve) -> None:
    async def story(site: Site) -> None:
        every = site.server.server.application.table.entries
        async with site.client() as operator:
            own = operator.headers.pop("Origin")
            operator.headers["Authorization"] = f"Bearer {KEY}"
            for name, headers, status in FOREIGN:
                for entry in every:
                    sent = {"Origin": own} | headers if name in HOSTS else headers
                    answer = await operator.request(method(entry), entry.path, headers=sent)
                    assert answer.status_code == status, (name, entry.name, answer.text)

    serve(story)


def test_change_without_origin_needs_key(serve: Serve) -> None:
    async def story(site: Site) -> None:
        async with site.client() as operator:
            del operator.headers["Origin"]
            operator.headers["Authorization"] = f"Bearer {KEY}"
            for entry in entries(site):
                if method(entry) not in SAFE:
                    status = 403 if entry.auth in ("operator", "person") else 200
                    for sent in ({}, {"Sec-Fetch-Site": "none"}):
                        found = await operator.request(method(entry), entry.path, headers=sent)
                        assert found.status_code == status, (entry.name, sent)

    serve(story)


def test_get_requests_leave_database_unchanged(serve: Serve, tmp_path: Path) -> None:
    async def story(site: Site) -> Any:
        async with site.client() as operator, site.client(None) as stranger:
            await site.server.audit.flush()
            file = next(tmp_path.rglob("hookline.db"))
            before = dump(file)
            for entry in entries(site):
                for client in (operator, stranger):
                    if method(entry) in SAFE:
                        await client.get(entry.path)
            assert dump(file) == before
            assert any("web_server_devices" in line for line in before)

    serve(story)


def dump(file: Path) -> list[str]:
    """Everything that is in a database."""
    with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as database, database:
        return [*database.iterdump()]
