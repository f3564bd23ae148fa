"""Every route with everybody, generated from the routes themselves."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

from fakes.web import Site
from hookline_web_server.table import MOUNT, Entry

from .conftest import KEY, Serve

SAFE = ("GET", MOUNT)
ENDLESS = ("/everything/stream", "/everything/slow", "/everything/fails")
ASIDE = ("/login", "/logout")
"""What is for everybody and changes who somebody is; see ``test_login.py``."""


def entries(site: Site) -> list[Entry]:
    """Every route that answers at once."""
    found: list[Entry] = site.server.server.site.table.entries
    assert len(found) > 15
    return [one for one in found if one.path not in (*ENDLESS, *ASIDE)]


def method(entry: Entry) -> str:
    return "GET" if entry.route.method == MOUNT else entry.route.method


def wanted(entry: Entry, who: str) -> int:
    """The status by what the route says of itself."""
    if "{" in entry.path:
        return 404
    if entry.auth == "none":
        return 503 if entry.path == "/readyz" else 200
    if who == "nobody" or (who == "key") != (entry.auth == "key"):
        return 401
    return 403 if entry.auth == "operator" and who != "operator" else 200


def test_every_route_is_for_whom_it_says(serve: Serve) -> None:
    async def story(site: Site) -> None:
        async with (
            site.client() as operator,
            site.client("mia", "person") as person,
            site.client("ben", "person") as other,
            site.client(None) as nobody,
            site.client(None) as key,
        ):
            key.headers["Authorization"] = f"Bearer {KEY}"
            clients = {
                "nobody": nobody,
                "person": person,
                "other": other,
                "key": key,
                "operator": operator,
            }
            for entry in entries(site):
                for who, client in clients.items():
                    found = await client.request(method(entry), entry.path)
                    assert found.status_code == wanted(entry, who), (entry.name, who, found.text)

    serve(story)


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


def test_no_route_answers_another_site(serve: Serve) -> None:
    async def story(site: Site) -> None:
        every = site.server.server.site.table.entries
        async with site.client() as operator:
            own = operator.headers.pop("Origin")
            operator.headers["Authorization"] = f"Bearer {KEY}"
            for name, headers, status in FOREIGN:
                for entry in every:
                    sent = {"Origin": own} | headers if name in HOSTS else headers
                    answer = await operator.request(method(entry), entry.path, headers=sent)
                    assert answer.status_code == status, (name, entry.name, answer.text)

    serve(story)


def test_a_change_without_any_origin_is_refused_unless_a_key_came_with_it(serve: Serve) -> None:
    async def story(site: Site) -> None:
        async with site.client() as operator:
            del operator.headers["Origin"]
            operator.headers["Authorization"] = f"Bearer {KEY}"
            for entry in entries(site):
                if method(entry) not in SAFE:
                    status = 403 if entry.auth in ("operator", "person") else 200
                    found = await operator.request(method(entry), entry.path)
                    assert found.status_code == status, entry.name

    serve(story)


def test_reading_leaves_the_database_as_it_was(serve: Serve, tmp_path: Path) -> None:
    async def story(site: Site) -> Any:
        async with site.client() as operator, site.client(None) as nobody:
            await site.server.audit.flush()
            file = next(tmp_path.rglob("hookline.db"))
            before = dump(file)
            for entry in entries(site):
                for client in (operator, nobody):
                    if method(entry) in SAFE:
                        await client.get(entry.path)
            assert dump(file) == before
            assert any("web_server_devices" in line for line in before)

    serve(story)


def dump(file: Path) -> list[str]:
    """Everything that is in a database."""
    with sqlite3.connect(f"file:{file}?mode=ro", uri=True) as database:
        found = [*database.iterdump()]
    database.close()
    return found
