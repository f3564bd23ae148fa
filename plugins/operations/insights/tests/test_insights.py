"""``/insights``: the numbers, who sees them, and how they are shown."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hookline.testing import Harness, calls
from hookline_hookspecs import (
    Context,
    Inspection,
    ModelResponse,
    Plugin,
    TextBlock,
    ToolCall,
    ToolError,
    Turn,
    Usage,
    hookimpl,
    tool,
)
from hookline_insights import Insights
from hookline_insights.commands import insights as cli
from hookline_insights.report_text import bar
from hypothesis import given
from hypothesis import strategies as st

Make = Callable[..., Harness]
Clock = Callable[[float], None]
FIRST = Usage(input=1000, cache_read=600, cache_write=100, output=50, reasoning=20)
"""Its input costs 300 fresh + 0.1 × 600 + 1.25 × 100 = 485 units by the default prices."""
KINDS = ("input", "cache_read", "cache_write", "output", "reasoning", "input_cost")


def answer(usage: Usage, *said: Any) -> ModelResponse:
    """An answer that has used this; with tool calls if there are any."""
    blocks = said or (TextBlock("ok"),)
    return ModelResponse(blocks, "tools" if said else "end", usage)


class Work(Plugin):
    """Tools that work and fail, an auxiliary call, a sub-agent and a review."""

    @tool(read_only=True)
    def look(self, fail: bool = False) -> str:
        """Look."""
        if fail:
            raise ToolError("there is nothing to see")
        return "seen"

    @tool
    async def hand_over(self, ctx: Context) -> str:
        """Ask, and let a sub-agent work."""
        await self.host.ask_model("what?")
        return (await self.host.run_turn("work", parent=ctx)).reply


class Review(Plugin):
    """A fork after each turn."""

    @hookimpl
    async def end_of_turn(self, ctx: Context, turn: Turn) -> None:
        """One fork."""
        if ctx.session.kind == "chat":
            await self.host.fork(ctx.session.id, "review")


def look(number: int, *, fail: bool = False) -> ToolCall:
    return ToolCall(f"c{number}", "look", {"fail": fail})


def numbers(h: Harness, days: int = 7) -> dict[str, Any]:
    """What the tool tells programs."""
    h.model.steps[:0] = [calls("insights", days=days), "told"]
    data: dict[str, Any] = h.send("how much?", session="asking").tool_calls[0].data
    return data


def journal(h: Harness) -> dict[str, float]:
    """The sums of core's table, read with another program."""
    with closing(sqlite3.connect(h.home / "hookline.db")) as db:
        sums = ", ".join(f"SUM({kind})" for kind in KINDS)
        row = db.execute(f"SELECT COUNT(*), {sums} FROM usage").fetchone()
    return dict(zip(("requests", *KINDS), row, strict=True))


def test_numbers_match_the_journal_exactly(harness: Make) -> None:
    model = [
        answer(FIRST, look(1), look(2, fail=True)),
        answer(Usage(input=7, output=3), ToolCall("c3", "hand_over", {})),
        answer(Usage(input=11, output=13)),  # auxiliary
        answer(Usage(input=17, cache_read=4, output=19)),  # sub-agent
        answer(Usage(input=23, output=29)),
        answer(Usage(input=31, output=37)),  # review
    ]
    h = harness(Insights, Work, Review, model=model)
    h.send("go")
    wanted = journal(h)
    assert wanted["requests"] == 6
    assert wanted["input"] == 1000 + 7 + 11 + 17 + 23 + 31
    h.model.steps[:] = ["reviewed"]
    found = numbers(h)
    # The call that asked is in it: its first request had been answered.
    assert found["totals"]["requests"] == wanted["requests"] + 1
    for kind in KINDS:
        extra = {"input": 10, "output": 5, "input_cost": 10}.get(kind, 0)
        assert found["totals"][kind] == wanted[kind] + extra, kind
        assert sum(one[kind] for one in found["models"]) == found["totals"][kind]
    totals = found["totals"]
    assert totals["fresh"] == totals["input"] - totals["cache_read"] - totals["cache_write"]
    assert sum(found["by_day"].values()) == totals["input"] + totals["output"]
    tools = {one["name"]: (one["calls"], one["failed"]) for one in found["tools"]}
    assert tools == {"look": (2, 1), "hand_over": (1, 0)}
    assert found["turns"] == {
        "agent": {"done": 1},
        "chat": {"done": 1, "running": 1},
        "review": {"done": 1},
    }
    assert found["channels"] == [{"channel": "terminal", "sessions": 2, "turns": 2}]


def test_cost_of_deleted_session_stays_in_the_sum(harness: Make) -> None:
    h = harness(Insights, model=[answer(FIRST)])
    h.send("go")
    h.close()
    again = harness(Insights, home=h.home)
    assert again.states()["insights"] == ("on", "")
    again.run(again.plugin(Insights).host.services[Inspection].delete_session("test"))
    assert "1,000, of them 300 uncached" in again.send("/insights", session="asking").text


