"""Files, voice, reactions and streamed replies, through the real core and the real library."""

from __future__ import annotations

import asyncio
import struct
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hookline.testing import Harness
from hookline_channelkit import MessageGone, SendOptions
from hookline_hookspecs import Attachment, Audio, Choice, Context, Plugin, Reply, Session, hookimpl
from hookline_hookspecs.plugin import NoConfig
from hookline_slack import Slack as SlackPlugin

from .conftest import ANN
from .fake_rules import buttons_of, words_of
from .fake_slack import APP_TOKEN, BOT, BOT_TOKEN, Slack

PNG = b"\x89PNG\r\n\x1a\n" + bytes(40)
DM, ROOM = "D0ANN", "C0ROOM"


def mp4() -> bytes:
    """The beginning of a recording, as Slack's own recorder makes it."""
    brand = b"ftypM4A \x00\x00\x02\x00M4A isom"
    return struct.pack(">I", len(brand) + 4) + brand + bytes(64)


class Voices(Plugin[NoConfig]):
    """Transcribes every voice message to the same words, and speaks with a recording."""

    preserves_streaming = True
    recording = Path()

    @hookimpl
    async def on_voice(self, ctx: Context, audio: Audio) -> str:
        assert audio.path.read_bytes() == mp4()
        assert (audio.mime, audio.duration) == ("audio/mp4", 3.0)
        return "turn on the lamp"

    @hookimpl
    async def pre_reply(self, ctx: Context, reply: Reply) -> Reply:
        spoken = Audio(self.recording, "audio/mpeg", 2.6, origins=())
        return replace(reply, attachments=(*reply.attachments, spoken))


class Talk:
    """The channel in a real core, and who writes to it."""

    def __init__(
        self, make: Callable[..., Harness], slack: Slack, *more: Any, **config: Any
    ) -> None:
        self.slack = slack
        tokens = {"bot_token": BOT_TOKEN, "app_token": APP_TOKEN, "api_url": slack.api_url}
        self.harness = make(SlackPlugin, *more, config={"slack": {**tokens, **config}})
        self.channel: Any = self.harness.runtime.channels.get("slack")
        self.harness.run(self.channel.start())

    def ask(self, *answers: Any) -> None:
        """What the model says next."""
        self.harness.model.steps.extend(answers)

    def wait(self, until: Callable[[], Any]) -> Any:
        """Let core work until something is so."""
        return self.harness.run(asyncio.to_thread(self.slack.wait, until))

    def send(self, *items: Attachment | Audio, text: str = "", chat: str = DM) -> Any:
        """Send a reply with files through core's outbox."""
        session = Session("s", "slack", chat, None, 0.0)
        reply = Reply(session, text, items, id=f"r{len(self.slack.calls)}")
        return self.harness.run(self.channel.send(reply))

    @property
    def saved(self) -> list[Path]:
        return sorted(p for p in (self.harness.home / "media").rglob("*") if p.is_file())


@pytest.fixture
def slack() -> Iterator[Slack]:
    made = Slack()
    made.room(DM, ANN)
    made.room(ROOM, ANN)
    yield made
    made.close()


@pytest.fixture
def talk(harness: Callable[..., Harness], slack: Slack) -> Iterator[Callable[..., Talk]]:
    made: list[Talk] = []

    def make(*more: Any, **config: Any) -> Talk:
        made.append(Talk(harness, slack, *more, **config))
        return made[-1]

    yield make
    for one in made:
        one.harness.run(one.channel.stop())


@pytest.mark.slow
def test_files_are_downloaded_with_the_token(talk: Any, slack: Slack) -> None:
    one = talk(max_bytes=1000)
    one.ask("seen", "too large", "never")
    slack.say(DM, "what is it", files=(slack.file(PNG, "a.png", "image/png"),))
    one.wait(lambda: slack.texts(DM) == ["seen"])
    assert {path.read_bytes() for path in one.saved} == {PNG}
    slack.say(DM, "and this", files=(slack.file(b"x" * 1001, "b.txt", "text/plain"),))
    one.wait(lambda: "too large" in slack.texts(DM)[-1] and len(slack.texts(DM)) >= 3)
    assert {path.read_bytes() for path in one.saved} == {PNG}


