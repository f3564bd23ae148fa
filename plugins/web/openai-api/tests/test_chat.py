"""Chat completions with OpenAI's own client."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
from typing import Any

import httpx2
import pytest
from openai import APIError, AsyncOpenAI, BadRequestError, NotFoundError, OpenAI, RateLimitError

from .conftest import TEST_TIMEOUT, Served, until

RED = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJg"
    "gg=="
)


def ask(served: Served, *said: str, **options: Any) -> Any:
    """A completion; the user and the assistant take turns."""
    roles = ("user", "assistant")
    messages = [{"role": roles[n % 2], "content": text} for n, text in enumerate(said)]
    return served.client().chat.completions.create(model="hookline", messages=messages, **options)


@pytest.mark.slow
def test_chat_completion_has_text_and_usage(served: Served) -> None:
    done = ask(served, "say one two")
    assert done.choices[0].message.content == "one two"
    assert done.choices[0].finish_reason == "stop"
    assert done.object == "chat.completion"
    assert done.id.startswith("chatcmpl-")
    assert done.usage.prompt_tokens > done.usage.completion_tokens > 0
    assert done.usage.total_tokens == done.usage.prompt_tokens + done.usage.completion_tokens
    long = "say " + "many words " * 100
    first = ask(served, long).choices[0].message.content
    again = ask(served, long, first, "say three")
    assert again.usage.prompt_tokens_details.cached_tokens > 0


@pytest.mark.slow
def test_stream_shows_tools_as_reasoning(served: Served) -> None:
    stream = ask(served, "list it", stream=True, stream_options={"include_usage": True})
    chunks = list(stream)
    deltas = [chunk.choices[0].delta for chunk in chunks if chunk.choices]
    assert deltas[0].role == "assistant"
    words = "".join(delta.content or "" for delta in deltas)
    assert words == "Let me look.\n\nYou said: list it"
    beside = "".join(getattr(delta, "reasoning_content", None) or "" for delta in deltas)
    assert "→ list_dir" in beside
    assert "← list_dir" in beside
    assert [c.choices[0].finish_reason for c in chunks if c.choices][-1] == "stop"
    assert chunks[-1].choices == []
    assert chunks[-1].usage.completion_tokens > 0
    assert len({chunk.id for chunk in chunks}) == 1


@pytest.mark.slow
def test_stream_has_several_chunks_and_usage_only_on_request(served: Served) -> None:
    chunks = list(ask(served, "count 10", stream=True))
    assert len([c for c in chunks if c.choices[0].delta.content]) > 3
    assert all(chunk.usage is None for chunk in chunks)


@pytest.mark.long
async def test_asynchronous_client_runs_concurrent_requests(served: Served) -> None:
    async with AsyncOpenAI(api_key=served.key, base_url=served.url, timeout=TEST_TIMEOUT) as client:

        async def one(number: int) -> str | None:
            said: Any = [{"role": "user", "content": f"say {number}"}]
            done = await client.chat.completions.create(model="hookline", messages=said)
            return done.choices[0].message.content

        assert await asyncio.gather(*map(one, range(5))) == ["0", "1", "2", "3", "4"]
        said: Any = [{"role": "user", "content": "say streamed words"}]
        words = ""
        async with client.chat.completions.stream(model="hookline", messages=said) as stream:
            async for event in stream:
                if event.type == "content.delta":
                    words += event.delta
        assert words == "streamed words"


def test_models_are_listed_and_unknown_one_is_refused(served: Served) -> None:
    assert [one.id for one in served.client().models.list()] == ["hookline", "hookline-light"]
    assert served.client().models.retrieve("hookline-light").owned_by == "hookline"
    with pytest.raises(NotFoundError, match=r"Unknown model .gpt-5."):
        served.client().models.retrieve("gpt-5")
    with pytest.raises(NotFoundError, match="hookline-light") as missing:
        served.client().chat.completions.create(
            model="gpt-5", messages=[{"role": "user", "content": "hi"}]
        )
    assert (missing.value.code, missing.value.param) == ("model_not_found", "model")


@pytest.mark.slow
def test_system_text_applies_to_its_turn_only(served: Served) -> None:
    said: Any = [
        {"role": "system", "content": "Speak like a pirate."},
        {"role": "developer", "content": "Be short."},
        {"role": "user", "content": "ahoy there"},
    ]
    client = served.client()
    raw = client.chat.completions.with_raw_response.create(model="hookline", messages=said)
    session = raw.headers["X-Hookline-Session"]
    (first,) = served.asked("ahoy there")
    assert "Speak like a pirate.\\n\\nBe short." in json.dumps(first)
    stable = json.loads(served.run("prompt", "--session", session, "--json")[1])["system"]
    assert "pirate" not in stable
    answer = raw.parse().choices[0].message.content
    said[1:] = [said[2], {"role": "assistant", "content": answer}]
    said.append({"role": "user", "content": "and now"})
    raw = client.chat.completions.with_raw_response.create(model="hookline", messages=said[1:])
    assert raw.headers["X-Hookline-Session"] == session  # the system text does not count
    assert "pirate" not in json.dumps(served.asked("and now"))


def test_pictures_and_files_are_attached(served: Served) -> None:
    picture = f"data:image/png;base64,{base64.b64encode(RED).decode()}"
    note = base64.b64encode(b"the password is swordfish").decode()
    content: Any = [
        {"type": "text", "text": "look here"},
        {"type": "image_url", "image_url": {"url": picture}},
        {"type": "file", "file": {"filename": "note.txt", "file_data": note}},
    ]
    said: Any = [{"role": "user", "content": content}]
    served.client().chat.completions.create(model="hookline", messages=said)
    sent = json.dumps(served.model.requests[-1].json)
    assert base64.b64encode(RED).decode() in sent
    assert "note.txt, text/plain" in sent


def test_ignored_parameters_are_named(served: Served) -> None:
    raw = served.client().chat.completions.with_raw_response.create(
        model="hookline",
        messages=[{"role": "user", "content": "say done"}],
        max_tokens=5,
        temperature=0.5,
        stop=["x"],
        tools=[{"type": "function", "function": {"name": "f", "parameters": {}}}],
        user="somebody",
    )
    assert raw.headers["X-Hookline-Ignored"] == "max_tokens, temperature, stop, tools"
    assert raw.parse().choices[0].message.content == "done"


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"n": 2}, "a turn runs only once"),
        ({"tool_choice": "required"}, "never called"),
        ({"tool_choice": {"type": "function", "function": {"name": "f"}}}, "never called"),
        ({"response_format": {"type": "json_object"}}, "answers with text"),
        ({"max_tokens": 0}, "at least 1"),
    ],
)
def test_unsupported_parameters_are_refused(
    served: Served, options: dict[str, Any], why: str
) -> None:
    with pytest.raises(BadRequestError, match=why) as refused:
        ask(served, "say no", **options)
    assert refused.value.param in options


def test_model_failure_returns_502_without_client_retries(served: Served) -> None:
    before = len(served.model.requests)
    with pytest.raises(Exception, match="out of order") as failed:
        ask(served, "fail now")
    assert failed.value.status_code == 502  # type: ignore[attr-defined]
    with pytest.raises(Exception, match="out of order"):
        list(ask(served, "fail then", stream=True))
    assert len(served.model.requests) - before == 2


@pytest.mark.slow
def test_light_model_stores_nothing(served: Served) -> None:
    known = served.run("sessions", "list", "--json")[1]
    done = served.client().chat.completions.create(
        model="hookline-light", messages=[{"role": "user", "content": "say a title"}]
    )
    assert done.choices[0].message.content == "a title"
    assert done.usage is not None
    assert done.usage.prompt_tokens > 0
    assert done.usage.completion_tokens > 0
    chunks = list(
        served.client().chat.completions.create(
            model="hookline-light", messages=[{"role": "user", "content": "say a tag"}], stream=True
        )
    )
    assert "".join(c.choices[0].delta.content or "" for c in chunks) == "a tag"
    assert "tools" not in served.model.requests[-1].json
    assert served.run("sessions", "list", "--json")[1] == known


@pytest.mark.slow
def test_abandoned_stream_is_stopped_and_others_finish(served: Served) -> None:
    stream = ask(served, "count 2000", stream=True, extra_headers={"X-Hookline-Session": "cut"})
    for chunk in stream:
        if chunk.choices[0].delta.content:
            break
    stream.close()
    answered = ask(served, "say next", extra_headers={"X-Hookline-Session": "cut"})
    assert answered.choices[0].message.content == "next"
    said = served.run("sessions", "export", "cut")[1]
    assert "Stopped." in said
    assert "1999" not in said


@pytest.mark.slow
async def test_excess_stream_is_refused_without_effect(served: Served) -> None:
    async with AsyncOpenAI(
        api_key=served.new_key("greedy"), base_url=served.url, max_retries=0
    ) as client:

        async def opened(words: str) -> Any:
            said: Any = [{"role": "user", "content": words}]
            return await client.chat.completions.create(
                model="hookline", messages=said, stream=True
            )

        streams = [await opened("count 1000") for _ in range(16)]
        with pytest.raises(RateLimitError, match="Too many streams"):
            await opened("say too much")
        for stream in streams:
            await stream.close()
    assert not served.asked("say too much")


def test_approval_without_reachable_admin_is_refused(served: Served) -> None:
    done = ask(served, "sudo it")
    assert "no one can approve it" in done.choices[0].message.reasoning_content
    assert done.choices[0].message.content == "You said: sudo it"


@pytest.mark.slow
def test_revoked_key_stops_working_at_once(served: Served) -> None:
    key = served.new_key("bob")
    client = served.client(key)
    said: Any = [{"role": "user", "content": "count 3000"}]
    stream = client.chat.completions.create(model="hookline", messages=said, stream=True)
    next(iter(stream))
    code, out, _ = served.run("api", "keys", "revoke", "bob")
    assert (code, out) == (0, "Revoked the key of bob.\n")
    with pytest.raises(Exception, match="missing or unknown") as refused:
        client.models.list()
    assert refused.value.status_code == 401  # type: ignore[attr-defined]
    read = 0
    with contextlib.suppress(APIError, httpx2.HTTPError):
        for _chunk in stream:
            read += 1
    assert read < 3000
    names = [row["name"] for row in json.loads(served.run("api", "keys", "list", "--json")[1])]
    assert "bob" not in names
    assert served.run("api", "keys", "revoke", "bob")[0] == 1
    until(lambda: "api:bob" not in served.run("pairing", "list")[1])


def test_what_clients_send_beside_the_api_is_accepted(served: Served) -> None:
    answer = [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "earlier"}]
    bodies: list[dict[str, Any]] = [
        {
            "messages": [
                {"role": "user", "content": "hi"},
                {"role": "assistant", "content": answer},
                {"role": "user", "content": "say done"},
            ]
        },
        {"messages": [{"role": "user", "content": "say done"}], "max_tokens": -1},
        {"messages": [{"role": "system", "content": "say done"}]},
    ]
    client = served.client()
    root = str(client.base_url).removesuffix("/v1/")
    headers = {"Authorization": f"Bearer {client.api_key}"}
    for path in ("/v1/chat/completions", "/chat/completions"):
        for body in bodies:
            found = httpx2.post(
                root + path, json={"model": "hookline"} | body, headers=headers, timeout=60
            )
            assert found.status_code == 200, found.text
            assert found.json()["choices"][0]["message"]["content"] == "done"


def test_address_without_version_is_served_or_explained(served: Served) -> None:
    given = served.client()
    root = str(given.base_url).removesuffix("/v1/")
    with OpenAI(api_key=given.api_key, base_url=root, max_retries=0) as client:
        assert [one.id for one in client.models.list()] == ["hookline", "hookline-light"]
        assert client.responses.create(model="hookline", input="say done").output_text == "done"
        with pytest.raises(NotFoundError, match="Embeddings are not supported"):
            client.embeddings.create(model="hookline", input="x")
    headers = {"Authorization": f"Bearer {given.api_key}"}
    for method, path in (
        *(("GET", "/chat/completions"), ("DELETE", "/models"), ("PUT", "/responses")),
        *(("POST", "/completions"), ("POST", "/v1/v1/chat/completions"), ("GET", "/v1/zzz")),
        *(("POST", "/images/generations"), ("PATCH", "/v1/chat/completions"), ("GET", "/files")),
    ):
        found = httpx2.request(method, root + path, headers=headers)
        error = found.json()["error"]
        assert (found.status_code, set(error)) == (404, {"message", "type", "param", "code"}), path
        assert error["message"].endswith((".", ")")), path


@pytest.mark.parametrize(
    "more",
    [
        {"stop": ["x"], "stream_options": None, "seed": 1, "user": "me", "logit_bias": {}},
        {"functions": [{"name": "f", "parameters": {}}], "function_call": "auto"},
        {"tools": [{"type": "function", "function": {"name": "f"}}], "tool_choice": "auto"},
        {"response_format": {"type": "text"}, "n": 1, "max_completion_tokens": None},
        {"tool_choice": None, "parallel_tool_calls": True, "temperature": 0, "metadata": {}},
    ],
)
def test_settings_of_clients_are_accepted(served: Served, more: dict[str, Any]) -> None:
    messages: list[Any] = [
        {"role": "developer", "content": "Be short."},
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}},
        {"role": "function", "name": "f", "content": "1"},
        {"role": "assistant", "content": None, "refusal": None, "audio": None},
        {"role": "user", "name": "ann", "content": "say done"},
    ]
    client = served.client()
    made = client.chat.completions.create(model="hookline", messages=messages, extra_body=more)
    assert made.choices[0].message.content == "done"


@pytest.mark.slow
@pytest.mark.parametrize(
    "earlier",
    [
        {"content": [{"type": "text", "text": None}, {"type": "text", "text": "a"}]},
        {"content": [{"type": "tool_use", "id": "1", "name": "n", "input": {}}]},
        {"content": [{"type": "image_url", "image_url": {"url": "gone"}}]},
        {"content": [{"type": "file", "file": {"file_id": "f1"}}]},
        {"content": [{"type": "input_audio", "input_audio": {}}, 5, None]},
        {"content": {"type": "text", "text": "a"}},
        {"content": 5},
        {"content": None, "audio": {"id": "a1"}},
        {"content": "a", "reasoning_content": "hm", "annotations": [], "refusal": None},
    ],
)
def test_unreadable_parts_of_earlier_answers_are_left_out(served: Served, earlier: Any) -> None:
    hello = {"role": "user", "content": "hi"}
    again = {"role": "user", "content": "say done"}
    messages: list[Any] = [hello, {"role": "assistant", **earlier}, again]
    done = served.client().chat.completions.create(model="hookline", messages=messages)
    assert done.choices[0].message.content == "done"


@pytest.mark.slow
def test_missing_key_is_an_error_in_openais_format_with_and_without_v1(served: Served) -> None:
    root = str(served.client().base_url).removesuffix("/v1/")
    for path in ("/v1/chat/completions", "/chat/completions", "/models"):
        method = "GET" if path == "/models" else "POST"
        found = httpx2.request(method, root + path, json={}, timeout=60)
        error = found.json()["error"]
        assert (found.status_code, error["type"], error["param"]) == (
            401,
            "authentication_error",
            None,
        )
        assert "hookline api keys add" in error["message"]
