"""Requests, received by a server as strict as the real one."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from typing import Any

import pytest
from hookline_anthropic import AnthropicProvider
from hookline_hookspecs import (
    AuthError,
    BadRequest,
    ImageBlock,
    Message,
    ProviderSettings,
    TextBlock,
    ThinkingBlock,
    ToolCall,
    ToolResultBlock,
)
from hypothesis import given
from hypothesis import strategies as st
from support.anthropic_server import Reply, Use

from .conftest import LOOK, MakeTalk, request

PICTURE = ImageBlock("image/png", "iVBORw0KGgo=", origins=())


async def test_request_has_exactly_these_fields(talk: MakeTalk) -> None:
    t = talk("ok")
    await t.ask(params={"temperature": 0.5})
    assert t.body == {
        "model": "claude-sonnet-4-5",
        "max_tokens": 32000,
        "stream": True,
        "tools": [
            {"name": "look", "description": "Look around.", "input_schema": LOOK.parameters},
            {
                "name": "wait",
                "description": "Wait.",
                "input_schema": {"type": "object", "properties": {}},
            },
        ],
        "system": [{"type": "text", "text": "Be brief."}],
        "messages": [{"role": "user", "content": [{"type": "text", "text": "hello"}]}],
    }


async def test_neutral_settings_become_fields(talk: MakeTalk) -> None:
    t = talk("{}", thinking={"type": "adaptive"}, output_config={"effort": "low"})
    schema = {"type": "object"}
    params = {"tool_choice": "none", "max_tokens": 7, "stream": False, "schema": schema}
    await t.ask(params=params)
    assert t.body["tool_choice"] == {"type": "none"}
    assert t.body["max_tokens"] == 7
    assert t.body["stream"] is False
    assert t.body["thinking"] == {"type": "adaptive"}
    wanted = {"effort": "low", "format": {"type": "json_schema", "schema": schema}}
    assert t.body["output_config"] == wanted


async def test_empty_system_and_tools_are_not_sent(talk: MakeTalk) -> None:
    t = talk("ok")
    await t.ask(system="  ", tools=(), params={"tool_choice": "none"})
    assert not {"system", "tools", "tool_choice"} & set(t.body)


async def test_ephemeral_text_follows_the_stable_prompt(talk: MakeTalk) -> None:
    t = talk("ok", "ok")
    await t.ask(ephemeral="Only now.")
    assert [block["text"] for block in t.body["system"]] == ["Be brief.", "Only now."]
    await t.ask(system="", ephemeral="Only now.")
    assert [block["text"] for block in t.body["system"]] == ["Only now."]


@pytest.mark.parametrize(
    ("model", "tokens"),
    [("claude-3-5-haiku-20241022", 8192), ("claude-opus-4-5", 32000), ("other", 8192)],
)
async def test_max_tokens_depend_on_the_model(talk: MakeTalk, model: str, tokens: int) -> None:
    t = talk("ok")
    await t.ask(model=f"anthropic/{model}")
    assert t.body["max_tokens"] == tokens


async def test_conversation_with_tools_is_accepted(talk: MakeTalk) -> None:
    t = talk(
        Reply(text="Looking.", thinking="Hm.", redacted="x", tools=(Use("look", {"at": 1}),)),
        "done",
    )
    first = await t.ask()
    (call,) = first.message.tool_calls
    # The result comes first although it stands last, failed pictures after it, context at the end.
    result = ToolResultBlock(call.id, "no", ok=False, images=(PICTURE,))
    answer = Message("user", (TextBlock("and?"), result), "<context>c</context>")
    await t.ask(Message.user("hello"), first.message, answer)
    said, replied = t.body["messages"][1:]
    kinds = [block["type"] for block in said["content"]]
    assert kinds == ["thinking", "redacted_thinking", "text", "tool_use"]
    assert replied["content"] == [
        {
            "type": "tool_result",
            "tool_use_id": call.id,
            "content": [{"type": "text", "text": "no"}],
            "is_error": True,
        },
        {
            "type": "image",
            "source": {"type": "base64", "media_type": "image/png", "data": PICTURE.data},
        },
        {"type": "text", "text": "and?"},
        {"type": "text", "text": "<context>c</context>"},
    ]


async def test_images_of_a_successful_result_stay_in_it(talk: MakeTalk) -> None:
    t = talk("ok")
    call = ToolCall("c1", "look", {})
    result = ToolResultBlock("c1", "seen", images=(PICTURE,))
    await t.ask(Message.user("x"), Message("assistant", (call,)), Message("user", (result,)))
    content = t.body["messages"][2]["content"][0]["content"]
    assert [part["type"] for part in content] == ["text", "image"]


async def test_content_that_the_api_refuses_is_dropped_or_replaced(talk: MakeTalk) -> None:
    t = talk("ok")
    calls = (
        ToolCall("c1", "look", {"bad": 1}, error="not JSON"),
        ToolCall("c2", "", {}, error="no name"),
    )
    await t.ask(
        Message("user", (TextBlock(" \n"),)),
        Message("assistant", (ThinkingBlock("another provider's"),)),
        Message.user("go"),
        Message("assistant", (TextBlock(""), *calls)),
        Message("user", (ToolResultBlock("c1", ""), ToolResultBlock("c2", " ", ok=False))),
    )
    messages = t.body["messages"]
    assert [m["content"][0].get("text") for m in messages[:2]] == ["(empty)", "(empty)"]
    assert [(c["name"], c["input"]) for c in messages[3]["content"]] == [
        ("look", {}),
        ("unnamed", {}),
    ]
    results = messages[4]["content"]
    assert [r["content"][0]["text"] for r in results] == ["(empty)", "(empty)"]


async def test_response_of_only_thinking_can_be_replayed(talk: MakeTalk) -> None:
    t = talk(Reply(thinking="Hm."), "ok")
    first = await t.ask()
    await t.ask(Message.user("hello"), first.message, Message.user("go on"))
    kinds = [block["type"] for block in t.body["messages"][1]["content"]]
    assert kinds == ["thinking", "text"]


async def test_ids_of_other_providers_are_replaced_consistently(talk: MakeTalk) -> None:
    t = talk("ok")
    ids = ("a.b:c", "a_b:c", "", "ok-1")
    await t.ask(
        Message.user("x"),
        Message("assistant", tuple(ToolCall(each, "look", {}) for each in ids)),
        Message("user", tuple(ToolResultBlock(each, "r") for each in ids)),
    )
    sent = [block["id"] for block in t.body["messages"][1]["content"]]
    assert len(set(sent)) == 4
    assert sent[3] == "ok-1"


async def test_repeated_ids_are_renamed_and_the_prefix_stays(talk: MakeTalk) -> None:
    t = talk("ok", "ok")
    round_ = (
        Message("assistant", (ToolCall("call_0", "look", {}),)),
        Message("user", (ToolResultBlock("call_0", "r"),)),
    )
    history = (Message.user("x"), *round_, *round_)
    await t.ask(*history)
    sent = [m["content"][0]["id"] for m in t.body["messages"] if m["role"] == "assistant"]
    assert sent == ["call_0", "call_0_2"]
    before = t.provider.render(request(*history)).fragments
    await t.ask(*history, *round_)
    after = t.provider.render(request(*history, *round_)).fragments
    assert after[: len(before)] == before


async def test_thinking_budget_fits_the_request(talk: MakeTalk) -> None:
    budget = {"type": "enabled", "budget_tokens": 40000}
    t = talk("a", "b", "c", "d", thinking=budget)
    await t.ask()
    assert t.body["max_tokens"] == 40000 + 8192
    await t.ask(params={"max_tokens": 100})
    assert "thinking" not in t.body
    call = Message("assistant", (ThinkingBlock("unsigned"), ToolCall("c1", "look", {})))
    result = Message("user", (ToolResultBlock("c1", "r"),))
    await t.ask(Message.user("x"), call, result)
    assert "thinking" not in t.body
    await t.ask(Message.user("x"), call, result, Message.assistant("so"), Message.user("y"))
    assert t.body["thinking"] == budget


async def test_key_is_sent_as_a_bearer_token_by_default(talk: MakeTalk) -> None:
    t = talk("ok", key=" secret\n", headers={"X-Team": "blue"})
    await t.ask()
    headers = t.server.requests[0].headers
    assert headers["authorization"] == "Bearer secret"
    assert "x-api-key" not in headers
    assert headers["x-team"] == "blue"
    assert headers["content-type"] == "application/json"


async def test_key_can_be_sent_as_x_api_key(talk: MakeTalk) -> None:
    t = talk("ok", key="secret", auth_header="x-api-key")
    await t.ask()
    headers = t.server.requests[0].headers
    assert headers["x-api-key"] == "secret"
    assert "authorization" not in headers


async def test_missing_key_sends_nothing() -> None:
    provider = AnthropicProvider(ProviderSettings("anthropic", None, ""))
    with pytest.raises(AuthError, match="ANTHROPIC_API_KEY"):
        await provider.send(provider.render(request()), None)


@pytest.mark.parametrize(
    "options",
    [
        {"stream": "yes"},
        {"timeout": 0},
        {"max_retries": -1},
        {"max_tokens": True},
        {"thinking": "adaptive"},
        {"thinking": {"type": "enabled", "budget_tokens": "8k"}},
        {"auth_header": "basic"},
    ],
)
def test_invalid_option_is_named(options: dict[str, Any]) -> None:
    (key,) = options
    with pytest.raises(BadRequest, match=rf"providers\.anthropic\.{key}: expected"):
        AnthropicProvider(ProviderSettings("anthropic", None, "k", {}, options))


def test_unknown_option_is_ignored_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    AnthropicProvider(ProviderSettings("anthropic", None, "k", {}, {"steam": True}))
    assert "providers.anthropic.steam is unknown" in caplog.text


async def test_changes_of_pre_send_are_sent(talk: MakeTalk) -> None:
    t = talk("ok")
    wire = t.provider.render(request())
    wire = replace(
        wire,
        fields={**wire.fields, "metadata": {"user_id": "u"}},
        fragments=(b'{"role":"user","content":[{"type":"text","text":"other"}]}',),
    )
    await t.provider.send(wire, None)
    assert t.body["metadata"] == {"user_id": "u"}
    assert t.body["messages"][0]["content"][0]["text"] == "other"


TEXTS = st.text(max_size=8)
IDS = st.sampled_from(["a", "b", "c:d", ""])
BLOCKS = st.one_of(
    st.builds(TextBlock, TEXTS),
    st.builds(ThinkingBlock, TEXTS, st.none() | TEXTS, st.none() | TEXTS),
    st.builds(ToolCall, IDS, TEXTS, st.dictionaries(TEXTS, st.floats()), st.none() | TEXTS),
    st.builds(ToolResultBlock, IDS, TEXTS, st.booleans(), st.just((PICTURE,)) | st.just(())),
    st.just(PICTURE),
)
MESSAGES = st.lists(
    st.builds(
        Message,
        st.sampled_from(["user", "assistant"]),
        st.lists(BLOCKS, max_size=4).map(tuple),
        TEXTS,
    ),
    min_size=1,
    max_size=6,
)


@pytest.mark.slow
@given(MESSAGES, st.integers(1, 5))
def test_equal_messages_give_equal_bytes_and_a_longer_history_keeps_its_prefix(
    messages: list[Message], keep: int
) -> None:
    def bare(messages: list[Message]) -> list[Message]:
        return [Message(m.role, m.blocks, m.context) for m in messages]

    first, second = (AnthropicProvider(ProviderSettings("anthropic", None, "k")) for _ in range(2))
    whole = first.render(request(*bare(messages)))
    start = second.render(request(*messages[:keep]))
    again = second.render(request(*messages))
    assert whole == again
    assert again.fragments[: len(start.fragments)] == start.fragments


@given(MESSAGES)
def test_every_fragment_is_json_and_every_cut_ends_a_block(messages: list[Message]) -> None:
    provider = AnthropicProvider(ProviderSettings("anthropic", None, "k"))
    wire = provider.render(request(*messages))
    for fragment in (*wire.fragments, *wire.stable.values()):
        cuts = getattr(fragment, "cuts")  # noqa: B009 - bytes to the type checker
        blocks = json.loads(fragment)
        blocks = blocks["content"] if isinstance(blocks, dict) else blocks
        assert len(cuts) == len(blocks) > 0
        for number, cut in enumerate(cuts):
            bare = blocks[number].get("type") in ("thinking", "redacted_thinking")
            assert bare == (cut == -1)
            if not bare:
                marked = json.loads(fragment[:cut] + b',"cache_control":1' + fragment[cut:])
                marked = marked["content"] if isinstance(marked, dict) else marked
                assert [n for n, b in enumerate(marked) if "cache_control" in b] == [number]


@pytest.mark.slow
async def test_requests_at_the_same_time_share_one_client(
    talk: MakeTalk, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[object] = []
    import anthropic  # a second and a half, which every worker would need to collect the tests

    build = anthropic.AsyncAnthropic.__init__

    def counted(client: Any, *args: Any, **options: Any) -> None:
        made.append(client)
        build(client, *args, **options)

    monkeypatch.setattr(anthropic.AsyncAnthropic, "__init__", counted)
    # Every answer is held back until all have been asked for, so that 200 are under way at once.
    t = talk(*(Reply("ok", delay=1.0) for _ in range(200)))
    answers = await asyncio.gather(*(t.ask() for _ in range(200)))
    assert [answer.text for answer in answers] == ["ok"] * 200
    assert len(made) == 1


class Looked(dict[Any, Any]):
    """Counts how often something is looked up."""

    looks = 0

    def get(self, *args: Any) -> Any:
        self.looks += 1
        return super().get(*args)


def test_only_new_messages_of_a_session_are_encoded() -> None:
    provider = AnthropicProvider(ProviderSettings("anthropic", None, "key", {}, {}))
    history = [Message.user(f"question {number}") for number in range(50)]
    provider.render(request(*history))
    for message in history:
        object.__setattr__(message, "wire", Looked(message.wire))
    provider.render(request(*history, Message.assistant("answer")))
    assert sum(message.wire.looks for message in history) == 0


def _step(call_id: str, text: str) -> list[Message]:
    call = Message("assistant", (ToolCall(call_id, "look", {}),))
    return [call, Message("user", (ToolResultBlock(call_id, text, True),))]


@given(
    st.lists(
        st.tuples(st.integers(0, 8), st.lists(st.sampled_from(["call_0", "call_1"]), max_size=3)),
        max_size=6,
    )
)
def test_history_may_change_between_two_requests(changes: list[tuple[int, list[str]]]) -> None:
    """It is cut and continued differently with repeated ids; nothing old is left."""
    settings = ProviderSettings("anthropic", None, "key", {}, {})
    provider = AnthropicProvider(settings)
    history: list[Message] = [Message.user("hello")]
    for number, (kept, calls) in enumerate(changes):
        history = history[: max(kept, 1)]
        for call_id in calls:
            history += _step(call_id, f"in {number}")
        fresh = AnthropicProvider(settings).render(request(*history))
        assert provider.render(request(*history)).fragments == fresh.fragments
