"""Any bytes of a server give a bounded answer or an error sentence."""

from __future__ import annotations

import asyncio
import gzip
import json
import time
import tracemalloc
from dataclasses import replace

import pytest
from hookline_hookspecs import Message, ModelRequest, ModelResponse, ProviderError, ProviderSettings
from hookline_openai import OpenAIProvider
from hookline_openai.options import Options
from hookline_providerkit import Limits
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.raw_server import RawServer, endless, http

ASK = ModelRequest("openai/gpt-5", "", (), (Message.user("hi"),))
KEY = "sk-canary-0123456789"
SLACK = 8_000_000
"""Bytes in the sockets' buffers and in the client's."""


def said(text: str, **choice) -> bytes:
    chunk = {"id": "c", "choices": [{"delta": {"content": text}, **choice}]}
    return b"data: " + json.dumps(chunk).encode() + b"\n\n"


END = said("", finish_reason="stop")
DONE = b"data: [DONE]\n\n"


def provider(server: RawServer, *, stream: bool = True, limits: Limits | None = None, **options):
    options = {"max_retries": 0, "stream": stream} | options
    given = ProviderSettings("openai", server.base_url, KEY, {}, options, "K")
    with pytest.MonkeyPatch.context() as patch:
        if limits is not None:
            patch.setattr(Options, "limits", lambda _: limits)
        return OpenAIProvider(given)


async def outcome(payload, shown=None, **options) -> tuple[ModelResponse | ProviderError, int]:
    """The outcome of one request, and how many bytes the server could send."""
    with RawServer(payload) as server:
        made = provider(server, **options)
        try:
            found = await made.send(made.render(ASK), shown.append if shown is not None else None)
        except ProviderError as error:
            found = error
        finally:
            await made.aclose()
    if isinstance(found, ProviderError):
        assert KEY not in str(found)
        assert "openai" in str(found)
    return found, server.sent


ENDLESS = {
    "a line": endless(b"x" * 65536),
    "an event of many lines": endless(b"data: x\n" * 8192),
    "blank lines": endless(b"\n\n" * 8192),
    "comments": endless(b": ping\n\n" * 8192),
    "words": endless(said("word ") * 500),
    "calls": endless(
        b"".join(
            b'data: {"choices":[{"delta":{"tool_calls":[%s]}}]}\n\n' % call
            for call in (b'{"id":"%d","function":{"name":"f"}}' % n for n in range(500))
        )
    ),
}


@pytest.mark.parametrize("name", ENDLESS)
@pytest.mark.slow
async def test_endless_stream_stops_at_a_limit(name):
    small = Limits(stream=600_000, event=100_000, characters=20_000)
    tracemalloc.start()
    try:
        error, sent = await outcome(ENDLESS[name], limits=small)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert isinstance(error, ProviderError)
    assert error.kind == "network"
    assert "rejected the response" in str(error)
    assert sent < 600_000 + SLACK
    assert peak < 30_000_000


async def test_endless_blank_lines_are_no_events():
    def payload():
        yield from http(said("hel"))()
        while True:
            time.sleep(0.05)
            yield b"\n\n"

    error, _ = await outcome(payload, timeout=0.3, total_timeout=5)
    assert "in time" in str(error)
    assert error.partial == "hel"
    error, sent = await outcome(endless(b"\n\n" * 8192), limits=Limits(event=100_000))
    assert "an event is longer than 100,000 bytes" in str(error)
    assert sent < 100_000 + SLACK


@pytest.mark.parametrize("stream", [True, False])
async def test_bad_utf8_in_a_string_is_replaced(stream):
    if stream:
        answer, _ = await outcome(http(said("aXb").replace(b"X", b"\xff"), END))
    else:
        body = {"choices": [{"message": {"content": "aXb"}, "finish_reason": "stop"}]}
        data = json.dumps(body).encode().replace(b"X", b"\xff")
        answer, _ = await outcome(http(data, kind="application/json"), stream=False)
    assert getattr(answer, "text", answer) == "a\ufffdb"


