"""A chat's level is sent, stored for the chat, and keeps the prompt prefix stable."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hookline.testing import calls
from hookline_hookspecs import ModelResponse, Plugin, SessionBranches, ThinkingBlock, ToolCall, tool
from hookline_reasoning import Reasoning
from hookline_reasoning.styles import LEVELS, style_of, supports, with_level

Make = Callable[..., Any]
ANTHROPIC = {"models": {"test/*": "anthropic-adaptive"}}
EFFORT = {"models": {"test/*": "effort"}}


class Hands(Plugin):
    """A tool."""

    @tool(read_only=True)
    def look(self) -> str:
        """Look."""
        return "looked"


def sent(h: Any) -> dict[str, Any]:
    """The fields of the last request."""
    return dict(h.model.wires[-1].fields)


def test_level_is_sent_from_the_next_turn_on(harness: Make) -> None:
    h = harness(Reasoning, config=EFFORT, model=["one", "two", "three", "four"])
    h.send("hello")
    assert "reasoning_effort" not in sent(h)
    assert h.send("/reasoning").text == "Reasoning: the default of test/model."
    assert h.send("/reasoning HIGH").text == "Reasoning: high (test/model)."
    h.send("and now?")
    assert sent(h)["reasoning_effort"] == "high"
    # What is cached stays: the stable part, and the messages before.
    old, new = h.model.wires[0], h.model.wires[1]
    assert dict(old.stable) == dict(new.stable)
    assert new.fragments[: len(old.fragments)] == old.fragments
    h.send("/reasoning off")
    h.send("and now?")
    assert sent(h)["reasoning_effort"] == "none"
    h.send("/reasoning default")
    h.send("and now?")
    assert "reasoning_effort" not in sent(h)


def test_model_without_reasoning_is_refused_with_advice(harness: Make) -> None:
    h = harness(Reasoning, model=["hi"])
    said = h.send("/reasoning low").text
    assert "It is not known whether test/model accepts a reasoning level" in said
    assert '{"test/model": effort}' in said
    h.send("hello")
    assert sent(h) == {"model": "test/model"}


def test_model_that_always_reasons_refuses_off(harness: Make) -> None:
    h = harness(Reasoning, config={"models": {"test/*": "effort-always"}}, model=["hi"])
    assert h.send("/reasoning off").text == "test/model always reasons; the lowest level is low."
    assert h.send("/reasoning low").text == "Reasoning: low (test/model)."
    h.send("hello")
    assert sent(h)["reasoning_effort"] == "low"


@pytest.mark.parametrize("typed", ["max", "-1", "low high", "\x1b[2J", "x" * 5000])
def test_unknown_level_is_refused(harness: Make, typed: str) -> None:
    h = harness(Reasoning, config=EFFORT)
    said = h.send(f"/reasoning {typed}").text
    assert said.startswith("Unknown level ")
    assert len(said) < 120
    assert said.isprintable()


def test_level_is_stored_for_the_chat(harness: Make, tmp_path: Any) -> None:
    home = tmp_path / "home"
    first = harness(Reasoning, config=EFFORT, home=home)
    first.send("/reasoning low", session="one")
    first.close()
    h = harness(Reasoning, config=EFFORT, home=home, model=["hi", "there"])
    h.send("hello", session="two")
    assert sent(h)["reasoning_effort"] == "low"

    async def elsewhere() -> None:
        await h.channel.say("hello", chat="another")
        await h.channel.replies(1)

    h.run(elsewhere())
    assert "reasoning_effort" not in sent(h)


def test_sessions_of_a_chat_keep_their_own_levels(harness: Make) -> None:
    h = harness(Reasoning, config=EFFORT, model=["hi"] * 9)
    for session in ("one", "two"):
        h.send("hello", session=session)
    h.send("/reasoning low", session="one")
    h.send("/reasoning high", session="two")
    h.send("hello", session="one")
    assert sent(h)["reasoning_effort"] == "low"
    h.send("hello", session="two")
    assert sent(h)["reasoning_effort"] == "high"
    h.send("hello", session="three")
    assert sent(h)["reasoning_effort"] == "high"
    h.send("/reasoning default", session="two")
    h.send("hello", session="three")
    assert sent(h)["reasoning_effort"] == "high"
    h.send("hello", session="two")
    assert "reasoning_effort" not in sent(h)


def test_level_goes_with_a_copy_of_the_session(harness: Make) -> None:
    h = harness(Reasoning, config=EFFORT, model=["hi"] * 9)
    h.send("hello", session="one")
    h.send("/reasoning low", session="one")
    h.send("/reasoning high", session="two")
    branches = h.runtime.engine.services[SessionBranches]
    assert h.run(branches.copy("one", "copy", ("terminal", "default")))
    h.send("hello", session="copy")
    assert sent(h)["reasoning_effort"] == "low"


def test_default_applies_where_nothing_was_chosen(harness: Make) -> None:
    h = harness(Reasoning, config={**EFFORT, "default": "medium"}, model=["one", "two"])
    h.send("hello")
    assert sent(h)["reasoning_effort"] == "medium"
    h.send("/reasoning off")
    h.send("hello")
    assert sent(h)["reasoning_effort"] == "none"


def test_change_that_empties_the_cache_says_so(harness: Make) -> None:
    h = harness(Reasoning, config=ANTHROPIC, model=["hi", "there"])
    assert "anew" not in h.send("/reasoning low").text  # nothing is cached yet
    h.send("hello")
    assert sent(h)["thinking"] == {"type": "adaptive"}
    assert sent(h)["output_config"] == {"effort": "low"}
    assert "not read from the provider's cache" in h.send("/reasoning high").text
    assert "anew" not in h.send("/reasoning high").text
    h.send("/reasoning off")
    h.send("hello")
    assert sent(h)["thinking"] == {"type": "disabled"}
    assert "output_config" not in sent(h)


def test_auxiliary_requests_are_unchanged(harness: Make) -> None:
    class Asking(Plugin):
        @tool(read_only=True)
        async def muse(self, ctx: Any) -> str:
            """Muse."""
            return str(await ctx.ask_model("what?"))

    model = [calls("muse"), "aside", "done"]
    h = harness(Asking, Reasoning, config={"reasoning": EFFORT, "asking": {}}, model=model)
    h.send("/reasoning high")
    h.send("go")
    assert ["reasoning_effort" in wire.fields for wire in h.model.wires] == [True, False, True]


@pytest.mark.parametrize("thinks", [True, False])
def test_budget_needs_a_loop_that_started_with_thinking(harness: Make, thinks: bool) -> None:
    thought = (ThinkingBlock("hm", signature="s"),) if thinks else ()
    first = ModelResponse((*thought, ToolCall("1", "look", {})), "tools")
    config = {"reasoning": {"models": {"test/*": "anthropic-budget"}}, "hands": {}}
    h = harness(Hands, Reasoning, config=config, model=[first, "done"])
    h.send("/reasoning medium")
    h.send("go")
    one, two = (dict(wire.fields) for wire in h.model.wires)
    assert one["thinking"] == {"type": "enabled", "budget_tokens": 8192}
    assert one["max_tokens"] == 8192 + 8192
    assert ("thinking" in two) is thinks


@pytest.mark.parametrize(
    ("model", "style"),
    [
        ("anthropic/claude-sonnet-5-5", "anthropic-adaptive"),
        ("anthropic/claude-opus-4-6", "anthropic-adaptive"),
        ("anthropic/claude-opus-4-5-20251101", "anthropic-budget"),
        ("anthropic/claude-sonnet-4-20250514", "anthropic-budget"),
        ("anthropic/claude-3-7-sonnet-20250219", "anthropic-budget"),
        ("anthropic/claude-3-5-haiku-20241022", "none"),
        ("anthropic/claude-fable-5-1", "anthropic-adaptive-always"),
        ("openai/gpt-5.5", "effort"),
        ("openai/gpt-5", "effort-always"),
        ("openai/gpt-5-mini", "effort-always"),
        ("openai/gpt-5.3-codex", "effort-always"),
        ("openai/gpt-5.1-chat-latest", "none"),
        ("openai/o3-mini", "effort-always"),
        ("openai/gpt-4.1", "none"),
        ("openrouter/anthropic/claude-sonnet-4.5", "openrouter"),
        ("somewhere/gpt-5", "none"),
        ("scripted/x.yaml", "none"),
    ],
)
def test_packaged_list_knows_the_models(model: str, style: str) -> None:
    assert style_of(model, {}) == style
    assert style_of(model.upper(), {}) == style


def test_configured_patterns_come_first() -> None:
    own: dict[str, Any] = {"OpenAI/gpt-5*": "none", "work/*": "openrouter"}
    assert style_of("openai/gpt-5.5", own) == "none"
    assert style_of("work/large", own) == "openrouter"


def test_responses_api_has_its_own_field() -> None:
    made = with_level("effort", "low", {"stream": True, "store": False})
    assert made["reasoning"] == {"effort": "low"}
    assert "reasoning_effort" not in made
    assert with_level("openrouter", "off", {})["reasoning"] == {"enabled": False}
    assert all(supports("openrouter", level) for level in LEVELS)
