"""Any bytes of a server give a bounded answer or an error sentence."""

from __future__ import annotations

import asyncio
import json
import tracemalloc

import pytest
from hookline_anthropic import AnthropicProvider
from hookline_anthropic.options import Options
from hookline_hookspecs import Delta, ModelResponse, ProviderError, ProviderSettings
from hookline_providerkit import Limits
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.raw_server import RawServer, endless, http

from .conftest import request

KEY = "sk-ant-canary-0123456789"
SMALL = Limits(stream=600_000, event=100_000, body=200_000, characters=20_000)
SLACK = 8_000_000
"""Bytes in the sockets' buffers and in the client's."""


def event(kind: str, **fields: object) -> bytes:
    data = json.dumps({"type": kind, **fields})
    return f"event: {kind}\ndata: {data}\n\n".encode()


START = event("message_start", message={"id": "m", "content": [], "usage": {"input_tokens": 3}})
TEXT = event("content_block_start", index=0, content_block={"type": "text", "text": ""})
STOP = event("message_delta", delta={"stop_reason": "end_turn"}, usage={"output_tokens": 1})


def said(text: str, index: int = 0) -> bytes:
    delta = {"type": "text_delta", "text": text}
    return event("content_block_delta", index=index, delta=delta)


def provider(server: RawServer, *, stream: bool = True, limits: Limits | None = None, **options):
    options = {"max_retries": 0, "stream": stream} | options
    given = ProviderSettings("anthropic", server.base_url, KEY, {}, options)
    with pytest.MonkeyPatch.context() as patch:
        if limits is not None:
            patch.setattr(Options, "limits", lambda _: limits)
        return AnthropicProvider(given)


async def outcome(payload, shown=None, **options) -> tuple[ModelResponse | ProviderError, int]:
    """The outcome of one request, and how many bytes the server could send."""
    with RawServer(payload) as server:
        made = provider(server, **options)
        try:
            wire = made.render(request())
            found = await made.send(wire, shown.append if shown is not None else None)
        except ProviderError as error:
            found = error
        finally:
            await made.aclose()
    if isinstance(found, ProviderError):
        assert KEY not in str(found)
        assert "anthropic" in str(found)
    return found, server.sent


BLOCKS = b"".join(
    event("content_block_start", index=n, content_block={"type": "text", "text": ""})
    for n in range(2000)
)
ENDLESS = {
    "a line": endless(b"x" * 65536),
    "blank lines": endless(b"\n\n" * 8192, START),
    "words": endless(said("word ") * 500, START, TEXT),
    "pings": endless(event("ping") * 2000, START),
    "blocks": endless(BLOCKS, START),
}


@pytest.mark.parametrize("name", ENDLESS)
@pytest.mark.slow
async def test_endless_stream_stops_at_a_limit(name):
    await outcome(http(START, STOP))  # which imports the SDK
    tracemalloc.start()
    try:
        error, sent = await outcome(ENDLESS[name], limits=SMALL)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert error.kind == "network"
    assert "rejected the response" in str(error)
    assert sent < SMALL.stream + SLACK
    assert peak < 30_000_000


async def test_endless_blank_lines_are_no_events():
    payload = endless(b"\n\n" * 8192, START)
    error, sent = await outcome(payload, limits=Limits(event=100_000))
    assert "an event is longer than 100,000 bytes" in str(error)
    assert sent < 100_000 + SLACK


@pytest.mark.parametrize("stream", [True, False])
async def test_endless_message_stops_at_a_limit(stream):
    payload = endless(b'{"a":[1,', kind="application/json")
    error, sent = await outcome(payload, stream=stream, limits=SMALL)
    assert "longer than 200,000 bytes" in str(error)
    assert sent < SMALL.body + SLACK


async def test_key_does_not_follow_a_redirect():
    with RawServer(http(START, TEXT, said("stolen"), STOP)) as elsewhere:
        more = f"location: {elsewhere.base_url}/v1/messages\r\n"
        payload = http(status="308 Permanent Redirect", more=more)
        error, _ = await outcome(payload, auth_header="x-api-key")
        assert not elsewhere.requests
    assert error.kind == "bad_request"
    assert "base_url" in str(error)


