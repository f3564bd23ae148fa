"""Rows of the store that cannot be read are reported in place, and kept."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from typing import Any

import pytest
from hookline_hookspecs import Inbound, Plugin, ToolCall, ToolResultBlock, tool
from hookline_hookspecs.plugin import NoConfig

Make = Callable[..., Any]
BROKEN = ["", "not JSON", "[]", "null", '{"role": "user"}', "[" * 100_000]
BROKEN += [json.dumps({"role": "user", "blocks": [{"type": "hologram"}]})]


class Looks(Plugin[NoConfig]):
    """A read-only tool."""

    @tool(read_only=True)
    def look(self) -> str:
        """Look around."""
        return "a tree"


def damage(h: Any, table: str, column: str, value: str, where: str = "1") -> int:
    with closing(sqlite3.connect(h.home / "hookline.db")) as db, db:
        return db.execute(f"UPDATE {table} SET {column} = ? WHERE {where}", (value,)).rowcount


def conversation(harness: Make) -> Any:
    h = harness(Looks, model=[ToolCall("", "look", {}), "I see a tree.", "more"])
    h.send("look around")
    h.run(h.aclose())
    return h


@pytest.mark.long
@pytest.mark.parametrize("seq", [1, 2, 3, 4])
@pytest.mark.parametrize("body", BROKEN)
def test_session_continues_after_unreadable_message(harness: Make, body: str, seq: int) -> None:
    h = conversation(harness)
    assert damage(h, "messages", "body", body, f"seq = {seq}") == 1
    assert h.send("go on").text == "more"
    messages = h.model.last.messages
    assert "cannot be read" in messages[seq - 1].text
    calls = {call.id for message in messages for call in message.tool_calls}
    blocks = [block for message in messages for block in message.blocks]
    results = {block.call_id for block in blocks if isinstance(block, ToolResultBlock)}
    assert calls == results
    with closing(sqlite3.connect(h.home / "hookline.db")) as db:
        query = "SELECT body FROM messages WHERE seq = ?"
        assert db.execute(query, (seq,)).fetchone()[0] == body


@pytest.mark.long
@pytest.mark.parametrize("column", ["parts", "tools", "question"])
@pytest.mark.parametrize("body", BROKEN[1:])
def test_session_continues_after_unreadable_session_row(
    harness: Make, column: str, body: str
) -> None:
    h = conversation(harness)
    assert damage(h, "sessions", column, body)
    assert h.send("go on").text == "more"


@pytest.mark.parametrize("body", BROKEN)
def test_gateway_starts_with_unreadable_inbox_rows(harness: Make, body: str) -> None:
    h = harness(model=["hi", "hello"])

    async def story() -> None:
        runtime = await h.aopen()
        channel = h.channel
        journal = runtime.engine.journal
        for number in range(2):
            inbound = Inbound(channel.name, f"c{number}", "7", f"m{number}", "hello")
            await journal.receive(inbound, durable=True)[1]
        damage(h, "inbox", "body", body, "message_id = 'm0'")
        await runtime.gateway_host.recover()
        await runtime.gateway_host.finish(20)
        assert [reply.text for reply in channel.sent] == ["hi"]
        with closing(sqlite3.connect(h.home / "hookline.db")) as db:
            states = db.execute("SELECT body, state FROM inbox ORDER BY message_id").fetchall()
        assert states[0][0] == body
        assert states[0][1] != "done"

    h.run(story())


@pytest.mark.parametrize("body", BROKEN)
@pytest.mark.slow
def test_unreadable_reply_does_not_block_the_next_reply(harness: Make, body: str) -> None:
    h = harness(model=["first", "second"])

    async def story() -> None:
        channel = h.channel
        channel.fail = 1
        await channel.say("hello")
        async with asyncio.timeout(20):
            while not damage(h, "outbox", "body", body, "attempts = 1"):
                await asyncio.sleep(0.01)
        await channel.say("hello again")
        texts = [reply.text for reply in await channel.replies(2)]
        assert "cannot be read" in texts[0]
        assert texts[1] == "second"

    h.run(h.aopen())
    h.run(story())
