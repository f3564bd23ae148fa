"""A voice message is answered with voice, in the form of its channel; the text stays."""

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
def test_voice_message_where_that_is_native(
    make_call: Make, recordings: dict[str, bytes], channel: str
) -> None:
    call = make_call(on=channel, round_trip=True)
    reply = call.say(call.recording())
    assert reply.text == "The lamp is on."
    (answer,) = reply.attachments
    assert isinstance(answer, Audio)
    assert (answer.mime, answer.duration) == ("audio/ogg", 0.5)
    assert answer.path.read_bytes() == recordings["opus"]
    assert answer.path.parent == call.harness.home / "media"
    assert stat.S_IMODE(answer.path.stat().st_mode) == 0o600
    assert call.speech.said == [("The lamp is on.", None, "opus")]


@pytest.mark.parametrize("channel", ["slack", "another"])
def test_file_elsewhere(make_call: Make, recordings: dict[str, bytes], channel: str) -> None:
    call = make_call(on=channel, round_trip=True)
    (answer,) = call.say(call.recording()).attachments
    assert isinstance(answer, Attachment)
    assert (answer.mime, answer.name) == ("audio/mpeg", "answer.mp3")
    assert answer.size == len(recordings["mp3"])


def test_channel_s_form_can_be_set(make_call: Make) -> None:
    own = {"signal": {"format": "opus", "as": "voice"}}
    call = make_call(on="signal", round_trip=True, channels=own)
    (answer,) = call.say(call.recording()).attachments
    assert isinstance(answer, Audio)


def test_it_is_off_by_default(make_call: Make) -> None:
    call = make_call(on="telegram")
    assert call.say(call.recording()).attachments == ()
    assert call.speech.said == []


def test_written_message_is_answered_in_writing(make_call: Make) -> None:
    call = make_call(on="telegram", round_trip=True)
    assert call.say(text="turn on the lamp").attachments == ()
    assert call.speech.said == []


def test_answer_that_was_not_understood_is_spoken_too(make_call: Make) -> None:
    """Who spoke hears the answer, also where the words were not understood."""
    call = make_call(on="telegram", round_trip=True)
    call.speech.words = ""
    assert len(call.say(call.recording(), answer="Say it again, please.").attachments) == 1


def test_what_another_plugin_sends_stays(make_call: Make, speech: Any) -> None:
    class Painter(Plugin):
        @hookimpl(tryfirst=True)
        def pre_reply(self, ctx: Any, reply: Any) -> Any:
            file = call.folder / "voice-0.oga"
            return replace(reply, attachments=(Attachment(file, "image/png", "a.png", 1),))

    call = make_call(Painter, speech, on="telegram", round_trip=True)
    first, second = call.say(call.recording()).attachments
    assert (first.mime, second.mime) == ("image/png", "audio/ogg")


def test_voice_is_passed_on(make_call: Make) -> None:
    call = make_call(on="telegram", round_trip=True, voice="nova")
    call.say(call.recording())
    assert call.speech.said[0][1] == "nova"


def test_another_format_is_converted(make_call: Make) -> None:
    pytest.importorskip("av")
    call = make_call(on="telegram", round_trip=True)
    call.speech.formats = {"wav"}
    (answer,) = call.say(call.recording()).attachments
    assert isinstance(answer, Audio)
    assert answer.path.read_bytes()[:4] == b"OggS"
    assert 0.4 < answer.duration < 0.6


@pytest.mark.usefixtures("without_av")
def test_another_format_is_sent_as_a_file(make_call: Make, recordings: dict[str, bytes]) -> None:
    call = make_call(on="telegram", round_trip=True)
    call.speech.formats = {"mp3"}
    (answer,) = call.say(call.recording()).attachments
    assert isinstance(answer, Attachment)
    assert (answer.mime, answer.name) == ("audio/mpeg", "answer.mp3")
    assert answer.path.read_bytes() == recordings["mp3"]


