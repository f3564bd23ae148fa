"""Messages written while the channel was offline get replies, in order, and once."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from hookline.testing import Clock
from hookline_channelkit import InboundEvent, PermissionDenied
from hookline_hookspecs import StoreError

from .conftest import ChannelProcess, Platform, until


@pytest.fixture
async def channel(start_channel: Any, platform: Platform) -> ChannelProcess:
    """A channel that has run, and knows chat ``c``."""
    one: ChannelProcess = await start_channel(platform, {}, echo=True, stream=False)
    first = await one.write("c", "one", 1)
    await one.receive(first)
    await one.idle()
    assert platform.texts("c") == ["one!"]
    return one


async def test_catch_up_reads_nothing_old_at_the_first_start(
    start_channel: Any, platform: Platform
) -> None:
    platform.old("c", "long ago", 7)
    one = await start_channel(platform, {}, echo=True)
    await until(lambda: platform.read)
    await one.idle()
    assert platform.texts("c") == []


async def test_catch_up_answers_missed_messages_in_order(
    channel: ChannelProcess, platform: Platform
) -> None:
    for number, words in enumerate(("two", "three", "four"), 2):
        await channel.write("c", words, number)
    again = await channel.again()
    await until(lambda: len(platform.texts("c")) == 4)
    assert platform.texts("c") == ["one!", "two!", "three!", "four!"]
    await again.close()


async def test_catch_up_reads_new_chats(channel: ChannelProcess, platform: Platform) -> None:
    await channel.write("d", "hello", 5)
    again = await channel.again()
    await until(lambda: platform.texts("d"))
    assert platform.texts("d") == ["hello!"]
    await again.close()


async def test_catch_up_comes_before_a_new_message(
    channel: ChannelProcess, platform: Platform
) -> None:
    """A connection that was no resume; the history is slow, and has the new message as well."""
    two = await channel.write("c", "two", 2)
    three = await channel.write("c", "three", 3)
    assert channel.client.receive is not None
    channel.client.receive.reconnected()
    await asyncio.gather(*[channel.receive(one) for one in (three, two, three)])
    await until(lambda: len(platform.texts("c")) == 3)
    assert platform.texts("c") == ["one!", "two!", "three!"]


@pytest.mark.slow
@pytest.mark.parametrize("times", [1, 2])
async def test_catch_up_recovers_after_a_store_failure(
    channel: ChannelProcess, platform: Platform, monkeypatch: pytest.MonkeyPatch, times: int
) -> None:
    """The platform does not deliver again; the message is found by reading back."""
    receive = channel.kit.host.receive
    failing = ["two"] * times

    async def breaks(inbound: Any) -> bool:
        if inbound.text in failing:
            failing.remove(inbound.text)
            raise StoreError("the disk is full")
        return await receive(inbound)

    monkeypatch.setattr(channel.kit.host, "receive", breaks)
    two = await channel.write("c", "two", 2)
    with pytest.raises(StoreError):
        await channel.receive(two)
    await channel.receive(await channel.write("c", "three", 3))
    await until(lambda: len(platform.texts("c")) == 3)
    assert failing == []
    if times == 1:  # the next message waits until the one before it is stored
        assert platform.texts("c") == ["one!", "two!", "three!"]
    assert sorted(platform.texts("c")) == ["one!", "three!", "two!"]


@pytest.mark.slow
async def test_catch_up_retries_a_failed_history(
    channel: ChannelProcess, platform: Platform
) -> None:
    faults: list[Any] = [ConnectionError("away"), ConnectionError("away")]
    platform.history_fault = lambda _: faults.pop() if faults else None
    await channel.write("c", "two", 2)
    again = await channel.again()
    await until(lambda: len(platform.texts("c")) == 2)
    assert faults == []
    await again.close()


async def test_catch_up_reports_missing_permission_once(
    channel: ChannelProcess, platform: Platform, caplog: pytest.LogCaptureFixture
) -> None:
    problem = "the scope history is missing; add it"
    platform.history_fault = lambda _: PermissionDenied(problem)
    await channel.write("c", "two", 2)
    again = await channel.again()
    await until(lambda: problem in caplog.text)
    assert again.client.receive is not None
    again.client.receive.reconnected()
    await again.receive(await again.write("c", "three", 3))
    await again.idle()
    assert platform.texts("c") == ["one!", "three!"]
    assert caplog.text.count(problem) == 1
    assert await again.kit.problems.recent() == [problem]
    await again.close()


async def test_catch_up_rereads_out_of_order_messages(
    channel: ChannelProcess, platform: Platform
) -> None:
    """Three was stored and two was on its way: the cursor has to be behind two."""
    await channel.write("c", "two", 2)
    await channel.receive(await channel.write("c", "three", 3))
    await channel.idle()
    again = await channel.again()
    await until(lambda: len(platform.texts("c")) == 3)
    assert sorted(platform.texts("c")) == ["one!", "three!", "two!"]
    await again.close()


async def test_catch_up_starts_at_the_cursor_of_a_quiet_chat(
    channel: ChannelProcess, platform: Platform, clock: Clock
) -> None:
    """Core forgets after a week what it had."""
    await channel.receive(await channel.write("c", "two", 2))
    await channel.idle()
    clock.ahead(3 * 86_400)
    again = await channel.again()
    platform.read.clear()
    await again.close()
    again = await channel.again()
    await until(lambda: ("c", "2") in platform.read)
    await again.close()


async def test_catch_up_advances_the_channel_around_a_thread(
    channel: ChannelProcess, platform: Platform
) -> None:
    root = await channel.write("c", "begin", 8)
    thread = InboundEvent(root.inbound, cursor="8", source="c")
    thread = replace(thread, inbound=replace(root.inbound, chat_id="c:8"))
    platform.written["c"][-1] = thread
    platform.written["c:8"] = []
    await channel.receive(thread)
    await channel.write("c:8", "reply", 9)
    again = await channel.again()
    await until(lambda: len(platform.texts("c:8")) == 2)
    assert platform.texts("c:8") == ["begin!", "reply!"]
    await again.close()
