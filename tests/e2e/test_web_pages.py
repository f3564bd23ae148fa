"""Every plugin page through a real web server: who sees it, and that viewing changes nothing."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterator
from typing import Any

import httpx2
import pytest
from hookline.testing import Harness, calls
from hookline.testing.pages import TABLE_QUERIES
from support.web import WEB, Site, listening, plugin, web_plugins

NAMES = ("memory", "user-model", "skills", "insights", "scheduler", "inspect", "configure")
MAIN = (
    *("Inbox", "Sessions", "Insights", "Schedule"),
    *("Plugins", "Memory", "Skills", "People", "Doctor"),
)
"""The navigation that CONTRACT has after Chat, by section: *Activity*, then *Settings*."""
THEIRS = {"/", "/inbox", "/sessions", "/memory", "/insights", "/settings"}
"""The pages of the navigation that somebody who is no operator has."""
OPEN = {
    *("/sessions?q=tea&kind=all", "/memory/log", "/memory?q=tea", "/user-model"),
    "/insights?days=30",
}
"""Those of :data:`DEEP` that show a person what is theirs."""
DEEP = (
    "/sessions/talk",
    "/sessions?q=tea&kind=all",
    "/inspect/export?id=talk&as=md",
    "/prompt?session=talk",
    "/trace?session=talk",
    "/plugins/memory",
    "/plugins/telegram",
    "/memory/log",
    "/memory?q=tea",
    "/user-model",
    "/user-model?chat=terminal:default",
    "/skills/make-tea",
    "/skills/make-tea?version=1",
    "/schedule/runs",
    "/people/log",
    "/insights?days=30",
)
"""Pages that others lead to."""
SKILL = "---\nname: make-tea\ndescription: Makes tea.\n---\n\n# Tea\n"
HTML = {"Accept": "text/html"}
Story = Callable[[Site], Any]


@pytest.fixture(scope="module")
def h(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Harness]:
    """A home with something on every page."""
    home = tmp_path_factory.mktemp("web") / "home"
    kinds = [*map(plugin, NAMES), plugin("provenance"), *web_plugins(), plugin("web-ui")]
    model: list[Any] = [
        [calls("memory", action="add", content="Tea is at five.")],
        [calls("skill_manage", action="create", name="make-tea", content=SKILL)],
        "Noted: **tea** at five.",
    ]
    settings = {name: {} for name in (*NAMES, "provenance", "web-ui")}
    made = Harness(*kinds, home=home, config={**settings, **WEB}, model=model, core={"trace": True})
    made.send("When is tea? <script>alert(1)</script>", session="talk")
    yield made
    made.close()


def run_story(h: Harness, story: Callable[[httpx2.AsyncClient, Any], Any], **who: Any) -> Any:
    """Run a story with a client that is logged in."""

    async def run() -> Any:
        async with listening(h) as site, site.client(**who) as client:
            return await story(client, site)

    return h.run(run())


async def stored(h: Harness) -> dict[str, Any]:
    """Every row of every table."""
    store = (await h.aopen()).engine.store

    def read(db: Any) -> dict[str, Any]:
        tables = [row["name"] for row in db.fetch(TABLE_QUERIES[store.dialect], {})]
        return {name: db.fetch(f'SELECT * FROM "{name}"', {}) for name in tables}

    return await store.read(read)


def links(page: str) -> list[tuple[str, str]]:
    """Path and title of each link of the navigation *Main*."""
    nav = page.partition('aria-label="Main"')[2].partition("</nav>")[0]
    return re.findall(r'<a href="([^"]+)"[^>]*><span>([^<]+)</span>', nav)


@pytest.mark.slow
def test_operator_sees_every_page_in_order(h: Harness) -> None:
    async def story(client: httpx2.AsyncClient, _site: Any) -> None:
        found = links((await client.get("/sessions", headers=HTML)).text)
        assert [title for _, title in found if title in MAIN] == list(MAIN)
        assert {title.lower() for title in MAIN} <= {path.strip("/") for path, _ in found}
        for path in [*[path for path, _ in found], *DEEP]:
            page = await client.get(path, headers=HTML)
            assert page.status_code == 200, (path, page.text)
            if "export" in path:
                assert page.headers["content-disposition"].startswith("attachment")
                continue
            assert "<script>alert" not in page.text
            assert path == "/" or "<h1>" in page.text, path

    run_story(h, story)


@pytest.mark.slow
def test_viewing_every_page_changes_no_data(h: Harness) -> None:
    async def story(client: httpx2.AsyncClient, _site: Any) -> None:
        found = links((await client.get("/sessions", headers=HTML)).text)
        await asyncio.sleep(1.5)  # what was changed before is written down within a second
        before = await stored(h)
        for path in [*[path for path, _ in found], *DEEP]:
            assert (await client.get(path, headers=HTML)).status_code == 200, path
        after = await stored(h)
        assert {name for name in after if after[name] != before.get(name)} == set()

    run_story(h, story)


@pytest.mark.slow
def test_person_sees_only_their_own_pages(h: Harness) -> None:
    every: list[str] = []

    async def operators(client: httpx2.AsyncClient, _site: Any) -> None:
        every.extend(path for path, _ in links((await client.get("/doctor", headers=HTML)).text))

    async def persons(client: httpx2.AsyncClient, _site: Any) -> None:
        found = {path for path, _ in links((await client.get("/sessions", headers=HTML)).text)}
        assert found == THEIRS
        for path in {*every, *DEEP} - THEIRS:
            page = await client.get(path, headers=HTML)
            is_open = path in OPEN
            assert page.status_code in ((200,) if is_open else (403, 404)), path
            assert "Tea is at five" not in page.text
            assert "make-tea" not in page.text

    run_story(h, operators)
    run_story(h, persons, name="mia", role="person")


def test_page_without_login_redirects_to_login(h: Harness) -> None:
    async def story(client: httpx2.AsyncClient, _site: Any) -> None:
        for path in ("/sessions", *DEEP):
            page = await client.get(path, headers=HTML)
            assert page.status_code == 303, path
            assert page.headers["location"].startswith("/login")

    run_story(h, story, name=None)


def test_form_saves_validates_and_rejects_foreign_origin(h: Harness) -> None:
    async def story(client: httpx2.AsyncClient, _site: Any) -> None:
        asked = {"kind": "note", "text": "The kettle is blue", "chat": "", "category": "event"}
        done = await client.post("/memory/add", data=asked, headers=HTML)
        assert (done.status_code, done.headers["location"]) == (303, "/memory")
        page = await client.get("/memory", headers=HTML)
        assert "The kettle is blue" in page.text
        wrong = await client.post("/memory/add", data={"text": " "}, headers=HTML)
        assert wrong.status_code == 422
        assert "Enter what to remember." in wrong.text
        other = await client.post("/memory/add", data=asked, headers={"Origin": "https://evil"})
        assert other.status_code == 403

    run_story(h, story)
