"""Failing services: each failure gives a sentence, and nothing is saved."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hookline_hookspecs import Host, Plugin, hookimpl
from hypothesis import given
from hypothesis import strategies as st


def test_wrong_key_is_an_error_without_the_key(
    make_media_tools: Callable[..., Any], server: Any
) -> None:
    media_tools = make_media_tools(api_key="sk-wrong-key-987654321")
    text = media_tools.text("generate_image", prompt="a")
    assert text.startswith("Error: The image service refused the key (401")
    assert "plugins.multimedia.image.api_key" in text
    assert "sk-wrong" not in text


def test_refused_content_is_an_error(media_tools: Any) -> None:
    text = media_tools.text("generate_image", prompt="forbidden things")
    assert text.startswith("Error: The image service refused the content (400")
    assert media_tools.media == []


def test_unknown_model_is_an_error(make_media_tools: Callable[..., Any]) -> None:
    text = make_media_tools(speech={"model": "kokoro"}).text("text_to_speech", text="Hi")
    assert text.startswith("Error: The speech service does not know the model kokoro")
    assert "plugins.multimedia.speech.model" in text


def test_unsupported_size_is_an_error(media_tools: Any) -> None:
    text = media_tools.text("generate_image", prompt="a", size="1000x1000")
    assert text.startswith("Error: The image service refused the request (400: Invalid size")


QUOTA = {"error": {"message": "You exceeded your current quota", "code": "insufficient_quota"}}
STATUSES = [
    (429, {"error": {"message": "Slow down"}}, "accepts no more requests now (429: Slow down)"),
    (429, QUOTA, "has no credit (429: You exceeded your current quota)"),
    (413, {"error": "too big"}, "too large for the image service (413: too big)"),
    (403, {"detail": "not for you"}, "refused the key (403: not for you)"),
    (500, {"error": {"message": "boom"}}, "failed (500: boom)"),
    (503, "<html><title>Bad\nGateway</title></html>", "failed (503: a web page, 'Bad Gateway')"),
    (404, {}, "does not know the model"),
    (400, [], "refused the request (400)"),
]


@pytest.mark.parametrize(("status", "body", "told"), STATUSES)
def test_error_status_has_a_message(
    media_tools: Any, server: Any, canned: Any, status: int, body: Any, told: str
) -> None:
    said = body if isinstance(body, str) else json.dumps(body)
    server.canned.append(canned(status, said.encode()))
    text = media_tools.text("generate_image", prompt="a")
    assert text.startswith("Error: ")
    assert told in text
    assert media_tools.media == []


ANSWERS = [b"", b"{", b"null", b"[]", b'{"data": []}', b'{"data": [{}]}', b'{"data": [null]}']
ANSWERS += [b'{"data": [{"b64_json": "%%%"}]}', b'{"data": [{"b64_json": 7}]}', b"\xff\xfe\x00"]
ANSWERS += [b'{"data": [{"b64_json": "aGVsbG8="}]}', b'{"data": [{"url": 7}]}', b"[" * 100_000]
ANSWERS += [b"<html><title>Welcome</title></html>", b'{"text": {}}', b'{"choices": [{}]}']


@pytest.mark.long
@pytest.mark.parametrize("body", ANSWERS, ids=range(len(ANSWERS)))
def test_unusable_response_has_a_message(
    media_tools: Any,
    server: Any,
    canned: Any,
    png: bytes,
    tone: Callable[[str], bytes],
    body: bytes,
) -> None:
    media_tools.file("a.png", png)
    media_tools.file("a.wav", tone("wav"))
    for name, arguments in (
        ("generate_image", {"prompt": "a"}),
        ("describe_image", {"image": "a.png"}),
        ("text_to_speech", {"text": "a"}),
        ("transcribe_audio", {"audio": "a.wav"}),
    ):
        server.canned.append(canned(200, body))
        text = media_tools.text(name, **arguments)
        assert " service answered without a" in text, (name, text)
        assert f"{name} failed" not in text
    assert media_tools.media == []


@given(
    body=st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=10),
        lambda inner: (
            st.lists(inner, max_size=2)
            | st.dictionaries(
                st.sampled_from(
                    ["data", "b64_json", "url", "text", "choices", "message", "content"]
                ),
                inner,
                max_size=3,
            )
        ),
        max_leaves=8,
    )
)
def test_any_json_response_gives_a_sentence(
    media_tools: Any, server: Any, canned: Any, body: Any
) -> None:
    server.canned[:] = [canned(200, json.dumps(body).encode())]
    assert "failed:" not in media_tools.text("generate_image", prompt="a")


def test_endless_response_times_out(
    make_media_tools: Callable[..., Any], server: Any, canned: Any
) -> None:
    server.canned.append(canned(hold=True))
    media_tools = make_media_tools(timeout=0.3)
    text = media_tools.text("generate_image", prompt="a")
    assert text.startswith("Error: The image service did not answer in time.")


def test_truncated_response_is_an_error(media_tools: Any, server: Any, canned: Any) -> None:
    server.canned.append(canned(200, b'{"data": [', cut=True))
    text = media_tools.text("generate_image", prompt="a")
    assert text.startswith("Error: The answer of the image service")
    assert "broke off" in text


def test_unreachable_service_is_an_error(make_media_tools: Callable[..., Any]) -> None:
    media_tools = make_media_tools(base_url="http://127.0.0.1:9/v1")
    text = media_tools.text("generate_image", prompt="a")
    assert text.startswith("Error: The connection to the image service (http://127.0.0.1:9/v1)")


def test_unbounded_response_is_rejected(
    make_media_tools: Callable[..., Any], server: Any, canned: Any
) -> None:
    server.canned.append(canned(200, b" " * 3_000_000))
    text = make_media_tools(max_image_bytes=1_000_000).text("generate_image", prompt="a")
    assert text == "Error: The image service sent more than 1.4 MB."


def test_busy_service_is_retried(
    make_media_tools: Callable[..., Any], server: Any, canned: Any
) -> None:
    server.canned.append(canned(429, b"{}", headers={"retry-after-ms": "1"}))
    media_tools = make_media_tools(max_retries=2)
    assert media_tools.text("generate_image", prompt="a").startswith("Saved to ")
    assert len(server.requests) == 2


class NoticeRecorder(Plugin):
    """Records the notices about waiting, and their conversation."""

    @hookimpl
    def setup(self, host: Host) -> None:
        self.heard: list[tuple[str, str]] = []
        host.signals.connect("delta", self.hear)

    def hear(self, delta: Any, ctx: Any = None) -> None:
        if delta.kind == "waiting":
            self.heard.append((ctx.turn.inbound.text, delta.text))


def test_retry_wait_is_shown_in_the_conversation(
    make_media_tools: Callable[..., Any], server: Any, canned: Any, png: bytes
) -> None:
    media_tools = make_media_tools(NoticeRecorder, max_retries=2)
    media_tools.file("a.png", png)
    for status in (429, 503):
        server.canned.append(canned(status, b"{}", headers={"retry-after-ms": "100"}))
    assert not media_tools.text("describe_image", image="a.png").startswith("Error")
    assert media_tools.harness.plugin(NoticeRecorder).heard == [
        ("go", "rate-limited by the vision service; trying again in 0.1 s"),
        ("go", "the vision service is overloaded; trying again in 0.1 s"),
    ]
    assert len(server.requests) == 3


def test_refusal_of_the_vision_model_is_an_error(
    media_tools: Any, server: Any, canned: Any, png: bytes
) -> None:
    message = {"content": None, "refusal": "I cannot look at that"}
    server.canned.append(canned(200, json.dumps({"choices": [{"message": message}]}).encode()))
    media_tools.file("a.png", png)
    text = media_tools.text("describe_image", image="a.png")
    assert text == "Error: The vision service refused the content: I cannot look at that"


def test_full_disk_is_an_error(media_tools: Any) -> None:
    (media_tools.harness.home).mkdir(parents=True, exist_ok=True)
    (media_tools.harness.home / "media").write_text("in the way")
    text = media_tools.text("generate_image", prompt="a")
    assert text.startswith("Error: the file cannot be saved: ")


@pytest.mark.parametrize("end", ["\nX-Other: 1", "-ключ", "-schlüssel", "\0"])
def test_key_that_no_header_can_hold_is_an_error_without_the_key(
    make_media_tools: Callable[..., Any], server: Any, caplog: pytest.LogCaptureFixture, end: str
) -> None:
    media_tools = make_media_tools(api_key=f"sk-secret-987654321{end}")
    text = media_tools.text("generate_image", prompt="a")
    assert text.startswith("Error: ")
    assert "plugins.multimedia" in text
    assert "sk-secret" not in text + caplog.text
