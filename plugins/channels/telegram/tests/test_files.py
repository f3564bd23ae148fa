"""Incoming and outgoing files, through the real core and the real library."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hookline.testing import Harness
from hookline_hookspecs import (
    Attachment,
    Audio,
    Context,
    ImageBlock,
    Plugin,
    Reply,
    Session,
    hookimpl,
)
from hookline_hookspecs.plugin import NoConfig
from hookline_telegram import Telegram

from .bot_api import TOKEN, BotApi
from .conftest import ANN, opus, png


class Voices(Plugin[NoConfig]):
    """Transcribes every voice note to the same words, and speaks with a recording."""

    preserves_streaming = True
    recording = Path()
    """Where the recording of the answers lies."""

    @hookimpl
    async def on_voice(self, ctx: Context, audio: Audio) -> str:
        assert audio.path.read_bytes() == opus()
        assert (audio.mime, audio.duration) == ("audio/ogg", 1.0)
        return "turn on the lamp"

    @hookimpl
    async def pre_reply(self, ctx: Context, reply: Reply) -> Reply:
        spoken = Audio(self.recording, "audio/ogg", 2.6, origins=())
        return replace(reply, attachments=(*reply.attachments, spoken))


class Talk:
    """The channel in a real core, and who writes to it."""

    def __init__(
        self, make: Callable[..., Harness], api: BotApi, *more: Any, **config: Any
    ) -> None:
        self.api = api
        settings = {
            "token": TOKEN,
            "base_url": api.base_url,
            "base_file_url": api.base_file_url,
            "poll_seconds": 1,
            **config,
        }
        self.harness = make(Telegram, *more, config={"telegram": settings})
        self.channel: Any = self.harness.runtime.channels.get("telegram")
        self.harness.run(self.channel.start())

    def ask(self, *answers: Any) -> None:
        """What the model says next."""
        self.harness.model.steps.extend(answers)

    def wait(self, until: Callable[[], Any]) -> Any:
        """Let core work until something is so."""
        return self.harness.run(asyncio.to_thread(self.api.wait, until))

    def heard(self, number: int = 1) -> Any:
        """The blocks of the newest message, when the model has been asked so often."""
        self.wait(lambda: len(self.api.texts(ANN)) >= number)
        return self.harness.model.last.messages[-1].blocks

    def send(self, *items: Attachment | Audio, text: str = "") -> str | None:
        """Send a reply with files through core's outbox."""
        session = Session("s", "telegram", str(ANN), None, 0.0)
        reply = Reply(session, text, items, id=f"r{len(self.api.shown)}")
        sent: str | None = self.harness.run(self.channel.send(reply))
        return sent


@pytest.fixture
def talk(harness: Callable[..., Harness], api: BotApi) -> Iterator[Callable[..., Talk]]:
    made: list[Talk] = []

    def make(*more: Any, **config: Any) -> Talk:
        made.append(Talk(harness, api, *more, **config))
        return made[-1]

    yield make
    for one in made:
        one.harness.run(one.channel.stop())


def saved_paths(home: Path) -> list[Path]:
    """What was saved."""
    return sorted(path for path in (home / "media").rglob("*") if path.is_file())


@pytest.mark.slow
def test_photo_reaches_model_in_its_largest_size(talk: Any, api: BotApi) -> None:
    one = talk()
    one.ask("a picture")
    api.send(ANN, "photo", png(), caption="what is it")
    blocks = one.heard()
    assert [type(block).__name__ for block in blocks] == ["TextBlock", "ImageBlock"]
    assert blocks[0].text == "what is it"
    assert isinstance(blocks[1], ImageBlock)
    assert blocks[1].mime == "image/png"
    (saved,) = saved_paths(one.harness.home)
    assert saved.read_bytes() == png()
    assert saved.stat().st_mode & 0o777 == 0o600


def test_document_is_saved_in_media_folder_despite_path_in_its_name(talk: Any, api: BotApi) -> None:
    one = talk()
    one.ask("got it")
    api.send(ANN, "document", b"hello", name="../../notes\n.txt")
    text = one.heard()[0].text
    assert "text/plain, 5 bytes" in text
    (saved,) = saved_paths(one.harness.home)
    assert str(saved) in text
    assert "\n" not in text
    assert saved.read_bytes() == b"hello"


@pytest.mark.slow
def test_album_received_in_parts_keeps_all_pictures(talk: Any, api: BotApi) -> None:
    one = talk()
    one.ask("an album", "the rest", "and more")  # one turn, unless the parts come very late
    for size in (2, 3, 4):
        api.send(ANN, "photo", png(size), group="g1")
        one.wait(lambda: len(api.calls) > 0)
    one.wait(lambda: len(saved_paths(one.harness.home)) == 3 and not api.unconfirmed)
    one.harness.run(one.harness.runtime.finish_background(60))
    seen = [block for message in one.harness.model.last.messages for block in message.blocks]
    assert [type(block).__name__ for block in seen].count("ImageBlock") == 3


