"""Texts that a person's app has split are joined, whatever comes between their parts."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest
from hookline_channelkit import InboundEvent, PasteLimit
from hookline_hookspecs import Inbound

from .conftest import ChannelProcess, FakeClient, Platform, until

FIRST, SECOND, THIRD = "the first part", "and the second", "the end"


def part(number: int, text: str, user: str = "ann", sent: float = 0.0) -> InboundEvent:
    said = Inbound("", "c", user, f"c:{number}", text, private=False, sent=sent or time.time())
    return InboundEvent(said, cursor=str(number))


@pytest.fixture
async def channel(
    start_channel: Any, platform: Platform, monkeypatch: pytest.MonkeyPatch
) -> ChannelProcess:
    """A channel whose people's apps split longer texts."""
    monkeypatch.setattr(FakeClient, "pastes", PasteLimit(most=20, least=10))
    monkeypatch.setattr("hookline_channelkit.pastes.PASTE_PAUSE", 0.1)
    platform.old("other", "long ago", 1)  # the platform has a history
    one: ChannelProcess = await start_channel(platform, {}, echo=True, stream=False)
    return one


async def test_parts_that_come_out_of_order_are_put_in_order(
    channel: ChannelProcess, platform: Platform
) -> None:
    parts = [part(2, SECOND), part(1, FIRST), part(3, THIRD)]
    await asyncio.gather(*map(channel.receive, parts))
    await until(lambda: platform.texts("c"))
    assert platform.texts("c") == [f"{FIRST}\n{SECOND}\n{THIRD}!"]


async def test_another_persons_message_waits_for_the_rest(
    channel: ChannelProcess, platform: Platform
) -> None:
    parts = [part(1, FIRST), part(2, "lol", "bob"), part(3, THIRD)]
    await asyncio.gather(*map(channel.receive, parts))
    await until(lambda: len(platform.texts("c")) == 2)
    assert platform.texts("c") == [f"{FIRST}\n{THIRD}!", "lol!"]


async def test_missed_parts_are_joined_around_other_messages(
    channel: ChannelProcess, platform: Platform
) -> None:
    now = time.time()
    platform.written["c"] = [
        part(1, FIRST, sent=now), part(2, "lol", "bob", now), part(3, THIRD, sent=now),
        part(4, "an hour later", sent=now + 3600),
    ]  # fmt: skip
    again = await channel.again()
    await until(lambda: len(platform.texts("c")) == 3)
    assert platform.texts("c") == [f"{FIRST}\n{THIRD}!", "lol!", "an hour later!"]
    await again.close()


async def test_no_later_message_is_marked_as_read_before_a_part_that_waits(
    channel: ChannelProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the process died in between, the next one would not look for the part."""
    receive, stored = channel.kit.host.receive, list[str]()

    async def note(inbound: Inbound) -> bool:
        stored.append(inbound.message_id)
        return await receive(inbound)

    monkeypatch.setattr(channel.kit.host, "receive", note)
    assert channel.client.receive is not None
    held = asyncio.ensure_future(channel.receive(part(1, FIRST)))
    await asyncio.sleep(0.02)
    await channel.client.receive.skip("c", "2")
    assert stored == ["c:1"]
    await held
    await channel.idle()


async def test_part_that_is_delivered_twice_stands_once_in_the_text(
    channel: ChannelProcess, platform: Platform
) -> None:
    parts = [part(1, FIRST), part(1, FIRST), part(2, SECOND), part(1, FIRST), part(3, THIRD)]
    await asyncio.gather(*map(channel.receive, parts))
    await until(lambda: platform.texts("c"))
    assert platform.texts("c") == [f"{FIRST}\n{SECOND}\n{THIRD}!"]


async def test_part_that_waits_when_the_process_dies_is_found_by_the_next(
    channel: ChannelProcess, platform: Platform
) -> None:
    platform.written["c"] = [part(1, FIRST)]
    held = asyncio.ensure_future(channel.receive(platform.written["c"][0]))
    await asyncio.sleep(0.02)
    platform.killed.set()
    again = await channel.again()
    platform.written["c"].append(part(2, SECOND))
    await asyncio.gather(held, return_exceptions=True)
    await again.receive(platform.written["c"][1])
    await until(lambda: SECOND in " ".join(platform.texts("c")))
    assert FIRST in " ".join(platform.texts("c"))
    await again.close()
