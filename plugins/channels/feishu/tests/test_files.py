"""Incoming and outgoing files, through the real core and the real library."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hookline.testing import Harness
from hookline_feishu import Feishu as Plugin
from hookline_hookspecs import Attachment, Audio, Context, ImageBlock, Reply, Session, hookimpl
from hookline_hookspecs import Plugin as Base
from hookline_hookspecs.plugin import NoConfig

from .conftest import ANN, opus, png
from .feishu import Feishu
from .service import APP, SECRET


class Voices(Base[NoConfig]):
    """Transcribes every voice message to the same words, and speaks with a recording."""

    preserves_streaming = True
    recording = Path()

    @hookimpl
    async def on_voice(self, ctx: Context, audio: Audio) -> str:
        assert audio.path.read_bytes() == opus()
        assert (audio.mime, audio.duration) == ("audio/ogg", 1.0)
        return "turn on the lamp"

    @hookimpl
    async def pre_reply(self, ctx: Context, reply: Reply) -> Reply:
        spoken = Audio(self.recording, "audio/ogg", 2.6, origins=())
        return replace(reply, attachments=(*reply.attachments, spoken))


@pytest.fixture
def start_channel(
    harness: Callable[..., Harness], feishu: Feishu
) -> Callable[..., tuple[Harness, Any]]:
    def make(*more: Any) -> tuple[Harness, Any]:
        feishu.room(ANN)
        config = {"app_id": APP, "app_secret": SECRET, "domain": feishu.url}
        h = harness(Plugin, *more, config={"feishu": config}, model=["one", "two", "three"])
        channel: Any = h.runtime.channels.get("feishu")
        h.run(channel.start())
        return h, channel

    return make


@pytest.mark.slow
def test_picture_and_file_reach_the_model(start_channel: Any, feishu: Feishu) -> None:
    h, channel = start_channel()
    chat = feishu.room(ANN)
    feishu.send(chat, "image", png())
    h.run(asyncio.to_thread(feishu.find, "one", chat))
    assert any(isinstance(one, ImageBlock) for one in h.model.last.messages[-1].blocks)
    feishu.send(chat, "file", b"hello", name="../../notes\n.txt")
    h.run(asyncio.to_thread(feishu.find, "two", chat))
    assert "text/plain, 5 bytes" in h.model.last.messages[-1].blocks[0].text
    saved = [path for path in (h.home / "media").rglob("*") if path.is_file()]
    assert sorted(path.read_bytes() for path in saved) == sorted([png(), b"hello"])
    h.run(channel.stop())


def test_voice_message_gets_a_voice_reply(
    start_channel: Any, feishu: Feishu, tmp_path: Path
) -> None:
    Voices.recording = tmp_path / "answer.ogg"
    Voices.recording.write_bytes(opus(2))
    h, channel = start_channel(Voices)
    chat = feishu.room(ANN)
    feishu.send(chat, "audio", opus(), ms=1000)
    h.run(asyncio.to_thread(feishu.wait, lambda: len(feishu.shown(chat)) == 2))
    assert h.model.last.messages[-1].blocks[0].text == "turn on the lamp"
    spoken = feishu.shown(chat)[1]
    assert spoken.type == "audio"
    assert feishu.files[spoken.body["file_key"]] == ("opus", "answer.ogg", opus(2), 2600)
    h.run(channel.stop())


@pytest.mark.slow
def test_outgoing_files_use_feishu_message_types(
    start_channel: Any, feishu: Feishu, tmp_path: Path
) -> None:
    contents = {"a.png": png(), "b.pdf": b"%PDF-1.7 x", "c.txt": b"text", "d.txt": b"",
                "e.ogg": opus(3)}  # fmt: skip
    for name, data in contents.items():
        (tmp_path / name).write_bytes(data)
    h, channel = start_channel()
    chat = feishu.room(ANN)
    items = (
        Attachment(tmp_path / "a.png", "image/png", "a.png", 1, caption="look", origins=()),
        Attachment(tmp_path / "b.pdf", "application/pdf", "b.pdf", 1, caption="read", origins=()),
        Attachment(tmp_path / "c.txt", "text/plain", "c.txt", 4, origins=()),
        Attachment(tmp_path / "d.txt", "text/plain", "d.txt", 0, origins=()),
        Audio(tmp_path / "e.ogg", "audio/ogg", 0.0, origins=()),
    )
    reply = Reply(Session("s", "feishu", chat, None, 0.0), "", items, id="r1")
    h.run(channel.send(reply))
    shown = feishu.shown(chat)
    assert [one.type for one in shown] == ["post", "post", "file", "file", "post", "audio"]
    assert feishu.texts(chat)[0].startswith("look")
    assert "is empty" in feishu.texts(chat)[4]
    kept = [feishu.files[one.body["file_key"]] for one in shown if "file_key" in one.body]
    assert [(kind, name) for kind, name, _, _ in kept] == [
        ("pdf", "b.pdf"), ("stream", "c.txt"), ("opus", "e.ogg")]  # fmt: skip
    assert kept[-1][3] == 3000
    h.run(channel.stop())
