"""Failures: which error each becomes, and what its sentence says."""

from __future__ import annotations

import traceback

import pytest
from hookline_hookspecs import (
    AuthError,
    BadRequest,
    ContextTooLong,
    Message,
    ModelRequest,
    NetworkError,
    Overloaded,
    ProviderError,
    ProviderSettings,
    RateLimited,
)
from hookline_openai import OpenAIProvider
from support.openai_server import OpenAIServer, Reply

ASK = ModelRequest("openai/gpt-5", "", (), (Message.user("hi"),))


def error(message, code=None, kind="invalid_request_error"):
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


async def failure_of(provider, request=ASK) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        await provider.send(provider.render(request), None)
    text = str(caught.value)
    assert "openai" in text
    assert text.endswith((".", ")"))
    return caught.value


HTML = "<html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>"

REFUSALS = [
    (401, error("Incorrect API key provided", "invalid_api_key"), AuthError, "OPENAI_API_KEY"),
    (403, error("Project lacks access"), AuthError, "lacks access"),
    (400, error("API key not valid. Please pass a valid API key."), AuthError, "not valid"),
    (403, HTML, AuthError, "web page"),
    (429, error("Rate limit reached", "rate_limit_exceeded"), RateLimited, "Try again"),
    (429, error("You exceeded your quota", "insufficient_quota"), RateLimited, "credit"),
    (429, error("Add a payment method under /account/billing"), RateLimited, "Try again"),
    (402, error("Insufficient Balance"), RateLimited, "credit"),
    (500, error("The server had an error", kind="server_error"), Overloaded, "had an error"),
    (502, HTML, Overloaded, "502 Bad Gateway"),
    (503, "", Overloaded, "503"),
    (529, error("overloaded"), Overloaded, "/model"),
    (400, error("too long", "context_length_exceeded"), ContextTooLong, "/compact"),
    (400, error("This model's maximum context length is 8 tokens"), ContextTooLong, "gpt-5"),
    (400, {"error": "the request exceeds the available context size"}, ContextTooLong, "size"),
    (413, "", ContextTooLong, "413"),
    (400, error("Unsupported parameter: 'max_tokens'"), BadRequest, "Unsupported parameter"),
    (400, {"detail": [{"msg": "field required"}]}, BadRequest, "field required"),
    (400, b"\xff\xfe", BadRequest, "400"),
    (404, error("The model `gpt-5` does not exist", "model_not_found"), BadRequest, "base_url"),
    (404, {"error": "model 'gpt-5' not found"}, BadRequest, "not found"),
    (422, {"message": "bad field"}, BadRequest, "bad field"),
    (408, "", NetworkError, "408"),
]


@pytest.mark.long
@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize(("status", "body", "kind", "told"), REFUSALS)
async def test_refusals_become_typed_errors(serve, connect, status, body, kind, told, stream):
    provider = connect(serve([Reply(status=status, body=body)]), stream=stream)
    failure = await failure_of(provider)
    assert type(failure) is kind
    assert told in str(failure)
    assert "gpt-5" in str(failure)


async def test_long_error_pages_are_cut(serve, connect):
    provider = connect(serve([Reply(status=500, body=error("x" * 100_000))]))
    assert len(str(await failure_of(provider))) < 1000


async def test_failure_says_when_to_retry(serve, connect):
    reply = Reply(status=429, body=error("slow down"), headers={"retry-after": "7"})
    assert (await failure_of(connect(serve([reply])))).retry_after == 7.0


@pytest.mark.parametrize("stream", [True, False])
async def test_request_is_retried_after_a_wait_that_is_shown(serve, connect, stream):
    busy = Reply(status=429, body=error("slow down"), headers={"retry-after-ms": "200"})
    server = serve([busy, Reply(status=500, body="oops", headers={"retry-after-ms": "1"}), "hi"])
    provider = connect(server, max_retries=2, stream=stream)
    shown = []
    response = await provider.send(provider.render(ASK), shown.append)
    assert response.text == "hi"
    assert [delta.text for delta in shown if delta.kind == "waiting"] == [
        "rate-limited by openai; trying again in 0.2 s",
        "openai answered with error 500; trying again in 0.1 s",
    ]
    first, second, third = server.requests
    assert second.time - first.time >= 0.2
    assert first.raw == second.raw == third.raw


async def test_retries_are_not_multiplied_by_the_sdk(serve, connect):
    busy = Reply(status=503, body="busy", headers={"retry-after-ms": "1"})
    server = serve([busy] * 9)
    await failure_of(connect(server, max_retries=1))
    assert len(server.requests) == 2


