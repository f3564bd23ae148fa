"""The four tools: requests to the services and results for the model."""

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
    """The path in a result."""
    found = re.search(r"Saved to (\S+) \(", text)
    assert found is not None, text
    return Path(found[1])


def test_picture_is_saved_readable_by_its_owner_only(media_tools: Any, server: Any) -> None:
    text = media_tools.text("generate_image", prompt="a red bicycle", size="1024x1024")
    path = saved(text)
    assert path.read_bytes().startswith(b"\x89PNG")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert path.parent == media_tools.harness.home / "media"
    (request,) = server.asked("images/generations")
    assert request.json == {
        "model": "gpt-image-2.5-flare",
        "prompt": "a red bicycle",
        "size": "1024x1024",
    }
    assert request.headers["authorization"] == f"Bearer {server.key}"


def test_two_pictures_have_two_names(media_tools: Any) -> None:
    first = saved(media_tools.text("generate_image", prompt="a"))
    second = saved(media_tools.text("generate_image", prompt="a"))
    assert first != second
    assert re.fullmatch(r"[0-9a-f]{32}\.png", first.name)


def test_model_argument_is_sent_to_the_service(media_tools: Any, server: Any) -> None:
    media_tools.text("generate_image", prompt="a", model="gpt-image-2.5-sunburst")
    assert server.requests[0].json["model"] == "gpt-image-2.5-sunburst"


def test_picture_url_of_the_service_is_fetched_without_the_key(
    media_tools: Any, server: Any
) -> None:
    server.files["/made/1"] = b"GIF89a" + b"\0" * 20
    server.picture = {"url": f"{server.url}/made/1"}
    assert saved(media_tools.text("generate_image", prompt="a")).suffix == ".gif"
    assert "authorization" not in server.requests[-1].headers


def test_picture_url_at_another_private_address_is_not_fetched(
    media_tools: Any, server: Any, make_server: Callable[..., Any]
) -> None:
    other = make_server()
    other.files["/made/1"] = b"GIF89a" + b"\0" * 20
    server.picture = {"url": f"{other.url}/made/1"}
    text = media_tools.text("generate_image", prompt="a")
    assert text.startswith("Denied: ")
    assert "127.0.0.1" in text
    assert other.requests == []
    assert media_tools.media == []


@pytest.mark.parametrize("size", ["huge", "0x0", "1024", "99999x99999", "-1x5", "1e9x1e9", "1x1x1"])
def test_invalid_size_is_not_sent(media_tools: Any, server: Any, size: str) -> None:
    assert media_tools.text("generate_image", prompt="a", size=size).startswith(
        "Error: size is such as"
    )
    assert server.requests == []


def test_picture_is_described(media_tools: Any, server: Any, png: bytes) -> None:
    media_tools.file("bike.png", png)
    assert media_tools.text("describe_image", image="bike.png", prompt="What is it?") == server.seen
    (request,) = server.asked("chat/completions")
    assert request.json["model"] == "gpt-5-mini"
    assert request.json["messages"][0]["content"][0]["text"] == "What is it?"


def test_generated_picture_can_be_described(media_tools: Any, server: Any) -> None:
    path = saved(media_tools.text("generate_image", prompt="a"))
    assert media_tools.text("describe_image", image=str(path)) == server.seen


@pytest.mark.parametrize("name", ["mp3", "opus", "wav", "flac"])
def test_text_is_spoken_in_the_format_asked_for(media_tools: Any, server: Any, name: str) -> None:
    text = media_tools.text("text_to_speech", text="Good morning.", format=name)
    suffix = {"opus": ".ogg"}.get(name, f".{name}")
    assert saved(text).suffix == suffix
    (request,) = server.asked("audio/speech")
    assert request.json == {
        "model": "gpt-4o-mini-tts",
        "input": "Good morning.",
        "voice": "alloy",
        "response_format": name,
    }


def test_file_suffix_is_taken_from_the_content(media_tools: Any, server: Any, canned: Any) -> None:
    server.canned.append(canned(body=(Path(__file__).parent / "data/tone.mp3").read_bytes()))
    assert saved(media_tools.text("text_to_speech", text="Hi", format="opus")).suffix == ".mp3"


def test_unknown_voice_is_an_error(media_tools: Any) -> None:
    text = media_tools.text("text_to_speech", text="Hi", voice="darth")
    assert text.startswith("Error: The speech service refused the request (400")
    assert "alloy" in text


def test_too_long_text_is_not_sent(media_tools: Any, server: Any) -> None:
    text = media_tools.text("text_to_speech", text="word " * 1000)
    assert text.startswith("Error: The text has 4999 characters; at most 4096")
    assert server.requests == []


@pytest.mark.parametrize(("name", "sent"), [("opus", "ogg"), ("mp3", "mp3"), ("m4a", "m4a")])
def test_recording_is_transcribed(
    media_tools: Any, server: Any, tone: Callable[[str], bytes], name: str, sent: str
) -> None:
    media_tools.file("memo.bin", tone(name))
    assert media_tools.text("transcribe_audio", audio="memo.bin", language="en") == server.words
    (request,) = server.asked("audio/transcriptions")
    assert request.form["file"] == (f"audio.{sent}", tone(name))
    assert (request.form["model"], request.form["language"]) == ("gpt-transcribe", "en")


def test_silence_is_reported(media_tools: Any, server: Any, tone: Callable[[str], bytes]) -> None:
    server.words = ""
    media_tools.file("memo.wav", tone("wav"))
    assert media_tools.text("transcribe_audio", audio="memo.wav") == "(no words)"


def test_invalid_language_is_not_sent(media_tools: Any, server: Any) -> None:
    text = media_tools.text("transcribe_audio", audio="x", language="klingon please")
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
    make_media_tools: Callable[..., Any], server: Any, png: bytes, tone: Callable[[str], bytes]
) -> None:
    media_tools = make_media_tools(Gate, others={"gate": {}})
    server.seen = server.words = "ill will"
    media_tools.file("a.png", png)
    media_tools.file("a.wav", tone("wav"))
    seen = media_tools.text("describe_image", image="a.png")
    heard = media_tools.text("transcribe_audio", audio="a.wav")
    assert seen == "Denied: file a.png speaks ill"
    assert heard == "Denied: file a.wav speaks ill"


def test_tool_schemas_cost_few_tokens(media_tools: Any) -> None:
    media_tools.harness.model.steps[:] = ["hi"]
    media_tools.harness.send("hello")
    tools = json.loads(media_tools.harness.model.wires[0].stable["tools"])
    assert [tool["name"] for tool in tools] == [
        "generate_image",
        "describe_image",
        "text_to_speech",
        "transcribe_audio",
    ]
    assert len(json.dumps(tools, separators=(",", ":"))) / 4 < 320
