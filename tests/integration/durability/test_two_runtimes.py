"""Two runtimes serve one chat: each sees what the other has written."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from hookline.config import PluginEntry, load
from hookline.runtime import Runtime
from hookline.testing.channel import FakeChannel
from hookline.testing.model import ScriptedModel
from hookline_hookspecs import Inbound


@asynccontextmanager
async def open_runtime(home: Path) -> AsyncIterator[FakeChannel]:
    """A channel of its own, answered by a runtime of its own on the shared home."""
    loaded = load(home, {}, {"model": "test/model", "workspace": str(home)})
    plugins = {"commands": PluginEntry("commands", standard=True)}
    async with Runtime(replace(loaded, plugins=plugins), home) as runtime:
        runtime.engine.providers.add("test", ScriptedModel([lambda r: str(len(r.messages))] * 20))
        channel = FakeChannel(runtime)
        runtime.channels.register(channel, "test")
        yield channel


async def ask(channel: FakeChannel, text: str) -> str:
    """What the next reply says; the model answers with the number of messages that it was sent."""
    before = len(channel.sent)
    await channel.say(text, message_id=f"{id(channel)}-{before}")
    return (await channel.replies(before + 1))[-1].text


async def test_two_runtimes_see_each_others_session_changes(tmp_path: Path) -> None:
    async with open_runtime(tmp_path) as one, open_runtime(tmp_path) as other:
        assert [await ask(one, "a"), await ask(other, "b"), await ask(one, "c")] == [
            *("1", "3", "5")
        ]
        await ask(other, "/new")
        assert await ask(other, "d") == "1"
        assert await ask(one, "e") == "3"
        assert await ask(other, "f") == "5"


@pytest.mark.slow
async def test_two_runtimes_answer_each_message_once_and_in_order(tmp_path: Path) -> None:
    async with open_runtime(tmp_path) as one, open_runtime(tmp_path) as other:
        recover = other._runtime.gateway_host.recover
        for number in range(8):
            channel = (one, other)[number % 2]
            channel.fail = number % 3 == 1
            await channel.say(f"message {number}", message_id=f"m{number}")
            await asyncio.gather(recover(), recover())
            async with asyncio.timeout(60):  # what one cannot send now the other may
                while len(one.sent) + len(other.sent) <= number:
                    await asyncio.sleep(0.01)
        sent = [reply for channel in (one, other) for reply in channel.sent]
        assert sorted(reply.in_reply_to or "" for reply in sent) == [f"m{n}" for n in range(8)]
        assert not any(reply.repeated for reply in sent)


async def test_reply_goes_to_the_chat_its_message_came_from(tmp_path: Path) -> None:
    async with open_runtime(tmp_path) as channel:
        runtime = channel._runtime
        elsewhere = FakeChannel(runtime)
        elsewhere.name = "elsewhere"
        runtime.channels.register(elsewhere, "test")
        await ask(channel, "hello")
        session = channel.sent[0].session.id
        inbound = Inbound("elsewhere", "other", "user", "m", "from elsewhere", session_id=session)
        await runtime.dispatcher.receive(inbound)
        await runtime.finish_background(10)
        await runtime.gateway_host.recover()
        assert [reply.text for reply in await elsewhere.replies(1)] == ["3"]
        assert [reply.text for reply in channel.sent] == ["1"]
