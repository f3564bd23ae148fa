"""Dispatching messages: which turn they stop, what they wait for, which process owns them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hookline.testing import FakeChannel, Harness, ScriptedModel
from hookline_hookspecs import (
    GatewayHost,
    Inbound,
    ModelRequest,
    NoConfig,
    Plugin,
    PluginFailure,
    Reply,
    Turn,
    command,
    hookimpl,
)
from hookline_hookspecs.errors import StoreError

Make = Callable[..., Any]
PATIENCE = 30.0


class PausedModel(ScriptedModel):
    """Answers ``text`` once ``go_on`` is set; ``asked`` is set when a request has arrived."""

    def __init__(self, text: str = "done") -> None:
        super().__init__([text] * 9)
        self.asked, self.go_on = asyncio.Event(), asyncio.Event()

    async def send(self, wire: Any, on_delta: Any) -> Any:
        self.asked.set()
        await self.go_on.wait()
        return await super().send(wire, on_delta)


async def wait_until(condition: Callable[[], Any]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not condition():
            await asyncio.sleep(0.01)


def texts(channel: FakeChannel) -> list[str]:
    return [reply.text for reply in channel.sent]


def in_session(text: str, session: str | None, number: str) -> Inbound:
    return Inbound("fake", "chat", "user", number, text, session_id=session)


@pytest.mark.parametrize("begun_by_name", [True, False])
async def test_stop_by_session_or_chat_reaches_a_turn_begun_by_the_other(
    harness: Make, begun_by_name: bool
) -> None:
    model = PausedModel()
    h = harness(model=model)
    runtime = await h.aopen()
    model.go_on.set()
    await h.channel.say("hello")
    await h.channel.replies(1)
    model.go_on.clear()
    model.asked.clear()
    session = h.channel.sent[0].session
    names = (session.id, None) if begun_by_name else (None, session.id)
    await runtime.dispatcher.receive(in_session("work", names[0], "a"))
    await model.asked.wait()
    await runtime.dispatcher.receive(in_session("/stop", names[1], "b"))
    await h.channel.replies(3)
    assert sorted(texts(h.channel)[1:]) == ["Stopped.", "Stopping."]


async def test_turns_by_session_name_and_by_chat_run_one_at_a_time(harness: Make) -> None:
    model = PausedModel()
    h = harness(model=model)
    runtime = await h.aopen()
    model.go_on.set()
    await h.channel.say("hello")
    await h.channel.replies(1)
    model.go_on.clear()
    model.asked.clear()
    session = h.channel.sent[0].session
    await h.channel.say("one")
    await model.asked.wait()
    await runtime.dispatcher.receive(in_session("two", session.id, "named"))
    await asyncio.sleep(0.2)
    assert len(h.channel.sent) == 1  # the second waits and is not refused
    model.go_on.set()
    await h.channel.replies(3)
    said = [m.text for m in h.model.requests[-1].messages if m.role == "user"]
    assert said == ["hello", "one", "two"]


async def test_slow_immediate_command_does_not_delay_another(harness: Make) -> None:
    answered = asyncio.Event()

    class Slow(Plugin[NoConfig]):
        @command("/slow", immediate=True)
        async def slow(self, ctx: Any, args: str) -> str:
            """Wait for the other answer."""
            await answered.wait()
            return "late"

    h = harness(Slow)
    await h.aopen()
    await h.channel.say("/slow")
    await h.channel.say("/stop")
    await h.channel.replies(1)
    assert texts(h.channel) == ["Nothing is running."]
    answered.set()
    await h.channel.replies(2)
    assert texts(h.channel)[1] == "late"


class Ends(Plugin[NoConfig]):
    """Records the signals after a delivery attempt."""

    async def _note(self, event: Any, ctx: Any = None) -> None:
        self.settled.append(event.text)

    @hookimpl
    def setup(self, host: Any) -> None:
        self.ended: list[str] = []
        self.settled: list[str] = []
        host.signals.connect("settled", self._note)

    @hookimpl
    def end_of_turn(self, ctx: Any, turn: Turn) -> None:
        self.ended.append(turn.reply)


@pytest.mark.slow
async def test_end_of_turn_does_not_wait_for_an_unavailable_platform(harness: Make) -> None:
    h = harness(Ends, model=["a"])
    await h.aopen()
    h.channel.fail = 1000
    await h.channel.say("hello")
    plugin = h.plugin(Ends)
    await wait_until(lambda: plugin.ended and plugin.settled)
    assert (plugin.ended, plugin.settled, h.channel.sent) == (["a"], ["hello"], [])
    h.channel.fail = 0
    await h.channel.replies(1)
    assert texts(h.channel) == ["a"]


@pytest.mark.slow
async def test_undeliverable_reply_is_given_up_after_24_hours_with_a_reason(
    harness: Make, clock: Any
) -> None:
    h = harness(Ends, model=["a", "b"])
    await h.aopen()
    failures: list[PluginFailure] = []
    h.plugin(Ends).host.signals.connect("plugin_failed", lambda e, ctx=None: failures.append(e))
    h.channel.fail = 2
    await h.channel.say("hello")
    await wait_until(lambda: h.channel.fail == 1)
    clock.forward(hours=25)
    await wait_until(lambda: failures)
    assert failures[0].reason == (
        "a reply to fake:chat was given up after 24 h and 2 attempts: "
        "ConnectionError: the fake platform is away"
    )
    await h.channel.say("again")
    await h.channel.replies(1)
    assert texts(h.channel) == ["b"]  # what was given up holds up nothing
    await h.plugin(Ends).host.services[GatewayHost].recover()
    await asyncio.sleep(0.1)
    assert texts(h.channel) == ["b"]


async def test_reply_sent_always_carries_a_reply(harness: Make) -> None:
    class Listens(Plugin[NoConfig]):
        @hookimpl
        def setup(self, host: Any) -> None:
            self.heard: list[Any] = []
            host.signals.connect("reply_sent", lambda event, ctx=None: self.heard.append(event))

        @command("/silent", immediate=True)
        def silent(self, ctx: Any, args: str) -> None:
            """Say nothing."""

    h = harness(Listens, model=["a"])
    await h.asend("/silent")
    await h.asend("hello")
    assert [type(event) for event in h.plugin(Listens).heard] == [Reply]


# Two processes on one home; here two runtimes, each a node of its own


class Other(Plugin[NoConfig]):
    """A plugin that gives access to a host."""


@pytest.fixture
async def two_runtimes(tmp_path: Path) -> Any:
    """Two runtimes on one home, the first with a model that waits."""
    first = Harness(Other, home=tmp_path, model=PausedModel("first"))
    second = Harness(Other, home=tmp_path, model=["second"] * 9)
    await first.aopen()
    await second.aopen()
    yield first, second
    await first.aclose()
    await second.aclose()


async def recover(h: Harness) -> None:
    await h.plugin(Other).host.services[GatewayHost].recover()


async def test_message_owned_by_another_process_is_left_alone(two_runtimes: Any) -> None:
    first, second = two_runtimes
    await first.channel.say("one")
    await first.model.asked.wait()
    await first.channel.say("two")  # it waits for the turn of the first
    await recover(second)
    await asyncio.sleep(0.3)
    first.model.go_on.set()
    await first.channel.replies(2)
    await second.runtime.finish_background(PATIENCE)
    assert (texts(first.channel), second.channel.sent) == (["first", "first"], [])
    assert second.model.requests == []


async def test_message_of_an_ended_process_is_answered_once_by_another(two_runtimes: Any) -> None:
    first, second = two_runtimes
    await first.channel.say("one")
    await first.model.asked.wait()
    await first.channel.say("two")
    await first.aclose()
    await asyncio.gather(recover(second), recover(second))
    await second.channel.replies(2)
    await second.runtime.finish_background(PATIENCE)
    assert texts(second.channel) == ["second", "second"]
    said = [m.text for m in second.model.requests[-1].messages if m.role == "user"]
    assert said == ["one", "two"]


async def test_message_claim_is_retried_after_a_store_error(
    two_runtimes: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = two_runtimes
    await first.channel.say("one")
    await first.model.asked.wait()
    await first.channel.say("two")
    await first.aclose()
    journal = second.runtime.engine.journal

    def busy(*_: Any) -> Any:
        raise StoreError("the database was too busy")

    with monkeypatch.context() as patched:
        patched.setattr(journal, "claim", busy)
        with pytest.raises(StoreError):
            await recover(second)
    await recover(second)
    await second.channel.replies(2)
    assert texts(second.channel) == ["second", "second"]


@pytest.mark.slow
async def test_reply_owned_by_another_process_is_left_alone(two_runtimes: Any) -> None:
    first, second = two_runtimes
    first.model.go_on.set()
    first.channel.fail = 1000
    await first.channel.say("one")
    await wait_until(lambda: first.channel.fail < 1000)
    await recover(second)
    await second.runtime.finish_background(2.5)
    assert second.channel.sent == []
    await first.aclose()
    await recover(second)
    await second.channel.replies(1)
    assert texts(second.channel) == ["first"]


async def test_turn_of_an_ended_process_is_resumed_once(two_runtimes: Any) -> None:
    first, second = two_runtimes
    await first.channel.say("one")
    await first.model.asked.wait()
    await first.aclose()
    before: list[ModelRequest] = second.model.requests
    await asyncio.gather(*[recover(second) for _ in range(5)])
    await second.channel.replies(1)
    await second.runtime.finish_background(PATIENCE)
    assert (texts(second.channel), len(before)) == (["second"], 1)
