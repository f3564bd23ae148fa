"""Faults and kills: every reply is sent once, in order; a repeat is marked."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest
from hookline_hookspecs import Inbound
from hypothesis import given, settings
from hypothesis import strategies as st

from .conftest import MARK, PATIENCE, ChannelProcess, Platform, Speaker

SIZES = {"m1": 1, "m2": 7, "m3": 2, "m4": 16}
"""Lines of each answer; two or three of them fill a message."""


def answer(name: str) -> str:
    return "\n".join(f"[{name}.{n}] some words for the line" for n in range(SIZES[name]))


ANSWERS = {name: answer(name) for name in SIZES}
CHATS = {"m1": "c1", "m2": "c1", "m3": "c2", "m4": "c1"}


def check(platform: Platform) -> None:
    """Every line once, in order; a second time only after a mark."""
    for chat in sorted(set(CHATS.values())):
        names = [name for name in SIZES if CHATS[name] == chat]
        wanted = [f"{name}.{n}" for name in names for n in range(SIZES[name])]
        seen: list[str] = []
        has_mark = dict.fromkeys(names, False)
        for text in platform.texts(chat):
            lines = re.findall(r"\[(m\d\.\d+)\]", text)
            has_mark |= {line.split(".")[0]: True for line in lines if text.startswith(MARK)}
        for text in platform.texts(chat):
            for line in re.findall(r"\[(m\d\.\d+)\]", text):
                assert line not in seen or has_mark[line.split(".")[0]], (
                    line,
                    platform.texts(chat),
                )
                if line not in seen:
                    seen.append(line)
        assert seen == wanted, platform.texts(chat)
        unmarked = [name for name in names if not has_mark[name]]
        assert not any("…" in t for t in platform.texts(chat) for n in unmarked if n in t)


async def send_all_with_restarts(home: Path, platform: Platform, pause: float) -> None:
    """Send everything, restart after every kill, and check what people see."""
    process = await ChannelProcess(home, platform, Speaker(dict(ANSWERS), pause)).open()
    try:
        for name in SIZES:
            await process.say(name, CHATS[name])
        await process.idle()
        while platform.killed.is_set():
            process = await process.again()
            await process.idle()
        check(platform)
        assert await process.records() == []
    finally:
        await process.close()


@pytest.mark.slow
async def test_delivery_without_faults_sends_each_reply_once(
    tmp_path: Path, platform: Platform
) -> None:
    await send_all_with_restarts(tmp_path / "home", platform, 0.004)
    assert platform.refused == []
    assert not any(MARK in one.text for one in platform.shown.values())


@pytest.mark.slow
async def test_stream_waits_for_replies_of_a_dead_process(
    tmp_path: Path, platform: Platform
) -> None:
    """A busy machine may come to the reply that was left only after the next turn has begun."""
    platform.faults = {1: "kill before"}
    answers = {"m1": "one", "m2": "two " * 400}
    process = await ChannelProcess(
        tmp_path / "home", platform, Speaker(answers, 0.01), stream=False
    ).open()
    await process.say("m1")
    await platform.killed.wait()
    await process.harness.aclose()
    platform.killed = asyncio.Event()
    next_ = ChannelProcess(tmp_path / "home", platform, Speaker(answers, 0.01), stream=True)
    runtime = await next_.harness.aopen()
    deliver_all = runtime.outbox.deliver_all

    async def deliver_late(channel: str) -> None:
        await asyncio.sleep(0.5)
        await deliver_all(channel)

    runtime.outbox.deliver_all = deliver_late
    await next_.kit.start()
    await next_.say("m2")
    await runtime.gateway_host.recover()
    await next_.idle()
    texts = platform.texts("c")
    await next_.close()
    assert texts[0].removeprefix(MARK).strip() == "one"
    assert "two" in texts[1]


@pytest.mark.slow
async def test_stream_waits_for_a_turn_older_than_the_channel(
    tmp_path: Path, platform: Platform
) -> None:
    """Turns that a dead process left go on before the channels are started."""
    answers = {"m1": "one", "m2": "two " * 400}
    process = ChannelProcess(tmp_path / "home", platform, Speaker(answers, 0.01), stream=True)
    runtime = await process.harness.aopen()
    send, is_shown = process.kit.send, asyncio.Event()

    async def send_late(reply: Any) -> Any:
        if reply.text == "one":
            is_shown.set()
            await asyncio.sleep(0.5)
        return await send(reply)

    process.kit.send = send_late  # type: ignore[method-assign]
    await runtime.dispatcher.receive(Inbound("pigeon", "c", "ann", "m1", "m1"))
    await is_shown.wait()
    await process.kit.start()
    await process.say("m2")
    await process.idle()
    texts = platform.texts("c")
    await process.close()
    assert texts[0] == "one"
    assert "two" in texts[1]


@pytest.mark.long
@pytest.mark.parametrize("fault", ["kill before", "kill after"])
@pytest.mark.parametrize(
    "number",
    [2, 9, *(pytest.param(n, marks=pytest.mark.slow) for n in range(1, 16) if n not in (2, 9))],
)
async def test_delivery_survives_a_kill_at_every_request(
    tmp_path: Path, fault: str, number: int
) -> None:
    platform = Platform()
    platform.faults = {number: fault}
    await send_all_with_restarts(tmp_path / "home", platform, 0.004)
    if fault == "kill before":
        assert len([one for one in platform.shown.values() if MARK in one.text]) <= 2


FAULTS = ["kill before", "kill after", "away", "slow down", "bad markup", "lost", "no answer"]


@pytest.mark.slow
@given(st.dictionaries(st.integers(1, 25), st.sampled_from(FAULTS), max_size=5), st.booleans())
@settings(max_examples=10)
def test_delivery_survives_random_faults(
    tmp_path_factory: pytest.TempPathFactory, faults: dict[int, str], slow: bool
) -> None:
    async def run() -> None:
        platform = Platform()
        platform.faults = dict(faults)
        await send_all_with_restarts(
            tmp_path_factory.mktemp("home"), platform, 0.004 if slow else 0.0
        )

    asyncio.run(run())


async def test_stream_is_continued_by_the_next_process(tmp_path: Path, platform: Platform) -> None:
    model: Any = Speaker(dict(ANSWERS), 0.01)
    model.held.clear()
    process = await ChannelProcess(tmp_path / "home", platform, model).open()
    await process.say("m2", "c1")
    await platform.until(lambda: bool(platform.shown))
    (first,) = platform.shown
    model.held.set()
    platform.killed.set()
    process = await process.again()
    await process.idle()
    assert platform.chat("c1")[0].id == first
    assert "\n".join(text.strip() for text in platform.texts("c1")) == ANSWERS["m2"]
    assert await process.records() == []
    await process.close()


@pytest.mark.slow
async def test_stream_waits_for_the_previous_reply(tmp_path: Path, platform: Platform) -> None:
    def fault(name: str, chat: str, text: str) -> str | None:
        return "away" if "[m1.0]" in text and len(platform.refused) < 2 else None

    platform.fault = fault
    process = await ChannelProcess(tmp_path / "home", platform, Speaker(dict(ANSWERS), 0.01)).open()
    await process.say("m1", "c1")
    await process.say("m2", "c1")
    await process.idle()
    lines = re.findall(r"\[(m\d\.\d+)\]", "".join(platform.texts("c1")))
    assert lines == ["m1.0", *[f"m2.{n}" for n in range(7)]]
    await process.close()


async def refusals(platform: Platform, number: int) -> None:
    """Return when so many requests were refused."""
    async with asyncio.timeout(PATIENCE):
        while len(platform.refused) < number:
            await asyncio.sleep(0.02)


@pytest.mark.slow
async def test_stream_appears_below_replies_of_a_dead_process(
    platform: Platform, start_channel: Any
) -> None:
    one = await start_channel(platform, {"first": "one is answered", "": "two " * 40}, pause=0.02)
    platform.fault = lambda _name, _chat, text: "away" if text.startswith("one") else None
    await one.say("first")
    await refusals(platform, 1)
    two = await one.again()
    refused = len(platform.refused)
    await two.say("second")
    await refusals(platform, refused + 2)
    platform.fault = lambda *_: None
    await two.idle()
    assert [text.split()[0] for text in platform.texts("c")] == ["one", "two", "two"]
    await two.close()