async def test_cut_stream_is_incomplete():
    answer, _ = await outcome(http(START, TEXT, said("half a sen"), event("message_stop")))
    assert (answer.text, answer.stop) == ("half a sen", "incomplete")


async def test_error_in_the_stream_keeps_the_shown_text():
    broken = event("error", error={"type": "overloaded_error", "message": "busy"})
    error, _ = await outcome(http(START, TEXT, said("half"), broken))
    assert (error.kind, error.partial) == ("overloaded", "half")


async def test_shown_text_belongs_to_the_response_without_a_block_start():
    shown: list[Delta] = []
    answer, _ = await outcome(http(START, said("hello", 3), STOP), shown)
    assert answer.text == "hello" == "".join(delta.text for delta in shown)


async def test_thinking_and_its_signature_can_be_sent_again():
    block = {"type": "thinking", "thinking": "a\0", "signature": "\ud800"}
    sealed = {"type": "redacted_thinking", "data": "x\ud800"}
    parts = [
        event("content_block_start", index=n, content_block=b)
        for n, b in enumerate((block, sealed))
    ]
    answer, _ = await outcome(http(START, *parts, TEXT.replace(b": 0", b": 2"), said("x", 2), STOP))
    assert answer.blocks[0].text == "a\ufffd"
    assert answer.blocks[0].signature is None
    assert all(getattr(one, "redacted", None) in (None, "") for one in answer.blocks)


USAGES = [-(10**30), 10**30, 1e308, -1.5, "many", True, None, [], {"a": 1}]


@pytest.mark.parametrize("value", USAGES)
async def test_any_usage_value_gives_bounded_counts(value):
    usage = {"input_tokens": value, "output_tokens": value, "cache_read_input_tokens": value}
    stop = event("message_delta", delta={"stop_reason": "end_turn"}, usage=usage)
    answer, _ = await outcome(http(START, TEXT, said("hi"), stop))
    assert 0 <= answer.usage.input < 2**53
    assert type(answer.usage.output) is int


@pytest.mark.long
@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b"<html><title>Sign in</title></html>", "text/html"),
        (b'{"type": "error", "error": {"message": "no"}}', "application/json"),
        (b"\xff\xfe\x00", "application/octet-stream"),
        (b"[" * 100_000, "application/json"),
        (b'{"content": ' + b"9" * 10_000 + b"}", "application/json"),
        (event("message_start", message=1), "text/event-stream"),
        (b"event: message_start\ndata: " + b"[" * 100_000 + b"\n\n", "text/event-stream"),
        (b"event: message_start\ndata: " + b"9" * 10_000 + b"\n\n", "text/event-stream"),
        (b"event: error\ndata: %s1%s\n\n" % (b'{"error":' * 900, b"}" * 900), "text/event-stream"),
        (b"", "application/json"),
    ],
)  # fmt: skip
async def test_success_without_an_answer_is_an_error(stream, body, kind):
    error, _ = await outcome(http(body, kind=kind), stream=stream)
    assert isinstance(error, ProviderError)


PARTS = [
    START,
    TEXT,
    said("a"),
    said("\ud800\0", 1),
    STOP,
    b"data: ",
    b"\n\n",
    b"\r",
    b"event: error\n",
]


@pytest.mark.parametrize("stream", [True, False])
def test_any_bytes_are_an_answer_or_an_error(stream):
    loop = asyncio.new_event_loop()
    with RawServer(http()) as server:
        made = provider(server, stream=stream)

        @settings(suppress_health_check=list(HealthCheck))
        @given(
            st.lists(st.sampled_from(PARTS) | st.binary(max_size=40), max_size=6),
            st.sampled_from(["text/event-stream", "application/json", "x"]),
        )
        def check(parts, kind):
            server.payload = http(*parts, kind=kind)
            try:
                answer = loop.run_until_complete(made.send(made.render(request()), None))
            except ProviderError:
                pass
            else:
                answer.text.encode()

        try:
            check()
            loop.run_until_complete(made.aclose())
        finally:
            loop.close()
