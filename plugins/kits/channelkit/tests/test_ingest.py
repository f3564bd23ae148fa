"""Inbound events: files, presses, edits, deletions, and their order."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from hookline_channelkit import ChatGone, InboundEvent, RemoteFile
from hookline_hookspecs import (
    Access,
    Choice,
    Host,
    Inbound,
    Plugin,
    Reply,
    WorkDistribution,
    hookimpl,
)

from .conftest import ChannelProcess, Platform, until

TEXT = RemoteFile("f1", "notes.txt", 5)


class Doorkeeper(Plugin):
    """Lets everybody write but ``eve``."""

    @hookimpl
    def setup(self, host: Host) -> None:
        host.services.provide(Access, self)  # type: ignore[type-abstract]

    async def may_write(self, channel: str, user_id: str) -> bool:
        return user_id != "eve"

    def is_operator(self, inbound: Inbound) -> bool:
        return False


@pytest.fixture
def no_retry_pause(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No pause between attempts to fetch."""
    monkeypatch.setattr("hookline_channelkit.media.RETRY_PAUSE", 0.0)
    return


def inbound_event(
    id_: str, text: str = "", *files: RemoteFile, user: str = "ann", **more: Any
) -> InboundEvent:
    return InboundEvent(Inbound("", "c", user, id_, text, private=True, **more), files)


async def model_texts(process: ChannelProcess, count: int = 1) -> list[str]:
    """What the model was asked, once it was asked ``count`` times."""
    await until(lambda: len(process.model.requests) >= count)
    await process.idle()
    return [request.messages[-1].text for request in process.model.requests]


def note_presses(process: ChannelProcess) -> list[tuple[str, str]]:
    """The presses that are stored from now on: their text, and the question that they answer."""
    receive, presses = process.kit.host.receive, []

    async def note(inbound: Inbound, *rest: Any) -> bool:
        is_new: bool = await receive(inbound, *rest)
        if inbound.kind == "press" and is_new:
            presses.append((inbound.text, inbound.question))
        return is_new

    process.kit.host.receive = note
    return presses


@pytest.fixture
async def channel(start_channel: Any, platform: Platform) -> ChannelProcess:
    one: ChannelProcess = await start_channel(platform, {}, Doorkeeper, echo=True, stream=False)
    return one


async def test_message_with_files_is_acknowledged_and_keeps_order(
    channel: ChannelProcess, platform: Platform
) -> None:
    """Downloading takes its time; the platform has to be answered meanwhile."""
    go = asyncio.Event()
    fetch = channel.client.fetch_file

    async def slow(file: RemoteFile) -> bytes:
        await go.wait()
        return await fetch(file)

    channel.client.fetch_file = slow  # type: ignore[method-assign]
    platform.files["f1"] = b"words"
    assert await channel.receive(inbound_event("1", "look", TEXT))
    assert await channel.receive(inbound_event("2", "and this"))
    assert not await channel.receive(inbound_event("1", "look", TEXT))
    assert not await channel.receive(inbound_event("2", "and this"))
    go.set()
    first, second = await model_texts(channel, 2)
    assert first.startswith("look")
    assert "notes.txt, text/plain, 5 bytes" in first
    assert second == "and this"
    assert await channel.records() == []


async def test_message_with_files_survives_a_kill(
    channel: ChannelProcess, platform: Platform
) -> None:
    async def never(file: RemoteFile) -> bytes:
        await asyncio.Event().wait()
        return b""

    channel.client.fetch_file = never  # type: ignore[method-assign]
    platform.files["f1"] = b"words"
    await channel.receive(inbound_event("1", "look", TEXT))
    await channel.receive(inbound_event("2", "and this"))
    again = await channel.again()
    await until(lambda: len(platform.texts("c")) == 2)
    assert platform.texts("c")[0].startswith("look")
    assert not await again.receive(inbound_event("1", "look", TEXT))
    await again.close()


async def test_files_of_strangers_are_not_downloaded(
    channel: ChannelProcess, platform: Platform
) -> None:
    platform.files["f1"] = b"words"
    await channel.receive(inbound_event("1", "", TEXT, user="eve"))
    assert await model_texts(channel) == ["(notes.txt)"]
    assert platform.fetched == []