@pytest.mark.slow
def test_sign_in_page_is_not_saved_as_file(talk: Any, slack: Slack) -> None:
    slack.granted -= {"files:read"}
    one = talk()
    one.ask("hm")
    slack.say(DM, "look", files=(slack.file(PNG, "a.png", "image/png"),))
    one.wait(lambda: "hm" in slack.texts(DM))
    assert one.saved == []
    problems = one.harness.run(one.channel.problems.recent())
    assert "files:read" in "".join(problems)


@pytest.mark.slow
@pytest.mark.parametrize("is_allowed", [True, False])
def test_html_file_of_a_person_is_saved(talk: Any, slack: Slack, is_allowed: bool) -> None:
    page = b"<!DOCTYPE html><html><body>Sign in</body></html>"
    slack.granted -= set() if is_allowed else {"files:read"}
    one = talk()
    one.ask("hm")
    slack.say(DM, "look", files=(slack.file(page, "page.html", "text/html"),))
    one.wait(lambda: "hm" in slack.texts(DM))
    assert [path.read_bytes() for path in one.saved] == [page] * is_allowed


@pytest.mark.slow
@pytest.mark.parametrize(
    "place",
    [
        "http://localhost:{port}/files/{id}/a.png",
        "https://files.slack.com.localhost:{port}/a.png",
        "http://files.slack.com@localhost:{port}/a.png",
        "nonsense",
    ],
)
def test_token_is_sent_only_to_slack_servers(talk: Any, slack: Slack, place: str) -> None:
    one = talk()
    one.ask("hm")
    id_ = slack.file(PNG, "a.png", "image/png")
    slack.files[id_]["url_private_download"] = place.format(port=slack.port, id=id_)
    slack.say(DM, "look", files=(id_,))
    one.wait(lambda: "hm" in slack.texts(DM))
    assert one.saved == []


@pytest.mark.slow
def test_voice_clip_is_transcribed_and_answered_with_file(
    talk: Any, slack: Slack, tmp_path: Path
) -> None:
    Voices.recording = tmp_path / "answer.mp3"
    Voices.recording.write_bytes(b"ID3" + bytes(50))
    one = talk(Voices)
    one.ask("it is on")
    slack.say(DM, "", files=(slack.voice(mp4()),))
    one.wait(lambda: any("files" in m for m in slack.messages(DM)))
    assert one.harness.model.last.messages[-1].text == "turn on the lamp"
    assert slack.texts(DM)[0] == "it is on"
    (name,) = [f["name"] for m in slack.messages(DM) for f in m.get("files", ())]
    assert name == "answer.mp3"


@pytest.mark.slow
def test_file_is_posted_once_in_thread_with_escaped_text(
    talk: Any, slack: Slack, tmp_path: Path
) -> None:
    one = talk()
    path = tmp_path / "report.txt"
    path.write_text("words")
    item = Attachment(path, "text/plain", "report.txt", 5, caption="Here <@U1>", origins=())
    root = slack.say(ROOM, "x")["ts"]
    slack.share_seconds = 0.3
    (made,) = one.send(item, chat=f"{ROOM}:{root}")
    (shown,) = [m for m in slack.messages(ROOM) if "files" in m]
    assert made == f"{ROOM}:{shown['ts']}"
    assert (shown["thread_ts"], shown["text"]) == (root, "Here &lt;@U1&gt;")
    assert slack.pings == []


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["drop", "fatal_error", "never shared", "upload"])
def test_unconfirmed_file_is_not_sent_twice(
    talk: Any, slack: Slack, tmp_path: Path, kind: str
) -> None:
    one = talk()
    path = tmp_path / "report.txt"
    path.write_text("words")
    item = Attachment(path, "text/plain", "report.txt", 5, origins=())
    if kind == "never shared":
        slack.never_shared = 1
    elif kind == "upload":
        slack.misbehave("502", "upload")
    else:
        slack.misbehave(kind, "files.completeUploadExternal")
    session = Session("s", "slack", DM, None, 0.0)
    reply = Reply(session, "text", (item,), id="r1")
    with pytest.raises(Exception, match=r"no word|file|fatal|502"):
        one.harness.run(one.channel.send(reply))
    one.harness.run(one.channel.send(reply))
    assert len([m for m in slack.messages(DM) if "files" in m]) == 1
    assert slack.texts(DM)[0] == "text"


