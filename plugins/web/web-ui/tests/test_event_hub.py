"""The event stream: kills, slow readers, floods, and its end."""

from __future__ import annotations

import asyncio
import json
import signal
from typing import Any

import httpx2
import pytest
from hookline.testing.pages import OPERATOR, PERSON
from hookline_web_ui.event_hub import MAX_EVENTS_BEHIND, MAX_EVENTS_PER_SESSION, EventHub
from hookline_web_ui.live_turns import LiveTurns
from hookline_web_ui.questions import question_json

from .browser import LONG, Chat, Gateway, Person, new, text_of

HERE = ("web", "mia")
POINTS = (
    *("after-receive", "after-commit", "before-model", "mid-stream", "after-model"),
    *("before-tool", "mid-tool", "after-tool", "before-reply", "after-send"),
)
QUICK = ("mid-stream",)


@pytest.mark.long
@pytest.mark.parametrize(
    "point",
    [point if point in QUICK else pytest.param(point, marks=pytest.mark.slow) for point in POINTS],
)
def test_killed_gateway_loses_and_repeats_nothing(own_gateway: Gateway, point: str) -> None:
    gateway = own_gateway
    gateway.configure()
    process = gateway.start(HOOKLINE_CRASH_AT=f"{point}:3" if point == "mid-stream" else point)

    async def send(owner: Person, session: str, message: str) -> None:
        """Send it again until it is taken, as a page does."""
        while True:
            try:
                await owner.say(session, "look twice", message_id=message)
                return
            except httpx2.TransportError:
                await asyncio.sleep(0.1)

    async def follow(chat: Chat) -> None:
        """Show the chat, whatever happens to the gateway."""
        while not chat.results:
            try:
                await chat.load()
                if chat.turn is None and len(chat.messages) == 4:
                    return
                async with chat.person.events(f"{chat.session}@{chat.cursor}") as events:
                    async for event in events:
                        chat.apply(event)
                        if chat.lost or chat.results:
                            break
            except (httpx2.TransportError, AssertionError, StopAsyncIteration):
                await asyncio.sleep(0.1)

    async def story() -> None:
        owner, session, message = await gateway.person(), new(), new()
        chat = Chat(owner, session)
        async with asyncio.timeout(60):
            showing = asyncio.create_task(follow(chat))
            sending = asyncio.create_task(send(owner, session, message))
            code = await asyncio.to_thread(process.wait, 60)
            assert code == -signal.SIGKILL
            await asyncio.to_thread(gateway.start)
            await asyncio.gather(sending, showing)
            found = await owner.settled(session)
        said = [text_of(one) for one in found["messages"] if one["role"] != "tool"]
        assert said == ["look twice", "First this.", "answered"]
        assert found["messages"][0]["message_id"] == message
        assert chat.said == "First this.\nanswered"
        await owner.close()

    asyncio.run(story())


@pytest.mark.slow
def test_stopping_gateway_closes_streams_and_next_one_resyncs(own_gateway: Gateway) -> None:
    gateway = own_gateway
    gateway.configure()
    process = gateway.start()

    async def story() -> None:
        owner, session = await gateway.person(), new()
        await owner.say(session, "hello")
        await owner.settled(session)
        chat = Chat(owner, session)
        await chat.load()
        async with owner.events(f"{session}@{chat.cursor}") as events:
            ending = asyncio.create_task(asyncio.to_thread(gateway.end, process))
            rest = [event async for event in events]
        assert rest == []
        await ending
        assert process.returncode == 0
        await asyncio.to_thread(gateway.start)
        async with owner.events(f"{session}@{chat.cursor}") as events:
            assert (await anext(events))["type"] == "resync"
        await owner.close()

    asyncio.run(story())


@pytest.mark.slow
def test_reply_of_50000_words_is_complete(play: Any) -> None:
    async def story(owner: Person) -> None:
        session = new()
        await owner.say(session, "huge please")
        found = await owner.until(session, lambda found: found["turn"] is not None)
        chat = Chat(owner, session)
        await chat.load()
        async with owner.events(f"{session}@{chat.cursor}") as events:
            async for event in events:
                chat.apply(event)
                assert not chat.lost
                if chat.results:
                    break
        found = await owner.settled(session)

        assert text_of(found["messages"][-1]) == "word " * 50_000
        assert chat.said == "word " * 50_000

    play(story)


def test_events_of_other_chats_do_not_affect_a_new_chat(play: Any) -> None:
    """A browser has one stream: it knows of later events than the chat that it turns to."""

    async def story(owner: Person) -> None:
        one, other = new(), new()
        for session in (one, other):
            await owner.say(session, "hello")
            await owner.settled(session)
        chat, elsewhere = Chat(owner, one), Chat(owner, other)
        await chat.load()
        await owner.say(one, "hello again")
        await owner.settled(one)
        await elsewhere.load()
        asked = f"{one}@{chat.cursor}&last={elsewhere.cursor}"
        async with asyncio.timeout(10), owner.events(asked) as events:
            shown = await anext(event async for event in events if event["type"] == "user")
        assert shown["text"] == "hello again"

    play(story)


# The hub by itself


def hub_of(events: int, hub: EventHub | None = None) -> EventHub:
    """A hub in which so much has happened."""
    hub = hub or EventHub("b")
    for number in range(events):
        hub.publish("s", HERE, {"type": "notice", "session": "s", "text": str(number)})
    return hub


def ids(data: bytes) -> list[str]:
    """The ids of the events that were sent."""
    return [line[4:] for line in data.decode().splitlines() if line.startswith("id: ")]