@pytest.mark.slow
def test_album_in_one_batch_is_one_turn(talk: Any, api: BotApi) -> None:
    one = talk()
    one.ask("an album")
    messages = [
        api.send(ANN, "photo", png(n + 1), caption=None if n else "ours", group="g", queue=False)
        for n in range(3)
    ]
    for message in messages:
        api.deliver("message", message)
    one.wait(lambda: len(saved_paths(one.harness.home)) == 3)
    blocks = one.heard()
    assert [type(block).__name__ for block in blocks].count("ImageBlock") == 3
    assert blocks[0].text == "ours"


@pytest.mark.slow
@pytest.mark.parametrize("claimed", [31_000_000, None])
def test_too_large_file_is_refused_with_a_reply(
    talk: Any, api: BotApi, claimed: int | None
) -> None:
    one = talk(max_bytes=1000)
    one.ask("I see")
    api.send(ANN, "document", b"x" * 2000, name="big.bin", caption="look", size=claimed or 0)
    one.wait(lambda: len(api.texts(ANN)) >= 2)
    notice = api.find("The file big.bin", ANN).text
    assert "is too large" in notice
    assert ("31 MB" in notice) == bool(claimed)
    text = one.harness.model.last.messages[-1].text
    assert text.startswith("look\n\n(The file big.bin")
    assert saved_paths(one.harness.home) == []


@pytest.mark.slow
def test_failed_download_keeps_the_caption(talk: Any, api: BotApi) -> None:
    one = talk()
    one.ask("I see")
    api.download_limit = 1
    api.send(ANN, "document", b"hello", caption="look", size=2)
    one.wait(lambda: len(api.texts(ANN)) >= 2)
    assert "could not be downloaded" in "".join(api.texts(ANN))
    assert one.harness.model.last.messages[-1].text.startswith("look")


@pytest.mark.slow
def test_voice_note_gets_a_voice_note_back(
    talk: Any, api: BotApi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "answer.oga").write_bytes(opus())
    monkeypatch.setattr(Voices, "recording", tmp_path / "answer.oga")
    one = talk(Voices)
    one.ask("The lamp is on.")
    api.send(ANN, "voice", opus())
    one.wait(lambda: any(shown.kind == "voice" for shown in api.messages(ANN)))
    assert one.harness.model.last.messages[-1].text == "turn on the lamp"
    text, voice = api.messages(ANN)
    assert (text.kind, text.text) == ("text", "The lamp is on.")
    assert (voice.data, voice.thread, voice.duration) == (opus(), None, 3)


@pytest.mark.slow
def test_outgoing_files_use_their_native_message_kind(
    talk: Any, api: BotApi, tmp_path: Path
) -> None:
    one = talk()
    files = {"a.png": png(), "b.txt": b"words", "c.oga": opus(), "d.png": b"no picture"}
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    one.send(
        Attachment(tmp_path / "a.png", "image/png", "a.png", len(png()), origins=()),
        Attachment(tmp_path / "b.txt", "text/plain", "b.txt", 5, origins=()),
        Audio(tmp_path / "c.oga", "audio/ogg", 2.6, origins=()),
        Attachment(tmp_path / "d.png", "image/png", "d.png", 10, origins=()),
        text="here you are",
    )
    shown = api.messages(ANN)
    assert [one.kind for one in shown] == ["text", "photo", "document", "voice", "document"]
    assert [one.data for one in shown[1:]] == list(files.values())
    assert shown[3].duration == 3
    assert shown[2].name == "b.txt"


def test_refused_photo_is_sent_as_document(talk: Any, api: BotApi, tmp_path: Path) -> None:
    one = talk()
    bad = b"\x89PNG\r\n\x1a\n" + bytes(20)
    (tmp_path / "a.png").write_bytes(bad)
    api.refuse_photos = True
    one.send(Attachment(tmp_path / "a.png", "image/png", "a.png", len(bad), origins=()))
    (shown,) = api.messages(ANN)
    assert (shown.kind, shown.data) == ("document", bad)


@pytest.mark.slow
def test_bot_token_is_never_logged(
    talk: Any, api: BotApi, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    one = talk()
    one.ask("got it")
    api.misbehave("502", "getFile", times=1)
    api.misbehave("refuse", "sendMessage", times=1)
    api.send(ANN, "document", b"hello")
    one.heard()
    assert caplog.text
    assert TOKEN.partition(":")[2] not in caplog.text
