"""Several chats of one person: what they share, and what is separate."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sqlite3
from contextlib import closing
from typing import Any

import httpx2
import pytest

from .browser import LONG, PATIENCE, Gateway, Person, new, text_of

NOTE, FACT = "Mia eats no meat", "The tent stands in the cellar"
MODEL = [
    {
        "when": "note it",
        "tools": [
            {"name": "memory", "arguments": {"action": "add", "content": NOTE}},
            {"name": "memory", "arguments": {"action": "remember", "content": FACT}},
        ],
        "repeat": True,
    },
    {"when": ".", "text": "answered", "repeat": True},
]


@pytest.mark.slow
def test_memory_of_a_chat_reaches_next_chat_of_same_person_only(own_gateway: Gateway) -> None:
    own_gateway.configure(MODEL, memory=True)
    own_gateway.start()

    async def story() -> None:
        mia, ben = await own_gateway.person("mia"), await own_gateway.person("ben")
        first = new()
        await mia.say(first, "note it")
        await mia.settled(first)
        for person in (mia, ben):
            await person.say(session := new(), "where is the tent?")
            found = await person.settled(session)
            assert text_of(found["messages"][-1]) == "answered"
            prompt, context = _told(own_gateway, session)
            assert (NOTE in prompt, FACT in context) == (person is mia, person is mia)
        for one in (mia, ben):
            await one.close()

    asyncio.run(story())


def _told(gateway: Gateway, session: str) -> tuple[str, str]:
    """The prompt of a session, and the context of its first turn."""
    with closing(sqlite3.connect(gateway.home / "hookline.db")) as db, db:
        (prompt,) = db.execute("SELECT system FROM sessions WHERE id = ?", (session,)).fetchone()
        texts = db.execute("SELECT text FROM sidecars WHERE session_id = ?", (session,)).fetchall()
    return str(prompt), "".join(text for (text,) in texts)


@pytest.mark.long
def test_two_chats_have_separate_questions(play: Any) -> None:
    async def story(owner: Person) -> None:
        one, two = new(), new()
        for session, words in ((one, "ask me"), (two, "ask me")):
            await owner.say(session, words)
        asked = {
            session: await owner.until(session, lambda found: found["question"])
            for session in (one, two)
        }
        ids = [asked[session]["question"]["id"] for session in (one, two)]
        assert ids == await _inbox(owner)
        wrong = {"question": asked[one]["question"]["id"], "choice": "No"}
        await owner.ask("POST", f"/sessions/{two}/answer", 404, json=wrong)
        await owner.say(two, "2")
        found = await owner.settled(two, 2)
        assert [ids[0]] == await _inbox(owner)
        assert [text_of(each) for each in found["messages"]][-2:] == ["No", "answered"]
        still = await owner.get(f"/sessions/{one}")
        assert still["question"]["id"] == asked[one]["question"]["id"]
        press = {"question": asked[one]["question"]["id"], "choice": "Yes"}
        await owner.ask("POST", f"/sessions/{one}/answer", 202, json=press)
        found = await owner.settled(one, 2)
        assert [text_of(each) for each in found["messages"]][-2:] == ["Yes", "answered"]
        assert await _inbox(owner) == []

    play(story)


async def _inbox(person: Person) -> list[str]:
    """The ids of the questions in a person's inbox that turns have ended with."""
    found = [one["id"] for one in (await person.get("/state"))["questions"] if one["ends_turn"]]
    page = await person.client.get("/inbox", headers={"Accept": "text/html"})
    assert page.status_code == 200
    assert all(f'data-question="{one}"' in page.text for one in found)
    return found


@pytest.mark.long
def test_two_chats_have_separate_approvals(play: Any) -> None:
    async def story(owner: Person) -> None:
        one, two = new(), new()
        await owner.say(one, "remove it")
        await owner.say(two, "remove it")
        asked = {
            session: (await owner.until(session, lambda found: found["question"]))["question"]
            for session in (one, two)
        }
        assert asked[one]["id"] != asked[two]["id"]
        other = {"question": asked[one]["id"], "choice": "Allow once"}
        await owner.ask("POST", f"/sessions/{two}/answer", 404, json=other)
        await owner.say(three := new(), "No, that was another matter")
        found = await owner.settled(three)
        assert text_of(found["messages"][-1]) == "answered"  # it answers no other chat's question
        await owner.say(two, "/deny not this")
        refused = await owner.settled(two)
        assert "not this" in _result(refused)
        still = await owner.get(f"/sessions/{one}")
        assert still["question"]["id"] == asked[one]["id"]
        await owner.ask("POST", f"/sessions/{one}/answer", 202, json=other)
        assert "not this" not in _result(await owner.settled(one))

    play(story)


def _result(found: Any) -> str:
    return "".join(
        block["text"]
        for one in found["messages"]
        for block in one["blocks"]
        if block["type"] == "tool_result"
    )


