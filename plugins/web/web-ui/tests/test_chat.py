"""A chat over HTTP with a real gateway: messages, event stream, and stored history."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from typing import Any

import pytest

from .browser import LONG, Chat, Gateway, Person, new, text_of

ELSEWHERE = ("web_server", "nodes", "prompt_cache")
"""Tables that others write at times of their own."""


@pytest.mark.slow
def test_first_message_sent_repeatedly_makes_one_chat(play: Any) -> None:
    async def story(owner: Person) -> None:
        session, message = new(), new()
        sent = [owner.say(session, "hello", message_id=message) for _ in range(5)]
        replies = await asyncio.gather(*sent)
        found = await owner.settled(session)
        again = await owner.say(session, "hello", message_id=message)
        listed = await owner.get("/sessions?limit=200")

        assert sorted(one["known"] for one in replies) == [False, True, True, True, True]
        assert again == {"known": True, "session": session}
        assert [text_of(one) for one in found["messages"]] == ["hello", "answered"]
        assert found["messages"][0]["message_id"] == message
        assert [one["id"] for one in listed["sessions"]].count(session) == 1

    play(story)


@pytest.mark.slow
def test_stream_matches_the_stored_turn(play: Any) -> None:
    async def story(owner: Person) -> None:
        session = new()
        await owner.say(session, "hello")
        await owner.settled(session)
        chat = Chat(owner, session)
        await chat.load()
        types = []
        async with owner.events(f"{session}@{chat.cursor}") as events:
            await owner.say(session, "look twice")
            async for event in events:
                types.append(event["type"])
                chat.apply(event)
                if event["type"] == "session":
                    break
        found = await owner.get(f"/sessions/{session}")

        assert chat.said == "\n".join(
            text_of(one) for one in found["messages"] if one["role"] == "assistant"
        )
        order = ["queue", "user", "delta", "part", "tool_call", "tool_result", "result", "session"]
        places = [types.index(one) for one in order]
        assert places == sorted(places), types
        result = chat.results[0]
        assert (result["stop"], result["tool_calls"]) == ("done", 1)
        assert {one["seq"] for one in result["messages"]} == {3, 4, 5, 6}
        assert [one["role"] for one in found["messages"][2:]] == [
            "user",
            "assistant",
            "tool",
            "assistant",
        ]

    play(story)


@pytest.mark.slow
def test_each_turn_has_an_end_event_although_next_message_waits(play: Any) -> None:
    async def story(owner: Person) -> None:
        session, ids = new(), [new() for _ in range(4)]
        await owner.say(session, "hello")
        await owner.settled(session)
        chat = Chat(owner, session)
        await chat.load()
        async with owner.events(f"{session}@{chat.cursor}") as events:
            for message in ids:
                await owner.say(session, "hello", message_id=message)
            async for event in events:
                chat.apply(event)
                if len(chat.results) == len(ids):
                    break
        assert [one["message_id"] for one in chat.results] == ids
        assert all(len(one["messages"]) == 2 for one in chat.results)

    play(story)


@pytest.mark.slow
def test_reload_at_every_tenth_delta_loses_and_repeats_nothing(play: Any) -> None:
    async def story(owner: Person) -> None:
        session = new()
        await owner.say(session, "long please")
        await owner.until(session, lambda found: found["turn"] is not None)
        chat = Chat(owner, session)
        reloads = 0
        while not chat.results and reloads < 100:
            chat = Chat(owner, session)
            await chat.load()
            if chat.turn is None and chat.messages:
                break
            reloads += 1
            deltas = 0
            async with owner.events(f"{session}@{chat.cursor}") as events:
                async for event in events:
                    chat.apply(event)
                    deltas += event["type"] == "delta"
                    assert not chat.lost
                    assert LONG.startswith(chat.said), chat.said
                    if deltas == 10 or event["type"] == "result":
                        break
        found = await owner.settled(session)

        assert reloads > 1
        assert text_of(found["messages"][-1]) == LONG
        await chat.load()
        assert chat.said == LONG

    play(story)


@pytest.mark.slow
def test_broken_stream_resumes_where_it_stopped(play: Any) -> None:
    async def story(owner: Person) -> None:
        session = new()
        await owner.say(session, "long please")
        chat = Chat(owner, session)
        await owner.until(session, lambda found: found["turn"] is not None)
        await chat.load()
        deltas = 0
        async with owner.events(f"{session}@{chat.cursor}") as events:
            async for event in events:
                chat.apply(event)
                deltas += event["type"] == "delta"
                if deltas == 5:
                    break
        await owner.settled(session)
        more = {"Last-Event-ID": chat.cursor}
        async with owner.events(session, **more) as events:
            async for event in events:
                chat.apply(event)
                if event["type"] == "result":
                    break

        assert not chat.lost
        assert chat.said == LONG

    play(story)


@pytest.mark.long
def test_cursor_of_another_process_gets_resync(play: Any) -> None:
    async def story(owner: Person) -> None:
        session = new()
        await owner.say(session, "hello")
        await owner.settled(session)
        async with owner.events(f"{session}@old.5") as events:
            event = await anext(events)
        assert (event["type"], event["session"]) == ("resync", session)
        async with owner.events(session, **{"Last-Event-ID": "old.5"}) as events:
            event = await anext(events)
        assert (event["type"], event["session"]) == ("resync", None)

    play(story)


def test_messages_queue_and_stop_ends_running_turn(play: Any) -> None:
    async def story(owner: Person) -> None:
        session = new()
        await owner.say(session, "long please")
        await owner.until(session, lambda found: found["turn"] is not None)
        await owner.say(session, "second", mode="queue")
        waiting = await owner.until(session, lambda found: found["queue"])
        await owner.ask("POST", f"/sessions/{session}/stop", 202, json={})
        found = await owner.settled(session, 2)

        assert [one["text"] for one in waiting["queue"]] == ["second"]
        said = [text_of(one) for one in found["messages"]]
        assert said[0] == "long please"
        assert said[1].endswith("Stopped.")
        assert said[2:] == ["second", "answered"]

    play(story)


@pytest.mark.slow
def test_steer_adds_message_to_running_turn(play: Any) -> None:
    async def story(owner: Person) -> None:
        session = new()
        await owner.say(session, "long please")
        await owner.until(session, lambda found: found["turn"] is not None)
        await owner.say(session, "and be brief", mode="steer")
        found = await owner.settled(session)

        assert "and be brief" in [text_of(one) for one in found["messages"][1:]]

    play(story)


def test_commands_get_replies_outside_history(play: Any) -> None:
    async def story(owner: Person) -> None:
        session = new()
        await owner.say(session, "/help")
        found = await owner.until(session, lambda found: found["asides"])
        assert found["messages"] == []
        aside = found["asides"][0]
        assert aside["command"] == "/help"
        async with owner.events(session) as events:
            await owner.say(session, "/status")
            result = await anext(event async for event in events if event["type"] == "result")
            assert result["command"] == "/status"
            assert result["message_id"]
        assert "/model" in aside["text"]
        await owner.say(session, "hello")
        found = await owner.settled(session)
        assert [text_of(one) for one in found["messages"]] == ["hello", "answered"]

        await owner.say(session, "/title A new name")
        found = await owner.until(session, lambda found: found["session"]["title"])
        assert found["session"]["title"] == "A new name"
        named = await owner.get("/commands")
        assert {"/help", "/stop", "/approve"} <= {one["name"] for one in named["commands"]}

        await owner.say(session, "/new")
        found = await owner.until(session, lambda found: found["session"]["ended"])
        refused = await owner.say(session, "more", 409)
        assert refused["error"]["code"] == "ended"

    play(story)


def test_bad_message_is_refused_with_an_error_sentence(play: Any) -> None:
    async def story(owner: Person) -> None:
        session = new()
        path = f"/sessions/{session}/messages"
        for body in (
            {"text": "no id"},
            {"message_id": "x", "text": "no uuid"},
            {"message_id": new(), "text": "   "},
            {"message_id": new(), "text": "hi", "mode": "shout"},
            {"message_id": new(), "text": 7},
        ):
            answer = await owner.ask("POST", path, 400, json=body)
            assert answer["error"]["message"].endswith(".")
        await owner.ask(
            "POST", path, 400, content=b"[", headers={"Content-Type": "application/json"}
        )
        await owner.ask("POST", path, 415, content=b"{}", headers={"Content-Type": "text/plain"})
        await owner.ask("POST", path, 413, json={"message_id": new(), "text": "x" * 400_001})
        await owner.ask(
            "POST", path, 404, json={"message_id": new(), "text": "x", "files": [new()]}
        )
        await owner.say("not-a-uuid", "hello", 404)
        await owner.get(f"/sessions/{session}", 404)

    play(story)


@pytest.mark.slow
def test_get_requests_change_nothing_stored(play: Any, gateway: Gateway) -> None:
    def stored() -> dict[str, Any]:
        with closing(sqlite3.connect(gateway.home / "hookline.db", timeout=30)) as db, db:
            found = db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
            names = [name for (name,) in found if not name.startswith(ELSEWHERE)]
            rows = {name: db.execute(f'SELECT * FROM "{name}"').fetchall() for name in names}
        db.close()
        return rows

    async def story(owner: Person) -> None:
        session = new()
        await owner.say(session, "look twice")
        found = await owner.settled(session)
        turn = found["messages"][0]["turn"]
        await owner.get(f"/sessions/{session}/turns/{turn}")
        before: dict[str, Any] = {}
        while before != (now := stored()):  # what turns do in the background is done
            before = now
            await asyncio.sleep(0.7)
        for path in (
            *("/state", "/commands", "/sessions", "/sessions?q=look", f"/sessions/{session}"),
            *(f"/sessions/{session}/turns/{turn}", f"/commands/complete?session={session}&text=/m"),
        ):
            await owner.get(path)
        for kind in ("md", "jsonl"):
            await owner.client.get(f"/api/sessions/{session}/export?format={kind}")
        async with owner.events(session):
            pass
        assert stored() == before

    play(story)
