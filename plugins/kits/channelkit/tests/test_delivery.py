"""Replies through a real core and a strict platform."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hookline.testing import calls
from hookline_hookspecs import Attachment, Audio, Plugin, Reply, Session, tool
from hookline_hookspecs.plugin import NoConfig

from .conftest import MARK, SMALL, Platform

LONG = "\n\n".join(f"Paragraph {n} has **bold** words and some more of them." for n in range(8))


async def test_reply_is_rendered_in_the_dialect(start_channel: Any, platform: Platform) -> None:
    one = await start_channel(platform, {"hi": "Hello **you**."})
    assert await one.say("hi")
    assert not await one.say("hi")
    await one.idle()
    (shown,) = platform.chat("c")
    assert (shown.text, shown.rich, shown.reply_to) == ("Hello ⟦you⟧.", True, "hi")
    assert await one.records() == []


@pytest.mark.slow
async def test_stream_is_edited_and_becomes_the_reply(
    start_channel: Any, platform: Platform
) -> None:
    one = await start_channel(platform, {"hi": LONG}, pause=0.01)
    await one.say("hi")
    await one.idle()
    shown = platform.chat("c")
    assert len(shown[0].texts) > 2
    assert any(text.endswith("…") for text in shown[0].texts)
    assert "\n\n".join(one.text.strip() for one in shown) == LONG.replace("**bold**", "⟦bold⟧")
    assert platform.refused == []
    assert await one.records() == []


async def test_stream_replaces_text_before_a_tool_call(
    start_channel: Any, platform: Platform
) -> None:
    class Tools(Plugin[NoConfig]):
        @tool(read_only=True)
        def look(self) -> str:
            """Look."""
            return "seen"

    first = ["Let me look at it first, this takes a while.", calls("look")]
    answers = {"hi": [first], "": "There it is, as it was."}
    one = await start_channel(platform, answers, Tools, pause=0.02)
    await one.say("hi")
    await one.idle()
    (shown,) = platform.chat("c")
    assert shown.text == "There it is, as it was."
    assert any("Let me" in text for text in shown.texts)
    assert all("Let me" not in text or "There" not in text for text in shown.texts)


def reply(text: str, id_: str = "r1", **more: Any) -> Reply:
    session = Session("s", "pigeon", "c", None, 0.0)
    return Reply(session, text, id=id_, **more)


async def test_buttons_are_on_the_last_piece(start_channel: Any, platform: Platform) -> None:
    one = await start_channel(platform, {})
    sent = await one.kit.send(reply(LONG, choices=("Allow once", "Deny")))
    shown = platform.chat("c")
    labels = [tuple(choice.label for choice in one.choices) for one in shown]
    assert labels == [()] * (len(shown) - 1) + [("Allow once", "Deny")]
    assert len(shown) > 2
    assert sent == tuple(one.id for one in shown)


async def test_bad_markup_is_sent_plain(start_channel: Any, platform: Platform) -> None:
    one = await start_channel(platform, {})
    platform.fault = lambda name, chat, text: "bad markup" if "⟦" in text else None
    await one.kit.send(reply("some **bold** words"))
    assert [(one.text, one.rich) for one in platform.chat("c")] == [("some **bold** words", False)]


async def test_too_long_piece_is_split_smaller(start_channel: Any, platform: Platform) -> None:
    one = await start_channel(platform, {})
    text = "".join(f"**{n}** " for n in range(60))
    one.client.render = lambda markdown: markdown.replace("**", "⟦⟦⟧⟧")
    await one.kit.send(reply(text))
    shown = "".join(one.text for one in platform.chat("c"))
    assert [int(n) for n in shown.replace("⟦⟦⟧⟧", "").split()] == list(range(60))


async def test_gone_chat_gives_up_only_that_reply(
    start_channel: Any, platform: Platform, caplog: pytest.LogCaptureFixture
) -> None:
    one = await start_channel(platform, {"": "answer"}, stream=False)
    platform.gone = {"c"}
    await one.say("a")
    await one.idle()
    assert "the bot was blocked" in caplog.text
    platform.gone = set()
    await one.say("b")
    await one.idle()
    assert platform.texts("c") == ["answer"]


@pytest.mark.slow
async def test_deleted_stream_message_is_sent_again(start_channel: Any, platform: Platform) -> None:
    one = await start_channel(platform, {"hi": LONG}, pause=0.01)
    one.model.held.clear()
    await one.say("hi")
    await platform.until(lambda: bool(platform.shown))
    platform.shown.clear()
    one.model.held.set()
    await one.idle()
    text = "\n\n".join(one.text.strip() for one in platform.chat("c"))
    assert text == LONG.replace("**bold**", "⟦bold⟧")


async def test_files_follow_the_text_with_types_by_content(
    start_channel: Any, platform: Platform, tmp_path: Path
) -> None:
    one = await start_channel(platform, {})
    picture, big, sound = tmp_path / "p.txt", tmp_path / "big.bin", tmp_path / "v.ogg"
    picture.write_bytes(b"\x89PNG\r\n\x1a\n" + b"0" * 50)
    big.write_bytes(b"0" * 20_000)
    sound.write_bytes(b"no sound at all")
    items = (
        Attachment(picture, "text/plain", "p.png", 1, origins=()),
        Attachment(big, "text/plain", "big.bin", 1, origins=()),
        Attachment(tmp_path / "absent", "text/plain", "absent.txt", 1, origins=()),
        Attachment(tmp_path, "text/plain", "folder", 1, origins=()),
        Audio(sound, "audio/ogg", 3.0, origins=()),
    )
    sent = await one.kit.send(reply("Here.", attachments=items))
    text, first, *faults, last = platform.chat("c")
    assert sent == (text.id, first.id, *[one.id for one in faults], last.id)
    assert text.text == "Here."
    assert first.file == replace(items[0], mime="image/png", size=58)
    assert [one.text.split(",0")[0].split(":")[0] for one in faults] == [
        "(The file big.bin has 20",
        "(The file absent.txt cannot be sent",
        "(folder is not a regular file and was not sent.)",
    ]
    assert last.file == Attachment(sound, "text/plain", "v.ogg", 15, origins=())


@pytest.mark.slow
async def test_retry_continues_where_it_stopped(
    start_channel: Any, platform: Platform, tmp_path: Path
) -> None:
    one = await start_channel(platform, {})
    file = tmp_path / "f.txt"
    file.write_text("words")
    asked = reply(LONG, attachments=(Attachment(file, "text/plain", "f.txt", 5, origins=()),) * 2)
    for number in range(1, 40):
        platform.faults[number] = "away" if number % 2 else ""
    for _ in range(40):
        try:
            await one.kit.send(asked)
            break
        except ConnectionError:
            continue
    texts = [one.text for one in platform.chat("c") if one.file is None]
    assert "\n\n".join(text.strip() for text in texts) == LONG.replace("**bold**", "⟦bold⟧")
    assert len([one for one in platform.chat("c") if one.file]) == 2
    assert not any(MARK in text for text in texts)
    assert await one.kit.send(asked) is not None
    assert len(platform.chat("c")) == len(texts) + 2


@pytest.mark.slow
async def test_unknown_delivery_is_marked_as_possible_repeat(
    start_channel: Any, platform: Platform
) -> None:
    one = await start_channel(platform, {"": "answer"}, stream=False)
    platform.faults[1] = "no answer"
    await one.say("a")
    await one.idle()
    assert platform.texts("c") == ["answer", f"{MARK}\nanswer"]


@pytest.mark.slow
async def test_retry_after_is_waited_out(start_channel: Any) -> None:
    platform = Platform(replace(SMALL, per_chat=0))
    one = await start_channel(platform, {"": LONG}, pause=0.002)
    asked: list[float] = []

    def storm(name: str, chat: str, text: str) -> str | None:
        now = asyncio.get_running_loop().time()
        asked.append(now)
        return "slow down" if len(asked) % 3 else None

    platform.fault = storm
    for chat in ("a", "b", "c"):
        await one.say(f"m{chat}", chat)
    await one.idle()
    for chat in ("a", "b", "c"):
        text = "\n\n".join(text.strip() for text in platform.texts(chat))
        assert text == LONG.replace("**bold**", "⟦bold⟧")


async def test_empty_reply_sends_nothing(start_channel: Any, platform: Platform) -> None:
    one = await start_channel(platform, {})
    assert await one.kit.send(reply("  \n")) == ()
    assert platform.shown == {}


@pytest.mark.slow
async def test_reply_can_be_sent_after_stop(start_channel: Any, platform: Platform) -> None:
    one = await start_channel(platform, {"": LONG}, pause=0.01)
    one.model.held.clear()
    await one.say("a")
    await platform.until(lambda: bool(platform.shown))
    await one.kit.stop()
    assert one.client.receive is None
    one.model.held.set()
    await one.idle()
    text = "\n\n".join(one.text.strip() for one in platform.chat("c"))
    assert text == LONG.replace("**bold**", "⟦bold⟧")