def test_days_are_counted_in_local_time(harness: Make, clock: Clock) -> None:
    h = harness(Insights, model=[answer(Usage(input=n, output=0)) for n in (1, 20, 300)])
    for day in (-7, -6, -0.49):
        clock(day)
        h.send("go")
    clock(0)
    assert numbers(h)["by_day"] == {
        **{f"2026-02-{day}": 0 for day in (27, 28)},
        "2026-02-26": 20,
        **{f"2026-03-0{day}": 0 for day in (1, 2, 3)},
        "2026-03-04": 300 + 15,
    }
    assert numbers(h, 1)["totals"]["requests"] == 4
    assert numbers(h, 8)["totals"]["input"] == 1 + 20 + 300 + 50


def test_report_shows_numbers_with_bars(harness: Make, clock: Clock) -> None:
    model = [answer(FIRST, look(1), look(2), look(3, fail=True)), answer(Usage(input=50))]
    h = harness(Insights, Work, config={"insights": {}}, model=model)
    h.send("go")
    text = h.send("/insights 2").text
    assert text.splitlines()[0] == "All chats · 2 days · since 2026-03-03"
    assert "Requests: 2 · 1 turn" in text
    assert (
        "Tokens in: 1,050, of them 350 uncached, 600 read from the cache (57 %), 100 written to it"
        in text
    )
    assert "Cost: unknown; no price for test/model (hookline prices list)" in text
    assert f"  2026-03-04  {'█' * 20}  1,100" in text
    assert f"  look  {'█' * 20}  3 calls, 1 failed (33 %)" in text
    assert f"  test/model  {'█' * 20}  cost unknown; 2 requests, 1,050 in, 50 out" in text
    assert "Learned" not in text


def test_cost_is_shown_if_price_is_known(harness: Make) -> None:
    prices = {"test/model": {"input": 300, "output": 1500, "cache_read": 30}}
    h = harness(Insights, config={"prices": prices, "currency": "€"}, model=[answer(FIRST)])
    h.send("go")
    text = h.send("/insights").text
    assert "Cost: €0.21 at prices from your settings · the provider's cache saved €0.16\n" in text
    assert "  €0.21; 1 request, 1,000 in, 50 out" in text
    data = numbers(h)
    paid = (300 + 100 + 10) * 300 + 600 * 30 + (50 + 5) * 1500
    assert data["totals"]["money"] == pytest.approx(paid / 1e6)
    assert data["models"][0]["saved"] == pytest.approx(600 * 270 / 1e6)


def test_request_is_priced_by_its_prompt_length(harness: Make) -> None:
    long, short = Usage(input=100_001, output=10), Usage(input=100_000, output=10)
    h = harness(Insights, model=[answer(long), answer(short)])
    h.send("go")
    h.send("go")
    with closing(sqlite3.connect(h.home / "hookline.db")) as db:
        db.execute("UPDATE usage SET model = 'anthropic/claude-haiku-5-5'")
        db.commit()
    [model] = [one for one in numbers(h)["models"] if "haiku" in one["model"]]
    paid = 100_001 * 0.5 + 10 * 2.5 + 100_000 * 0.1 + 10 * 0.5
    assert model["money"] == pytest.approx(paid / 1e6)
    text = h.send("/insights").text
    assert "at prices from 2026-" in text
    assert "without test/model (price unknown)" in text


def test_local_server_is_free(harness: Make) -> None:
    h = harness(Insights, model=[answer(FIRST)])
    h.send("go")
    with closing(sqlite3.connect(h.home / "hookline.db")) as db:
        db.execute("UPDATE usage SET model = 'ollama/qwen3:8b'")
        db.commit()
    text = h.send("/insights").text
    assert "Cost: free (local)" in text
    assert "  free (local); 1 request, " in text


async def _ask_in(h: Harness, *chats: str) -> list[str]:
    for chat in chats:
        await h.channel.say("hello", chat=chat)
    await h.channel.replies(len(chats))
    await h.channel.say("/insights", chat=chats[0])
    return [reply.text for reply in await h.channel.replies(len(chats) + 1)]


def test_network_chat_sees_only_its_own_numbers(harness: Make) -> None:
    h = harness(Insights, Work, model=["hi", "ho", [calls("look")], "x"])
    h.channel  # noqa: B018 - opens the core
    text = h.run(_ask_in(h, "one", "two"))[-1]
    assert "This chat · " in text
    assert "Tokens in: 10," in text
    assert "Requests: 1 · 1 turn" in text
    assert "Tokens in: 20," in h.send("/insights").text


def test_insights_tool_in_network_chat_sees_only_its_own_numbers(harness: Make) -> None:
    h = harness(Insights, model=["hi", calls("insights"), "told"])
    h.send("from the terminal")
    h.channel  # noqa: B018 - opens the core

    async def ask() -> None:
        await h.channel.say("how much?")
        await h.channel.replies(1)

    h.run(ask())
    shown = h.model.last.messages[-1].blocks[0].text  # type: ignore[union-attr]
    assert "This chat · " in shown
    assert "Requests: 1 ·" in shown


