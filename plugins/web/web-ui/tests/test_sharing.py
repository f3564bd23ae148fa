"""Links that show a chat without a login: what they show, to whom, and when they end."""

from __future__ import annotations

import asyncio
import hashlib
import json
from typing import Any

import httpx2
import pytest

from .browser import PATIENCE, Gateway, Person, new

ONE = {"days": 1}
GONE = "This link does not work."
KEY = "sk-ant-api03-" + "aB3dE5gH7jK9mN1pQ2rS4tU6vW8xY0z" * 3
"""A key of a provider, which ``redact`` knows by its form."""


async def share(person: Person, session: str, days: int = 7) -> str:
    """Share a chat, and return the path of the link."""
    made = await person.ask("POST", f"/sessions/{session}/links", 201, json={"days": days})
    return str(made["path"])


async def view(url: str, path: str) -> httpx2.Response:
    """Open a link as somebody who is not signed in."""
    headers = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Accept": "text/html"}
    async with httpx2.AsyncClient(base_url=url, trust_env=False, timeout=PATIENCE) as client:
        found: httpx2.Response = await client.get(path, headers=headers)
        return found


async def said(person: Person, *texts: str) -> str:
    """Have a chat, and return its id."""
    session = new()
    for number, text in enumerate(texts, 1):
        await person.say(session, text)
        await person.settled(session, number)
    return session


@pytest.mark.long
def test_link_shows_texts_and_names_up_to_the_moment_of_sharing(
    play: Any, gateway: Gateway
) -> None:
    async def story(owner: Person) -> None:
        session = await said(owner, "**this** is <b>bold</b>", "look twice")
        await owner.ask("PATCH", f"/sessions/{session}", json={"title": "The first title"})
        path = await share(owner, session)
        await owner.say(session, "a later message")
        await owner.settled(session, 3)
        await owner.ask("PATCH", f"/sessions/{session}", json={"title": "A later title"})
        found = await view(gateway.url, path)

        assert found.status_code == 200
        for shown in (
            "The first title",
            "**this** is &lt;b&gt;bold&lt;/b&gt;",
            "look twice",
            "First this.",
            "Used the tool bash",
        ):
            assert shown in found.text, shown
        for hidden in ("later", "echo seen", "<script", "web:owner"):
            assert hidden not in found.text, hidden
        assert found.headers["Referrer-Policy"] == "no-referrer"
        assert found.headers["Cache-Control"] == "no-store"
        assert "noindex" in found.headers["X-Robots-Tag"]
        assert "default-src 'none'" in found.headers["Content-Security-Policy"]
        assert "script-src" not in found.headers["Content-Security-Policy"]
        assert "set-cookie" not in found.headers
        later = await view(gateway.url, await share(owner, session))
        assert "a later message" in later.text

    play(story)


@pytest.mark.long
def test_link_shows_the_names_of_files(play: Any, gateway: Gateway) -> None:
    async def story(owner: Person) -> None:
        session, file = new(), new()
        put = {"content": b"figures inside"}
        await owner.ask("PUT", f"/files/{file}?name=figures.csv", 201, **put)
        await owner.say(session, "these are figures", files=[file])
        await owner.settled(session)
        found = await view(gateway.url, await share(owner, session))
        assert "these are figures" in found.text
        assert "File: figures.csv" in found.text
        assert "figures inside" not in found.text
        assert "media/web" not in found.text
        assert (await view(gateway.url, f"/api/files/{file}")).status_code == 401

    play(story)