@pytest.mark.usefixtures("no_retry_pause")
async def test_failed_download_is_reported(channel: ChannelProcess, platform: Platform) -> None:
    platform.files = {"f1": ChatGone("it has expired"), "f2": ConnectionError("away")}
    big = RemoteFile("f3", "film.mp4", 10**9)
    await channel.receive(inbound_event("1", "see", TEXT, RemoteFile("f2", "b.txt"), big))
    (text,) = await model_texts(channel)
    assert "The file notes.txt could not be downloaded." in text
    assert "The file b.txt could not be downloaded." in text
    assert "The file film.mp4 (1000 MB) is too large" in text
    assert platform.fetched.count("f1") == 1
    assert platform.fetched.count("f2") == 3


async def test_deleted_message_leaves_the_queue(
    channel: ChannelProcess, platform: Platform
) -> None:
    go = asyncio.Event()

    async def slow(file: RemoteFile) -> bytes:
        await go.wait()
        return b"words"

    channel.client.fetch_file = slow  # type: ignore[method-assign]
    await channel.receive(inbound_event("1", "look", TEXT))
    await channel.receive(inbound_event("2", "and this", TEXT))
    await channel.receive(inbound_event("3", "third"))
    for target in ("1", "2"):
        await channel.receive(inbound_event("", "", kind="delete", target=target))
    go.set()
    await until(lambda: any("third" in r.messages[-1].text for r in channel.model.requests))
    texts = await model_texts(channel)
    assert not any("look" in text or "and this" in text for text in texts)
    assert "third" in texts
    assert await channel.records() == []


async def test_edit_without_new_text_is_dropped(channel: ChannelProcess) -> None:
    """Platforms tell an edit where they add a preview, and tell each twice."""
    await channel.receive(inbound_event("1", "hello"))
    assert not await channel.receive(inbound_event("", "hello", kind="edit", target="1"))
    assert await channel.receive(inbound_event("", "hello there", kind="edit", target="1"))
    assert not await channel.receive(inbound_event("", "hello there", kind="edit", target="1"))
    assert await channel.receive(inbound_event("", "hello", kind="edit", target="1"))
    assert (await model_texts(channel, 3))[:2] == ["hello", "hello there"]


async def test_edit_back_to_earlier_text_counts_with_a_version(channel: ChannelProcess) -> None:
    await channel.receive(inbound_event("1", "one"))
    for version, text in enumerate(("two", "one", "two", "two")):
        edit = inbound_event("1", text).as_edit(f"v{version}")
        assert await channel.receive(edit) is (version < 3)
        assert not await channel.receive(edit)
    assert await model_texts(channel, 4) == ["one", "two", "one", "two"]


async def test_deletion_knows_the_author_after_a_restart(start_channel: Any) -> None:
    one = await start_channel(Platform(), {"": "ok"})
    await one.receive(inbound_event("1", "hello"))
    await one.idle()
    again = await one.again()
    gone, heard = inbound_event("1", "", user="").as_deletion(), []
    receive = again.kit.host.receive

    async def hear(inbound: Any) -> bool:
        heard.append((inbound.kind, inbound.target, inbound.user_id))
        return bool(await receive(inbound))

    again.kit.host.receive = hear
    assert await again.receive(gone)
    assert not await again.receive(inbound_event("2", "", user="").as_deletion())
    assert heard == [("delete", "1", "ann")]
    await again.close()


async def test_press_carries_the_full_label_and_the_question(
    channel: ChannelProcess, platform: Platform
) -> None:
    await channel.receive(inbound_event("1", "hello"))
    await channel.idle()
    presses = note_presses(channel)
    (session,) = await channel.kit.host.sessions()
    choices = (Choice("r", "Red & " + "long " * 40), Choice("b", "Blue"))
    asking = Reply(replace(session, id=""), "Which?", id="q1", choices=choices, question="QQQQQQ")
    (shown,) = await channel.kit.send(asking)
    assert platform.shown[shown].choices == choices
    press = inbound_event("", "0", kind="press", target=shown)
    assert await channel.receive(press)
    assert not await channel.receive(press)
    assert await channel.receive(replace(press, inbound=replace(press.inbound, user_id="bob")))
    assert presses == [(choices[0].label, "QQQQQQ")] * 2
    await channel.idle()
    assert len(channel.model.requests) == 1


