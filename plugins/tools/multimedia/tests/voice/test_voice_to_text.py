"""A voice message becomes a text message, or the person gets a notice."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hookline_hookspecs import Audio, NetworkError
from hookline_voice import Voice

Make = Callable[..., Any]


@pytest.mark.parametrize("name", ["opus", "mp3", "wav"])
def test_voice_message_becomes_text(
    make_voice_chat: Make, recordings: dict[str, bytes], name: str
) -> None:
    voice_chat = make_voice_chat()
    reply = voice_chat.say(voice_chat.recording(recordings[name]))
    assert voice_chat.asked == "turn on the lamp"
    assert (reply.text, reply.attachments) == ("The lamp is on.", ())
    assert voice_chat.speech.heard == [(recordings[name], None)]
    assert voice_chat.notices == []


def test_text_and_voice_are_one_message(make_voice_chat: Make) -> None:
    voice_chat = make_voice_chat()
    voice_chat.say(voice_chat.recording(), voice_chat.recording(), text="Please:")
    assert voice_chat.asked == "Please:\n\nturn on the lamp\n\nturn on the lamp"


def test_language_is_passed_to_the_service(make_voice_chat: Make) -> None:
    voice_chat = make_voice_chat(language="de")
    voice_chat.say(voice_chat.recording())
    assert voice_chat.speech.heard[0][1] == "de"


def test_failed_transcription_is_reported_and_the_turn_runs(make_voice_chat: Make) -> None:
    voice_chat = make_voice_chat()
    voice_chat.speech.fault = NetworkError("The transcription service failed.")
    reply = voice_chat.say(voice_chat.recording(seconds=3.0))
    assert reply.text == "The lamp is on."
    assert voice_chat.asked == "(a voice message of 3 s that could not be turned into text)"
    assert voice_chat.notices == ["The transcription service failed."]


def test_file_that_is_no_recording_is_reported(make_voice_chat: Make) -> None:
    voice_chat = make_voice_chat()
    voice_chat.say(voice_chat.recording(b"MZ this is a program"))
    assert "could not be turned into text" in voice_chat.asked
    assert voice_chat.notices == ["The recording is of no type that can be transcribed."]


def test_silence_is_reported(make_voice_chat: Make) -> None:
    voice_chat = make_voice_chat()
    voice_chat.speech.words = " \n"
    voice_chat.say(voice_chat.recording())
    assert voice_chat.notices == ["No words were heard in the voice message."]


def test_hanging_service_times_out(make_voice_chat: Make) -> None:
    voice_chat = make_voice_chat(timeout=0.05)
    voice_chat.speech.silent = True
    assert voice_chat.say(voice_chat.recording()).text == "The lamp is on."
    assert voice_chat.notices == ["The voice message was not transcribed within 0.05 s."]


def test_missing_transcriber_is_reported(harness: Make, tmp_path: Path) -> None:
    h = harness(Voice, model=["I cannot hear you."])
    outcome = h.send("", attachments=[Audio(tmp_path / "a.oga", "audio/ogg", 1.0, origins=())])
    assert outcome.text == "I cannot hear you."
    told = [notice.text for notice in outcome.notices if notice.plugin == "voice"]
    assert told == ["Voice messages are not understood: no enabled plugin turns speech into text."]


def test_doctor_checks_the_transcriber(make_voice_chat: Make, harness: Make, speech: Any) -> None:
    def found(h: Any) -> Any:
        ((_, check),) = [one for one in h.checks() if one[0] == "voice"]
        return check.run()

    assert found(make_voice_chat().harness).ok
    alone = found(harness(Voice))
    assert not alone.ok
    assert "multimedia" in alone.fix
