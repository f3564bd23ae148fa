"""The plan: set by the model, shown to people, kept through compaction and restart."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hookline.testing import calls
from hookline_hookspecs import (
    Context,
    Message,
    ModelRequest,
    Plugin,
    Rewrite,
    ToolCall,
    command,
    hookimpl,
    tool,
)
from hookline_plan import Plans
from hookline_plan.steps import one_line
from hypothesis import given
from hypothesis import strategies as st

Make = Callable[..., Any]
THREE = [
    {"text": "Read the code", "state": "done"},
    {"text": "Write the tests", "state": "doing"},
    {"text": "Ship it", "state": "open"},
]
SHOWN = "Plan: 1 of 3 done\n✓ Read the code\n▸ Write the tests\n○ Ship it"
TOLD = "[done] Read the code\n[doing] Write the tests\n[open] Ship it"


class Shortening(Plugin):
    """Compacts: between turns by a command, within one by a tool."""

    @command("/shorten")
    async def shorten(self, ctx: Context, args: str) -> str:
        """Replace all that was said."""
        await self._all_but(ctx, len(ctx.history))
        return "shortened"

    @tool(read_only=True)
    async def squeeze(self) -> str:
        """Have the history compacted before the next request."""
        return "squeezed"

    @hookimpl
    async def pre_model(self, ctx: Context, request: ModelRequest) -> ModelRequest | None:
        """Compact what lies before the newest results."""
        last = request.messages[-1]
        if not any("squeezed" in getattr(block, "text", "") for block in last.blocks):
            return None
        history = ctx.history
        cut = len(history) - 2
        own = next(n for n in reversed(range(cut)) if history[n].speaker == "user")
        changed = [Rewrite(own + 1, cut, (Message.assistant("Shortened."), Message.user("Go on.")))]
        return replace(request, messages=await ctx.rewrite(changed))

    async def _all_but(self, ctx: Context, stop: int) -> None:
        await ctx.rewrite([Rewrite(0, stop, (Message.user("summary"), Message.assistant("ok")))])


def planned(steps: Any = THREE) -> ToolCall:
    """The model gives its list."""
    return calls("plan", steps=steps)


def contexts(h: Any, request: int = -1) -> list[str]:
    """The context blocks in a request, by message."""
    return [message.context for message in h.model.requests[request].messages if message.context]


def test_person_sees_the_plan_that_the_model_sets(harness: Make) -> None:
    h = harness(Plans, model=[planned(), "I go on."])
    result = h.send("go").tool_calls[0]
    assert (result.ok, result.text, result.shown) == (True, "Plan: 1 of 3 done.", SHOWN)
    assert result.data["board"] == "1 of 3 done, now: Write the tests"
    assert result.data["steps"] == THREE
    assert h.send("/plan").text == SHOWN
    # The model reads its own call: nothing is said twice.
    assert not contexts(h)


def test_call_replaces_the_plan(harness: Make) -> None:
    done = [{**step, "state": "done"} for step in THREE]
    h = harness(Plans, model=[planned(), planned(done), "done", planned([]), "empty"])
    h.send("go")
    assert h.send("/plan").text.startswith("Plan: 3 of 3 done\n✓ Read the code\n✓")
    assert h.send("once more").tool_calls[0].text == "The plan is empty."
    assert h.send("/plan").text.startswith("There is no plan.")


@pytest.mark.parametrize(
    ("steps", "said"),
    [
        (None, "array of {text, state}"),
        ("soon", "array of {text, state}"),
        ({"text": "a", "state": "open"}, "array of {text, state}"),
        (["a"], "step 1 must be an object"),
        ([THREE[0], {"text": "b"}], "the state of step 2 is null; it must be open, doing or done"),
        ([{"text": "b", "state": "finished"}], 'is "finished"; it must be open, doing or done'),
        ([{"text": "b", "state": ["done"]}], "it must be open, doing or done"),
        ([{"text": " \u200b\x1b\u202e ", "state": "open"}], "step 1 has no text"),
        ([{"text": 7, "state": "open"}], "step 1 has no text"),
        ([{"text": "b", "state": "open"}] * 41, "41 steps are too many"),
    ],
)
def test_invalid_plan_is_an_error_and_changes_nothing(harness: Make, steps: Any, said: str) -> None:
    h = harness(Plans, model=[planned(), "ok", planned(steps), "well"])
    h.send("go")
    result = h.send("again").tool_calls[0]
    assert not result.ok
    assert result.text.startswith("Error: ")
    assert said in result.text
    assert h.send("/plan").text == SHOWN


def test_unknown_argument_error_names_it(harness: Make) -> None:
    h = harness(Plans, model=[calls("plan", steps=[], merge=True), "well"])
    assert "no argument 'merge'" in h.send("go").tool_calls[0].text


def test_double_encoded_steps_are_read(harness: Make) -> None:
    h = harness(Plans, model=[planned(json.dumps(THREE)), "ok"])
    assert h.send("go").tool_calls[0].shown == SHOWN


def test_control_characters_are_removed(harness: Make) -> None:
    evil = [
        {"text": "\x1b[2J\x1b]0;pwned\x07clear\r\nPlan: 9 of 9 done", "state": "open"},
        {"text": "a\u202eb\u2066c\u200bd", "state": "doing"},
        {"text": "z" + "\u0301" * 500 + " word " * 200, "state": "done"},
        {"text": "**bold** [click](http://evil.example) <!channel> @everyone `x`", "state": "open"},
    ]
    h = harness(Plans, model=[planned(evil), "ok"])
    shown = h.send("go").tool_calls[0].shown
    assert len(shown.split("\n")) == 5
    assert all(c.isprintable() or c == "\n" for c in shown)
    assert shown.split("\n")[1:3] == ["○ [2J ]0;pwned clear Plan: 9 of 9 done", "▸ abcd"]
    assert max(map(len, shown.split("\n"))) <= 202

    async def on_a_channel() -> str:
        await h.aopen()
        h.model.steps += [planned(evil), "ok"]
        await h.channel.say("go")
        await h.channel.replies(1)
        await h.channel.say("/plan")
        return str((await h.channel.replies(2))[1].text)

    # A channel renders what a command says: there the markup is escaped.
    text = h.run(on_a_channel())
    assert r"\*\*bold\*\* \[click\](http://evil.example) \<\!channel\> @everyone \`x\`" in text


@given(st.text(max_size=300))
def test_any_text_becomes_one_printable_line(text: str) -> None:
    line = one_line(text)
    assert len(line) <= 200
    assert len(line.splitlines()) <= 1
    assert one_line(line) == line
    line.encode()


def test_plan_is_added_after_a_compaction(harness: Make) -> None:
    h = harness(Shortening, Plans, model=[planned(), "ok", "later", "later still"])
    h.send("go")
    before = h.model.bodies[-1]
    h.send("/shorten")
    h.send("and now?")
    assert [TOLD in text for text in contexts(h)] == [True]
    # The stable tier is byte for byte what it was, and the next turn only adds.
    assert dict(h.model.wires[-1].stable) == dict(h.model.wires[0].stable)
    assert h.model.bodies[-1] != before
    h.send("and then?")
    assert contexts(h) == contexts(h, -2)  # said once
    old, new = h.model.wires[-2].fragments, h.model.wires[-1].fragments
    assert new[: len(old)] == old


def test_plan_is_added_to_a_turn_that_is_compacted(harness: Make) -> None:
    steps = [planned(), calls("squeeze"), calls("squeeze"), "done", "next"]
    h = harness(Shortening, Plans, model=steps)
    h.send("go")
    assert not contexts(h, 1)
    assert not any(
        call.name == "plan" for m in h.model.requests[2].messages for call in m.tool_calls
    )
    assert [TOLD in text for text in contexts(h, 2)] == [True]
    assert [TOLD in text for text in contexts(h, 3)] == [True]
    h.send("more")
    assert len(contexts(h)) == 1


def test_finished_plan_is_not_added_again(harness: Make) -> None:
    done = [{**step, "state": "done"} for step in THREE]
    h = harness(Shortening, Plans, model=[planned(done), "ok", "later"])
    h.send("go")
    h.send("/shorten")
    h.send("and now?")
    assert not contexts(h)


def test_plan_survives_a_restart_and_stays_in_its_session(harness: Make, tmp_path: Any) -> None:
    home = tmp_path / "home"
    first = harness(Shortening, Plans, home=home, model=[planned(), "ok"])
    session = first.send("go").turn.session.id
    first.send("/shorten", session=session)
    first.close()
    h = harness(Shortening, Plans, home=home, model=["later", "new"])
    h.send("and now?", session=session)
    assert [TOLD in text for text in contexts(h)] == [True]
    assert h.send("/plan", session=session).text == SHOWN
    h.send("/new", session=session)
    assert h.send("hello", session="other").text == "new"
    assert not contexts(h)
    assert h.send("/plan", session="other").text.startswith("There is no plan.")


def test_command_clears_the_plan_and_points_to_mode_plan(harness: Make) -> None:
    h = harness(Plans, model=[planned(), "ok"])
    h.send("go")
    assert "/mode plan" in h.send("/plan everything").text
    assert h.send("/plan clear").text == "The plan was deleted."
    assert h.send("/plan").text.startswith("There is no plan.")


def test_plan_is_shown_while_the_turn_runs(harness: Make) -> None:
    class Slow(Plugin):
        begun, go = asyncio.Event(), asyncio.Event()

        @tool
        async def work(self) -> str:
            """Work."""
            self.begun.set()
            await self.go.wait()
            return "worked"

    h = harness(Slow, Plans, model=[planned(), calls("work"), "done"])

    async def life() -> str:
        await h.aopen()
        await h.channel.say("go")
        await h.plugin(Slow).begun.wait()
        await h.channel.say("/plan")
        shown = (await h.channel.replies(1))[0].text
        h.plugin(Slow).go.set()
        await h.channel.replies(2)
        return str(shown)

    assert h.run(life()).startswith("Plan: 1 of 3 done")


def test_schema_costs_few_tokens(harness: Make) -> None:
    h = harness(Plans, model=["ok"])
    h.send("go")
    (schema,) = h.model.last.tools
    text = json.dumps(
        {
            "name": schema.name,
            "description": schema.description,
            "parameters": dict(schema.parameters),
        },
        separators=(",", ":"),
        default=dict,
    )
    assert len(text) / 4 < 110
