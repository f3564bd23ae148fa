"""What a turn does with the standard set on: transactions, reads, threads, tasks, encodings.

A plugin that reads, commits or hands work to a thread once more in each turn shows here, whatever
the machine. The store holds back writes that nobody waits for until the model answers or the test
waits for the rest, so that a busy machine does not split what goes together. Several turns are
counted and the least of each kind is compared, because now and then a turn does what a file or the
hour makes necessary.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from functools import partial, reduce
from operator import and_
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

TURNS = 5
"""Turns before those that are counted: the session has its title, its files are known."""
COUNTED = 3
CALLS = 4
PLAIN = {"transactions": 3, "reads": 1, "threads": 4, "tasks": 2, "encodings": 6}
"""To the end of everything that follows a reply. The transactions: the message and the beginning of
the turn; its end; what follows."""
FIRST = {"transactions": 3, "reads": 3, "threads": 7, "tasks": 2, "encodings": 11}
"""At most: what is cached for all sessions may have to be read again (a thread, two encodings).

The first turn of a session in a process that has begun others: the session's row goes with the
beginning of the turn, and neither its prompt nor its tools are encoded anew. It is looked for when
its message is checked, and again by its owner, and so is the choice of a chat without a network."""
ITERATION = {"transactions": 1, "threads": 2, "encodings": 10}
"""One response with one call of a tool that only reads."""
NETWORK = {"transactions": 4, "reads": 1, "threads": 5, "tasks": 3, "encodings": 6}
"""As in the terminal, and the message is stored before anything else."""


async def store_writes(runtime: Runtime) -> None:
    """Commit the writes that are held back, as the store does soon after the last one."""
    held: Any = runtime.engine.store
    if held._calling is not None:
        await held.write(lambda _connection: None)


class Model:
    """Answers after what was held back has been stored, as a real model does; encodes nothing.

    A turn on ``add`` calls that tool once for each response, ``CALLS`` times.
    """

    name = "test"
    cache_price = CachePrice()

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    def render(self, request: ModelRequest) -> WireRequest:
        said = [message.text.encode() for message in request.messages]
        asked = max(n for n, m in enumerate(request.messages) if m.role == "user" and m.text)
        is_add = request.messages[asked].text == "add" and request.purpose == "turn"
        more = is_add and len(request.messages) - 1 - asked < 2 * CALLS
        return WireRequest(self.name, {"more": more, "model": request.model}, tuple(said), {})

    async def send(self, wire: WireRequest, _on_delta: DeltaSink | None) -> ModelResponse:
        await store_writes(self._runtime)
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

    monkeypatch.setattr(store, "WRITE_DELAY", 3600.0)
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
        runtime.engine.providers.add("test", Model(runtime))
        yield runtime


async def in_the_terminal(runtime: Runtime, text: str, session: str = "s") -> None:
    inbound = Inbound("terminal", "default", "me", new_id(), text, session_id=session)
    submission = await runtime.dispatcher.submit(inbound, "no")
    await submission.mark_delivered()
    assert submission.turn.reply == "an answer"


async def settled(runtime: Runtime) -> None:
    await runtime.finish_background(10.0)
    await store_writes(runtime)


async def least(
    runtime: Runtime, counts: Counter[str], turns: Sequence[Callable[[], Awaitable[Any]]]
) -> Counter[str]:
    """What each of the turns does."""
    found = []
    for turn in turns:
        counts.clear()
        await turn()
        await settled(runtime)
        found.append(counts.copy())
    return reduce(and_, found)


async def counted_turn(
    runtime: Runtime,
    counts: Counter[str],
    say: Callable[[str], Awaitable[Any]],
    text: str = "hello",
) -> Counter[str]:
    for number in range(TURNS):
        await say(f"warm up {number}")
        await settled(runtime)
    return await least(runtime, counts, [partial(say, text)] * COUNTED)


async def test_plain_turn_stays_within_its_budget(tmp_path: Path, counts: Counter[str]) -> None:
    async with standard(tmp_path) as runtime:
        found = await counted_turn(runtime, counts, partial(in_the_terminal, runtime))
    assert found == PLAIN


async def test_first_turn_of_a_session_stays_within_its_budget(
    tmp_path: Path, counts: Counter[str]
) -> None:
    async with standard(tmp_path) as runtime:
        first = [partial(in_the_terminal, runtime, "hello", f"session {n}") for n in range(5)]
        found = await least(runtime, counts, first)
    assert found <= Counter(FIRST)


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
        assert [reply.text for reply in channel.sent] == ["an answer"] * (TURNS + COUNTED)
    assert found == NETWORK