async def test_endless_body_stops_at_a_limit():
    payload = endless(b'{"a":[1,', kind="application/json")
    error, sent = await outcome(payload, stream=False, limits=Limits(body=200_000))
    assert "longer than 200,000 bytes" in str(error)
    assert sent < 200_000 + SLACK


@pytest.mark.slow
@pytest.mark.parametrize("stream", [True, False])
async def test_compression_bomb_is_not_decompressed(stream):
    bomb = gzip.compress(b"\0" * 100_000_000)
    more = f"content-encoding: gzip\r\ncontent-length: {len(bomb)}\r\n"
    kind = "text/event-stream" if stream else "application/json"
    tracemalloc.start()
    try:
        error, _ = await outcome(http(bomb, kind=kind, more=more), stream=stream)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert "rejected the response" in str(error)
    assert peak < 60_000_000


async def test_compressed_response_is_read():
    packed = gzip.compress(said("hello") + END + DONE)
    answer, _ = await outcome(http(packed, more="content-encoding: gzip\r\n"))
    assert answer.text == "hello"


async def test_unknown_compression_is_rejected():
    error, _ = await outcome(http(b"\x00\x01", more="content-encoding: zstd\r\n"))
    assert "'zstd'" in str(error)


async def test_endless_error_response_is_still_an_error():
    payload = http(*[b"<p>no</p>" * 7000] * 40, status="429 Slow down", kind="text/html")
    error, sent = await outcome(payload)
    assert error.kind == "rate"
    assert sent < 40 * 63_000 + SLACK


async def test_key_does_not_follow_a_redirect():
    with RawServer(http(said("stolen"), END)) as elsewhere:
        more = f"location: {elsewhere.base_url}/v1/chat/completions?token=abc\r\n"
        error, _ = await outcome(http(status="307 Temporary Redirect", more=more))
        assert not elsewhere.requests
    assert error.kind == "bad_request"
    assert "127.0.0.1" in str(error)
    assert "abc" not in str(error)


async def test_huge_headers_are_not_read():
    payload = endless(b"x-junk: " + b"y" * 4000 + b"\r\n")
    head = payload()

    def flood():
        yield b"HTTP/1.1 200 OK\r\n"
        yield from head

    error, sent = await outcome(flood)
    assert error.kind == "network"
    assert sent < SLACK


@pytest.mark.slow
def test_slow_stream_ends_by_idle_time_and_total_time():
    def drip(piece):
        def payload():
            yield from http(said("hel"))()
            while True:
                time.sleep(0.05)
                yield piece

        return payload

    async def check():
        shown = []
        error, _ = await outcome(drip(b"x"), shown, timeout=0.3)
        assert error.kind == "network"
        assert "in time" in str(error)
        assert error.partial == "hel"
        assert [delta.text for delta in shown] == ["hel"]
        error, _ = await outcome(drip(b": ping\n\n"), timeout=5, total_timeout=0.5)
        assert "total_timeout" in str(error)
        assert error.partial == "hel"

    asyncio.run(check())


@pytest.mark.parametrize("end", [b"", said("", finish_reason=None)])
async def test_cut_stream_is_incomplete(end):
    answer, _ = await outcome(http(said("half a sen"), end))
    assert answer.stop == "incomplete"
    assert answer.text == "half a sen"


async def test_text_ids_and_arguments_are_sanitized():
    call = {
        "id": "a\ud800\0",
        "function": {
            "name": "re\0ad",
            "arguments": '{"k\\u0000\\ud800": ["\\udfff", {"\\u0000": 1}]}',
        },
    }
    chunk = {"choices": [{"delta": {"content": "x\0\ud83d", "tool_calls": [call, call]}}]}
    events = b"data: " + json.dumps(chunk).encode() + b"\n\n" + said("\ude00y") + END
    shown = []
    answer, _ = await outcome(http(events), shown)
    assert answer.text == "x\ufffd\U0001f600y"
    assert "".join(delta.text for delta in shown) == answer.text
    for used in answer.message.tool_calls:
        json.dumps([used.id, used.name, used.arguments], ensure_ascii=False).encode()
        assert "\0" not in f"{used.id}{used.name}{used.arguments}"
    assert len({used.id for used in answer.message.tool_calls}) == len(answer.message.tool_calls)


