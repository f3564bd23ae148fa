"""The four tools, as the model sees them: what is asked of a service, and what comes of it."""

from __future__ import annotations

import json
import re
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hookline_hookspecs import Context, Deny, Excerpt, Plugin, hookimpl
from hookline_hookspecs.plugin import NoConfig


def saved(text: str) -> Path:
    """The path that a result tells."""
    found = re.search(r"Saved to (\S+) \(", text)
    assert found is not None, text
    return Path(found[1])


def test_picture_is_saved_readable_by_its_owner_only(studio: Any, server: Any) -> None:
    text = studio.text("generate_image", prompt="a red bicycle", size="1024x1024")
    path = saved(text)
    assert path.read_bytes().startswith(b"\x89PNG")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert path.parent == studio.harness.home / "media"
    (request,) = server.asked("images/generations")
    assert request.json == {
        "model": "gpt-image-2.5-flare",
        "prompt": "a red bicycle",
        "size": "1024x1024",
    }
    assert request.headers["authorization"] == f"Bearer {server.key}"


def test_two_pictures_have_two_names(studio: Any) -> None:
    first = saved(studio.text("generate_image", prompt="a"))
    second = saved(studio.text("generate_image", prompt="a"))
    assert first != second
    assert re.fullmatch(r"[0-9a-f]{32}\.png", first.name)


def test_model_argument_is_sent_to_the_service(studio: Any, server: Any) -> None:
    studio.text("generate_image", prompt="a", model="gpt-image-2.5-sunburst")
    assert server.requests[0].json["model"] == "gpt-image-2.5-sunburst"


def test_picture_url_of_the_service_is_fetched_without_the_key(studio: Any, server: Any) -> None:
    server.files["/made/1"] = b"GIF89a" + b"\0" * 20
    server.picture = {"url": f"{server.url}/made/1"}
    assert saved(studio.text("generate_image", prompt="a")).suffix == ".gif"
    assert "authorization" not in server.requests[-1].headers


def test_picture_url_at_another_private_address_is_not_fetched(
    studio: Any, server: Any, make_server: Callable[..., Any]
) -> None:
    other = make_server()
    other.files["/made/1"] = b"GIF89a" + b"\0" * 20
    server.picture = {"url": f"{other.url}/made/1"}
    text = studio.text("generate_image", prompt="a")
    assert text.startswith("Denied: ")
    assert "127.0.0.1" in text
    assert other.requests == []
    assert studio.media == []


@pytest.mark.parametrize("size", ["huge", "0x0", "1024", "99999x99999", "-1x5", "1e9x1e9", "1x1x1"])
def test_invalid_size_is_not_sent(studio: Any, server: Any, size: str) -> None:
    assert studio.text("generate_image", prompt="a", size=size).startswith("Error: size is such as")
    assert server.requests == []


def test_picture_is_described(studio: Any, server: Any, png: bytes) -> None:
    studio.file("bike.png", png)
    assert studio.text("describe_image", image="bike.png", prompt="What is it?") == server.seen
    (request,) = server.asked("chat/completions")
    assert request.json["model"] == "gpt-5-mini"
    assert request.json["messages"][0]["content"][0]["text"] == "What is it?"


def test_generated_picture_can_be_described(studio: Any, server: Any) -> None:
    path = saved(studio.text("generate_image", prompt="a"))
    assert studio.text("describe_image", image=str(path)) == server.seen


@pytest.mark.parametrize("name", ["mp3", "opus", "wav", "flac"])
def test_text_is_spoken_in_the_format_asked_for(studio: Any, server: Any, name: str) -> None:
    text = studio.text("text_to_speech", text="Good morning.", format=name)
    suffix = {"opus": ".ogg"}.get(name, f".{name}")
    assert saved(text).suffix == suffix
    (request,) = server.asked("audio/speech")
    assert request.json == {
        "model": "gpt-4o-mini-tts",
        "input": "Good morning.",
        "voice": "alloy",
        "response_format": name,
    }


def test_file_suffix_is_taken_from_the_content(studio: Any, server: Any, canned: Any) -> None:
    server.canned.append(canned(body=(Path(__file__).parent / "data/tone.mp3").read_bytes()))
    assert saved(studio.text("text_to_speech", text="Hi", format="opus")).suffix == ".mp3"


def test_unknown_voice_is_an_error(studio: Any) -> None:
    text = studio.text("text_to_speech", text="Hi", voice="darth")
    assert text.startswith("Error: The speech service refused the request (400")
    assert "alloy" in text


def test_too_long_text_is_not_sent(studio: Any, server: Any) -> None:
    text = studio.text("text_to_speech", text="word " * 1000)
    assert text.startswith("Error: The text has 4999 characters; at most 4096")
    assert server.requests == []


@pytest.mark.parametrize(("name", "sent"), [("opus", "ogg"), ("mp3", "mp3"), ("m4a", "m4a")])
def test_recording_is_transcribed(
    studio: Any, server: Any, tone: Callable[[str], bytes], name: str, sent: str
) -> None:
    studio.file("memo.bin", tone(name))
    assert studio.text("transcribe_audio", audio="memo.bin", language="en") == server.words
    (request,) = server.asked("audio/transcriptions")
    assert request.form["file"] == (f"audio.{sent}", tone(name))
    assert (request.form["model"], request.form["language"]) == ("gpt-transcribe", "en")


def test_silence_is_reported(studio: Any, server: Any, tone: Callable[[str], bytes]) -> None:
    server.words = ""
    studio.file("memo.wav", tone("wav"))
    assert studio.text("transcribe_audio", audio="memo.wav") == "(no words)"


def test_invalid_language_is_not_sent(studio: Any, server: Any) -> None:
    text = studio.text("transcribe_audio", audio="x", language="klingon please")
    assert text.startswith("Error: language is a code")
    assert server.requests == []


class Gate(Plugin[NoConfig]):
    """Refuses what a picture or a recording says."""

    @hookimpl
    def pre_read(self, ctx: Context, excerpt: Excerpt) -> Deny | None:
        return (
            Deny(f"{excerpt.kind} {excerpt.source} speaks ill") if "ill" in excerpt.text else None
        )


def test_descriptions_and_transcripts_pass_pre_read(
    make_studio: Callable[..., Any], server: Any, png: bytes, tone: Callable[[str], bytes]
) -> None:
    studio = make_studio(Gate, others={"gate": {}})
    server.seen = server.words = "ill will"
    studio.file("a.png", png)
    studio.file("a.wav", tone("wav"))
    seen = studio.text("describe_image", image="a.png")
    heard = studio.text("transcribe_audio", audio="a.wav")
    assert seen == "Denied: file a.png speaks ill"
    assert heard == "Denied: file a.wav speaks ill"


def test_tool_schemas_cost_few_tokens(studio: Any) -> None:
    studio.harness.model.steps[:] = ["hi"]
    studio.harness.send("hello")
    tools = json.loads(studio.harness.model.wires[0].stable["tools"])
    assert [tool["name"] for tool in tools] == [
        "generate_image",
        "describe_image",
        "text_to_speech",
        "transcribe_audio",
    ]
    assert len(json.dumps(tools, separators=(",", ":"))) / 4 < 320
