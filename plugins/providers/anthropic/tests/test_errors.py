"""Failures are typed, and their sentences name provider and model and what to do."""

from __future__ import annotations

import asyncio
import re
import socket
import subprocess
import sys

import pytest
from hookline_anthropic import AnthropicProvider
from hookline_hookspecs import (
    AuthError,
    BadRequest,
    ContextTooLong,
    Message,
    NetworkError,
    Overloaded,
    ProviderError,
    ProviderSettings,
    RateLimited,
    ToolCall,
)
from support.anthropic_server import AnthropicServer, Reply, Use

from .conftest import MakeTalk, request


@pytest.mark.long
@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize(
    ("status", "kind", "message", "error"),
    [
        (401, "authentication_error", "invalid x-api-key", AuthError),
        (402, "billing_error", "no credit", RateLimited),
        (400, "invalid_request_error", "Your credit balance is too low", RateLimited),
        (403, "permission_error", "not allowed", AuthError),
        (404, "not_found_error", "model: nope", BadRequest),
        (400, "invalid_request_error", "tools.0: bad", BadRequest),
        (400, "invalid_request_error", "prompt is too long: 9 tokens > 8 maximum", ContextTooLong),
        (
            400,
            "invalid_request_error",
            "input length and `max_tokens` exceed context limit: 9 + 9 > 8",
            ContextTooLong,
        ),
        (413, "request_too_large", "Request exceeds the maximum size", ContextTooLong),
        (422, "invalid_request_error", "bad", BadRequest),
        (429, "rate_limit_error", "slow down", RateLimited),
        (500, "api_error", "oops", Overloaded),
        (503, "api_error", "oops", Overloaded),
        (529, "overloaded_error", "Overloaded", Overloaded),
    ],
)
async def test_http_status_has_its_error(
    talk: MakeTalk, stream: bool, status: int, kind: str, message: str, error: type[ProviderError]
) -> None:
    t = talk(Reply(status=status, error=(kind, message)), stream=stream)
    with pytest.raises(error) as caught:
        await t.ask()
    text = str(caught.value)
    assert type(caught.value) is error
    assert "anthropic/claude-sonnet-4-5" in text
    assert f"({status}: {message})" in text


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"retry-after-ms": "1500", "retry-after": "7"}, 1.5),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "nan"}, None),
        ({}, None),
    ],
)
async def test_retry_after_is_read(
    talk: MakeTalk, headers: dict[str, str], seconds: float | None
) -> None:
    t = talk(Reply(status=429, error=("rate_limit_error", "slow down"), headers=headers))
    with pytest.raises(RateLimited) as caught:
        await t.ask()
    assert caught.value.retry_after == seconds


@pytest.mark.parametrize("stream", [True, False])
async def test_request_is_retried_after_a_wait_that_is_shown(talk: MakeTalk, stream: bool) -> None:
    busy = Reply(status=529, error=("overloaded_error", "x"), headers={"retry-after-ms": "100"})
    t = talk(busy, "ok", max_retries=1, stream=stream)
    assert (await t.ask()).text == "ok"
    waits = [delta.text for delta in t.shown if delta.kind == "waiting"]
    assert waits == ["anthropic is overloaded; trying again in 0.1 s"]
    first, second = t.server.requests
    assert first.raw == second.raw


async def test_long_wait_is_an_error_at_once(talk: MakeTalk) -> None:
    limit = Reply(
        status=429, error=("rate_limit_error", "daily limit"), headers={"retry-after": "3600"}
    )
    t = talk(limit, "never", max_retries=2)
    with pytest.raises(RateLimited) as caught:
        await t.ask()
    assert caught.value.retry_after == 3600
    assert len(t.server.requests) == 1


async def test_error_page_is_quoted_by_its_title(talk: MakeTalk) -> None:
    page = "<html><head><title>502 Bad &amp; Gateway</title></head><body>…</body></html>"
    t = talk(Reply(status=502, body=page))
    with pytest.raises(Overloaded, match=r"\(502: a web page, '502 Bad & Gateway'\)"):
        await t.ask()


@pytest.mark.parametrize("stream", [True, False])
async def test_errors_of_other_servers_are_classified_by_text(talk: MakeTalk, stream: bool) -> None:
    t = talk(Reply(body="<html><p>Welcome</p></html>"), stream=stream)
    with pytest.raises(BadRequest, match=r"than a message \(a web page, 'Welcome'\)\. Check"):
        await t.ask()


@pytest.mark.parametrize("body", ["[]", '{"object": "list"}', '{"content": "x"}', "null"])
async def test_json_without_a_message_is_an_error(talk: MakeTalk, body: str) -> None:
    t = talk(Reply(body=body))
    with pytest.raises(BadRequest, match="something other than a message"):
        await t.ask()


@pytest.mark.parametrize(
    ("kind", "error"),
    [
        ("overloaded_error", Overloaded),
        ("rate_limit_error", RateLimited),
        ("api_error", Overloaded),
        ("invalid_request_error", BadRequest),
    ],
)
async def test_error_inside_a_stream_is_raised(
    talk: MakeTalk, kind: str, error: type[ProviderError]
) -> None:
    t = talk(Reply(text="half of it", fail=(kind, "sorry")))
    with pytest.raises(error, match="sorry"):
        await t.ask()
    assert "".join(delta.text for delta in t.shown) == "half of it"


