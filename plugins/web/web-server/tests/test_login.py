"""Login and logout: codes, cookies, devices, and streams that end at logout."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx2
import pytest
from hookline_hookspecs import HooklineError
from hookline_hookspecs.people import PeopleDirectory
from hookline_web_server.responses import local_path
from support.web import Site

from .conftest import Serve, raw


async def post_code(client: httpx2.AsyncClient, code: Any, **more: Any) -> httpx2.Response:
    return await client.post("/login", json={"code": code, **more})


def test_code_works_once_when_used_concurrently(serve: Serve) -> None:
    async def story(site: Site) -> None:
        link = await site.server.link("owner", "operator")
        async with site.client(None) as one, site.client(None) as two:
            found = await asyncio.gather(post_code(one, link.code), post_code(two, link.code))
            assert sorted(answer.status_code for answer in found) == [200, 401]
            who = [(await client.get("/login/who")).json()["name"] for client in (one, two)]
            assert sorted(map(str, who)) == ["None", "owner"]

    serve(story)


@pytest.mark.slow
def test_cookie_has_secure_attributes(serve: Serve) -> None:
    async def cookie(site: Site) -> str:
        link = await site.server.link("owner", "operator")
        async with site.client(None) as client:
            if "public" in site.url:
                client.headers.update({"Host": "public.example", "Origin": site.url})
                client.base_url = httpx2.URL(f"http://127.0.0.1:{site.server.server.port}")
            return str((await post_code(client, link.code)).headers["set-cookie"])

    plain = serve(cookie)
    assert plain.startswith("hookline-")
    assert "HttpOnly; Max-Age=2592000; Path=/; SameSite=strict" in plain
    assert "Domain" not in plain
    https = serve(cookie, public_url="https://public.example")
    assert https.startswith("__Host-hookline=")
    assert https.endswith("; Secure")


def test_code_invalid_is_refused(serve: Serve) -> None:
    async def story(site: Site) -> list[int]:
        async with site.client(None) as client:
            found = [await post_code(client, code) for code in ("", 5, ["x"], "x" * 101)]
            found.append(await client.post("/login", content=b'{"code": "\\ud800"}'))
            large = await client.post("/login", content=b"x" * 5000)
            return [one.status_code for one in [*found, large]]

    assert serve(story) == [400, 400, 400, 400, 401, 413]


def test_login_attempts_are_limited(serve: Serve) -> None:
    async def story(site: Site) -> None:
        link = await site.server.link("owner", "operator")
        async with site.client(None) as client:
            for _ in range(5):
                assert (await post_code(client, "guess")).status_code == 401
            late = await post_code(client, link.code)
            assert late.status_code == 429
            assert 1 <= int(late.headers["retry-after"]) <= 61
            forged = await client.post(
                "/login", json={"code": link.code}, headers={"X-Forwarded-For": "203.0.113.9"}
            )
            assert forged.status_code == 429

    serve(story)


def test_code_expires_after_ten_minutes(
    serve: Serve, harness: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story(site: Site) -> int:
        link = await site.server.link("owner", "operator")
        monkeypatch.setattr("hookline.clock.now", lambda: link.expires + 1)
        async with site.client(None) as client:
            return (await post_code(client, link.code)).status_code

    assert serve(story) == 401


def test_login_again_replaces_cookie(serve: Serve) -> None:
    async def story(site: Site) -> None:
        async with site.client() as client, site.client(None) as copy:
            copy.cookies = httpx2.Cookies(client.cookies)
            assert (await copy.get("/login/who")).json()["name"] == "owner"
            link = await site.server.link("owner", "operator")
            assert (await post_code(client, link.code)).status_code == 200
            assert (await client.get("/login/who")).json()["name"] == "owner"
            assert (await copy.get("/login/who")).json()["name"] is None
            assert len(await site.server.devices()) == 1

    serve(story)


def test_login_as_other_person_needs_confirmation(serve: Serve) -> None:
    async def story(site: Site) -> None:
        link = await site.server.link("mia", "person")
        async with site.client() as client:
            asked = await post_code(client, link.code)
            assert (asked.status_code, asked.json()["error"]["code"]) == (409, "other_person")
            assert (await client.get("/login/who")).json()["name"] == "owner"
            assert (await post_code(client, link.code, switch=True)).status_code == 200
            assert (await client.get("/login/who")).json()["name"] == "mia"

    serve(story)


ON = {
    "/chat/a?b=c#d": "/chat/a?b=c#d",
    "//evil.example": "/",
    "/\\evil.example": "/",
    "https://evil.example": "/",
    "javascript:alert(1)": "/",
    "": "/",
    "/\t/evil.example": "/%09/evil.example",
    "/a\r\nSet-Cookie: x=y": "/a%0D%0ASet-Cookie:%20x=y",
}


@pytest.mark.parametrize(("wanted", "where"), ON.items())
def test_local_path_never_leaves_server(wanted: str, where: str) -> None:
    assert local_path(wanted) == where


def test_login_redirects_to_requested_page(serve: Serve) -> None:
    async def story(site: Site) -> Any:
        link = await site.server.link("owner", "operator")
        async with site.client(None) as client:
            return (await post_code(client, link.code, next="//evil.example")).json()

    assert serve(story) == {"next": "/"}


def test_revoke_ends_streams(serve: Serve) -> None:
    async def story(site: Site) -> None:
        async with site.client("mia", "person") as mia, site.client() as owner:
            async with mia.stream("GET", "/everything/stream") as stream:
                lines = stream.aiter_lines()
                assert await anext(lines) == "data: mia"
                waiting = asyncio.ensure_future(mia.get("/everything/slow"))
                while site.server.server.application.active_requests.count() < 2:
                    await asyncio.sleep(0.01)
                assert await site.server.revoke(person="web:mia") == 1
                assert "".join([line async for line in lines]) == ""
                assert (await waiting).status_code == 401
            assert (await mia.get("/everything/person")).status_code == 401
            assert (await owner.get("/everything/person")).status_code == 200

    serve(story)


def test_removed_persons_stream_ends(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hookline_web_server.active_requests.ACCESS_CHECK_SECONDS", 0.05)

    async def story(site: Site) -> None:
        people = site.server._host.services[PeopleDirectory]
        async with site.client("mia", "person") as mia:
            async with mia.stream("GET", "/everything/stream") as stream:
                assert await people.remove("web:mia", "terminal")
                lines = [line async for line in stream.aiter_lines()]
                assert lines[0] == "data: mia"
            assert (await mia.get("/everything/person")).status_code == 401
            # A new link is no way back in for the old cookie.
            await site.server.link("mia", "person")
            assert (await mia.get("/everything/person")).status_code == 401

    serve(story)


def test_removed_persons_code_is_refused(serve: Serve) -> None:
    async def story(site: Site) -> None:
        people = site.server._host.services[PeopleDirectory]
        link = await site.server.link("mia", "person")
        await people.remove("web:mia", "terminal")
        async with site.client(None) as client:
            assert (await post_code(client, link.code)).status_code == 401

    serve(story)


def test_logout_clears_cookie(serve: Serve) -> None:
    async def story(site: Site) -> None:
        async with site.client() as client, site.client(None) as copy:
            copy.cookies = httpx2.Cookies(client.cookies)
            out = await client.post("/logout")
            assert (out.status_code, out.headers["location"]) == (303, "/login")
            assert "Max-Age=0" in out.headers["set-cookie"]
            assert (await copy.get("/everything/person")).status_code == 401

    serve(story)


def test_duplicate_cookie_is_ignored(serve: Serve) -> None:
    async def story(site: Site) -> None:
        async with site.client() as client:
            ((name, value),) = client.cookies.items()
            host = site.url.removeprefix("http://")
            head = f"GET /login/who HTTP/1.1\nHost: {host}\nCookie: "
            assert b'"owner"' in (await raw(site, f"{head}{name}={value}"))[1]
            for tossed in (f"{name}=x; {name}={value}", f"{name}={value}; {name}=x"):
                assert b"null" in (await raw(site, head + tossed))[1]

    serve(story)


def test_link_refuses_invalid_names(serve: Serve) -> None:
    async def story(site: Site) -> None:
        for name in ("", " x", "a/b", "a:b", "*", "x" * 65, "a\nb"):
            with pytest.raises(HooklineError, match="a name must"):
                await site.server.link(name, "person")

    serve(story)


def test_audit_records_changes_without_bodies(serve: Serve) -> None:
    async def story(site: Site) -> Any:
        async with site.client() as owner, site.client("mia", "person") as mia:
            await owner.post("/everything/operator?token=secret", content=b"secret")
            await mia.post("/everything/person")
            return [(one.person, one.what, one.words) for one in await site.server.changes()]

    assert serve(story) == [
        ("web:owner", "POST /everything/operator", "was operator"),
        ("web:mia", "signed in", "signed in"),
        ("web:owner", "signed in", "signed in"),
    ]


def test_favicon_and_robots_need_no_login(serve: Serve) -> None:
    async def story(site: Site) -> None:
        async with site.client(None) as client:
            icon = await client.get("/favicon.ico")
            assert (icon.status_code, icon.headers["content-type"]) == (200, "image/svg+xml")
            assert "Disallow: /" in (await client.get("/robots.txt")).text
            themes = {"dark": ' data-theme="dark"', '"><b>': "", "": ""}
            for theme, attribute in themes.items():
                page = await client.get("/login", headers={"Cookie": f"hookline-theme={theme}"})
                assert f'<html lang="en" dir="ltr"{attribute}>' in page.text

    serve(story)
