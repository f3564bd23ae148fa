"""Services that refuse, break or answer with anything: a sentence each, and nothing is saved."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hookline_hookspecs import Host, Plugin, hookimpl
from hypothesis import given
from hypothesis import strategies as st


def test_wrong_key_is_an_error_without_the_key(
    make_studio: Callable[..., Any], server: Any
) -> None:
    studio = make_studio(api_key="sk-wrong-key-987654321")
    text = studio.text("generate_image", prompt="a")
    assert text.startswith("Error: The image service refused the key (401")
    assert "plugins.multimedia.image.api_key" in text
    assert "sk-wrong" not in text


def test_refused_content_is_an_error(studio: Any) -> None:
    text = studio.text("generate_image", prompt="forbidden things")
    assert text.startswith("Error: The image service refused the content (400")
    assert studio.media == []


def test_unknown_model_is_an_error(make_studio: Callable[..., Any]) -> None:
    text = make_studio(speech={"model": "kokoro"}).text("text_to_speech", text="Hi")
    assert text.startswith("Error: The speech service does not know the model kokoro")
    assert "plugins.multimedia.speech.model" in text


def test_unsupported_size_is_an_error(studio: Any) -> None:
    text = studio.text("generate_image", prompt="a", size="1000x1000")
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
    studio: Any, server: Any, canned: Any, status: int, body: Any, told: str
) -> None:
    said = body if isinstance(body, str) else json.dumps(body)
    server.canned.append(canned(status, said.encode()))
    text = studio.text("generate_image", prompt="a")
    assert text.startswith("Error: ")
    assert told in text
    assert studio.media == []


ANSWERS = [b"", b"{", b"null", b"[]", b'{"data": []}', b'{"data": [{}]}', b'{"data": [null]}']
ANSWERS += [b'{"data": [{"b64_json": "%%%"}]}', b'{"data": [{"b64_json": 7}]}', b"\xff\xfe\x00"]
ANSWERS += [b'{"data": [{"b64_json": "aGVsbG8="}]}', b'{"data": [{"url": 7}]}', b"[" * 100_000]
ANSWERS += [b"<html><title>Welcome</title></html>", b'{"text": {}}', b'{"choices": [{}]}']


@pytest.mark.parametrize("body", ANSWERS, ids=range(len(ANSWERS)))
def test_unusable_response_has_a_message(
    studio: Any, server: Any, canned: Any, png: bytes, tone: Callable[[str], bytes], body: bytes
) -> None:
    studio.file("a.png", png)
    studio.file("a.wav", tone("wav"))
    for name, arguments in (
        ("generate_image", {"prompt": "a"}),
        ("describe_image", {"image": "a.png"}),
        ("text_to_speech", {"text": "a"}),
        ("transcribe_audio", {"audio": "a.wav"}),
    ):
        server.canned.append(canned(200, body))
        text = studio.text(name, **arguments)
        assert " service answered without a" in text, (name, text)
        assert f"{name} failed" not in text
    assert studio.media == []


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
    studio: Any, server: Any, canned: Any, body: Any
) -> None:
    server.canned[:] = [canned(200, json.dumps(body).encode())]
    assert "failed:" not in studio.text("generate_image", prompt="a")


def test_endless_response_times_out(
    make_studio: Callable[..., Any], server: Any, canned: Any
) -> None:
    server.canned.append(canned(hold=True))
    studio = make_studio(timeout=0.3)
    text = studio.text("generate_image", prompt="a")
    assert text.startswith("Error: The image service did not answer in time.")


def test_truncated_response_is_an_error(studio: Any, server: Any, canned: Any) -> None:
    server.canned.append(canned(200, b'{"data": [', cut=True))
    text = studio.text("generate_image", prompt="a")
    assert text.startswith("Error: The answer of the image service")
    assert "broke off" in text


def test_unreachable_service_is_an_error(make_studio: Callable[..., Any]) -> None:
    studio = make_studio(base_url="http://127.0.0.1:9/v1")
    text = studio.text("generate_image", prompt="a")
    assert text.startswith("Error: The connection to the image service (http://127.0.0.1:9/v1)")


def test_unbounded_response_is_rejected(
    make_studio: Callable[..., Any], server: Any, canned: Any
) -> None:
    server.canned.append(canned(200, b" " * 3_000_000))
    text = make_studio(max_image_bytes=1_000_000).text("generate_image", prompt="a")
    assert text == "Error: The image service sent more than 1.4 MB."


def test_busy_service_is_retried(make_studio: Callable[..., Any], server: Any, canned: Any) -> None:
    server.canned.append(canned(429, b"{}", headers={"retry-after-ms": "1"}))
    studio = make_studio(max_retries=2)
    assert studio.text("generate_image", prompt="a").startswith("Saved to ")
    assert len(server.requests) == 2


class Ear(Plugin):
    """Hears what a person is told of waits, and in which conversation."""

    @hookimpl
    def setup(self, host: Host) -> None:
        self.heard: list[tuple[str, str]] = []
        host.signals.connect("delta", self.hear)

    def hear(self, delta: Any, ctx: Any = None) -> None:
        if delta.kind == "waiting":
            self.heard.append((ctx.turn.inbound.text, delta.text))


def test_retry_wait_is_shown_in_the_conversation(
    make_studio: Callable[..., Any], server: Any, canned: Any, png: bytes
) -> None:
    studio = make_studio(Ear, max_retries=2)
    studio.file("a.png", png)
    for status in (429, 503):
        server.canned.append(canned(status, b"{}", headers={"retry-after-ms": "100"}))
    assert not studio.text("describe_image", image="a.png").startswith("Error")
    assert studio.harness.plugin(Ear).heard == [
        ("go", "rate-limited by the vision service; trying again in 0.1 s"),
        ("go", "the vision service is overloaded; trying again in 0.1 s"),
    ]
    assert len(server.requests) == 3


def test_refusal_of_the_vision_model_is_an_error(
    studio: Any, server: Any, canned: Any, png: bytes
) -> None:
    message = {"content": None, "refusal": "I cannot look at that"}
    server.canned.append(canned(200, json.dumps({"choices": [{"message": message}]}).encode()))
    studio.file("a.png", png)
    text = studio.text("describe_image", image="a.png")
    assert text == "Error: The vision service refused the content: I cannot look at that"


def test_full_disk_is_an_error(studio: Any) -> None:
    (studio.harness.home).mkdir(parents=True, exist_ok=True)
    (studio.harness.home / "media").write_text("in the way")
    text = studio.text("generate_image", prompt="a")
    assert text.startswith("Error: the file cannot be saved: ")


@pytest.mark.parametrize("end", ["\nX-Other: 1", "-ключ", "-schlüssel", "\0"])
def test_key_that_no_header_can_hold_is_an_error_without_the_key(
    make_studio: Callable[..., Any], server: Any, caplog: pytest.LogCaptureFixture, end: str
) -> None:
    studio = make_studio(api_key=f"sk-secret-987654321{end}")
    text = studio.text("generate_image", prompt="a")
    assert text.startswith("Error: ")
    assert "plugins.multimedia" in text
    assert "sk-secret" not in text + caplog.text
