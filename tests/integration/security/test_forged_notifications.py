"""Somebody else on the PostgreSQL server sends notifications and listens to them."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from hookline.testing import Harness, open_store
from hookline_hookspecs import Plugin, RemoteTurnEvent, hookimpl
from hookline_hookspecs.drivers import Store

INVENTED = (
    *("", "{", "[]", "1 2 3 4 {", "a b c d e", "x 1 0 1 [[]]", "x 1 0 1 7", '{"kind": "text"}'),
    '{"kind":"text","channel":"chat","chat_id":7,"message_id":"m","session_id":"s","text":"hi"}',
    '{"kind":"text","channel":"mail","chat_id":"7","message_id":"m","session_id":"s"}',
)
"""Payloads that nothing of Hookline sends."""


def guessed_channel(schema: str, topic: str) -> str:
    """A channel of NOTIFY by what everybody knows: the schema and the topic."""
    name = f"{schema}\0{topic}".encode()
    return f"hookline_{hashlib.sha256(name).hexdigest()[:40]}"


async def test_channel_of_a_topic_cannot_be_guessed(postgres_url: str, tmp_path: Path) -> None:
    psycopg = pytest.importorskip("psycopg")
    async with open_store(tmp_path, postgres_url) as one, open_store(tmp_path, postgres_url) as two:
        schema = await one.read(lambda db: db.fetch("SELECT current_schema() AS name"))
        other = await psycopg.AsyncConnection.connect(one.conninfo, autocommit=True)
        async with other, one.listen("questions") as heard:
            guessed = guessed_channel(schema[0]["name"], "questions")
            await other.execute(f"LISTEN {guessed}".encode())
            await other.execute(f"NOTIFY {guessed}, 'forged'".encode())
            await two.notify("questions", "real")
            async with asyncio.timeout(20):
                assert await anext(heard) == "real"
            overheard = [note.payload async for note in other.notifies(timeout=1)]
            assert overheard == ["forged"]


class Listens(Plugin):
    """Keeps the events of turns that other processes announce."""

    @hookimpl
    def setup(self, host: Any) -> None:
        self.seen: list[RemoteTurnEvent] = []
        host.signals.connect("remote_turn", lambda event, ctx=None: self.seen.append(event))


async def test_invented_payloads_of_a_stolen_topic_end_no_listener(
    harness: Callable[..., Harness],
) -> None:
    events = pytest.importorskip("hookline_cluster.turn_events")
    relays = pytest.importorskip("hookline_webkit.relay")
    h = harness(Listens)
    await h.aopen()
    host: Any = h.plugin(Listens).host
    handled: list[object] = []
    relay = relays.Relay(host, "web")
    working = [
        asyncio.create_task(events.receive_turn_events(host, "chat")),
        asyncio.create_task(
            relay.receive("shown", lambda _, event: handled.append(event), lambda: None)
        ),
    ]
    await asyncio.sleep(0.1)
    store = host.services[Store]
    for topic in ("cluster:news:chat", "relay:web:shown"):
        for payload in INVENTED:
            await store.notify(topic, payload)
    event = RemoteTurnEvent("text", "chat", "7", "m", "s", "hello")
    await store.notify("cluster:news:chat", events.encode_payload(asdict(event)))
    await store.notify("relay:web:shown", 'other 1 0 1 [["begin","s"]]')
    async with asyncio.timeout(20):
        while not (h.plugin(Listens).seen and ["begin", "s"] in handled):
            await asyncio.sleep(0.01)
    assert h.plugin(Listens).seen == [event]
    assert not [task for task in working if task.done()]
    for task in working:
        task.cancel()
