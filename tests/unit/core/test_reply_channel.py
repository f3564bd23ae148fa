"""A reply goes to the chat its message came from, whichever chat the session belongs to."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hookline.testing import Harness
from hookline_hookspecs import (
    Context,
    GatewayHost,
    Inbound,
    NoConfig,
    Plugin,
    Reply,
    ToolCall,
    Turn,
    hookimpl,
    tool,
)

Make = Callable[..., Any]


class TerminalChannel:
    """A terminal that collects what it shows."""

    name = "terminal"
    edits = False
    network = False

    def __init__(self) -> None:
        self.shown: list[Reply] = []

    async def start(self) -> None:
        """Nothing to connect."""

    async def wait(self) -> None:
        """Nothing is received."""

    async def stop(self) -> None:
        """Nothing to disconnect."""

    async def send(self, reply: Reply) -> None:
        self.shown.append(reply)

    @property
    def texts(self) -> list[str]:
        return [reply.text for reply in self.shown]


class Watcher(Plugin[NoConfig]):
    """Records which channel hooks see, in turns and in sub-agents."""

    @hookimpl
    def setup(self, host: Any) -> None:
        self.channels: list[tuple[str, str]] = []

    @hookimpl
    def start_of_turn(self, ctx: Context, turn: Turn) -> None:
        self.channels.append((turn.session.kind, ctx.channel))

    @tool
    async def helper(self, ctx: Context) -> str:
        """Run a sub-agent."""
        return (await self.host.run_turn("help", parent=ctx)).reply


async def open_process(home: Path, *model: Any) -> tuple[Harness, TerminalChannel]:
    """A process on ``home`` that has a terminal and a network channel ``fake``."""
    harness = Harness(Watcher, home=home, model=model)
    runtime = await harness.aopen()
    terminal = TerminalChannel()
    runtime.channels.register(terminal, "person")
    return harness, terminal


async def type_at_terminal(harness: Harness, text: str, session: str) -> None:
    """Type ``text`` into ``hookline chat --session SESSION`` and wait until all is done."""
    message = Inbound("terminal", "default", "me", f"typed {text}", text, session_id=session)
    await harness.runtime.dispatcher.receive(message)
    await harness.runtime.finish_background(30.0)


async def recover(harness: Harness) -> None:
    await harness.plugin(Watcher).host.services[GatewayHost].recover()
    await harness.runtime.finish_background(30.0)


def texts(harness: Harness) -> list[str]:
    return [reply.text for reply in harness.channel.sent]


async def test_message_typed_into_a_channels_session_is_answered_in_the_terminal(
    tmp_path: Path,
) -> None:
    h, terminal = await open_process(
        tmp_path, "to the channel", [ToolCall("", "helper", {})], "help", "to the terminal"
    )
    await h.channel.say("hello")
    await h.channel.replies(1)
    session = h.channel.sent[0].session.id
    await type_at_terminal(h, "and here?", session)
    assert terminal.texts == ["to the terminal"]
    assert terminal.shown[0].session.id == session
    assert texts(h) == ["to the channel"]
    assert h.plugin(Watcher).channels == [
        ("chat", "fake"),
        ("chat", "terminal"),
        ("agent", "terminal"),
    ]
    await h.aclose()


async def test_channel_is_answered_while_a_terminal_is_open_on_its_session(tmp_path: Path) -> None:
    gateway, _ = await open_process(tmp_path, "first", "second")
    await gateway.channel.say("one")
    await gateway.channel.replies(1)
    chat, terminal = await open_process(tmp_path, "typed")
    await type_at_terminal(chat, "typed", gateway.channel.sent[0].session.id)
    assert terminal.texts == ["typed"]
    await gateway.channel.say("two")
    await gateway.channel.replies(2, seconds=10)
    await chat.aclose()
    await recover(gateway)
    assert texts(gateway) == ["first", "second"]
    await gateway.aclose()


@pytest.mark.slow
async def test_terminal_leaves_a_channels_open_replies_to_the_gateway(tmp_path: Path) -> None:
    gateway, _ = await open_process(tmp_path, "pending")
    gateway.channel.fail = 1000
    await gateway.channel.say("one")
    async with asyncio.timeout(10):
        while gateway.channel.fail == 1000:
            await asyncio.sleep(0.01)
    (session,) = await gateway.plugin(Watcher).host.sessions()
    await gateway.aclose()
    chat, terminal = await open_process(tmp_path, "typed")
    await type_at_terminal(chat, "typed", session.id)
    assert terminal.texts == ["typed"]
    assert texts(chat) == []
    gateway, _ = await open_process(tmp_path)
    await recover(gateway)
    assert texts(gateway) == ["pending"]
    await gateway.aclose()
    await chat.aclose()


async def test_terminal_answers_a_channels_left_over_message_through_the_gateway(
    tmp_path: Path,
) -> None:
    gateway, _ = await open_process(tmp_path, "first")
    await gateway.channel.say("one")
    await gateway.channel.replies(1)
    session = gateway.channel.sent[0].session.id
    await gateway.aclose()
    chat, terminal = await open_process(tmp_path, "left over", "typed")
    left_over = Inbound("fake", "chat", "user", "m2", "two", session_id=session)
    _, write = chat.runtime.engine.journal.receive(left_over, durable=True, mine=False)
    await write
    await type_at_terminal(chat, "typed", session)
    assert terminal.texts == ["typed"]
    assert texts(chat) == []
    gateway, _ = await open_process(tmp_path)
    await recover(gateway)
    assert texts(gateway) == ["left over"]
    await gateway.aclose()
    await chat.aclose()
