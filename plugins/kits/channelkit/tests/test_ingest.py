"""What people do, on its way in: files, presses, edits, deletions, and the order of all of it."""

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

from .conftest import Platform, Town, until

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
def fast(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No pause between attempts to fetch."""
    monkeypatch.setattr("hookline_channelkit.media.RETRY_PAUSE", 0.0)
    return


def said(
    id_: str, text: str = "", *files: RemoteFile, user: str = "ann", **more: Any
) -> InboundEvent:
    return InboundEvent(Inbound("", "c", user, id_, text, private=True, **more), files)


async def asked(town: Town, count: int = 1) -> list[str]:
    """What the model was asked, once it was so often."""
    await until(lambda: len(town.model.requests) >= count)
    await town.idle()
    return [request.messages[-1].text for request in town.model.requests]


@pytest.fixture
async def here(town: Any, platform: Platform) -> Town:
    one: Town = await town(platform, {}, Doorkeeper, echo=True, stream=False)
    return one


async def test_message_with_files_is_acknowledged_and_keeps_order(
    here: Town, platform: Platform
) -> None:
    """Downloading takes its time; the platform has to be answered meanwhile."""
    go = asyncio.Event()
    fetch = here.client.fetch_file

    async def slow(file: RemoteFile) -> bytes:
        await go.wait()
        return await fetch(file)

    here.client.fetch_file = slow  # type: ignore[method-assign]
    platform.files["f1"] = b"words"
    assert await here.receive(said("1", "look", TEXT))
    assert await here.receive(said("2", "and this"))
    assert not await here.receive(said("1", "look", TEXT))
    assert not await here.receive(said("2", "and this"))
    go.set()
    first, second = await asked(here, 2)
    assert first.startswith("look")
    assert "notes.txt, text/plain, 5 bytes" in first
    assert second == "and this"
    assert await here.records() == []


async def test_message_with_files_survives_a_kill(here: Town, platform: Platform) -> None:
    async def never(file: RemoteFile) -> bytes:
        await asyncio.Event().wait()
        return b""

    here.client.fetch_file = never  # type: ignore[method-assign]
    platform.files["f1"] = b"words"
    await here.receive(said("1", "look", TEXT))
    await here.receive(said("2", "and this"))
    again = await here.again()
    await until(lambda: len(platform.texts("c")) == 2)
    assert platform.texts("c")[0].startswith("look")
    assert not await again.receive(said("1", "look", TEXT))
    await again.close()


async def test_files_of_strangers_are_not_downloaded(here: Town, platform: Platform) -> None:
    platform.files["f1"] = b"words"
    await here.receive(said("1", "", TEXT, user="eve"))
    assert await asked(here) == ["(notes.txt)"]
    assert platform.fetched == []


@pytest.mark.usefixtures("fast")
async def test_failed_download_is_reported(here: Town, platform: Platform) -> None:
    platform.files = {"f1": ChatGone("it has expired"), "f2": ConnectionError("away")}
    big = RemoteFile("f3", "film.mp4", 10**9)
    await here.receive(said("1", "see", TEXT, RemoteFile("f2", "b.txt"), big))
    (text,) = await asked(here)
    assert "The file notes.txt could not be downloaded." in text
    assert "The file b.txt could not be downloaded." in text
    assert "The file film.mp4 (1000 MB) is too large" in text
    assert platform.fetched.count("f1") == 1
    assert platform.fetched.count("f2") == 3


async def test_deleted_message_leaves_the_queue(here: Town, platform: Platform) -> None:
    go = asyncio.Event()

    async def slow(file: RemoteFile) -> bytes:
        await go.wait()
        return b"words"

    here.client.fetch_file = slow  # type: ignore[method-assign]
    await here.receive(said("1", "look", TEXT))
    await here.receive(said("2", "and this", TEXT))
    await here.receive(said("3", "third"))
    for target in ("1", "2"):
        await here.receive(said("", "", kind="delete", target=target))
    go.set()
    await until(lambda: any("third" in r.messages[-1].text for r in here.model.requests))
    texts = await asked(here)
    assert not any("look" in text or "and this" in text for text in texts)
    assert "third" in texts
    assert await here.records() == []


async def test_edit_without_new_text_is_dropped(here: Town) -> None:
    """Platforms tell an edit where they add a preview, and tell each twice."""
    await here.receive(said("1", "hello"))
    assert not await here.receive(said("", "hello", kind="edit", target="1"))
    assert await here.receive(said("", "hello there", kind="edit", target="1"))
    assert not await here.receive(said("", "hello there", kind="edit", target="1"))
    assert await here.receive(said("", "hello", kind="edit", target="1"))
    assert (await asked(here, 3))[:2] == ["hello", "hello there"]


async def test_edit_back_to_earlier_text_counts_with_a_version(here: Town) -> None:
    await here.receive(said("1", "one"))
    for version, text in enumerate(("two", "one", "two", "two")):
        edit = said("1", text).as_edit(f"v{version}")
        assert await here.receive(edit) is (version < 3)
        assert not await here.receive(edit)
    assert await asked(here, 4) == ["one", "two", "one", "two"]


async def test_deletion_knows_the_author_after_a_restart(town: Any) -> None:
    one = await town(Platform(), {"": "ok"})
    await one.receive(said("1", "hello"))
    await one.idle()
    again = await one.again()
    gone, heard = said("1", "", user="").as_deletion(), []
    receive = again.kit.host.receive

    async def hear(inbound: Any) -> bool:
        heard.append((inbound.kind, inbound.target, inbound.user_id))
        return bool(await receive(inbound))

    again.kit.host.receive = hear
    assert await again.receive(gone)
    assert not await again.receive(said("2", "", user="").as_deletion())
    assert heard == [("delete", "1", "ann")]
    await again.close()


async def test_press_carries_the_full_label(here: Town, platform: Platform) -> None:
    await here.receive(said("1", "hello"))
    await here.idle()
    (session,) = await here.kit.host.sessions()
    choices = (Choice("r", "Red & " + "long " * 40), Choice("b", "Blue"))
    asking = Reply(replace(session, id=""), "Which?", id="q1", choices=choices)
    (shown,) = await here.kit.send(asking)
    assert platform.shown[shown].choices == choices
    press = said("", "0", kind="press", target=shown)
    assert await here.receive(press)
    assert not await here.receive(press)
    assert await here.receive(replace(press, inbound=replace(press.inbound, user_id="bob")))
    texts = await asked(here, 3)
    assert texts[1:] == [str(choices[0]), str(choices[0])]


async def test_press_waits_for_its_message(here: Town, platform: Platform) -> None:
    """Who is quick presses before the platform has answered the bot, and it has kept what the
    buttons say."""
    await here.receive(said("1", "hello"))
    await here.idle()
    (session,) = await here.kit.host.sessions()
    show, presses = here.client.send_text, []

    async def show_slowly(chat: str, text: str, post: Any) -> str:
        shown = await show(chat, text, post)
        press = said("", "1", kind="press", target=shown)
        if post.choices:
            presses.extend([asyncio.ensure_future(here.receive(press)) for _ in range(2)])
            await asyncio.sleep(0.1)
        return shown

    here.client.send_text = show_slowly  # type: ignore[method-assign]
    asking = Reply(replace(session, id=""), "Which?", id="q1", choices=("Red", "Blue"))
    await here.kit.send(asking)
    assert sorted(await asyncio.gather(*presses)) == [False, True]
    assert (await asked(here, 2))[1:] == ["Blue"]


async def test_press_waits_for_another_process(here: Town, platform: Platform) -> None:
    """Workers show questions, and a gateway is told of presses."""
    await here.receive(said("1", "hello"))
    await here.idle()
    (session,) = await here.kit.host.sessions()
    there, heard, presses = await here.beside(), [], []

    async def hear(inbound: Inbound) -> bool:
        heard.append(inbound.text)
        return True

    here.kit.host.receive = hear
    here.kit.host.services.provide(WorkDistribution, SimpleNamespace(is_shared=True))
    show = there.client.send_text

    async def show_slowly(chat: str, text: str, post: Any) -> str:
        shown = await show(chat, text, post)
        press = said("", "1", kind="press", target=shown)
        presses.append(asyncio.ensure_future(here.receive(press)))
        await asyncio.sleep(0.3)
        return shown

    there.client.send_text = show_slowly  # type: ignore[method-assign]
    asking = Reply(replace(session, id=""), "Which?", id="q1", choices=("Red", "Blue"))
    await there.kit.send(asking)
    assert await asyncio.gather(*presses) == [True]
    assert heard == ["Blue"]
    await there.close()


async def test_press_of_unknown_button_chooses_nothing(here: Town) -> None:
    """A number would be taken for a choice: the fourth button's is the third choice's."""
    press = said("", "3", kind="press", target="p9")
    assert await here.receive(press)
    assert not await here.receive(press)
    assert await asked(here) == ["(no text)"]


async def test_press_does_not_wait_for_files(here: Town) -> None:
    async def never(file: RemoteFile) -> bytes:
        await asyncio.Event().wait()
        return b""

    here.client.fetch_file = never  # type: ignore[method-assign]
    await here.receive(said("1", "look", TEXT))
    assert await here.receive(said("", "Red", kind="press", target="p9"))
    await until(lambda: here.model.requests)
    assert here.model.requests[0].messages[-1].text == "Red"


async def test_cancelled_receive_is_completed(here: Town) -> None:
    work = asyncio.ensure_future(here.receive(said("1", "hello")))
    await asyncio.sleep(0)
    work.cancel()
    await asyncio.gather(work, return_exceptions=True)
    await until(lambda: here.model.requests)
    assert not await here.receive(said("1", "hello"))


async def test_messages_of_a_chat_keep_their_order(here: Town) -> None:
    await asyncio.gather(*[here.receive(said(str(n), f"number {n}")) for n in range(12)])
    assert await asked(here, 12) == [f"number {n}" for n in range(12)]