@pytest.mark.long
def test_links_are_listed_and_revoked_by_their_owner(play: Any, gateway: Gateway) -> None:
    async def story(owner: Person, mia: Person) -> None:
        session = await said(owner, "hello")
        first, second = await share(owner, session, 1), await share(owner, session, 30)
        links = (await owner.get(f"/sessions/{session}/links"))["links"]
        assert [round((one["expires"] - one["created"]) / 86400) for one in links] == [30, 1]
        assert all(first not in str(one) for one in links)
        assert [one["id"] for one in links] == [
            one["id"] for one in (await owner.get("/links"))["links"] if one["session"] == session
        ]
        await mia.get(f"/sessions/{session}/links", 404)
        await mia.ask("POST", f"/sessions/{session}/links", 404, json={"days": 1})
        await mia.ask("DELETE", f"/links/{links[0]['id']}", 404)
        assert (await view(gateway.url, second)).status_code == 200
        await owner.ask("DELETE", f"/links/{links[0]['id']}")
        await owner.ask("DELETE", f"/links/{links[0]['id']}", 404)
        page = (await owner.client.get("/settings")).text
        assert links[1]["id"] in page
        form = {"id": links[1]["id"]}
        assert (await owner.client.post("/settings/links", data=form)).status_code == 303
        assert links[1]["id"] not in (await owner.client.get("/settings")).text
        gone = [await view(gateway.url, one) for one in (first, second, "/shared/never-there")]
        assert {(one.status_code, one.text) for one in gone} == {(404, gone[0].text)}
        assert GONE in gone[0].text
        assert "noindex" in gone[0].headers["X-Robots-Tag"]

    play(story, "owner", "mia")


@pytest.mark.long
def test_only_those_whom_the_setting_names_share_their_own_chats(
    play: Any, gateway: Gateway
) -> None:
    async def story(owner: Person, mia: Person) -> None:
        assert [(await one.get("/state"))["share"] for one in (owner, mia)] == [True, False]
        session = await said(mia, "hello")
        path = f"/sessions/{session}/links"
        refused = await mia.ask("POST", path, 403, json={"days": 1})
        assert refused["error"]["message"] == "You cannot share chats by a link."
        refused = await owner.ask("POST", path, 403, json={"days": 1})
        assert refused["error"]["message"] == "Only the owner of the chat can share it."
        own = f"/sessions/{await said(owner, 'hello')}/links"
        for days in (0, 2, 365, "7", True, 7.0, None):
            await owner.ask("POST", own, 400, json={"days": days})

    play(story, "owner", "mia")


@pytest.mark.long
def test_chat_that_is_running_is_shared_without_its_open_turn(play: Any, gateway: Gateway) -> None:
    async def story(owner: Person) -> None:
        session = new()
        await owner.say(session, "remove it")
        found = await owner.until(session, lambda found: found["session"]["state"] == "asking")
        await owner.ask("POST", f"/sessions/{session}/links", 409, json={"days": 1})
        answer = {"question": found["question"]["id"], "choice": "Deny"}
        await owner.ask("POST", f"/sessions/{session}/answer", 202, json=answer)
        await owner.settled(session)
        path = await share(owner, session)
        await owner.say(session, "remove it again")
        await owner.until(session, lambda found: found["session"]["state"] == "asking")
        second = await share(owner, session)
        await owner.ask("POST", f"/sessions/{session}/stop", 202)
        await owner.settled(session, 2)
        for one in (path, second):
            shown = (await view(gateway.url, one)).text
            assert "I remove it." in shown
            assert "remove it again" not in shown

    play(story)


@pytest.mark.slow
def test_messages_in_place_of_undone_ones_are_not_shown(own_gateway: Gateway) -> None:
    own_gateway.configure()

    async def begin() -> tuple[str, str]:
        owner = await own_gateway.person()
        session = await said(owner, "the first", "the second")
        path = await share(owner, session)
        assert "the second" in (await view(own_gateway.url, path)).text
        await owner.say(session, "/undo")
        await owner.until(session, lambda found: "second" not in json.dumps(found["messages"]))
        await owner.close()
        return session, path

    async def go_on(session: str, path: str) -> None:
        owner = await own_gateway.person()
        await owner.say(session, "the third")
        await owner.until(
            session, lambda found: len(found["messages"]) == 4 and found["turn"] is None
        )
        shown = (await view(own_gateway.url, path)).text
        assert "the first" in shown
        assert "the second" not in shown
        assert "the third" not in shown
        await owner.close()

    process = own_gateway.start()
    session, path = asyncio.run(begin())
    own_gateway.end(process)  # another process counts on from the messages that are left
    own_gateway.start()
    asyncio.run(go_on(session, path))