@pytest.mark.parametrize("stream", [True, False])
async def test_broken_connection_is_a_network_error(talk: MakeTalk, stream: bool) -> None:
    t = talk(Reply(text="half of it", cut=True), stream=stream)
    with pytest.raises(NetworkError, match=r"Try again|try again"):
        await t.ask()
    assert "".join(delta.text for delta in t.shown) == ("half of it" if stream else "")


@pytest.mark.parametrize(
    "events",
    [
        (),
        (("ping", "{}"),),
        (("message_start", '{"type": "message_st'),),
        (("message_start", '{"type": "message_start"}'),),
    ],
)
async def test_stream_without_a_message_is_an_error(
    talk: MakeTalk, events: tuple[tuple[str, str], ...]
) -> None:
    t = talk(Reply(events=events))
    with pytest.raises(NetworkError, match=r"broke off|unreadable"):
        await t.ask()


async def test_body_that_is_cut_short_is_an_error(talk: MakeTalk) -> None:
    t = talk(Reply(body='{"content": ['), stream=False)
    with pytest.raises(NetworkError, match="unreadable"):
        await t.ask()


async def test_refused_connection_is_a_network_error() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    settings = ProviderSettings("local", url, "k", {}, {"max_retries": 0})
    provider = AnthropicProvider(settings)
    with pytest.raises(NetworkError, match=re.escape(f"The connection to local ({url}) failed")):
        await provider.send(provider.render(request()), None)
    await provider.aclose()


async def test_slow_server_is_a_timeout(talk: MakeTalk) -> None:
    t = talk(Reply(text="late", delay=0.5), timeout=0.05)
    with pytest.raises(NetworkError, match="did not answer"):
        await t.ask()


@pytest.mark.parametrize("end", ["/v1", "/v1/", "/"])
async def test_version_at_the_end_of_the_address_is_not_repeated(end: str) -> None:
    with AnthropicServer(["Hello."]) as server:
        settings = ProviderSettings("anthropic", f"{server.base_url}{end}", "k", {}, {})
        provider = AnthropicProvider(settings)
        assert (await provider.send(provider.render(request()), None)).text == "Hello."
        await provider.aclose()


@pytest.mark.parametrize("url", ["localhost:1", "ftp://127.0.0.1", "http://[", "http://x:nope"])
async def test_invalid_base_url_is_a_bad_request(url: str) -> None:
    provider = AnthropicProvider(ProviderSettings("local", url, "k", {}, {"max_retries": 0}))
    with pytest.raises(ProviderError, match=r"base_url|base URL"):
        await provider.send(provider.render(request()), None)
    await provider.aclose()


@pytest.mark.parametrize("key", ["two\nlines", "pasted…"])
async def test_invalid_key_is_reported_without_quoting_it(talk: MakeTalk, key: str) -> None:
    t = talk("never", key=key)
    with pytest.raises(BadRequest, match="the key holds characters") as caught:
        await t.ask()
    assert key not in str(caught.value)
    assert t.server.requests == []


async def test_errors_of_the_sink_pass_unchanged(talk: MakeTalk) -> None:
    def fail(delta: object) -> None:
        raise ValueError("the screen is gone")

    t = talk("hello", "again")
    with pytest.raises(ValueError, match="the screen is gone"):
        await t.provider.send(t.provider.render(request()), fail)
    assert (await t.ask()).text == "again"


async def test_refusal_of_the_api_reaches_the_caller(talk: MakeTalk) -> None:
    t = talk("never")
    with pytest.raises(BadRequest, match="`tool_use` ids were found without `tool_result`"):
        await t.ask(
            Message.user("x"),
            Message("assistant", (ToolCall("c1", "look", {}),)),
            Message.user("y"),
        )


async def test_closed_provider_opens_again(talk: MakeTalk) -> None:
    t = talk(Reply(tools=(Use("look"),)), "again")
    await t.ask()
    await t.provider.aclose()
    assert (await t.ask()).text == "again"


async def test_cancelled_request_leaves_the_provider_usable(talk: MakeTalk) -> None:
    t = talk(Reply(text="a long answer " * 20, pause=0.05), "again")
    shown = asyncio.Event()
    wire = t.provider.render(request())
    task = asyncio.create_task(t.provider.send(wire, lambda delta: shown.set()))
    await shown.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (await t.ask()).text == "again"


def test_sdk_is_not_imported_before_the_first_request() -> None:
    script = (
        "import sys\n"
        "from hookline_anthropic import AnthropicProvider\n"
        "from hookline_hookspecs import Message, ModelRequest, ProviderSettings\n"
        "provider = AnthropicProvider(ProviderSettings('anthropic', None, 'k'))\n"
        "provider.render(ModelRequest('anthropic/m', 's', (), (Message.user('x'),)))\n"
        "print(sorted({'anthropic', 'httpx2'} & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stderr