@pytest.mark.parametrize("api", ["chat", "responses"])
async def test_broken_stream_is_not_retried(serve, connect, api):
    server = serve([Reply("a long text " * 20, cut_after=5), "again"])
    provider = connect(server, api=api, max_retries=2)
    shown = []
    with pytest.raises(NetworkError, match="failed while requesting gpt-5"):
        await provider.send(provider.render(ASK), shown.append)
    assert shown
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("event", "kind", "told"),
    [
        (error("The server is overloaded", kind="overloaded_error"), Overloaded, "overloaded"),
        ({"error": {"message": "Provider disconnected", "code": 502}}, Overloaded, "disconnected"),
        (error("Slow down", "rate_limit_exceeded"), RateLimited, "Slow down"),
        (error("Prompt is too long"), ContextTooLong, "too long"),
        ({"error": {"message": "prompt is too long"}}, ContextTooLong, "too long"),
        ({"error": "out of memory"}, NetworkError, "out of memory"),
        ({"error": {"message": "it broke"}}, NetworkError, "it broke"),
    ],
)
async def test_error_inside_a_stream_is_raised(serve, connect, event, kind, told):
    begun = {"choices": [{"index": 0, "delta": {"content": "well, "}}]}
    server = serve([Reply(chunks=[begun, event]), "again"])
    failure = await failure_of(connect(server, max_retries=2))
    assert type(failure) is kind
    assert told in str(failure)
    assert len(server.requests) == 1


@pytest.mark.long
@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (error("upstream is overloaded", kind="server_error"), Overloaded),
        ({"object": "error", "message": "no such model", "code": 404}, BadRequest),
        (HTML, BadRequest),
        (b'{"choices": [{"mess', NetworkError),
        (b"", NetworkError),
        ([], NetworkError),
        ({"choices": []}, NetworkError),
    ],
)
@pytest.mark.parametrize("stream", [True, False])
async def test_success_without_an_answer_is_an_error(serve, connect, body, kind, stream):
    assert type(await failure_of(connect(serve([Reply(body=body)]), stream=stream))) is kind


async def test_event_that_is_not_json_is_an_error(serve, connect):
    server = serve([Reply(chunks=["data: <oops>\n\n"])])
    assert type(await failure_of(connect(server))) is NetworkError


async def test_refused_connection_is_a_network_error(connect):
    with OpenAIServer() as server:
        pass
    failure = await failure_of(connect(server))
    assert type(failure) is NetworkError
    assert "127.0.0.1" in str(failure)
    assert "base_url" in str(failure)


@pytest.mark.parametrize("reply", [Reply("hi", delay=30), Reply("slow " * 9, pace=30)])
async def test_missing_response_is_a_timeout(serve, connect, reply):
    failure = await failure_of(connect(serve([reply]), timeout=0.2))
    assert type(failure) is NetworkError
    assert "providers.openai.timeout" in str(failure)


async def test_conversation_longer_than_the_window_is_context_too_long(serve, connect):
    provider = connect(serve(["never"], window=100))
    request = ModelRequest("openai/gpt-5", "", (), (Message.user("word " * 200),))
    assert type(await failure_of(provider, request)) is ContextTooLong


@pytest.mark.parametrize(
    ("base_url", "key"),
    [
        ("http://127.0.0.1:port/v1", "sk-secret"),
        ("127.0.0.1/v1", "sk-secret"),
        ("ftp://127.0.0.1/v1", "sk-secret"),
        (None, "sk-secret-schlüssel"),
        (None, "sk-secret\nX-Other: 1"),
    ],
)
async def test_invalid_settings_are_a_bad_request(serve, base_url, key):
    base_url = base_url or serve().base_url
    options = {"max_retries": 0}
    provider = OpenAIProvider(ProviderSettings("openai", base_url, key, options=options))
    failure = await failure_of(provider)
    await provider.aclose()
    assert type(failure) is BadRequest
    assert "providers.openai" in str(failure)
    assert "sk-secret" not in "".join(traceback.format_exception(failure))


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"api": "completions"}, "providers.local.api is 'completions'"),
        ({"timeout": 0}, "providers.local.timeout is 0"),
        ({"max_retries": "many"}, "providers.local.max_retries is 'many'"),
    ],
)
def test_invalid_setting_is_named(options, told):
    with pytest.raises(ValueError, match=told):
        OpenAIProvider(ProviderSettings("local", None, "key", options=options))


async def test_errors_of_the_sink_pass_unchanged(serve, connect):
    provider = connect(serve(["hi"]))

    def listen(_delta):
        raise KeyError("screen")

    with pytest.raises(KeyError, match="screen"):
        await provider.send(provider.render(ASK), listen)