@pytest.mark.long
def test_secret_of_a_link_is_stored_nowhere(play: Any, gateway: Gateway) -> None:
    async def story(owner: Person) -> None:
        path = await share(owner, await said(owner, "hello"))
        secret = path.removeprefix("/shared/")
        assert len(secret) >= 40
        assert (await view(gateway.url, path)).status_code == 200
        files = [one for one in gateway.home.rglob("*") if one.is_file()]
        digest = hashlib.sha256(secret.encode()).hexdigest()
        kept = [one.read_bytes() for one in files]
        assert any(digest.encode() in one for one in kept)
        assert not any(secret.encode() in one for one in kept)

    play(story)


@pytest.mark.slow
def test_links_end_with_their_time_their_chat_their_person_and_the_setting(
    own_gateway: Gateway,
) -> None:
    own_gateway.configure(redact=True, audit=True, **{"web-ui": {"share": "everyone"}})
    url = own_gateway.url

    async def begin() -> dict[str, str]:
        owner, mia = await own_gateway.person(), await own_gateway.person("mia")
        named = {"short": await share(mia, await said(mia, "hello"), 1)}
        named["mia"] = await share(mia, await said(mia, f"my key is {KEY}"))
        for name in ("deleted", "removed", "owner"):
            session = await said(owner, name)
            named[name] = await share(owner, session)
            if name == "deleted":
                assert (await view(url, named[name])).status_code == 200
                await owner.ask("DELETE", f"/sessions/{session}")
                assert (await view(url, named[name])).status_code == 404
            elif name == "removed":
                await asyncio.to_thread(run, "sessions", "delete", session, "--yes")
        assert await statuses(named) == [200, 200, 404, 404, 200]
        shown = (await view(url, named["mia"])).text
        assert "my key is" in shown
        assert KEY not in shown
        (link,) = [one for one in (await owner.get("/links"))["links"] if one["title"] == "owner"]
        extra = (await owner.ask("POST", f"/sessions/{link['session']}/links", 201, json=ONE))["id"]
        await owner.ask("DELETE", f"/links/{extra}")
        text = await asyncio.to_thread(run, "audit", "show", "--kind", "access", "--json")
        rows = [json.loads(line) for line in text.splitlines()]
        seen = [
            (row["actor"], row["verdict"], row["detail"]["session"] == link["session"])
            for row in rows
            if row["detail"].get("link") in (link["id"], extra)
        ]
        verdicts = ("shared", "shared", "unshared")
        assert seen == [("web:owner", verdict, True) for verdict in verdicts]
        for one in (owner, mia):
            await one.close()
        return named

    async def statuses(named: dict[str, str]) -> list[int]:
        return [(await view(url, path)).status_code for path in named.values()]

    def run(*arguments: str) -> str:
        process = own_gateway.spawn(*arguments)
        out, err = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0, (out, err)
        return str(out)

    process = own_gateway.start()
    named = asyncio.run(begin())
    own_gateway.end(process)
    process = own_gateway.start(HOOKLINE_CLOCK_OFFSET=str(86400 + 60))
    assert asyncio.run(statuses(named)) == [410, 200, 404, 404, 200]
    expired = asyncio.run(view(url, named["short"]))
    assert "This link has expired." in expired.text
    assert "hello" not in expired.text
    run("pairing", "revoke", "web:mia")
    assert asyncio.run(statuses(named)) == [404, 404, 404, 404, 200]
    own_gateway.end(process)
    file = own_gateway.home / "config.yaml"
    config = json.loads(file.read_text())
    config["plugins"]["web-ui"] = {"share": False}
    file.write_text(json.dumps(config))
    process = own_gateway.start()
    assert asyncio.run(statuses(named)) == [404] * 5


@pytest.mark.slow
def test_views_are_limited_by_address(own_gateway: Gateway) -> None:
    own_gateway.configure()
    own_gateway.start(VIEWS_ARE_LIMITED="yes")

    async def look() -> list[int]:
        return [(await view(own_gateway.url, "/shared/guess")).status_code for _ in range(31)]

    assert asyncio.run(look()) == [404] * 30 + [429]
