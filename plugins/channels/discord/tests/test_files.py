"""Files, voice, reactions and threads, through the real core and the real library."""

from __future__ import annotations

import base64
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
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

from .conftest import ANN, opus, png
from .discord_api import DiscordApi
from .discord_world import BOT_ID, VOICE


class Hears(Plugin[NoConfig]):
    """Transcribes every voice message to the same words."""

    @hookimpl
    async def on_voice(self, ctx: Context, audio: Audio) -> str:
        assert audio.path.read_bytes() == opus()
        assert (audio.mime, audio.duration) == ("audio/ogg", 1.5)
        return "turn on the lamp"


@pytest.mark.slow
def test_picture_file_and_voice_reach_the_model(talk: Any, api: DiscordApi) -> None:
    one = talk(Hears)
    one.ask("a picture", "got it", "lit", "no file")
    api.send(ANN, "../p\n.png", png(), text="what is it")
    one.do(api.find, "a picture", ANN)
    blocks = one.harness.model.last.messages[-1].blocks
    assert [type(block).__name__ for block in blocks] == ["TextBlock", "ImageBlock"]
    assert isinstance(blocks[1], ImageBlock)

    shown = api.send(ANN, "notes.txt", b"hello")
    one.do(api.find, "got it", ANN)
    assert "text/plain, 5 bytes" in one.harness.model.last.messages[-1].blocks[0].text
    assert shown.files

    api.send(ANN, "voice-message.ogg", opus(), mime="audio/ogg", voice=1.5)
    one.do(api.find, "lit", ANN)
    assert "turn on the lamp" in one.harness.model.last.messages[-1].blocks[0].text

    api.send(ANN, "film.mp4", b"x", size=99_000_000)
    one.do(api.find, "is too large", ANN)


def test_expired_attachment_url_is_refreshed(talk: Any, api: DiscordApi) -> None:
    one = talk()
    one.ask("got it")
    api.misbehave("403", "GET attachments", times=1)
    api.send(ANN, "notes.txt", b"hello")
    one.do(api.find, "got it", ANN)
    assert "text/plain, 5 bytes" in one.harness.model.last.messages[-1].blocks[0].text


@pytest.mark.slow
def test_voice_reply_falls_back_to_file_where_refused(
    talk: Any, api: DiscordApi, tmp_path: Path
) -> None:
    one = talk()
    path = tmp_path / "answer.ogg"
    path.write_bytes(opus())
    guild = api.guild()
    room = api.channel(guild)
    one.send(room, Audio(path, "audio/ogg", 0.0, bytes(range(256)) * 2, origins=()), text="words")
    words, voice = api.messages(room)
    assert words.text == "words"
    assert voice.flags == VOICE
    (about,) = voice.files
    assert about["duration_secs"] > 0
    assert len(base64.b64decode(about["waveform"])) == 256
    guild.permissions &= ~(1 << 46)
    one.send(room, Audio(path, "audio/ogg", 2.0, origins=()))
    assert [(f["filename"], f["size"]) for f in api.messages(room)[2].files] == [
        ("answer.ogg", len(opus()))
    ]
    picture = tmp_path / "p.png"
    picture.write_bytes(png())
    one.send(ANN, Attachment(picture, "image/png", "p.png", 1, "see https://a.org", origins=()))
    (sent,) = api.messages(ANN)
    assert sent.text == "see https://a.org"
    assert api.world.blobs[sent.files[0]["url"]] == png()
    large = tmp_path / "large.bin"
    large.write_bytes(b"x" * (10 * 2**20 + 1))
    one.send(ANN, Attachment(large, "application/zip", "large.zip", 1, origins=()))
    assert "the limit here is 10,485,760" in api.texts(ANN)[-1]


def test_unconfirmed_file_is_not_sent_twice(talk: Any, api: DiscordApi, tmp_path: Path) -> None:
    one = talk()
    path = tmp_path / "a.txt"
    path.write_bytes(b"hello")
    item = Attachment(path, "text/plain", "a.txt", 5, origins=())
    api.misbehave("drop", "POST messages")
    session = Session("s", "discord", str(ANN), None, 0.0)
    reply = Reply(session, "", (item,), id="r1")
    with pytest.raises(Exception, match="no response from Discord"):
        one.harness.run(one.channel.send(reply))
    one.harness.run(one.channel.send(reply))
    assert len(api.messages(ANN)) == 1


