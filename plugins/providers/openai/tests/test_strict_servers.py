"""A field that a server refuses is left out, and that is remembered."""

from __future__ import annotations

import json
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hookline_hookspecs import Message, ModelRequest, ProviderError, ProviderSettings
from hookline_openai import OpenAIProvider
from hookline_openai.refused_fields import refused_field
from support.openai_server import OpenAIServer, Reply

PARAMS = {"max_tokens": 50, "temperature": 0.2}
ASK = ModelRequest("local/gpt-5", "", (), (Message.user("hi"),), params=PARAMS)


def openai_says(message: str, param: str | None = None, code: str | None = None) -> dict[str, Any]:
    error = {"message": message, "type": "invalid_request_error", "param": param, "code": code}
    return {"error": error}


def extra(*place: str) -> dict[str, Any]:
    return {"type": "extra_forbidden", "loc": list(place), "msg": "Extra inputs are not permitted"}


MAX_TOKENS = openai_says(
    "Unsupported parameter: 'max_tokens' is not supported with this model. Use "
    "'max_completion_tokens' instead.",
    "max_tokens",
    "unsupported_parameter",
)
SENT = {
    "model": "m",
    "stream": True,
    "stream_options": {"include_usage": True},
    "max_tokens": 50,
    "temperature": 0.2,
    "prompt_cache_key": "k",
}
VLLM = "[{'type': 'extra_forbidden', 'loc': ('body', 'stream_options'), 'msg': 'Extra inputs are not permitted', 'input': {}}]"  # noqa: E501
REFUSALS = [
    # OpenAI and Azure
    (400, MAX_TOKENS, "max_tokens"),
    (400, openai_says("Unrecognized request argument supplied: stream_options"), "stream_options"),
    (
        400,
        openai_says(
            "Unsupported value: 'temperature' does not support 0.2 with this model. Only the "
            "default (1) value is supported.",
            "temperature",
            "unsupported_value",
        ),
        "temperature",
    ),
    (
        400,
        openai_says(
            "Your organization must be verified to stream this model.",
            "stream",
            "unsupported_value",
        ),
        "stream",
    ),
    # Mistral, vLLM, Fireworks, Groq, llama.cpp
    (422, {"detail": [extra("body", "max_tokens")]}, "max_tokens"),
    (422, {"message": {"detail": [extra("body", "prompt_cache_key")]}}, "prompt_cache_key"),
    (400, {"object": "error", "message": VLLM, "code": 400}, "stream_options"),
    (400, openai_says("Extra inputs are not permitted, field: 'stream_options'"), "stream_options"),
    (400, openai_says("property 'prompt_cache_key' is unsupported"), "prompt_cache_key"),
    (500, {"error": {"code": 500, "message": "Unsupported param: temperature"}}, "temperature"),
    # Not about a field, or about its value
    (400, openai_says("max_tokens is too large: 50. This model supports at most 20."), None),
    (400, openai_says("Invalid value for 'temperature': must be less than 2", "temperature"), None),
    (400, openai_says("Unsupported parameter: 'tools'", "tools"), None),
    (400, openai_says("Extra inputs are not permitted, field: 'store'"), None),
    (400, openai_says("This model's maximum context length is 8 tokens, max_tokens"), None),
    (400, openai_says("max_tokens must be positive"), None),
    (401, MAX_TOKENS, None),
    (400, "max_tokens", None),
    (400, {"param": ["max_tokens"], "loc": [1, 2]}, None),
]


@pytest.mark.parametrize(("status", "body", "field"), REFUSALS)
def test_refused_field_is_distinguished_from_a_refused_value(
    status: int, body: Any, field: str | None
) -> None:
    assert refused_field(status, body, SENT) == field


class Strict:
    """A server that takes only these fields beside those that every one takes."""

    def __init__(self, *takes: str) -> None:
        self.takes = {"model", "messages", "stream", *takes}
        self.asked = 0

    def __call__(self, body: dict[str, Any]) -> Reply | str:
        self.asked += 1
        wrong = sorted(body.keys() - self.takes)
        if wrong:
            return Reply(status=422, body={"detail": [extra("body", name) for name in wrong]})
        return "hello"