async def test_press_waits_for_its_message(channel: ChannelProcess, platform: Platform) -> None:
    """Who is quick presses before the platform has answered the bot, and it has kept what the
    buttons say."""
    await channel.receive(inbound_event("1", "hello"))
    await channel.idle()
    (session,) = await channel.kit.host.sessions()
    show, presses, noted = channel.client.send_text, [], note_presses(channel)

    async def show_slowly(chat: str, text: str, post: Any) -> str:
        shown = await show(chat, text, post)
        press = inbound_event("", "1", kind="press", target=shown)
        if post.choices:
            presses.extend([asyncio.ensure_future(channel.receive(press)) for _ in range(2)])
            await asyncio.sleep(0.1)
        return shown

    channel.client.send_text = show_slowly  # type: ignore[method-assign]
    asking = Reply(replace(session, id=""), "Which?", id="q1", choices=("Red", "Blue"))
    await channel.kit.send(asking)
    assert sorted(await asyncio.gather(*presses)) == [False, True]
    assert noted == [("Blue", "")]


async def test_press_waits_for_another_process(channel: ChannelProcess, platform: Platform) -> None:
    """Workers show questions, and a gateway receives presses."""
    await channel.receive(inbound_event("1", "hello"))
    await channel.idle()
    (session,) = await channel.kit.host.sessions()
    there, heard, presses = await channel.beside(), [], []

    async def hear(inbound: Inbound) -> bool:
        heard.append(inbound.text)
        return True

    channel.kit.host.receive = hear
    channel.kit.host.services.provide(WorkDistribution, SimpleNamespace(is_shared=True))
    show = there.client.send_text

    async def show_slowly(chat: str, text: str, post: Any) -> str:
        shown = await show(chat, text, post)
        press = inbound_event("", "1", kind="press", target=shown)
        presses.append(asyncio.ensure_future(channel.receive(press)))
        await asyncio.sleep(0.3)
        return shown

    there.client.send_text = show_slowly  # type: ignore[method-assign]
    asking = Reply(replace(session, id=""), "Which?", id="q1", choices=("Red", "Blue"))
    await there.kit.send(asking)
    assert await asyncio.gather(*presses) == [True]
    assert heard == ["Blue"]
    await there.close()


async def test_press_of_unknown_button_chooses_nothing(channel: ChannelProcess) -> None:
    """A number would be taken for a choice: the fourth button's is the third choice's."""
    presses = note_presses(channel)
    press = inbound_event("", "3", kind="press", target="p9")
    assert await channel.receive(press)
    assert not await channel.receive(press)
    await channel.idle()
    assert presses == [("", "")]
    assert channel.model.requests == []


async def test_press_does_not_wait_for_files(channel: ChannelProcess) -> None:
    async def never(file: RemoteFile) -> bytes:
        await asyncio.Event().wait()
        return b""

    channel.client.fetch_file = never  # type: ignore[method-assign]
    await channel.receive(inbound_event("1", "look", TEXT))
    presses = note_presses(channel)
    assert await channel.receive(inbound_event("", "Red", kind="press", target="p9"))
    assert presses == [("Red", "")]


async def test_cancelled_receive_is_completed(channel: ChannelProcess) -> None:
    work = asyncio.ensure_future(channel.receive(inbound_event("1", "hello")))
    await asyncio.sleep(0)
    work.cancel()
    await asyncio.gather(work, return_exceptions=True)
    await until(lambda: channel.model.requests)
    assert not await channel.receive(inbound_event("1", "hello"))


@pytest.mark.slow
async def test_messages_of_a_chat_keep_their_order(channel: ChannelProcess) -> None:
    await asyncio.gather(
        *[channel.receive(inbound_event(str(n), f"number {n}")) for n in range(12)]
    )
    assert await model_texts(channel, 12) == [f"number {n}" for n in range(12)]