@pytest.mark.slow
def test_threads_setting_opens_thread_per_session(talk: Any, api: DiscordApi) -> None:
    one = talk(threads=True)
    one.ask("first", "second", "third", "fourth")
    room = api.channel(api.guild())
    asked = api.say(room, f"<@{BOT_ID}> tell me about threads", ANN)
    shown = one.do(api.find, "first")
    assert shown.chat == asked.id
    assert api.place(asked.id).name == "tell me about threads"
    api.say(asked.id, "and without a mention?", ANN)
    one.do(api.find, "second", asked.id)
    again = api.say(room, f"<@{BOT_ID}> another", ANN)
    assert one.do(api.find, "third").chat == again.id
    api.edit(again, f"<@{BOT_ID}> something else")
    assert one.do(api.find, "fourth").chat == again.id


@pytest.mark.long
def test_rest_of_a_paste_goes_to_the_thread_of_its_first_part(talk: Any, api: DiscordApi) -> None:
    one = talk(threads=True)
    one.ask("read it", "read that")
    room = api.channel(api.guild())
    parts = [f"<@{BOT_ID}> " + "word " * 390, "more " * 390, "the end"]
    begun, *_ = [api.say(room, part, ANN) for part in parts]
    assert one.do(api.find, "read it").chat == begun.id
    (request,) = one.harness.model.requests
    asked = request.messages[-1].blocks[0].text
    assert "word" in asked
    assert "more" in asked
    assert asked.endswith("the end")
    other = api.say(room, f"<@{BOT_ID}> something new", ANN)
    assert one.do(api.find, "read that").chat == other.id


@pytest.mark.slow
def test_agent_adds_reactions_and_opens_thread(talk: Any, api: DiscordApi) -> None:
    one = talk()
    room = api.channel(api.guild())
    said = api.say(room, "nothing for the bot", ANN)
    for emoji, standing in (("👀", {"👀"}), ("✅", {"✅"}), (None, set())):
        one.harness.run(one.channel.react(str(room), str(said.id), emoji))
        assert {e for e, who in said.reactions.items() if who} == standing
    for _ in range(2):
        assert one.harness.run(one.channel.open_thread(str(room), str(said.id))) == str(said.id)


@pytest.mark.slow
def test_other_bots_are_heard_if_configured_up_to_a_limit(talk: Any, api: DiscordApi) -> None:
    one = talk(bots="mentions", bot_messages=2)
    one.ask(*["answered"] * 9)
    room = api.channel(api.guild())
    api.world.bots.add(9)
    for number in range(4):
        api.say(room, f"<@{BOT_ID}> ping {number}", 9)
        api.say(room, f"ping {number}", 9)
    api.say(ANN, "hello")
    one.do(api.find, "answered", ANN)
    one.harness.run(one.harness.runtime.finish_background(60))
    assert len(api.texts(room)) == 2


def test_forwarded_and_quoted_text_names_its_author(talk: Any, api: DiscordApi) -> None:
    one = talk()
    one.ask("one", "two")
    api.say(ANN, "", forwarded="do as I say")
    one.do(api.find, "one", ANN)
    room = api.channel(api.guild())
    other = api.say(room, "words of another", 7)
    api.say(room, f"<@{BOT_ID}> what is that, <@7>?", ANN, reply_to=other.id)
    one.do(api.find, "two", room)
    with closing(sqlite3.connect(one.harness.home / "hookline.db")) as db, db:
        bodies = [row[0] for row in db.execute("SELECT body FROM inbox ORDER BY received")]
    assert '"forwarded":"somebody"' in bodies[0]
    assert '"quoted":"words of another"' in bodies[1]
    assert "quoted from User 7 (discord:7)" in bodies[1]
    assert "@User 7?" in bodies[1]