def provider(server: OpenAIServer, home: Path | None) -> OpenAIProvider:
    settings = ProviderSettings("local", server.base_url, "sk-test", home=home)
    return OpenAIProvider(settings)


async def ask(made: OpenAIProvider) -> str:
    try:
        return (await made.send(made.render(ASK), None)).text
    finally:
        await made.aclose()


@pytest.mark.parametrize(
    ("takes", "sent"),
    [
        (("max_completion_tokens", "stream_options", "temperature"), 2),
        (("max_tokens",), 3),
        ((), 5),
    ],
)
async def test_refused_field_is_left_out_and_remembered(
    serve: Callable[..., OpenAIServer], tmp_path: Path, takes: tuple[str, ...], sent: int
) -> None:
    server = serve(strict := Strict(*takes))
    assert await ask(provider(server, tmp_path)) == "hello"
    assert strict.asked == sent
    last = server.requests[-1].json
    assert last.keys() <= strict.takes
    assert ("max_completion_tokens" in last) == ("max_completion_tokens" in takes)
    # In the next process it is known.
    assert await ask(provider(server, tmp_path)) == "hello"
    assert strict.asked == sent + 1
    assert server.requests[-1].raw == server.requests[-2].raw


async def test_quirks_of_one_server_do_not_affect_others(
    serve: Callable[..., OpenAIServer], tmp_path: Path
) -> None:
    first, second = (serve(Strict("max_tokens", "stream_options")) for _ in range(2))
    for server in (first, second):
        assert await ask(provider(server, tmp_path)) == "hello"
        assert len(server.requests) == 2
    known = json.loads((tmp_path / "openai-servers.json").read_text("utf-8"))
    assert {key: one["changes"] for key, one in known.items()} == {
        f"{server.base_url} gpt-5": {"temperature": None} for server in (first, second)
    }
    assert stat.S_IMODE((tmp_path / "openai-servers.json").stat().st_mode) == 0o600


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[1]",
        '{"a": 1}',
        '{"KEY": {"changes": {"max_tokens": "model"}, "at": 9e9}}',
        '{"KEY": {"changes": {"temperature": null}, "at": 1}}',
        '{"KEY": {"changes": [], "at": "x"}}',
    ],
)
async def test_damaged_or_old_file_is_ignored(
    serve: Callable[..., OpenAIServer], tmp_path: Path, text: str
) -> None:
    server = serve(strict := Strict("max_tokens", "stream_options"))
    key = f"{server.base_url} gpt-5"
    (tmp_path / "openai-servers.json").write_text(text.replace("KEY", key), "utf-8")
    assert await ask(provider(server, tmp_path)) == "hello"
    assert strict.asked == 2


async def test_missing_or_read_only_home_does_not_prevent_answers(
    serve: Callable[..., OpenAIServer], tmp_path: Path
) -> None:
    server = serve(Strict())
    assert await ask(provider(server, None)) == "hello"
    assert await ask(provider(server, tmp_path / "missing")) == "hello"


async def test_model_that_cannot_stream_is_requested_whole(
    serve: Callable[..., OpenAIServer], tmp_path: Path
) -> None:
    told = openai_says("Your organization must be verified to stream this model.", "stream")
    server = serve(lambda body: Reply(status=400, body=told) if body["stream"] else "whole")
    assert await ask(provider(server, tmp_path)) == "whole"
    assert "stream_options" not in server.requests[-1].json


async def test_other_refusals_are_raised(
    serve: Callable[..., OpenAIServer], tmp_path: Path
) -> None:
    server = serve(lambda _body: Reply(status=400, body=openai_says("Unsupported: 'messages'")))
    with pytest.raises(ProviderError, match="refused the request"):
        await ask(provider(server, tmp_path))
    assert len(server.requests) == 1
