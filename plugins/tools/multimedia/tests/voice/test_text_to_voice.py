"""A voice message is answered with text and audio, in the form of its channel."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hookline_hookspecs import Attachment, Audio, Job, Plugin, RateLimited, hookimpl

Make = Callable[..., Any]


@pytest.fixture
def without_av(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if PyAV were not installed."""
    monkeypatch.setitem(sys.modules, "av", None)


@pytest.mark.parametrize("channel", ["telegram", "feishu"])
def test_answer_is_a_voice_message_where_the_channel_has_them(
    make_voice_chat: Make, recordings: dict[str, bytes], channel: str
) -> None:
    voice_chat = make_voice_chat(on=channel, round_trip=True)
    reply = voice_chat.say(voice_chat.recording())
    assert reply.text == "The lamp is on."
    (answer,) = reply.attachments
    assert isinstance(answer, Audio)
    assert (answer.mime, answer.duration) == ("audio/ogg", 0.5)
    assert answer.path.read_bytes() == recordings["opus"]
    assert answer.path.parent == voice_chat.harness.home / "media"
    assert stat.S_IMODE(answer.path.stat().st_mode) == 0o600
    assert voice_chat.speech.said == [("The lamp is on.", None, "opus")]


@pytest.mark.parametrize("channel", ["slack", "another"])
def test_answer_is_a_file_on_other_channels(
    make_voice_chat: Make, recordings: dict[str, bytes], channel: str
) -> None:
    voice_chat = make_voice_chat(on=channel, round_trip=True)
    (answer,) = voice_chat.say(voice_chat.recording()).attachments
    assert isinstance(answer, Attachment)
    assert (answer.mime, answer.name) == ("audio/mpeg", "answer.mp3")
    assert answer.size == len(recordings["mp3"])


def test_audio_form_of_a_channel_can_be_configured(make_voice_chat: Make) -> None:
    own = {"signal": {"format": "opus", "as": "voice"}}
    voice_chat = make_voice_chat(on="signal", round_trip=True, channels=own)
    (answer,) = voice_chat.say(voice_chat.recording()).attachments
    assert isinstance(answer, Audio)


def test_round_trip_is_off_by_default(make_voice_chat: Make) -> None:
    voice_chat = make_voice_chat(on="telegram")
    assert voice_chat.say(voice_chat.recording()).attachments == ()
    assert voice_chat.speech.said == []


def test_written_message_is_answered_in_writing(make_voice_chat: Make) -> None:
    voice_chat = make_voice_chat(on="telegram", round_trip=True)
    assert voice_chat.say(text="turn on the lamp").attachments == ()
    assert voice_chat.speech.said == []


def test_answer_to_silence_is_spoken(make_voice_chat: Make) -> None:
    """A person who spoke gets a spoken answer, also if nothing was recognised."""
    voice_chat = make_voice_chat(on="telegram", round_trip=True)
    voice_chat.speech.words = ""
    assert (
        len(voice_chat.say(voice_chat.recording(), answer="Say it again, please.").attachments) == 1
    )


def test_attachment_of_another_plugin_is_kept(make_voice_chat: Make, speech: Any) -> None:
    class Painter(Plugin):
        @hookimpl(tryfirst=True)
        def pre_reply(self, ctx: Any, reply: Any) -> Any:
            file = voice_chat.folder / "voice-0.oga"
            return replace(
                reply, attachments=(Attachment(file, "image/png", "a.png", 1, origins=()),)
            )

    voice_chat = make_voice_chat(Painter, speech, on="telegram", round_trip=True)
    first, second = voice_chat.say(voice_chat.recording()).attachments
    assert (first.mime, second.mime) == ("image/png", "audio/ogg")


def test_voice_setting_is_passed_to_the_service(make_voice_chat: Make) -> None:
    voice_chat = make_voice_chat(on="telegram", round_trip=True, voice="nova")
    voice_chat.say(voice_chat.recording())
    assert voice_chat.speech.said[0][1] == "nova"


def test_another_format_is_converted(make_voice_chat: Make) -> None:
    pytest.importorskip("av")
    voice_chat = make_voice_chat(on="telegram", round_trip=True)
    voice_chat.speech.formats = {"wav"}
    (answer,) = voice_chat.say(voice_chat.recording()).attachments
    assert isinstance(answer, Audio)
    assert answer.path.read_bytes()[:4] == b"OggS"
    assert 0.4 < answer.duration < 0.6


@pytest.mark.usefixtures("without_av")
def test_another_format_is_sent_as_a_file(
    make_voice_chat: Make, recordings: dict[str, bytes]
) -> None:
    voice_chat = make_voice_chat(on="telegram", round_trip=True)
    voice_chat.speech.formats = {"mp3"}
    (answer,) = voice_chat.say(voice_chat.recording()).attachments
    assert isinstance(answer, Attachment)
    assert (answer.mime, answer.name) == ("audio/mpeg", "answer.mp3")
    assert answer.path.read_bytes() == recordings["mp3"]


