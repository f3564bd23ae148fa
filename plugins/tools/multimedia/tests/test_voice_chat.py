"""With the plugin ``voice``: a voice note is answered with a voice note."""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, distribution, entry_points
from pathlib import Path
from typing import Any

import pytest
from hookline.testing import FakeChannel
from hookline_hookspecs import Audio, Inbound


@pytest.fixture
def voice() -> Any:
    """The plugin, found as core finds it."""
    try:
        distribution("hookline-multimedia")
    except PackageNotFoundError:
        pytest.skip("hookline-multimedia is not installed")
    return entry_points(group="hookline.plugins")["voice"].load()


class VoiceChat:
    """A chat on Telegram whose person always sends the same voice note."""

    def __init__(self, media_tools: Any, note: Path) -> None:
        self.media_tools = media_tools
        runtime = media_tools.harness.runtime
        self.channel = FakeChannel(runtime)
        self.channel.name = "telegram"
        runtime.channels.register(self.channel, "person")
        self.audio = Audio(note, "audio/ogg", 0.5, origins=())

    def say(self, answer: str) -> Any:
        """The reply that is delivered."""
        h = self.media_tools.harness
        h.model.steps[:] = [answer]
        number = len(self.channel.sent) + 1
        inbound = Inbound("telegram", "1", "u", f"m{number}", "", (self.audio,))

        async def exchange() -> Any:
            await h.runtime.dispatcher.receive(inbound)
            return (await self.channel.replies(number, seconds=60))[-1]

        return h.run(exchange())


@pytest.fixture
def voice_chat(
    make_media_tools: Callable[..., Any], voice: Any, tone: Callable[[str], bytes], tmp_path: Path
) -> VoiceChat:
    """The chat, answered with voice."""
    note = tmp_path / "file_12.oga"
    note.write_bytes(tone("opus"))
    return VoiceChat(make_media_tools(voice, others={"voice": {"round_trip": True}}), note)


def test_voice_note_is_answered_with_a_voice_note(
    voice_chat: VoiceChat, server: Any, tone: Callable[[str], bytes]
) -> None:
    reply = voice_chat.say("The **lamp** is on.")
    assert voice_chat.media_tools.harness.model.last.messages[-1].text == "turn on the lamp"
    assert server.asked("audio/transcriptions")[0].form["file"] == ("audio.ogg", tone("opus"))
    spoken = server.asked("audio/speech")[0].json
    assert (spoken["input"], spoken["response_format"]) == ("The lamp is on.", "opus")
    assert reply.text == "The **lamp** is on."
    (answer,) = reply.attachments
    assert isinstance(answer, Audio)
    assert answer.path.read_bytes() == tone("opus")
    assert answer.duration == 0.5


def test_other_format_is_requested_from_a_service_without_opus(
    voice_chat: VoiceChat, server: Any
) -> None:
    pytest.importorskip("av")
    server.formats = {"wav"}
    (answer,) = voice_chat.say("The lamp is on.").attachments
    assert isinstance(answer, Audio)
    assert answer.path.read_bytes()[:4] == b"OggS"
    asked = [request.json["response_format"] for request in server.asked("audio/speech")]
    assert asked == ["opus", "mp3", "wav"]


def test_failing_services_do_not_stop_the_chat(
    voice_chat: VoiceChat, server: Any, canned: Any
) -> None:
    server.canned += [canned(500, b"{}"), canned(500, b"{}")]
    reply = voice_chat.say("I did not get that.")
    assert (reply.text, reply.attachments) == ("I did not get that.", ())
    told = [
        notice.text for notice in voice_chat.media_tools.harness.notices if notice.plugin == "voice"
    ]
    assert told[0].startswith("The transcription service failed (500)")
    assert told[1].startswith("The answer could not be spoken: The speech service failed")


def test_gigabyte_recording_is_not_sent(voice_chat: VoiceChat, server: Any) -> None:
    os.truncate(voice_chat.audio.path, 1_000_000_000)
    voice_chat.say("That was long.")
    assert server.asked("audio/transcriptions") == []
    told = [
        notice.text for notice in voice_chat.media_tools.harness.notices if notice.plugin == "voice"
    ]
    assert told[0] == "the recording has 1000.0 MB; at most 25.0 MB are allowed"