def arguments(text: str):
    calls = [{"id": "a", "function": {"name": "f", "arguments": text}}]
    chunk = {"choices": [{"delta": {"tool_calls": calls}, "finish_reason": "tool_calls"}]}
    return http(b"data: " + json.dumps(chunk).encode() + b"\n\n")


@pytest.mark.parametrize(
    "text", ['{"a":' * 200 + "1" + "}" * 200, '{"a": 1e999}', '{"a": NaN}', "[" * 50_000]
)
async def test_arguments_that_json_cannot_hold_are_an_error_of_the_call(text):
    answer, _ = await outcome(arguments(text))
    [call] = answer.message.tool_calls
    assert call.error
    assert call.arguments == {}


USAGES = [-(10**30), 10**30, 1e308, -1.5, "many", True, None, [], {"a": 1}]


@pytest.mark.parametrize("value", USAGES)
async def test_any_usage_value_gives_bounded_counts(value):
    usage = {"prompt_tokens": value, "completion_tokens": value}
    event = b"data: " + json.dumps({"choices": [], "usage": usage}).encode() + b"\n\n"
    answer, _ = await outcome(http(said("hi"), END, event))
    assert 0 <= answer.usage.input <= 10**12
    assert type(answer.usage.output) is int


@pytest.mark.long
@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b"<html><title>Sign in</title></html>", "text/html"),
        (b'{"error": {"message": "no", "type": "server_error"}}', "application/json"),
        (b"\xff\xfe\x00", "application/octet-stream"),
        (b"[" * 100_000, "application/json"),
        (b'{"choices": [' + b"9" * 10_000 + b"]}", "application/json"),
        (b'{"error":' * 900 + b"1" + b"}" * 900, "application/json"),
        (b"data: {\n\n", "text/event-stream"),
        (b"data: " + b"[" * 100_000 + b"\n\n", "text/event-stream"),
        (b"data: " + b"9" * 10_000 + b"\n\n", "text/event-stream"),
        (b"", "application/json"),
    ],
)
async def test_success_without_an_answer_is_an_error(stream, body, kind):
    error, _ = await outcome(http(body, kind=kind), stream=stream)
    assert isinstance(error, ProviderError)


@pytest.mark.slow
@pytest.mark.parametrize("pause", [0, 0.2])
async def test_invalid_chunked_encoding_is_an_error(pause):
    def body():
        head, garbage = http(b"ZZ\r\ngarbage", more="transfer-encoding: chunked\r\n")()
        if not pause:
            yield head + garbage
            return
        yield head
        time.sleep(pause)  # the client has begun to read the body
        yield garbage

    error, _ = await outcome(body, timeout=0.5)
    assert error.kind == "network"


BYTES = st.lists(
    st.sampled_from(
        [said("a"), said("\ud800\0"), END, DONE, b"data: ", b"\n\n", b"\r", b"event: error\n"]
    )
    | st.binary(max_size=40),
    max_size=6,
)


@pytest.mark.parametrize("stream", [True, False])
def test_any_bytes_are_an_answer_or_an_error(stream):
    loop = asyncio.new_event_loop()
    server = RawServer(http())
    with server:
        made = provider(server, stream=stream)

        @settings(suppress_health_check=list(HealthCheck))
        @given(BYTES, st.sampled_from(["text/event-stream", "application/json", "x"]))
        def check(parts, kind):
            server.payload = http(*parts, kind=kind)
            try:
                answer = loop.run_until_complete(made.send(made.render(ASK), None))
            except ProviderError:
                pass
            else:
                answer.text.encode()
                assert replace(answer).stop

        try:
            check()
            loop.run_until_complete(made.aclose())
        finally:
            loop.close()