def test_client_edits_finds_and_deletes_message(talk: Any, slack: Slack) -> None:
    one = talk()
    client, run = one.channel.client, one.harness.run
    post = SendOptions(token="t" * 24, rich=True)
    made = run(client.send_text(DM, "one", post))
    run(
        client.edit_message(
            DM, made, "two", replace(post, choices=(Choice("y", "Yes", "primary"),))
        )
    )
    (shown,) = slack.messages(DM)
    assert (words_of(shown), "edited" in shown, len(buttons_of(shown))) == ("two", False, 1)
    assert run(client.find_message(DM, "t" * 24, "", time.time() - 5)) == made
    assert run(client.find_message(DM, "u" * 24, "", time.time() - 5)) is None
    run(client.delete_message(DM, made))
    with pytest.raises(MessageGone):
        run(client.edit_message(DM, made, "three", post))


def test_native_stream_is_started_appended_and_found(talk: Any, slack: Slack) -> None:
    one = talk(native_streams=True)
    client, run = one.channel.client, one.harness.run
    one.ask("answered")
    root = slack.say(ROOM, f"<@{BOT}> hi")["ts"]
    one.wait(lambda: slack.texts(ROOM) == ["answered"])
    chat, running = f"{ROOM}:{root}", SendOptions(rich=True, final=False, token="t" * 24)
    last = SendOptions(rich=True, choices=(Choice("y", "Yes"),), token="t" * 24)
    made = run(client.send_text(chat, "one", running))
    assert slack.count("chat.startStream", "") == 1
    assert run(client.find_message(chat, "t" * 24, "", time.time() - 0.5)) == made
    run(client.edit_message(chat, made, "one two", running))
    run(client.edit_message(chat, made, "another", running))
    assert words_of(slack.messages(ROOM)[-1]) == "one two"
    run(client.edit_message(chat, made, "one two three", last))
    assert words_of(slack.messages(ROOM)[-1]) == "one two three"
    assert len(buttons_of(slack.messages(ROOM)[-1])) == 1
    left = run(client.send_text(chat, "of a process that died", running))
    client._streams.clear()
    run(client.edit_message(chat, left, "and its end", last))
    assert words_of(slack.messages(ROOM)[-1]) == "and its end"
    assert {one.is_open for one in slack.streams.values()} == {False}
    gone = run(client.send_text(chat, "too old", running))
    run(client.delete_message(chat, gone))
    assert "too old" not in slack.texts(ROOM)
    assert "chat.startStream" not in {c.method for c in slack.calls if c.error}


@pytest.mark.slow
def test_client_reacts_and_opens_private_chat_and_thread(talk: Any, slack: Slack) -> None:
    one = talk()
    ts = slack.say(ROOM, "x")["ts"]
    channel, run = one.channel, one.harness.run
    run(channel.react(ROOM, f"{ROOM}:{ts}", "👀"))
    run(channel.react(ROOM, f"{ROOM}:{ts}", "✅"))
    assert slack.reactions[ROOM, ts] == {"white_check_mark"}
    run(channel.react(ROOM, f"{ROOM}:{ts}", None))
    assert slack.reactions[ROOM, ts] == set()
    assert run(channel.private_chat(ANN)) == DM
    assert run(channel.open_thread(ROOM, f"{ROOM}:{ts}")) == ts


@pytest.mark.parametrize("bots", ["none", "mentions"])
def test_other_bots_are_heard_only_if_configured(talk: Any, slack: Slack, bots: str) -> None:
    one = talk(bots=bots, groups="always")
    one.ask("heard", "heard")
    slack.say(ROOM, "noise", "U0ROBOT", bot_id="B0OTHER", subtype="bot_message")
    slack.say(ROOM, f"<@{BOT}> noise", "U0ROBOT", bot_id="B0OTHER")
    slack.say(ROOM, "a person")
    one.wait(lambda: len(slack.texts(ROOM)) >= (2 if bots == "mentions" else 1))
    one.harness.run(asyncio.to_thread(slack.settle))
    assert len(slack.texts(ROOM)) == (2 if bots == "mentions" else 1)


def test_bot_replies_to_another_bot_at_most_10_times(talk: Any, slack: Slack) -> None:
    one = talk(bots="mentions")
    one.ask(*["heard"] * 30)
    for number in range(14):
        slack.say(ROOM, f"<@{BOT}> again {number}", "U0ROBOT", bot_id="B0OTHER")
    one.wait(lambda: len(slack.texts(ROOM)) == 10)
    one.harness.run(asyncio.to_thread(slack.settle))
    assert len(slack.texts(ROOM)) == 10
