"""Rendering: equal messages give equal bytes, old ones cost nothing, the stable part is kept."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from types import MappingProxyType

import pytest
from hookline_hookspecs import (
    Fragment,
    ImageBlock,
    Message,
    ModelRequest,
    ProviderSettings,
    TextBlock,
    ThinkingBlock,
    ToolCall,
    ToolResultBlock,
    ToolSchema,
)
from hookline_openai import OpenAIProvider
from hypothesis import given
from hypothesis import strategies as st

OBJECT = {"type": "object", "properties": {"q": {"type": "string", "enum": ["é"]}}}
TOOLS = (ToolSchema("look", "Look it up.", MappingProxyType(OBJECT)),)

TEXT = st.text(st.characters(), max_size=12)
ARGUMENTS = st.dictionaries(TEXT, st.integers() | TEXT | st.none(), max_size=4)
IMAGES = st.builds(ImageBlock, st.just("image/png"), st.just("aaaa"))
BLOCKS = (
    st.builds(TextBlock, TEXT)
    | IMAGES
    | st.builds(ThinkingBlock, TEXT)
    | st.builds(ToolCall, TEXT, TEXT, ARGUMENTS, st.none() | TEXT)
    | st.builds(ToolResultBlock, TEXT, TEXT, st.booleans(), st.tuples(IMAGES) | st.just(()))
)
MESSAGES = st.builds(
    Message, st.sampled_from(["user", "assistant"]), st.lists(BLOCKS, max_size=4).map(tuple), TEXT
)


def provider(base_url="http://localhost:1/v1", **options) -> OpenAIProvider:
    return OpenAIProvider(ProviderSettings("local", base_url, "", options=options))


def request(*messages, **changes) -> ModelRequest:
    made = ModelRequest("local/llama/3", "Be kind.", TOOLS, tuple(messages), session_id="s1")
    return replace(made, **changes)


@pytest.mark.parametrize("api", ["chat", "responses"])
@given(message=MESSAGES)
def test_equal_messages_give_equal_bytes(api, message):
    stored = Message.from_dict(json.loads(json.dumps(message.to_dict())), message.context)
    reordered = Message(
        message.role,
        tuple(
            replace(b, arguments=dict(reversed(b.arguments.items())))
            if isinstance(b, ToolCall)
            else b
            for b in copy.deepcopy(message.blocks)
        ),
        message.context,
    )
    assert message == stored == reordered
    first, second, third = (
        provider(api=api).render(request(m)).fragments for m in (message, stored, reordered)
    )
    assert first == second == third


@pytest.mark.parametrize("api", ["chat", "responses"])
@given(message=MESSAGES)
def test_every_message_is_json_with_content(api, message):
    [fragment] = provider(api=api).render(request(message)).fragments
    assert isinstance(fragment, Fragment)
    parts = json.loads(b"[" + fragment + b"]")
    assert parts
    for part in parts:
        said = part.get("content") or part.get("output") or part.get("tool_calls")
        assert said or part["type"] == "function_call"


def test_old_messages_are_not_encoded_again():
    messages = [Message.user(f"message {n}") for n in range(100)]
    made = provider()
    first = made.render(request(*messages))
    second = made.render(request(*messages, Message.user("new")))
    assert all(a is b for a, b in zip(first.fragments, second.fragments, strict=False))
    assert len(second.fragments) == 101


def test_fragments_of_the_two_apis_are_separate():
    message = Message("assistant", (ToolCall("c", "look", {}),))
    chat = provider(api="chat").render(request(message))
    responses = provider(api="responses").render(request(message))
    assert b"tool_calls" in chat.fragments[0]
    assert b"function_call" in responses.fragments[0]


def test_stable_part_is_cached_for_the_session():
    made = provider()
    one, two = request(Message.user("a")), request(Message.user("b"), ephemeral="Shh.")
    first, second = made.render(one), made.render(two)
    assert first.stable["tools"] is second.stable["tools"]
    assert first.stable["system"] is second.stable["system"]
    assert "ephemeral" not in first.stable
    assert json.loads(first.stable["tools"])[0]["function"]["parameters"] == OBJECT
    assert "é".encode() in first.stable["tools"]


def test_stable_parts_are_cached_per_session():
    made = provider()
    for number in range(500):
        rendered = made.render(request(system=f"You are number {number}."))
        assert json.loads(rendered.stable["system"])["content"] == f"You are number {number}."


def test_model_name_is_what_follows_the_first_slash():
    wire = provider().render(request())
    assert wire.fields["model"] == "llama/3"
    assert (wire.provider, wire.model, wire.session_id) == ("local", "local/llama/3", "s1")
    assert "prompt_cache_key" not in wire.fields


@pytest.mark.parametrize(
    ("base_url", "options", "field"),
    [
        (None, {}, "max_completion_tokens"),
        ("https://api.openai.com/v1", {}, "max_completion_tokens"),
        ("https://eu.api.openai.com/v1", {}, "max_completion_tokens"),
        ("https://api.deepseek.com", {}, "max_tokens"),
        ("https://notapi.openai.com.example/v1", {}, "max_tokens"),
        ("http://localhost:1/v1", {"max_tokens_field": "max_completion_tokens"},
         "max_completion_tokens"),
        (None, {"api": "responses"}, "max_output_tokens"),
    ],
)  # fmt: skip
def test_max_tokens_field_depends_on_the_server(monkeypatch, base_url, options, field):
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    rendered = provider(base_url, **options).render(request(params={"max_tokens": 7}))
    assert rendered.fields[field] == 7


@pytest.mark.parametrize(
    ("base_url", "options", "sent"),
    [
        ("https://api.openai.com/v1", {}, None),
        ("https://api.deepseek.com/v1", {}, "hm"),
        ("https://api.deepseek.com/v1", {"reasoning_field": ""}, None),
        ("http://localhost:1/v1", {"reasoning_field": "reasoning_content"}, "hm"),
    ],
)
def test_reasoning_is_sent_back_only_where_it_is_required(base_url, options, sent):
    call = Message("assistant", (ThinkingBlock("hm"), ToolCall("c", "look", {})))
    plain = Message("assistant", (ThinkingBlock("hm"), TextBlock("yes")))
    fragments = provider(base_url, **options).render(request(call, plain)).fragments
    first, second = map(json.loads, fragments)
    assert first.get("reasoning_content") == sent
    assert "reasoning_content" not in second


def test_render_does_not_import_the_sdk():
    import subprocess
    import sys

    code = """
import sys
from hookline_openai import OpenAIProvider
from hookline_hookspecs import Message, ModelRequest, ProviderSettings
provider = OpenAIProvider(ProviderSettings("openai", None, "k"))
provider.render(ModelRequest("openai/m", "", (), (Message.user("hi"),)))
assert not {"openai", "httpx2"} & set(sys.modules), "imported too early"
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
