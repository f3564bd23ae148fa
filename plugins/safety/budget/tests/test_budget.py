"""Which tokens count, when a turn ends, and the messages."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hookline.testing import Clock, Harness, calls
from hookline_budget import Budget
from hookline_hookspecs import (
    Context,
    Host,
    ModelResponse,
    Plugin,
    ProviderError,
    TextBlock,
    Turn,
    Usage,
    command,
    hookimpl,
    tool,
)
from hookline_hookspecs.prices import Prices

Make = Callable[..., Harness]
NOON = time.mktime((2026, 3, 4, 12, 0, 0, 0, 0, -1))


def answer(*, text: str = "ok", **usage: int) -> ModelResponse:
    """A response that used ``input``, ``output``, ``cache_read`` and ``cache_write`` tokens."""
    return ModelResponse((TextBlock(text),), "end", Usage(**usage))


class Helper(Plugin):
    """Makes auxiliary calls and runs a sub-agent."""

    @tool
    async def ask(self, ctx: Context) -> str:
        """Ask the auxiliary model."""
        try:
            return await self.host.ask_model("what?")
        except ProviderError as error:
            return f"{error.kind}: {error}"

    @tool
    async def hand_over(self, ctx: Context) -> str:
        """Run a sub-agent."""
        turn = await self.host.run_turn("work", parent=ctx)
        return f"{turn.stop}: {turn.reply}"

    @tool(read_only=True)
    def look(self) -> str:
        """Do nothing."""
        return "seen"


class Forks(Plugin):
    """Reviews each turn of the chat in a fork."""

    @hookimpl
    async def end_of_turn(self, ctx: Context, turn: Turn) -> None:
        """Run one review."""
        if ctx.session.kind == "chat":
            await self.host.fork(ctx.session.id, "review")


def test_terminal_has_no_limit_unless_one_is_set(harness: Make) -> None:
    h = harness(Budget, model=[answer(input=9_000_000)] * 2)
    assert h.send("a").stop == "done"
    assert h.send("b").stop == "done"
    assert h.send("/budget").text == "This chat has no token limit."


def test_turn_over_the_limit_ends_with_the_reason(harness: Make, clock: Clock) -> None:
    h = harness(
        Budget, config={"daily_tokens_per_chat": 1000}, model=[answer(input=900, output=150)]
    )
    assert h.send("a").text == "ok"
    outcome = h.send("b")
    assert outcome.stop == "budget"
    assert outcome.text == (
        "Today's budget for this chat is used up: 1,050 of 1,000 tokens. It resets at 00:00 "
        "(in 12 h 0 min). To allow more, set plugins.budget.daily_tokens_per_chat in config.yaml."
    )
    assert len(h.model.requests) == 1


def test_total_of_all_chats_can_have_a_limit(harness: Make, clock: Clock) -> None:
    h = harness(Budget, config={"daily_tokens": 1000}, model=[answer(input=1000)])
    h.send("a", session="one")
    text = h.send("b", session="two").text
    assert text.startswith("Today's budget for all chats together is used up: 1,000 of 1,000")
    assert "plugins.budget.daily_tokens in config.yaml" in text


class OnePrice(Prices):
    """Knows what ``test/model`` costs."""

    def cost(self, model: str, usage: Usage, prompt: int | None = None) -> float | None:
        return (usage.input + 2 * usage.output) / 1000 if model == "test/model" else None


class PriceList(Plugin):
    """Offers prices, as ``insights`` does."""

    @hookimpl
    def setup(self, host: Host) -> None:
        host.services.provide(Prices, OnePrice())


def test_cost_is_shown_if_the_price_is_known(harness: Make) -> None:
    answers = [answer(input=900, output=150), answer(input=1000, output=10)]
    settings = {"budget": {"daily_tokens_per_chat": 2000}}
    h = harness(Budget, PriceList, config=settings, model=answers)
    h.send("a")
    assert (
        "1,050 of 2,000 tokens used today (52 %) · $1.20 · 950 tokens left"
        in h.send("/budget").text
    )
    h.send("/model test/other")
    h.send("b")
    assert "used up: 2,060 (at least $1.20) of 2,000 tokens. It resets" in h.send("c").text


def test_cache_reads_count_a_tenth(harness: Make) -> None:
    used = answer(input=1000, cache_read=600, cache_write=300, output=7)
    h = harness(Budget, config={"daily_tokens_per_chat": 1000}, model=[used])
    h.send("a")
    assert h.send("/budget").text.startswith(
        "This chat · 467 of 1,000 tokens used today (47 %) · 533"
    )


def test_turn_stops_after_the_call_that_reaches_the_limit(harness: Make) -> None:
    model = [calls("look"), calls("look"), calls("look"), "never"]  # 15 tokens each
    h = harness(Budget, Helper, config={"budget": {"daily_tokens_per_chat": 30}}, model=model)
    outcome = h.send("a")
    assert (outcome.stop, len(outcome.tool_calls), len(h.model.requests)) == ("budget", 2, 2)


@pytest.mark.parametrize(
    ("named", "inside"), [("ask", "budget: The budget of"), ("hand_over", "budget: The budget of")]
)
def test_auxiliary_calls_and_sub_agents_count_for_the_chat(
    harness: Make, named: str, inside: str
) -> None:
    settings = {"budget": {"daily_tokens_per_chat": 30}}
    model = [calls(named), "helped", calls(named), "x"]
    h = harness(Budget, Helper, config=settings, model=model)
    outcome = h.send("a")
    assert outcome.stop == "budget"
    assert outcome.tool_calls[0].text.endswith("helped")
    assert len(h.model.requests) == 2
    again = harness(Budget, Helper, config=settings, home=h.home, model=[calls(named)])
    assert again.send("b", session="other").stop == "budget"  # the same chat, from the journal
    assert not again.model.requests


@pytest.mark.parametrize("named", ["ask", "hand_over"])
def test_auxiliary_call_over_the_limit_is_refused(harness: Make, named: str) -> None:
    settings = {"budget": {"daily_tokens_per_chat": 15}}
    h = harness(Budget, Helper, config=settings, model=[calls(named), "never"])
    outcome = h.send("a")
    assert outcome.tool_calls[0].text.startswith("budget: Today's budget for this chat")
    assert len(h.model.requests) == 1


def test_review_counts_for_the_chat(harness: Make) -> None:
    h = harness(Budget, Forks, config={"budget": {"daily_tokens_per_chat": 30}}, model=["a", "r"])
    h.send("a")
    assert len(h.model.requests) == 2
    assert h.send("b").stop == "budget"


def test_sums_survive_a_restart_and_reset_at_midnight(harness: Make, clock: Clock) -> None:
    settings = {"daily_tokens_per_chat": 100}
    first = harness(Budget, config=settings, model=[answer(input=100)])
    first.send("a")
    first.close()
    h = harness(Budget, config=settings, home=first.home, model=["b"])
    assert h.send("b").stop == "budget"
    clock.stop(NOON + 12 * 3600 - 1)
    assert h.send("b").stop == "budget"
    clock.stop(NOON + 12 * 3600)
    assert h.send("b").text == "b"
    assert h.send("/budget").text.startswith("This chat · 15 of 100 tokens")


def test_usage_of_other_processes_is_counted(harness: Make, clock: Clock) -> None:
    settings = {"daily_tokens": 100}
    one = harness(Budget, config=settings, model=[answer(input=10), answer(input=75), "x"])
    two = harness(Budget, config=settings, home=one.home, model=[answer(input=15), "y"])
    one.send("a", session="one")
    two.send("a", session="two")  # 10 of the other are known: together 25
    one.send("b", session="one")
    clock.stop(NOON + 61)
    assert two.send("b", session="two").stop == "budget"  # 100 in all
    assert one.send("c", session="one").stop == "budget"


def test_usage_of_other_processes_is_current_near_the_limit(harness: Make, clock: Clock) -> None:
    settings = {"daily_tokens": 100}
    one = harness(Budget, config=settings, model=[answer(input=85), "x"])
    two = harness(Budget, config=settings, home=one.home, model=[answer(input=15), "y"])
    one.send("a", session="one")
    two.send("a", session="two")
    assert one.send("b", session="one").stop == "budget"


def test_signal_is_sent_at_80_percent_and_at_the_limit_once_a_day(
    harness: Make, heard: Callable[[Harness], list[Any]], clock: Clock
) -> None:
    settings = {"daily_tokens_per_chat": 100}
    h = harness(
        Budget, config=settings, model=[answer(input=79), answer(input=1), answer(input=20)]
    )
    events = heard(h)
    h.send("a")
    assert events == []
    h.send("b")
    [near] = events
    assert (near.scope, near.channel, near.chat_id) == ("chat", "terminal", "default")
    assert (near.used, near.limit, near.over, near.day) == (80, 100, False, "2026-03-04")
    assert near.resets == NOON + 12 * 3600
    h.send("c")
    h.send("d")
    h.send("e")
    assert [event.over for event in events] == [False, True]
    h.close()
    again = harness(Budget, config=settings, home=h.home)
    later = heard(again)
    assert again.send("f").stop == "budget"
    assert later == []


def test_parallel_chats_exceed_the_limit_only_by_their_running_calls(harness: Make) -> None:
    limit, chats, used = 100, 6, 15
    h = harness(Budget, config={"daily_tokens": limit}, model=["ok"] * 60)

    async def talk(name: str) -> list[str]:
        return [(await h.asend("go on", session=name)).stop for _ in range(5)]

    async def all_at_once() -> list[list[str]]:
        await h.aopen()
        return await asyncio.gather(*(talk(f"s{n}") for n in range(chats)))

    stops = [stop for one in h.run(all_at_once()) for stop in one]
    assert stops.count("budget") + len(h.model.requests) == chats * 5
    assert (len(h.model.requests) - chats) * used < limit


async def _two_chats(h: Harness) -> list[str]:
    await h.channel.say("a", chat="one")
    await h.channel.replies(1)
    await h.channel.say("b", chat="one")
    await h.channel.replies(2)
    await h.channel.say("c", chat="two")
    await h.channel.replies(3)
    await h.channel.say("/budget", chat="two")
    return [reply.text for reply in await h.channel.replies(4)]


def test_network_chat_has_two_million_tokens_a_day(harness: Make) -> None:
    settings = {"daily_tokens": 10_000_000}
    h = harness(Budget, config=settings, model=[answer(input=2_000_000), answer(input=7)])
    h.channel  # noqa: B018 - opens the core
    texts = h.run(_two_chats(h))
    assert texts[0] == "ok"
    assert texts[1].startswith("Today's budget for this chat is used up: 2,000,000 of 2,000,0")
    assert texts[2] == "ok"  # another chat has its own
    assert texts[3].startswith("This chat · 7 of 2,000,000")
    assert "All chats" not in texts[3]
    assert "All chats · 2,000,007 of 10,000,000" in h.send("/budget").text


def test_network_chat_can_be_unlimited(harness: Make) -> None:
    h = harness(
        Budget,
        config={"daily_tokens_per_chat": "unlimited"},
        model=[answer(input=9_000_000), answer(input=1), answer(input=1)],
    )
    h.channel  # noqa: B018 - opens the core
    assert h.run(_two_chats(h))[1:] == ["ok", "ok", "This chat has no token limit."]


@pytest.mark.parametrize("value", [0, -5, "many", 1.5, [1]])
def test_no_turn_starts_with_an_invalid_limit(harness: Make, value: object) -> None:
    h = harness(Budget, config={"daily_tokens": value}, model=["ok"], strict=False)
    assert "the guard 'budget' is on in config.yaml but could not be loaded" in h.send("a").text
    assert h.model.requests == []
    state, reason = h.states()["budget"]
    assert state == "failed"
    assert "daily_tokens" in reason


@pytest.mark.slow
def test_run_over_the_limit_exits_with_1_and_the_reason(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text(
        "plugins:\n  budget: {daily_tokens_per_chat: 1}\n", "utf-8"
    )
    (tmp_path / "model.yaml").write_text("steps: [{text: hello, repeat: true}]\n", "utf-8")
    command = [sys.executable, "-m", "hookline", "run", "hi", "--json", "--no-input"]
    command += ["--model", "scripted/model.yaml"]
    environment = {**os.environ, "HOOKLINE_HOME": str(tmp_path)}

    def run() -> tuple[int, dict[str, Any]]:
        done = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, check=False
        )
        return done.returncode, json.loads(done.stdout.splitlines()[-1])

    code, result = run()
    assert (code, result["text"], result["stop"]) == (0, "hello", "done")
    code, result = run()
    assert (code, result["stop"]) == (1, "budget")
    assert "plugins.budget.daily_tokens_per_chat" in result["text"]


class Summary(Plugin):
    """Slash commands that ask the model."""

    @command("/sum", audience="everyone")
    async def sum_up(self, ctx: Context, args: str) -> str:
        """Ask the auxiliary model."""
        try:
            return await self.host.ask_model("sum up")
        except ProviderError as error:
            return f"{error.kind}: {error}"

    @command("/sumnow", audience="everyone", immediate=True)
    async def sum_up_now(self, ctx: Context, args: str) -> str:
        """Ask the auxiliary model at once."""
        return await self.sum_up(ctx, args)


@pytest.mark.parametrize("name", ["/sum", "/sumnow"])
@pytest.mark.parametrize("restarts", [False, True])
@pytest.mark.parametrize("first", [True, False])
def test_calls_of_a_slash_command_count(
    harness: Make, tmp_path: Path, first: bool, restarts: bool, name: str
) -> None:
    steps = ["hi", answer(input=900, output=200), "never sent"][0 if not first else 1 :]

    def start() -> Harness:
        config = {"budget": {"daily_tokens_per_chat": 1_000}}
        return harness(Budget, Summary, home=tmp_path, config=config, model=steps)

    h = start()
    if not first:
        h.send("hello")
    assert h.send(name).text == "ok"
    if restarts:
        h.close()
        steps[:] = ["never sent"]
        h = start()
    assert "budget" in h.send(name).text
    assert "1,000" in h.send("/budget").text
