"""What a turn does with the standard set on: transactions, reads, threads, tasks, encodings.

A plugin that reads, commits or hands work to a thread once more in each turn shows here, whatever
the machine. The store holds writes back for longer than usual, so that a busy machine does not
split what goes together.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml
from hookline.config import load
from hookline.runtime import Runtime
from hookline.store.sqlite import store
from hookline.testing.channel import FakeChannel
from hookline.text import new_id
from hookline_hookspecs import (
    CachePrice,
    DeltaSink,
    Inbound,
    ModelRequest,
    ModelResponse,
    Plugin,
    TextBlock,
    ToolCall,
    Usage,
    WireRequest,
    tool,
)
from hookline_hookspecs.caching import deferred_writes as later
from hookline_hookspecs.plugin import NoConfig
from hookline_session_search import plugin as search

LINGER = 0.2
"""Seconds for which a write that nobody waits for is held back here."""
TURNS = 5
"""Turns before the one that is counted: it has its title, its files are known."""
CALLS = 4
PLAIN = {"transactions": 3, "reads": 1, "threads": 4, "tasks": 2, "encodings": 6}
"""To the end of everything that follows a reply. The transactions: the message and the beginning of
the turn; its end; what follows."""
FIRST = {"transactions": 3, "reads": 2, "threads": 5, "tasks": 2, "encodings": 8}
"""The first turn of a session in a process that has begun others: the session's row goes with the
beginning of the turn, and neither its prompt nor its tools are encoded anew. It is looked for when
its message is checked, and again by its owner."""
FIRST_TURNS = 5
ITERATION = {"transactions": 1, "threads": 2, "encodings": 10}
"""One response with one call of a tool that only reads."""
NETWORK = {"transactions": 4, "reads": 1, "threads": 5, "tasks": 3, "encodings": 6}
"""As in the terminal, and the message is stored before anything else."""


class Model:
    """Answers after what lingered has been stored, as a real model does; encodes nothing.

    A turn on ``add`` calls that tool once for each response, ``CALLS`` times.
    """

    name = "test"
    cache_price = CachePrice()

    def render(self, request: ModelRequest) -> WireRequest:
        said = [message.text.encode() for message in request.messages]
        asked = [m for m in request.messages if m.role == "user" and m.text][-1].text
        done = len(request.messages) - 1 - [m.text for m in request.messages].index(asked)
        more = asked == "add" and request.purpose == "turn" and done < 2 * CALLS
        return WireRequest(self.name, {"more": more, "model": request.model}, tuple(said), {})

    async def send(self, wire: WireRequest, _on_delta: DeltaSink | None) -> ModelResponse:
        await asyncio.sleep(LINGER * 1.5)
        if wire.fields["more"]:
            call = ToolCall(f"call-{(n := len(wire.fragments))}", "add", {"left": n, "right": 2})
            return ModelResponse((call,), "tools", Usage(10, 1))
        return ModelResponse((TextBlock("an answer"),), "end", Usage(10, 1))

    async def aclose(self) -> None:
        pass


class Adds(Plugin[NoConfig]):
    """A tool that only reads."""

    @tool(read_only=True)
    def add(self, left: int, right: int) -> str:
        """Add two numbers."""
        return str(left + right)


@pytest.fixture
def counts(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """What has been done since it was last cleared."""
    found: Counter[str] = Counter()

    def counted(owner: Any, name: str, what: str) -> None:
        function = getattr(owner, name)

        def call(*args: Any, **options: Any) -> Any:
            found[what] += 1
            return function(*args, **options)

        monkeypatch.setattr(owner, name, call)

    monkeypatch.setattr(store, "WRITE_DELAY", LINGER)
    # What may wait for a second is shared by all turns of that second, and left out here.
    monkeypatch.setattr(later, "MAX_DELAY_SECONDS", 3600.0)
    monkeypatch.setattr(search, "INDEX_DELAY", 3600.0)
    counted(store.SqliteStore, "_commit", "transactions")
    counted(store.SqliteStore, "read", "reads")
    counted(ThreadPoolExecutor, "submit", "threads")
    counted(asyncio.BaseEventLoop, "create_task", "tasks")
    counted(json.JSONEncoder, "encode", "encodings")
    return found


@asynccontextmanager
async def standard(home: Path) -> AsyncIterator[Runtime]:
    """The standard set as it is installed, and a tool that adds."""
    (home / "work").mkdir(parents=True)
    plugins = {"access": {"allow": ["fake:user"]}, "adds": True}
    config = {"model": "test/model", "workspace": str(home / "work"), "plugins": plugins}
    (home / "config.yaml").write_text(yaml.safe_dump(config), "utf-8")
    async with Runtime(load(home, {}), home, classes={"adds": Adds}) as runtime:
        runtime.engine.providers.add("test", Model())
        yield runtime


async def in_the_terminal(runtime: Runtime, text: str, session: str = "s") -> None:
    inbound = Inbound("terminal", "default", "me", new_id(), text, session_id=session)
    submission = await runtime.dispatcher.submit(inbound, "no")
    await submission.mark_delivered()
    assert submission.turn.reply == "an answer"


async def settled(runtime: Runtime) -> None:
    await runtime.finish_background(10.0)
    await asyncio.sleep(LINGER * 1.5)


async def counted_turn(
    runtime: Runtime,
    counts: Counter[str],
    say: Callable[[str], Awaitable[Any]],
    text: str = "hello",
) -> Counter[str]:
    for number in range(TURNS):
        await say(f"warm up {number}")
        await settled(runtime)
    counts.clear()
    await say(text)
    await settled(runtime)
    return counts.copy()


async def test_plain_turn_stays_within_its_budget(tmp_path: Path, counts: Counter[str]) -> None:
    async with standard(tmp_path) as runtime:
        found = await counted_turn(runtime, counts, partial(in_the_terminal, runtime))
    assert found == PLAIN


async def test_first_turn_of_a_session_stays_within_its_budget(
    tmp_path: Path, counts: Counter[str]
) -> None:
    async with standard(tmp_path) as runtime:
        for number in range(FIRST_TURNS):
            counts.clear()
            await in_the_terminal(runtime, "hello", f"session {number}")
            await settled(runtime)
        found = counts.copy()
    assert found == FIRST


async def test_tool_iteration_stays_within_its_budget(tmp_path: Path, counts: Counter[str]) -> None:
    async with standard(tmp_path) as runtime:
        found = await counted_turn(runtime, counts, partial(in_the_terminal, runtime), "add")
    beyond = found - Counter(PLAIN)
    assert beyond == Counter({what: number * CALLS for what, number in ITERATION.items()})


async def test_turn_on_a_network_channel_stays_within_its_budget(
    tmp_path: Path, counts: Counter[str]
) -> None:
    async with standard(tmp_path) as runtime:
        channel = FakeChannel(runtime)
        runtime.channels.register(channel, "test")
        found = await counted_turn(runtime, counts, channel.say)
        assert [reply.text for reply in channel.sent] == ["an answer"] * (TURNS + 1)
    assert found == NETWORK
