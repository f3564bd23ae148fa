"""A slow or missing store: messages wait in order while guards or turns are retried.

No message is worked on before its gate has said yes, and none is answered with what the store said.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from hookline.testing import FakeChannel, Harness, ScriptedModel, calls
from hookline_commands import Commands
from hookline_hookspecs import (
    Context,
    Inbound,
    ModelRequest,
    ModelResponse,
    NoConfig,
    Plugin,
    PluginFailure,
    StoreError,
    ToolCall,
    hookimpl,
)
from support.durability.notebook import Notebook

Make = Callable[..., Harness]
TOO_BUSY = "The database was too busy: 20 transactions met others"
REFUSED = "Your message could not be checked, so it was not read. Please send it again later."


@pytest.fixture(autouse=True)
def _short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hookline.dispatch.dispatcher.STORE_PAUSE", 0.02)
    monkeypatch.setattr("hookline.dispatch.processor.GATE_PAUSES", (0.01, 0.02, 0.03))


@pytest.fixture
async def harness(harness: Make) -> AsyncIterator[Make]:
    """Closes what a test opens in the test's own event loop."""
    made: list[Harness] = []

    def make(*plugins: Any, **options: Any) -> Harness:
        made.append(harness(*plugins, **options))
        return made[-1]

    yield make
    for one in made:
        await one.aclose()


async def fails(kind: str) -> None:
    if kind == "the store":
        raise StoreError(TOO_BUSY)
    if kind == "a deadline":
        await asyncio.Event().wait()
    raise ValueError("a mistake")


class Doorman(Plugin[NoConfig]):
    """Guards messages; of ``two`` it fails ``left`` times, with a failure of ``kind``."""

    kind, left = "the store", 2
    asked: list[str]

    @hookimpl
    async def setup(self) -> None:
        self.asked = []

    @hookimpl
    async def on_message(self, ctx: Context, inbound: Inbound) -> None:
        self.asked.append(inbound.text)
        if inbound.text == "two" and self.left:
            self.left -= 1
            await fails(self.kind)


class Echo(ScriptedModel):
    """Answers with the last message, once it may."""

    def __init__(self) -> None:
        super().__init__([lambda request: f"<{request.messages[-1].text}>"] * 20)
        self.may_answer = asyncio.Event()
        self.may_answer.set()
        self.asked = False

    async def send(self, wire: Any, on_delta: Any) -> Any:
        self.asked = True
        await self.may_answer.wait()
        return await super().send(wire, on_delta)


async def open_guarded(
    make: Make, kind: str, left: int, model: Echo, *more: Any, on_message: float = 0.1
) -> tuple[Harness, Doorman]:
    deadlines = {"on_message": on_message}
    h = make(Doorman, *more, model=model, strict=False, deadlines=deadlines)
    await h.aopen()
    doorman = h.plugin(Doorman)
    doorman.kind, doorman.left = kind, left
    return h, doorman


def answers(channel: FakeChannel) -> list[tuple[str | None, str]]:
    return [(reply.in_reply_to, reply.text) for reply in channel.sent]


@pytest.mark.parametrize("kind", ["the store", "a deadline"])
async def test_message_guard_is_retried_after_store_error_or_deadline(
    harness: Make, kind: str
) -> None:
    h, doorman = await open_guarded(harness, kind, 2, Echo())
    for number, text in enumerate(("one", "two", "three"), 1):
        await h.channel.say(text, message_id=f"m{number}")
    await h.channel.replies(3)
    await h.runtime.finish_background(10.0)
    assert answers(h.channel) == [("m1", "<one>"), ("m2", "<two>"), ("m3", "<three>")]
    assert doorman.asked == ["one", "two", "two", "two", "three"]


@pytest.mark.parametrize(("kind", "times"), [("the store", 4), ("a deadline", 3), ("a mistake", 1)])
async def test_message_guard_that_keeps_failing_refuses_in_message_order(
    harness: Make, kind: str, times: int
) -> None:
    model = Echo()
    h, doorman = await open_guarded(harness, kind, 99, model)
    model.may_answer.clear()
    for number, text in enumerate(("one", "two", "three"), 1):
        await h.channel.say(text, message_id=f"m{number}")
    while "three" not in doorman.asked:
        await asyncio.sleep(0.01)
    assert doorman.asked.count("two") == times
    assert not h.channel.sent, "the refusal came before the answer to an earlier message"
    model.may_answer.set()
    await h.channel.replies(3)
    await h.runtime.finish_background(10.0)
    assert answers(h.channel) == [("m1", "<one>"), ("m2", REFUSED), ("m3", "<three>")]
    assert all("two" not in request.messages[-1].text for request in model.requests)