@pytest.mark.parametrize("days", ["0", "-1", "nan", "1.5", "1e3", str(10**9), "9" * 5000, "²", "x"])
def test_invalid_days_get_an_error_sentence(harness: Make, days: str) -> None:
    h = harness(Insights)
    text = h.send(f"/insights {days}").text
    assert text == f"{days[:40]!r} is not a number of days; use a whole number from 1 to 3650."


@pytest.mark.parametrize("days", [0, -1, 10**9, float("nan"), float("inf"), 1.5, "x", [7], 10**400])
def test_insights_tool_refuses_invalid_days(harness: Make, days: object) -> None:
    h = harness(Insights, model=[calls("insights", days=days), "ok"])
    [result] = h.send("go").tool_calls
    assert not result.ok
    assert result.text.startswith("Error: ")
    assert "days" in result.text


def test_report_without_usage_says_so(harness: Make) -> None:
    assert harness(Insights).send("/insights").text.endswith("no model calls")


def test_many_days_share_bars(harness: Make, clock: Clock) -> None:
    h = harness(Insights, model=["hi"])
    h.send("go")
    text = h.send("/insights 3650").text
    section = text.partition("Tokens by day\n")[2].partition("\n\n")[0]
    assert len(section.splitlines()) <= 31
    assert text.endswith("1 session, 1 turn")


def test_learned_skills_and_memory_changes_are_counted(harness: Make) -> None:
    h = harness(Insights, model=["hi"])
    h.send("go")
    with closing(sqlite3.connect(h.home / "hookline.db")) as db:
        db.executescript(
            """
            CREATE TABLE skills_activations (name, how, session_id, turn_id, at);
            INSERT INTO skills_activations VALUES
                ('deploy', 'viewed', 'test', 't', 9e9), ('deploy', 'injected', 'test', 't', 9e9),
                ('wiki', 'viewed', 'other', 't', 9e9), ('old', 'viewed', 'test', 't', 1);
            CREATE TABLE skills_versions (name, number, action, author, session_id, turn_id, at);
            INSERT INTO skills_versions VALUES ('deploy', 1, 'create', 'agent', 'test', 't', 9e9);
            CREATE TABLE memory_log (at, channel, chat_id, undoes);
            INSERT INTO memory_log VALUES (9e9, 'terminal', 'default', NULL),
                (9e9, 'terminal', 'default', 1);
            """
        )
    text = h.send("/insights").text
    assert f"Skills used\n  deploy  {'█' * 20}  2\n  wiki    {'█' * 10}            1" in text
    assert "Learned\n  skills, create   1\n  memory, changes  1" in text
    assert numbers(h)["learnt"]["skills_changed"] == {"create": 1}


def test_model_names_cannot_control_the_terminal(harness: Make) -> None:
    h = harness(Insights, model=["hi"])
    h.send("go")
    with closing(sqlite3.connect(h.home / "hookline.db")) as db:
        db.execute("UPDATE usage SET model = ?", ("evil\x1b[2J\n" + "x" * 300,))
        db.commit()
    text = h.send("/insights").text
    assert "\x1b" not in text
    assert "evil?[2J?" in text


def run(home: Path, *words: str) -> tuple[int, str, str]:
    """``hookline …``: exit code, stdout and stderr."""
    command = [sys.executable, "-m", "hookline", *words]
    environment = {**os.environ, "HOOKLINE_HOME": str(home), "PYTHONUTF8": "1"}
    done = subprocess.run(command, cwd=home, env=environment, capture_output=True, check=False)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


@pytest.mark.slow
def test_insights_command_prints_report_and_json(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("plugins: {insights: true}\n", "utf-8")
    (tmp_path / "model.yaml").write_text("steps: [{text: hello, repeat: true}]\n", "utf-8")
    assert run(tmp_path, "run", "hi", "--model", "scripted/model.yaml")[0] == 0
    code, out, _ = run(tmp_path, "insights", "--days", "3", "--json")
    data = json.loads(out)
    assert (code, data["days"], data["totals"]["requests"]) == (0, 3, 1)
    assert data["channels"] == [{"channel": "terminal", "sessions": 1, "turns": 1}]
    code, out, _ = run(tmp_path, "insights")
    assert code == 0
    assert "All chats · 7 days" in out
    code, out, err = run(tmp_path, "insights", "--days", "0")
    assert (code, out) == (2, "")
    assert "'0' is not a number of days" in err


@given(st.floats(0, 1e12), st.floats(0, 1e12))
def test_bar_length_is_proportional(value: float, most: float) -> None:
    value = min(value, most)
    drawn = bar(value, most)
    assert len(drawn) <= 20
    assert bool(drawn) == (value > 0)
    if most > 0:
        assert abs(len(drawn) - 20 * value / most) <= 1


def test_report_fits_the_terminal_width(harness: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    h = harness(Insights, model=[answer(FIRST)])
    h.send("hello")
    wide = h.cli("insights").stdout
    monkeypatch.setattr(cli, "columns", lambda: 60)
    narrow = h.cli("insights").stdout
    assert max(map(len, wide.splitlines())) > 60 >= max(map(len, narrow.splitlines()))
    assert narrow.split() == wide.split()