def test_recording_that_cannot_be_converted_goes_as_it_is(
    make_call: Make, recordings: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("av")
    monkeypatch.setitem(recordings, "mp3", b"ID3 and then nothing that is sound")
    call = make_call(on="telegram", round_trip=True)
    call.speech.formats = {"mp3"}
    (answer,) = call.say(call.recording()).attachments
    assert isinstance(answer, Attachment)
    assert answer.mime == "audio/mpeg"


def test_failure_is_told_and_the_text_comes(make_call: Make) -> None:
    call = make_call(on="telegram", round_trip=True)
    call.speech.fault = RateLimited("The service accepts no more requests now.")
    reply = call.say(call.recording())
    assert (reply.text, reply.attachments) == ("The lamp is on.", ())
    told = "The answer could not be spoken: The service accepts no more requests now."
    assert call.notices[-1] == told


def test_no_format_at_all_is_told(make_call: Make) -> None:
    call = make_call(on="telegram", round_trip=True)
    call.speech.formats = set()
    reply = call.say(call.recording())
    assert (reply.text, reply.attachments) == ("The lamp is on.", ())
    assert call.notices == ["The answer could not be spoken: there is no format wav"]


def test_disk_that_takes_nothing_is_told(make_call: Make) -> None:
    call = make_call(on="telegram", round_trip=True)
    (call.harness.home / "media").write_text("in the way")
    reply = call.say(call.recording())
    assert (reply.text, reply.attachments) == ("The lamp is on.", ())
    assert call.notices[0].startswith("The answer could not be spoken: ")


def test_code_is_not_spoken(make_call: Make) -> None:
    call = make_call(on="telegram", round_trip=True)
    answer = (
        "# Done\n\nUse **this**:\n\n```sh\nrm -rf /\n```\n\nThat is [all](https://example.org)."
    )
    assert call.say(call.recording(), answer=answer).text == answer
    assert call.speech.said[0][0] == "Done.\nUse this:\nThat is all."


def test_answer_of_code_alone_is_not_spoken(make_call: Make) -> None:
    call = make_call(on="telegram", round_trip=True)
    reply = call.say(call.recording(), answer="```\nx = 1\n```")
    assert reply.attachments == ()
    assert call.notices == []


def test_long_answer_is_spoken_in_part(make_call: Make) -> None:
    call = make_call(on="telegram", round_trip=True, max_chars=100)
    answer = "This is a sentence. " * 50
    assert call.say(call.recording(), answer=answer).text == answer
    (text, _, _) = call.speech.said[0]
    assert len(text) <= 100
    assert text.endswith("This is a sentence. The rest is in the text.")


def test_long_answer_comes_in_pieces_that_the_service_takes(
    make_call: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    call = make_call(on="slack", round_trip=True, max_chars=1000)
    monkeypatch.setattr(call.speech, "max_chars", 300)
    answer = " ".join(f"This is sentence {number}." for number in range(30))
    reply = call.say(call.recording(), answer=answer)
    said = [text for text, _, _ in call.speech.said]
    assert " ".join(said) == answer
    assert all(text.endswith(".") for text in said)
    assert [one.name for one in reply.attachments] == [
        "answer-1.mp3",
        "answer-2.mp3",
        "answer-3.mp3",
    ]


def test_streaming_continues(make_call: Make) -> None:
    """What only adds to a reply does not hold back what is shown of it."""
    call = make_call(on="telegram", round_trip=True)
    heard: list[str] = []

    def hear(event: Any, ctx: Any = None) -> None:
        heard.append(event.text)

    call.harness.runtime.bus.signals.connect("delta", hear)
    call.say(call.recording(), answer="one two")
    assert heard == ["one", "two"]


def test_old_recordings_are_deleted(make_call: Make) -> None:
    call = make_call(on="telegram", round_trip=True)
    (answer,) = call.say(call.recording()).attachments
    jobs = call.harness.runtime.bus.registered(Job)
    ((_, prune),) = [one for one in jobs if one[1].name == "prune"]
    call.harness.run(prune.run())
    assert answer.path.is_file()
    os.utime(answer.path, (1, 1))
    call.harness.run(prune.run())
    assert not answer.path.exists()