def test_recording_that_cannot_be_converted_is_sent_unchanged(
    make_voice_chat: Make, recordings: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("av")
    monkeypatch.setitem(recordings, "mp3", b"ID3 and then nothing that is sound")
    voice_chat = make_voice_chat(on="telegram", round_trip=True)
    voice_chat.speech.formats = {"mp3"}
    (answer,) = voice_chat.say(voice_chat.recording()).attachments
    assert isinstance(answer, Attachment)
    assert answer.mime == "audio/mpeg"


def test_failed_synthesis_is_reported_and_the_text_is_sent(make_voice_chat: Make) -> None:
    voice_chat = make_voice_chat(on="telegram", round_trip=True)
    voice_chat.speech.fault = RateLimited("The service accepts no more requests now.")
    reply = voice_chat.say(voice_chat.recording())
    assert (reply.text, reply.attachments) == ("The lamp is on.", ())
    told = "The answer could not be spoken: The service accepts no more requests now."
    assert voice_chat.notices[-1] == told


def test_missing_audio_format_is_reported(make_voice_chat: Make) -> None:
    voice_chat = make_voice_chat(on="telegram", round_trip=True)
    voice_chat.speech.formats = set()
    reply = voice_chat.say(voice_chat.recording())
    assert (reply.text, reply.attachments) == ("The lamp is on.", ())
    assert voice_chat.notices == ["The answer could not be spoken: there is no format wav"]


def test_write_error_is_reported(make_voice_chat: Make) -> None:
    voice_chat = make_voice_chat(on="telegram", round_trip=True)
    (voice_chat.harness.home / "media").write_text("in the way")
    reply = voice_chat.say(voice_chat.recording())
    assert (reply.text, reply.attachments) == ("The lamp is on.", ())
    assert voice_chat.notices[0].startswith("The answer could not be spoken: ")


def test_code_is_not_spoken(make_voice_chat: Make) -> None:
    voice_chat = make_voice_chat(on="telegram", round_trip=True)
    answer = (
        "# Done\n\nUse **this**:\n\n```sh\nrm -rf /\n```\n\nThat is [all](https://example.org)."
    )
    assert voice_chat.say(voice_chat.recording(), answer=answer).text == answer
    assert voice_chat.speech.said[0][0] == "Done.\nUse this:\nThat is all."


def test_answer_of_only_code_is_not_spoken(make_voice_chat: Make) -> None:
    voice_chat = make_voice_chat(on="telegram", round_trip=True)
    reply = voice_chat.say(voice_chat.recording(), answer="```\nx = 1\n```")
    assert reply.attachments == ()
    assert voice_chat.notices == []


def test_long_answer_is_spoken_in_part(make_voice_chat: Make) -> None:
    voice_chat = make_voice_chat(on="telegram", round_trip=True, max_chars=100)
    answer = "This is a sentence. " * 50
    assert voice_chat.say(voice_chat.recording(), answer=answer).text == answer
    (text, _, _) = voice_chat.speech.said[0]
    assert len(text) <= 100
    assert text.endswith("This is a sentence. The rest is in the text.")


def test_long_answer_is_split_for_the_service(
    make_voice_chat: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    voice_chat = make_voice_chat(on="slack", round_trip=True, max_chars=1000)
    monkeypatch.setattr(voice_chat.speech, "max_chars", 300)
    answer = " ".join(f"This is sentence {number}." for number in range(30))
    reply = voice_chat.say(voice_chat.recording(), answer=answer)
    said = [text for text, _, _ in voice_chat.speech.said]
    assert " ".join(said) == answer
    assert all(text.endswith(".") for text in said)
    assert [one.name for one in reply.attachments] == [
        "answer-1.mp3",
        "answer-2.mp3",
        "answer-3.mp3",
    ]


def test_voice_answers_do_not_stop_streaming(make_voice_chat: Make) -> None:
    """A hook that only adds attachments does not buffer the reply."""
    voice_chat = make_voice_chat(on="telegram", round_trip=True)
    heard: list[str] = []

    def hear(event: Any, ctx: Any = None) -> None:
        heard.append(event.text)

    voice_chat.harness.runtime.bus.signals.connect("delta", hear)
    voice_chat.say(voice_chat.recording(), answer="one two")
    assert heard == ["one", "two"]


def test_old_recordings_are_deleted(make_voice_chat: Make) -> None:
    voice_chat = make_voice_chat(on="telegram", round_trip=True)
    (answer,) = voice_chat.say(voice_chat.recording()).attachments
    jobs = voice_chat.harness.runtime.bus.registered(Job)
    ((_, prune),) = [one for one in jobs if one[1].name == "prune"]
    voice_chat.harness.run(prune.run())
    assert answer.path.is_file()
    os.utime(answer.path, (1, 1))
    voice_chat.harness.run(prune.run())
    assert not answer.path.exists()
