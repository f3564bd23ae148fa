"""A voice message becomes an ordinary message, or the person is told why it did not."""

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
    make_call: Make, recordings: dict[str, bytes], name: str
) -> None:
    call = make_call()
    reply = call.say(call.recording(recordings[name]))
    assert call.asked == "turn on the lamp"
    assert (reply.text, reply.attachments) == ("The lamp is on.", ())
    assert call.speech.heard == [(recordings[name], None)]
    assert call.notices == []


def test_words_and_voice_come_together(make_call: Make) -> None:
    call = make_call()
    call.say(call.recording(), call.recording(), text="Please:")
    assert call.asked == "Please:\n\nturn on the lamp\n\nturn on the lamp"


def test_language_is_passed_on(make_call: Make) -> None:
    call = make_call(language="de")
    call.say(call.recording())
    assert call.speech.heard[0][1] == "de"


def test_failure_is_told_and_the_turn_runs(make_call: Make) -> None:
    call = make_call()
    call.speech.fault = NetworkError("The transcription service failed.")
    reply = call.say(call.recording(seconds=3.0))
    assert reply.text == "The lamp is on."
    assert call.asked == "(a voice message of 3 s that could not be turned into text)"
    assert call.notices == ["The transcription service failed."]


def test_file_that_is_no_recording_is_told(make_call: Make) -> None:
    call = make_call()
    call.say(call.recording(b"MZ this is a program"))
    assert "could not be turned into text" in call.asked
    assert call.notices == ["The recording is of no type that can be transcribed."]


def test_silence_is_told(make_call: Make) -> None:
    call = make_call()
    call.speech.words = " \n"
    call.say(call.recording())
    assert call.notices == ["No words were heard in the voice message."]


def test_hanging_service_times_out(make_call: Make) -> None:
    call = make_call(timeout=0.05)
    call.speech.silent = True
    assert call.say(call.recording()).text == "The lamp is on."
    assert call.notices == ["The voice message was not transcribed within 0.05 s."]


def test_without_a_transcriber_the_person_is_told(harness: Make, tmp_path: Path) -> None:
    h = harness(Voice, model=["I cannot hear you."])
    outcome = h.send("", attachments=[Audio(tmp_path / "a.oga", "audio/ogg", 1.0)])
    assert outcome.text == "I cannot hear you."
    told = [notice.text for notice in outcome.notices if notice.plugin == "voice"]
    assert told == ["Voice messages are not understood: no enabled plugin turns speech into text."]


def test_doctor_checks_the_transcriber(make_call: Make, harness: Make, speech: Any) -> None:
    def found(h: Any) -> Any:
        ((_, check),) = [one for one in h.checks() if one[0] == "voice"]
        return check.run()

    assert found(make_call().harness).ok
    alone = found(harness(Voice))
    assert not alone.ok
    assert "multimedia" in alone.fix