@pytest.mark.parametrize("kind", ["the store", "a deadline"])
async def test_stop_does_not_wait_for_a_guard_retry(
    harness: Make, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setattr("hookline.dispatch.processor.GATE_PAUSES", (600.0,))
    model = Echo()
    h, doorman = await open_guarded(harness, kind, 1, model, Commands, on_message=600.0)
    model.may_answer.clear()
    await h.channel.say("one")
    while "one" not in doorman.asked or not model.asked:
        await asyncio.sleep(0.01)
    await h.channel.say("two")
    while "two" not in doorman.asked:
        await asyncio.sleep(0.01)
    await h.channel.say("/stop")
    async with asyncio.timeout(5):
        said = [reply.text for reply in await h.channel.replies(2)]
    assert "Stopped" in " ".join(said), said
    assert doorman.asked == ["one", "two", "/stop"]


class Reader(Plugin[NoConfig]):
    """A guard that reads the store."""

    @hookimpl
    async def on_message(self, ctx: Context, inbound: Inbound) -> None:
        await self.host.storage.kv.get("people")


async def test_no_message_is_refused_while_the_store_is_away(
    harness: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    h = harness(Reader, model=Echo(), strict=False)
    store = (await h.aopen()).engine.store
    read, away = store.read, 0

    def reading(*arguments: Any, **options: Any) -> Any:
        nonlocal away
        if away:
            away -= 1
            raise StoreError("the database cannot be reached")
        return read(*arguments, **options)

    monkeypatch.setattr(store, "read", reading)
    away = 30
    await h.channel.say("one")
    await h.channel.say("two")
    await h.channel.replies(2)
    assert away == 0
    assert answers(h.channel) == [("m1", "<one>"), ("m2", "<two>")]


@pytest.mark.slow
async def test_no_message_is_refused_while_postgresql_blocks_a_guard(
    harness: Make, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # More than the lock lasts for: the database answers others meanwhile, which uses them up.
    monkeypatch.setattr("hookline.dispatch.processor.GATE_PAUSES", (0.01,) * 99)
    psycopg = pytest.importorskip("psycopg")
    server, schema = (
        postgres_url[: postgres_url.index("schema=") - 1],
        postgres_url.rpartition("=")[2],
    )
    h = harness(
        Reader,
        model=Echo(),
        strict=False,
        core={"store": postgres_url},
        deadlines={"on_message": 0.2},
    )
    heard: list[PluginFailure] = []
    (await h.aopen()).bus.signals.connect(
        "plugin_failed", lambda event, ctx=None: heard.append(event)
    )
    await h.channel.say("zero")
    await h.channel.replies(1)
    with psycopg.connect(server) as other:
        other.execute(f"LOCK TABLE {schema}.kv IN ACCESS EXCLUSIVE MODE".encode())
        await h.channel.say("one")
        await h.channel.say("two")
        while not heard:
            await asyncio.sleep(0.01)
        await asyncio.sleep(1.0)
        assert len(h.channel.sent) == 1
    await h.channel.replies(3)
    told = answers(h.channel)
    await h.aclose()  # before its schema is dropped
    assert told == [("m1", "<zero>"), ("m2", "<one>"), ("m3", "<two>")]
    assert {failure.reason for failure in heard} == {"no answer within 0.2 s"}


async def test_message_waiting_for_its_guard_is_left_to_the_next_process(
    harness: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hookline.dispatch.processor.GATE_PAUSES", (60.0,))
    h, doorman = await open_guarded(harness, "the store", 1, Echo())
    channel = h.channel
    await channel.say("two")
    while not doorman.asked:
        await asyncio.sleep(0.01)
    await h.aclose()
    assert not channel.sent
    after = harness(Doorman, model=Echo(), strict=False, home=h.home)
    runtime = await after.aopen()
    after.plugin(Doorman).left = 0
    await runtime.gateway_host.recover()
    await after.channel.replies(1)
    assert answers(after.channel) == [("m1", "<two>")]


class Busy(Plugin[NoConfig]):
    """Tells of the write that follows ``pre_tool``, and fails around a model ``models`` times."""

    is_about_to_run, models = False, 0

    @hookimpl
    def pre_tool(self, ctx: Context, call: ToolCall) -> None:
        self.is_about_to_run = True

    @hookimpl
    def around_model(self, ctx: Context, request: ModelRequest) -> Any:
        async def middleware(asked: ModelRequest, call_next: Any) -> ModelResponse:
            if self.models:
                self.models -= 1
                raise StoreError(TOO_BUSY)
            result: ModelResponse = await call_next(asked)
            return result

        return middleware


@pytest.mark.parametrize("place", ["a tool's beginning", "a plugin around the model"])
async def test_turn_failed_by_the_store_is_resumed_without_an_error_reply(
    harness: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    monkeypatch.chdir(tmp_path)
    model = ScriptedModel([["Working", calls("append", line="one")], "Done."])
    h = harness(Busy, Notebook, model=model, strict=False)
    store, busy = (await h.aopen()).engine.store, h.plugin(Busy)
    write, failed = store.write, []

    def writing(work: Any, **options: Any) -> Any:
        if (
            place == "a tool's beginning"
            and busy.__dict__.pop("is_about_to_run", False)
            and not failed
        ):
            failed.append(work)
            raise StoreError(TOO_BUSY)
        return write(work, **options)

    monkeypatch.setattr(store, "write", writing)
    busy.models = 0 if place == "a tool's beginning" else 1
    await h.channel.say("work")
    await h.channel.replies(1)
    await h.runtime.finish_background(10.0)
    assert answers(h.channel) == [("m1", "Done.")]
    assert Path("ran.log").read_text() == "append one\n"
    assert len(model.requests) == 2
