"""Scenarios played through the provider, as core calls it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from hookline_hookspecs import (
    AuthError,
    BadRequest,
    ContextTooLong,
    Delta,
    Message,
    ModelRequest,
    ModelResponse,
    NetworkError,
    Overloaded,
    ProviderSettings,
    RateLimited,
    ToolCall,
    ToolResultBlock,
    ToolSchema,
)
from hookline_scripted import ScriptedProvider
from hypothesis import given
from hypothesis import strategies as st

LOOK = ToolSchema("look", "Look around.", {"type": "object", "properties": {}})


class Stage:
    """A scenario file and one provider that plays it."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "play.yaml"
        self.provider = ScriptedProvider(ProviderSettings("scripted", None, ""))
        self.shown: list[Delta] = []

    def write(self, text: str) -> None:
        self.path.write_text(text, encoding="utf-8")

    def request(self, *messages: Message, **changes: Any) -> ModelRequest:
        given = {"system": "Be brief.", "tools": (LOOK,), "session_id": "s1"} | changes
        return ModelRequest(model=f"scripted/{self.path}", messages=messages, **given)

    async def ask(self, *messages: Message, **changes: Any) -> ModelResponse:
        wire = self.provider.render(self.request(*messages, **changes))
        return await self.provider.send(wire, self.shown.append)


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path)


async def test_first_unused_step_that_matches_answers(stage: Stage) -> None:
    stage.write("steps: [{when: bye, text: B}, {text: A}, {text: C}]")
    texts = [(await stage.ask(Message.user(said))).text for said in ("hi", "goodbye", "hi")]
    assert texts == ["A", "B", "C"]


async def test_repeating_step_is_never_used_up(stage: Stage) -> None:
    stage.write("steps: [{text: again, repeat: true}]")
    assert [(await stage.ask(Message.user("x"))).text for _ in range(3)] == ["again"] * 3


async def test_when_sees_context_and_tool_results_of_the_last_message_only(stage: Stage) -> None:
    stage.write(
        "steps:\n"
        "- {when: first, text: wrong}\n"
        "- {when: 'result A\\nresult B.*<context>', text: right}\n"
    )
    results = (ToolResultBlock("1", "result A"), ToolResultBlock("2", "result B"))
    last = Message("user", results, "<context>note</context>")
    assert (await stage.ask(Message.user("first"), Message.assistant("ok"), last)).text == "right"


async def test_when_system_and_when_any_look_further(stage: Stage) -> None:
    stage.write(
        "steps:\n"
        "- {when_system: ^You are Bob$, text: bob}\n"
        "- {when_system: once only, text: ephemeral}\n"
        "- {when_any: earlier, text: history}\n"
    )
    assert (await stage.ask(Message.user("x"), system="Hi.\nYou are Bob\nBye.")).text == "bob"
    assert (await stage.ask(Message.user("x"), ephemeral="once only")).text == "ephemeral"
    assert (await stage.ask(Message.user("earlier"), Message.user("x"))).text == "history"


async def test_missing_step_names_the_file_and_quotes_what_was_sent(stage: Stage) -> None:
    stage.write("steps: [{when: something else}]")
    with pytest.raises(BadRequest, match=r"play\.yaml.*1 of 1.*begins: Good morning"):
        await stage.ask(Message.user("Good morning"))


async def test_text_is_streamed_in_words(stage: Stage) -> None:
    stage.write('steps: [{text: "  one two\\nthree "}]')
    answer = await stage.ask(Message.user("x"))
    assert [delta.text for delta in stage.shown] == ["  one ", "two\n", "three "]
    assert answer.text == "  one two\nthree "
    assert answer.stop == "end"


async def test_tool_calls_have_ids_that_the_history_does_not_have(stage: Stage) -> None:
    stage.write("steps: [{tools: [{name: look, arguments: {at: 1}}, {name: look}], repeat: true}]")
    first = await stage.ask(Message.user("x"))
    assert first.stop == "tools"
    assert first.blocks == (ToolCall("call_1", "look", {"at": 1}), ToolCall("call_2", "look", {}))
    # A second process that goes on with the same history must not repeat an id either.
    other = Stage(stage.path.parent)
    second = await other.ask(Message.user("x"), first.message)
    assert [call.id for call in second.message.tool_calls] == ["call_3", "call_4"]


async def test_tool_choice_none_leaves_the_calls_out(stage: Stage) -> None:
    stage.write("steps: [{text: ok, tools: [{name: look}]}]")
    answer = await stage.ask(Message.user("x"), params={"tool_choice": "none"})
    assert (answer.text, answer.message.tool_calls, answer.stop) == ("ok", (), "end")