def test_command_acts_on_its_own_chat(play: Any) -> None:
    async def story(owner: Person) -> None:
        one, two = new(), new()
        for session in (one, two):
            await owner.say(session, "long please")
        for session in (one, two):
            await owner.until(session, lambda found: found["turn"] is not None)
        await owner.say(one, "waits here")
        await owner.say(two, "speak into it", mode="steer")
        there = await owner.get(f"/sessions/{two}")
        assert (there["session"]["state"], there["queue"]) == ("running", [])
        assert [item["text"] for item in (await owner.get(f"/sessions/{one}"))["queue"]] == [
            "waits here"
        ]
        assert (await owner.ask("POST", f"/sessions/{one}/stop", 202, json={}))["stopped"]
        stopped = await owner.settled(one, 2)
        assert (await owner.get(f"/sessions/{two}"))["session"]["state"] == "running"
        assert not (await owner.ask("POST", f"/sessions/{one}/stop", 202, json={}))["stopped"]
        stops = [each.get("stop") for each in stopped["messages"] if each["role"] == "assistant"]
        assert "stopped" in stops
        await owner.say(two, "/stop")
        await owner.settled(two)
        await owner.say(one, "/undo")
        await owner.until(one, lambda found: len(found["messages"]) < len(stopped["messages"]))
        found = await owner.get(f"/sessions/{two}")
        assert [each["command"] for each in found["asides"] if each["command"] == "/undo"] == []
        await owner.say(one, "/new")
        ended = await owner.until(one, lambda found: found["session"]["ended"])
        assert ended["session"]["mine"] is True
        assert (await owner.get(f"/sessions/{two}"))["session"]["ended"] is None

    play(story)


@pytest.mark.slow
def test_unstored_chat_is_closed_to_other_people(own_gateway: Gateway) -> None:
    """Its first message waits while the gateway is killed; there is no other message in it."""
    own_gateway.configure()
    process = own_gateway.start(HOOKLINE_CRASH_AT="after-commit")

    async def send(name: str, session: str) -> None:
        person = await own_gateway.person(name)
        with contextlib.suppress(httpx2.TransportError):
            await person.say(session, "a secret")
        await person.close()

    session = new()
    asyncio.run(send("mia", session))
    process.wait(60)
    own_gateway.start()

    async def story() -> None:
        ben, mia = await own_gateway.person("ben"), await own_gateway.person("mia")
        await ben.say(session, "let me in", 404)
        found = await mia.settled(session)
        assert [text_of(one) for one in found["messages"]] == ["a secret", "answered"]
        await ben.say(session, "let me in", 404)
        await ben.close()
        await mia.close()

    asyncio.run(story())


@pytest.mark.slow
def test_stop_ends_wait_for_session_of_another_process(own_gateway: Gateway) -> None:
    own_gateway.configure()
    own_gateway.start()

    async def story() -> None:
        owner, session = await own_gateway.person(), new()
        await owner.say(session, "one")
        await owner.settled(session)
        other = own_gateway.spawn("run", "--json", "--session", session, "long please")
        assert other.stdout is not None
        while '"delta"' not in await asyncio.to_thread(other.stdout.readline):
            pass
        await owner.say(session, "two")
        path = f"/sessions/{session}/stop"
        while not (await owner.ask("POST", path, 202))["stopped"]:
            await asyncio.sleep(0.02)
        found = await owner.until(session, lambda found: not found["queue"])
        assert [one["text"] for one in found["asides"]][-1] == "Stopped."
        out = (await asyncio.to_thread(other.communicate))[0]
        assert json.loads(out.splitlines()[-1])["text"] == LONG  # the other turn goes on
        await owner.say(session, "three")
        found = await owner.settled(session, 3)
        said = [text_of(one) for one in found["messages"]]
        assert said[-4:] == ["long please", LONG, "three", "answered"]
        await owner.close()

    asyncio.run(asyncio.wait_for(story(), PATIENCE))


@pytest.mark.slow
def test_chat_continues_in_a_new_session_after_a_long_pause(own_gateway: Gateway) -> None:
    own_gateway.configure()
    path = own_gateway.home / "config.yaml"
    config = json.loads(path.read_text())
    path.write_text(json.dumps({**config, "session": {"idle_hours": 0.0003}}))
    own_gateway.start()

    async def story() -> None:
        mia = await own_gateway.person("mia")
        first = new()
        await mia.say(first, "one")
        await mia.settled(first)
        async with mia.events(first) as events:
            await asyncio.sleep(1.5)
            await mia.say(first, "long please")
            types: list[str] = []
            async for event in events:
                types.append(event["type"])
                if event["type"] == "session" and event["row"]["successor"]:
                    break
        assert "result" not in types  # the page goes there while the turn runs
        assert (await mia.get(f"/sessions/{first}"))["queue"] == []
        following = event["row"]["successor"]
        found = await mia.settled(following)
        assert [text_of(one) for one in found["messages"]] == ["long please", LONG]
        assert found["session"]["mine"] is True
        types = await mia.say(first, "three")
        assert types["session"] == following
        await mia.close()

    asyncio.run(story())
