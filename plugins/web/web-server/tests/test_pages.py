"""A plugin's page over real HTTP: what its handler returns, and who gets it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hookline.testing import Harness
from hookline_hookspecs import Page, Plugin, Route, hookimpl
from hookline_hookspecs.web import Download, Identity, Redirect, Row, Table, View, identity
from support.web import WEB, listening, web_plugins

PAGE = {"Accept": "text/html"}


class Visitors(Plugin):
    """One page, as the README of the library shows it."""

    @hookimpl
    def register_routes(self, register: Callable[[Route], None]) -> None:
        register(Route("GET", "/", self.page, auth="person", page=Page("Visitors")))
        register(Route("POST", "/", self.change, auth="person"))
        register(Route("GET", "/file", self.file, auth="operator"))
        register(Route("GET", "/of/{name}", lambda request: request.path_params, auth="person"))

    async def page(self, request: Any) -> View:
        return View("Visitors", [Table(["Name"], [Row([identity(request).name])])])

    async def change(self, request: Any) -> Redirect:
        return Redirect("/visitors", "Done.")

    async def file(self, request: Any) -> Download:
        return Download('so "called".txt', b"text", "text/plain")


def test_page_needs_login(harness: Callable[..., Harness]) -> None:
    h = harness(Visitors, *web_plugins(), config=WEB)

    async def story() -> None:
        async with (
            listening(h) as site,
            site.client() as owner,
            site.client("mia", "person") as mia,
            site.client(None) as stranger,
        ):
            for client, name in ((owner, "owner"), (mia, "mia")):
                found = await client.get("/visitors")
                assert found.json()["parts"][0]["rows"][0]["cells"] == [name]
            for accept in ("text/html", "*/*", ""):
                asked = await stranger.get("/visitors?x=1", headers={"Accept": accept})
                assert asked.status_code == 303
                assert asked.headers["location"] == "/login?next=/visitors%3Fx%3D1"
            for odd in ("//evil.example", "/\\evil.example", "/"):
                asked = await stranger.get(site.url + odd, headers=PAGE)
                assert asked.headers.get("location", "/login") == "/login", odd
            assert (await stranger.get("/visitors")).json()["error"]["code"] == "unauthorized"
            assert (await mia.get("/visitors/file")).status_code == 403
            file = await owner.get("/visitors/file")
            assert file.headers["content-disposition"] == (
                "attachment; filename=\"so__called_.txt\"; filename*=UTF-8''so%20%22called%22.txt"
            )
            slash = await owner.get("/visitors/of/a%2Fb")
            assert slash.json() == {"name": "a/b"}
            done = await owner.post("/visitors", headers=PAGE)
            assert (done.status_code, done.headers["location"]) == (303, "/visitors")

    h.run(story())


class Misnamed(Plugin):
    """A route whose words in the log name what its path has not."""

    @hookimpl
    def register_routes(self, register: Callable[[Route], None]) -> None:
        register(Route("POST", "/things/{id}", lambda request: {}, log="changed {thing}"))


def test_route_with_words_that_cannot_be_filled_in_is_refused(
    harness: Callable[..., Harness], caplog: pytest.LogCaptureFixture
) -> None:
    h = harness(Misnamed, *web_plugins(), config=WEB)

    async def story() -> None:
        async with listening(h) as site, site.client() as owner:
            assert (await owner.post("/misnamed/things/1")).status_code == 404
            assert (await owner.get("/people")).status_code == 200

    h.run(story())
    assert "'changed {thing}' may only name parameters of its path" in caplog.text


@pytest.mark.slow
def test_placeholder_page_of_disabled_plugin(harness: Callable[..., Harness]) -> None:
    h = harness(*web_plugins(), config=WEB)

    async def story() -> None:
        async with (
            listening(h) as site,
            site.client() as owner,
            site.client("mia", "person") as mia,
        ):
            pages = {
                one.title: one for one in site.server.pages(Identity("web", "o", "operator", ""))
            }
            schedule, people = pages["Schedule"], pages["People"]
            assert (schedule.section, schedule.path) == ("Activity", "/schedule")
            assert (people.section, people.plugin) == ("Settings", "access")
            page = (await owner.get("/schedule")).json()
            assert page["parts"][0]["rows"][0]["cells"][1]["text"] == (
                "hookline plugins enable scheduler"
            )
            refused = await mia.get("/schedule")
            assert refused.status_code == 403
            assert "under People" in refused.text

    h.run(story())


def test_problem_is_json_for_json_requests(harness: Callable[..., Harness]) -> None:
    h = harness(*web_plugins(), config=WEB)

    async def story() -> None:
        async with listening(h) as site, site.client(None) as stranger:
            sent = {"json": {"code": "x"}, "headers": {"Accept": "*/*"}}
            refused = await stranger.post("/login", **sent)
            assert (refused.status_code, refused.json()["error"]["code"]) == (401, "bad_code")

    h.run(story())