@pytest.mark.parametrize(
    ("kind", "error"),
    [
        ("auth", AuthError),
        ("rate", RateLimited),
        ("overloaded", Overloaded),
        ("context", ContextTooLong),
        ("bad_request", BadRequest),
        ("network", NetworkError),
    ],
)
async def test_fault_raises_that_error_and_uses_the_step(
    stage: Stage, kind: str, error: type[Exception]
) -> None:
    stage.write(f"steps: [{{text: never, fault: {kind}}}, {{text: next}}]")
    with pytest.raises(error, match=r"play\.yaml"):
        await stage.ask(Message.user("x"))
    assert stage.shown == []
    assert (await stage.ask(Message.user("x"))).text == "next"


async def test_fault_can_set_retry_after(stage: Stage) -> None:
    stage.write("steps: [{fault: {kind: rate, retry_after: 7}}]")
    with pytest.raises(RateLimited) as caught:
        await stage.ask(Message.user("x"))
    assert caught.value.retry_after == 7


async def test_cut_stream_shows_its_text_first(stage: Stage) -> None:
    stage.write("steps: [{text: half of it, fault: cut}]")
    with pytest.raises(NetworkError):
        await stage.ask(Message.user("x"))
    assert "".join(delta.text for delta in stage.shown) == "half of it"


async def test_incomplete_answer_has_that_stop(stage: Stage) -> None:
    stage.write("steps: [{text: half, fault: incomplete}]")
    answer = await stage.ask(Message.user("x"))
    assert (answer.text, answer.stop) == ("half", "incomplete")


async def test_invalid_calls_arrive_with_an_error(stage: Stage) -> None:
    stage.write(
        "steps:\n"
        "- {fault: bad_arguments, tools: [{name: look, arguments: {at: 1}}]}\n"
        "- {fault: no_name, tools: [{name: look}]}\n"
    )
    (bad,) = (await stage.ask(Message.user("x"))).message.tool_calls
    assert (bad.name, bad.arguments) == ("look", {})
    assert "JSON" in str(bad.error)
    (nameless,) = (await stage.ask(Message.user("x"))).message.tool_calls
    assert nameless.name == ""
    assert nameless.error


async def test_usage_reads_the_common_prefix_from_the_cache(stage: Stage) -> None:
    stage.write("steps: [{text: '12345', repeat: true}]")
    history = [Message.user("a" * 400)]
    first = (await stage.ask(*history)).usage
    assert (first.cache_read, first.output) == (0, 2)
    history += [Message.assistant("b" * 400), Message.user("c" * 400)]
    second = (await stage.ask(*history)).usage
    assert first.input - 1 <= second.cache_read <= first.input
    assert second.input > first.input + 200
    assert (await stage.ask(*history, session_id="s2")).usage.cache_read == 0
    changed = (await stage.ask(*history, system="Be long.")).usage
    assert changed.cache_read < 50


async def test_changed_file_is_read_again_from_the_start(stage: Stage) -> None:
    stage.write("steps: [{text: old}]")
    assert (await stage.ask(Message.user("x"))).text == "old"
    stage.write("steps: [{text: newer}]")
    os.utime(stage.path, (1, 1))
    assert (await stage.ask(Message.user("x"))).text == "newer"


async def test_path_is_relative_to_the_current_directory(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage.write("steps: [{text: here}]")
    monkeypatch.chdir(stage.path.parent)
    wire = stage.provider.render(ModelRequest("scripted/play.yaml", "", (), (Message.user("x"),)))
    assert (await stage.provider.send(wire, None)).text == "here"


def test_equal_messages_give_equal_bytes(stage: Stage) -> None:
    def message() -> Message:
        return Message("user", (ToolResultBlock("1", "ü", ok=False),), "<context/>")

    first, second = (stage.provider.render(stage.request(message())) for _ in range(2))
    assert first.fragments == second.fragments
    assert first.stable == second.stable


async def test_step_is_chosen_by_what_pre_send_returned(stage: Stage) -> None:
    stage.write("steps: [{when: masked, text: seen}]")
    wire = stage.provider.render(stage.request(Message.user("secret")))
    fragment = wire.fragments[0].replace(b"secret", b"masked")
    wire = type(wire)(wire.provider, wire.fields, (fragment,), stable=wire.stable, model=wire.model)
    assert (await stage.provider.send(wire, None)).text == "seen"


@given(st.text())
def test_any_text_can_be_rendered(text: str) -> None:
    provider = ScriptedProvider(ProviderSettings("scripted", None, ""))
    request = ModelRequest("scripted/x.yaml", text, (), (Message.user(text, text),))
    assert provider.render(request) == provider.render(request)


def test_lone_surrogate_can_be_rendered(stage: Stage) -> None:
    wire = stage.provider.render(stage.request(Message.user("name \udc80 end")))
    assert b"name ? end" in wire.fragments[0]