def test_slow_reader_gets_resync_and_bounded_memory() -> None:
    hub = EventHub("b")
    stream = hub.listen(PERSON, {"s": 0}, 0)
    hub.begin(stream)
    hub_of(MAX_EVENTS_BEHIND, hub)
    assert ids(hub.read(stream)) == [f"b.{number}" for number in range(1, MAX_EVENTS_BEHIND + 1)]
    hub_of(MAX_EVENTS_BEHIND + 1, hub)
    data = hub.read(stream)
    assert ids(data) == [hub.cursor]
    assert b'"type":"resync","session":"s"' in data
    assert hub.read(stream) == b""


def test_stream_sends_resync_if_needed_events_were_dropped() -> None:
    hub = hub_of(MAX_EVENTS_PER_SESSION + 10)
    whole = hub.listen(PERSON, {"s": 10}, hub.n)
    assert len(ids(hub.begin(whole))) == MAX_EVENTS_PER_SESSION
    late = hub.listen(PERSON, {"s": 9}, hub.n)
    assert b'"type":"resync"' in hub.begin(late)
    large = EventHub("b")
    for _ in range(50):
        large.publish("s", HERE, {"type": "notice", "text": "x" * 100_000})
    stream = large.listen(PERSON, {"s": 0}, 0)
    assert b'"type":"resync"' in large.begin(stream)


def test_stream_hides_events_of_other_people() -> None:
    hub = EventHub("b")
    live = LiveTurns(hub, lambda: 0.0)
    streams = [hub.listen(who, {}, 0) for who in (PERSON, OPERATOR)]
    live.tell("s", HERE, "title", fields={"title": "mine"}, wide=True)
    live.tell("s", HERE, "notice", fields={"text": "near"})
    other = ("web", "ben")
    asked = [question_json(one, "t", "approval", "", ()) for one in ("q", "r")]
    live.tell_question("t", other, None, asked[0], "web:ben")
    live.tell_question("u", other, None, asked[1], "web:ben", operators=False)
    mine, all_ = [hub.read(one).decode() for one in streams]

    assert '"mine"' in mine
    assert '"q"' not in mine
    assert '"q"' in all_
    lines = [line.partition("data: ")[2] for line in all_.splitlines() if '"question"' in line]
    may = {one["id"]: one["may_answer"] for one in map(json.loads, lines)}
    assert may == {"q": True, "r": False}  # an operator may answer the first, too
    assert "near" not in mine + all_


def test_event_of_a_session_that_is_not_followed_is_marked() -> None:
    hub = EventHub("b")
    live = LiveTurns(hub, lambda: 0.0)
    follows, other = [hub.listen(PERSON, starts, 0) for starts in ({"s": 0}, {})]
    live.tell("s", HERE, "title", fields={"title": "mine"}, wide=True)
    lines = [hub.read(one).decode().splitlines() for one in (follows, other)]
    assert lines[1] == ["followed: no", *lines[0]]


def test_fast_deltas_are_sent_together() -> None:
    async def story() -> None:
        hub = EventHub("b")
        live = LiveTurns(hub, lambda: 0.0)
        turn = live.begin("s", HERE, "t", "m", 0)
        for word in LONG.split():
            live.add(turn, f"{word} ")
        snapshot = live.snapshot("s")
        assert snapshot is not None
        part = snapshot["parts"][0]
        assert part["text"] == f"{LONG} "
        assert part["n"] == 2
        live.restart(turn)
        assert live.snapshot("s") | {"attempt": 0} == snapshot | {"parts": [], "step": "model"}
        live.step(turn, "waiting", "local is overloaded", 12.5)
        waiting = live.snapshot("s")
        assert waiting is not None
        assert (waiting["about"], waiting["retry_at"]) == ("local is overloaded", 12.5)
        live.step(turn, "thinking")
        assert (live.snapshot("s") or {})["retry_at"] is None

    asyncio.run(story())


@pytest.mark.slow
def test_stalled_reader_delays_no_one(play: Any, gateway: Gateway) -> None:
    async def story(owner: Person) -> None:
        session = new()
        await owner.say(session, "hello")
        await owner.settled(session)
        _, port = gateway.url.rsplit(":", 1)
        reader, writer = await asyncio.open_connection("127.0.0.1", int(port), limit=1024)
        head = f"GET /api/events?sessions={session} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n"
        cookie = owner.client.headers["Cookie"]
        writer.write(f"{head}Cookie: {cookie}\r\nSec-Fetch-Site: same-origin\r\n\r\n".encode())
        assert await reader.readline() == b"HTTP/1.1 200 OK\r\n"
        for number in range(MAX_EVENTS_BEHIND + 50):
            title = f"{number} {'x' * 190}"
            await owner.ask("PATCH", f"/sessions/{session}", json={"title": title})
        await owner.say(session, "huge please")
        found = await owner.settled(session, 2)
        assert text_of(found["messages"][-1]) == "word " * 50_000
        assert b"title" in await reader.read(50_000)
        writer.close()

    play(story)


@pytest.mark.slow
def test_stream_ends_at_logout(own_gateway: Gateway) -> None:
    own_gateway.configure()
    own_gateway.start()

    async def story() -> None:
        mia = await own_gateway.person("mia")
        async with mia.events() as events:
            answer = await mia.client.post("/logout")
            assert answer.status_code == 303
            async with asyncio.timeout(10):
                assert [event async for event in events] == []
        await mia.close()
        again = await own_gateway.person("mia")
        await again.get("/state", 401)
        await again.close()

    asyncio.run(story())
