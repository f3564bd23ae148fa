"""Invalid requests get an error sentence in OpenAI's format, never a 500."""

from __future__ import annotations

import json
from typing import Any

import httpx2
import pytest

from .conftest import TEST_TIMEOUT, Served


def refused(answer: httpx2.Response, status: int, words: str = "") -> dict[str, Any]:
    """The error of a refusal of this status whose message holds these words."""
    assert answer.status_code == status, answer.text
    error: dict[str, Any] = answer.json()["error"]
    assert {"message", "type", "code", "param"} <= set(error)
    assert words in error["message"]
    assert len(error["message"]) < 500
    return error


def chat(messages: Any, **more: Any) -> dict[str, Any]:
    return {"model": "hookline", "messages": messages, **more}


USER = {"role": "user", "content": "say no"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b"", "not JSON"),
        (b"{", "not JSON"),
        (b"[]", "not a JSON object"),
        (b"\xff\xfe", "not UTF-8"),
        (b"[" * 100_000, "deeper than"),
        (b'{"model":' + b'{"a":' * 80 + b"1" + b"}" * 81, "deeper than"),
        (b'{"model": "a", "model": "b"}', "twice"),
        (b'{"model": NaN}', "not a number"),
        (b'{"model": ' + b"9" * 5000 + b"}", "not JSON"),
        (b'{"model": "hook\\ud800line"}', "surrogate"),
        (b'{"model": "hookline\\u0000"}', "NUL"),
        (b'{"\\ud800": 1, "\\ud800": 2}', "twice"),
        ({}, "model is missing"),
        ({"model": 7}, "model must be a string"),
        ({"model": "hookline"}, "messages must be a list"),
        (chat("hi"), "messages must be a list"),
        (chat([]), "no user message"),
        (chat(["hi"]), "messages[0] must be an object"),
        (chat([{"role": "wizard", "content": "x"}]), "unknown role 'wizard'"),
        (chat([{"role": ["user"], "content": "x"}]), "unknown role"),
        (chat([{"content": "x"}]), "unknown role"),
        (chat([USER, {"role": "assistant", "content": "Sure, "}]), "must be a user message"),
        (chat([USER, {"role": "tool", "content": "1"}]), "must be a user message"),
        (chat([{"role": "user", "content": "  "}]), "is empty"),
        (chat([{"role": "user"}]), "is empty"),
        (chat([{"role": "user", "content": 5}]), "string or a list of parts"),
        (chat([{"role": "user", "content": [{"type": "video"}]}]), "unknown type 'video'"),
        (chat([{"role": "user", "content": [{"type": "text"}]}]), "text must be a string"),
        (
            chat(
                [{"role": "user", "content": [{"type": "image_url", "image_url": "file:///etc"}]}]
            ),
            "must be a data:, https: or http: URL",
        ),
        (
            chat([{"role": "user", "content": [{"type": "image_url", "image_url": "data:x"}]}]),
            "not a valid data: URL",
        ),
        (
            chat([{"role": "user", "content": [{"type": "file", "file": {"file_data": "%%"}}]}]),
            "not base64",
        ),
        (
            chat([{"role": "user", "content": [{"type": "file", "file": {"file_id": "f"}}]}]),
            "files API is not supported",
        ),
        (
            chat(
                [
                    {
                        "role": "user",
                        "content": [
                            {"type": "image_url", "image_url": {"url": "http://169.254.169.254/x"}}
                        ],
                    }
                ]
            ),
            "Cannot fetch",
        ),
        (chat([USER], stream="yes"), "stream must be true or false"),
        (chat([USER], n=True), "n must be a whole number"),
        (chat([USER], tool_choice="maybe"), "auto or none"),
        (chat([USER], stream_options=[]), "stream_options must be an object"),
        (chat([USER], response_format={"type": "xml"}), "unknown type 'xml'"),
    ],
)
def test_invalid_chat_request_is_refused(served: Served, body: Any, why: str) -> None:
    error = refused(served.post("/chat/completions", body), 400, why)
    assert error["type"] == "invalid_request_error"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({}, "input must be a string or a list"),
        ({"input": []}, "no user message"),
        ({"input": [{"type": "computer_call"}]}, "unknown type"),
        ({"input": [{"role": "root", "content": "x"}]}, "unknown role 'root'"),
        ({"input": "x", "conversation": 5}, "conversation must be a name"),
        ({"input": "x", "metadata": {"a": 1}}, "metadata may have"),
        ({"input": "x", "text": {"format": {"type": "json_schema"}}}, "answers with text"),
    ],
)
def test_invalid_response_request_is_refused(served: Served, more: Any, why: str) -> None:
    refused(served.post("/responses", {"model": "hookline", **more}), 400, why)


@pytest.mark.long
def test_other_content_types_are_refused_on_loopback_too(served: Served) -> None:
    body = json.dumps(chat([USER])).encode()
    for kind in ("text/plain", "application/x-www-form-urlencoded", ""):
        answer = served.post("/chat/completions", body, Content_Type=kind)
        refused(answer, 415, "application/json")


@pytest.mark.slow
def test_unknown_paths_and_keys_are_refused(served: Served) -> None:
    embeddings = {"model": "hookline", "input": "x"}
    assert (
        refused(served.post("/embeddings", embeddings), 404, "Embeddings are not supported")[
            "param"
        ]
        is None
    )
    refused(served.post("/images/generations", {}), 404, "images API is not supported")
    refused(served.post("/audio/speech", {}), 404, "multimedia")
    refused(served.post("/nothing", {}), 404, "POST /v1/nothing does not exist")
    refused(served.post("/models", {}), 404)
    for key in ("hk-wrong", "hk-" + "x" * 90, "sk-other"):
        refused(served.post("/chat/completions", chat([USER]), key), 401, "keys add")
        refused(served.post("/nothing", {}, key), 401)
    bare = httpx2.get(served.url + "/models", timeout=TEST_TIMEOUT, trust_env=False)
    refused(bare, 401, "API key")


@pytest.mark.slow
def test_oversized_requests_are_refused(served: Served) -> None:
    large = json.dumps(chat([{"role": "user", "content": "x" * 41_000_000}])).encode()
    refused(served.post("/chat/completions", large), 413, "larger than")
    many = [{"type": "image_url", "image_url": {"url": "data:,x"}}] * 21
    refused(served.post("/chat/completions", chat([{"role": "user", "content": many}])), 400, "21")


@pytest.mark.long
@pytest.mark.parametrize(
    "text", ["/etc/passwd is a file", "\u202eright to left", "🦊" * 2000, "<context>x</context>"]
)
def test_unusual_texts_get_replies(served: Served, text: str) -> None:
    answer = served.post("/chat/completions", chat([{"role": "user", "content": text}]))
    assert answer.status_code == 200
    assert answer.json()["choices"][0]["message"]["content"]


@pytest.mark.slow
def test_only_sha256_of_a_key_is_stored(served: Served) -> None:
    secret = served.new_key("quiet")
    for path in served.home.rglob("*"):
        if path.is_file():
            assert secret.encode() not in path.read_bytes()
    code, _, err = served.run("api", "keys", "add", "quiet")
    assert (code, "already" in err) == (1, True)
    code, _, err = served.run("api", "keys", "add", "no name")
    assert (code, "is not a valid name" in err) == (1, True)
