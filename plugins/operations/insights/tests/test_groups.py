"""Usage by person, chat, database and skill."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any
from uuid import uuid4

from hookline.testing import Harness
from hookline_hookspecs import (
    Inbound,
    ModelResponse,
    Plugin,
    TextBlock,
    ToolCall,
    ToolError,
    Usage,
    tool,
)
from hookline_insights import Insights

Make = Callable[..., Harness]


class Databases(Plugin):
    """The tools of the plugin databases, as far as their names go."""

    @tool(read_only=True)
    def db_query(self, db: str, sql: str) -> str:
        """Ask."""
        if sql == "wrong":
            raise ToolError("there is no such table")
        return "1 row"


def used(number: int, *said: Any) -> ModelResponse:
    """An answer that has used so many tokens."""
    blocks = said or (TextBlock("ok"),)
    return ModelResponse(blocks, "tools" if said else "end", Usage(input=number, output=1))


def query_step(number: int, db: str, sql: str = "SELECT 1") -> ModelResponse:
    return used(number, ToolCall(f"c{number}{sql[:1]}", "db_query", {"db": db, "sql": sql}))


async def say(h: Harness, user: str, chat: str) -> None:
    """Somebody writes in a chat, and has an answer."""
    runtime = await h.aopen()
    inbound = Inbound("fake", chat, user, uuid4().hex, "hello")
    submission = await runtime.dispatcher.submit(inbound, "ask")
    await submission.mark_delivered()
    await runtime.finish_background(30.0)


def usage_by(h: Harness, what: str) -> dict[str, dict[str, Any]]:
    done = h.cli(f"insights --by {what} --json")
    assert done.exit_code == 0, done.stderr
    return {one["name"]: one for one in json.loads(done.stdout)}


def test_tokens_are_counted_by_person_chat_and_database(harness: Make) -> None:
    steps = [
        used(1000),
        query_step(200, "shop"),
        query_step(30, "shop", "wrong"),
        used(4),
        used(50000),
    ]
    h = harness(Insights, Databases, model=steps)
    for user, chat in (("ann", "group"), ("ben", "group"), ("ann", "ann")):
        h.run(say(h, user, chat))
    people = usage_by(h, "person")
    assert {name: one["input"] for name, one in people.items()} == {
        "fake:ann": 51000,
        "fake:ben": 234,
    }
    chats = usage_by(h, "chat")
    assert {name: one["input"] for name, one in chats.items()} == {
        "fake:group": 1234,
        "fake:ann": 50000,
    }
    (shop,) = usage_by(h, "database").values()
    told = (shop["name"], shop["input"], shop["turns"], shop["calls"], shop["failed"])
    assert told == ("shop", 234, 1, 2, 1)
    assert usage_by(h, "skill") == {}
    assert "fake:ann" in h.cli("insights --by person").stdout
    wrong = h.cli("insights --by colour")
    assert wrong.exit_code == 2
    assert "person, chat, database, skill" in wrong.stderr
