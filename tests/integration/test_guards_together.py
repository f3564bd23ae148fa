"""The guards around tools, all at once: guardrails, approvals, artifacts and tool-cache see every
call, parallel, nested and delegated, and each call keeps its own result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hookline.testing import calls
from hookline_approvals import Approvals
from hookline_artifacts import Artifacts
from hookline_delegate import Delegate
from hookline_guardrails import Guardrails
from hookline_hookspecs import Ask, Plugin, ToolCall, ToolResult, ToolResultBlock, hookimpl, tool
from hookline_tool_cache import ToolCache
from hypothesis import given, settings
from hypothesis import strategies as st

Make = Callable[..., Any]
PAGE = "".join(f"line {n} of the page\n" for n in range(1000))


class World(Plugin):
    """Tools of every kind, and a guard that asks before one of them."""

    @hookimpl
    def setup(self, host: Any) -> None:
        self.ran: list[str] = []

    @tool(read_only=True, cache_ttl=60)
    def page(self, number: int) -> str:
        """A long page."""
        self.ran.append(f"page {number}")
        return PAGE

    @tool(read_only=True)
    def look(self) -> str:
        """Look."""
        self.ran.append("look")
        return "a view"

    @tool
    def write(self, text: str) -> str:
        """Write."""
        self.ran.append(f"write {text}")
        return f"wrote {text}"

    @tool
    def fail(self) -> str:
        """Fail."""
        raise RuntimeError("it is broken")

    @hookimpl
    def pre_tool(self, ctx: Any, call: ToolCall) -> Ask | None:
        if call.name == "write" and call.arguments["text"] == "risky":
            return Ask("it is risky", call.arguments["text"])
        return None


GUARDS = (Guardrails, Approvals, Artifacts, ToolCache, Delegate, World)


def assert_calls_paired(h: Any) -> None:
    """Every call of every request has exactly one result, right after it, in order."""
    for request in h.model.requests:
        for message, answer in zip(request.messages, request.messages[1:], strict=False):
            asked = [call.id for call in message.tool_calls]
            given = [b.call_id for b in answer.blocks if isinstance(b, ToolResultBlock)]
            assert given == asked


def texts(results: Sequence[ToolResult]) -> list[str]:
    return [result.text for result in results]


def test_six_equal_calls_in_one_response_are_limited_to_three(harness: Make) -> None:
    h = harness(*GUARDS, model=[[calls("page", number=1)] * 6, "done"])
    found = h.send("go").tool_calls
    assert len(found) == 6
    assert len({result.call.id for result in found}) == 6
    shown, refused = found[:3], found[3:]
    assert all("characters left out; fetch_artifact(id=" in result.text for result in shown)
    assert all(result.text.startswith("Denied: ") for result in refused)
    assert_calls_paired(h)


def test_cached_result_is_cut_and_counted_like_a_fresh_one(harness: Make) -> None:
    turns = [calls("page", number=1) for _ in range(4)]
    h = harness(*GUARDS, model=[*turns, "done"])
    first, second, third, fourth = h.send("go").tool_calls
    assert h.plugin(World).ran == ["page 1"]
    marker = 'fetch_artifact(id="'
    ids = {text.partition(marker)[2].partition('"')[0] for text in texts((first, second, third))}
    assert len(ids) == 1
    assert "Note: " in second.text
    assert fourth.text.startswith("Denied: ")
    h.model.steps += [calls("fetch_artifact", id=ids.pop(), offset=0, length=100), "done"]
    assert h.send("more").tool_calls[0].text.startswith("line 0 of the page")
    assert_calls_paired(h)


@pytest.mark.parametrize(("answer", "ran"), [("Allow once", ["write risky"]), ("Deny", [])])
def test_parallel_calls_ask_only_about_the_risky_one(
    harness: Make, answer: str, ran: list[str]
) -> None:
    response = [calls("look"), calls("write", text="risky"), calls("write", text="fine")]
    h = harness(*GUARDS, model=[response, "done"], answers=[answer])
    found = h.send("go").tool_calls
    assert [one.ok for one in found] == [True, answer == "Allow once", True]
    assert h.plugin(World).ran == ["look", *ran, "write fine"]
    assert [question.preview for question in h.questions] == ["risky"]
    assert_calls_paired(h)


def test_session_grant_covers_only_the_same_call(harness: Make) -> None:
    """A grant covers exactly one call, even within a turn."""

    class Wary(Plugin):
        """Asks about every write."""

        @hookimpl
        def pre_tool(self, ctx: Any, call: ToolCall) -> Ask | None:
            return Ask("it writes", call.arguments["text"]) if call.name == "write" else None

    response = [calls("write", text=text) for text in ("one", "one", "two")]
    h = harness(*GUARDS, Wary, model=[*response, "done"], answers=["Allow in this session", "Deny"])
    assert [one.ok for one in h.send("go").tool_calls] == [True, True, False]
    assert [question.preview for question in h.questions] == ["one", "two"]


def test_guards_see_sub_agent_calls(harness: Make) -> None:
    work = [[calls("page", number=1)] * 4, calls("write", text="risky"), "report"]
    h = harness(*GUARDS, model=[calls("delegate", task="do it"), *work, "done"], answers=["Deny"])
    (report,) = h.send("go").tool_calls
    assert report.text.startswith("report")
    inner = h.model.requests[3].messages
    results = [b.text for m in inner for b in m.blocks if isinstance(b, ToolResultBlock)]
    assert ["fetch_artifact" in text for text in results[:3]] == [True, True, True]
    assert results[3].startswith("Denied: ")
    assert results[4].startswith("Denied: it is risky")
    assert h.plugin(World).ran == ["page 1"] * 3  # side by side, before the first was remembered
    assert_calls_paired(h)


def test_streak_of_failures_gets_a_note_and_ends_unattended_work(harness: Make) -> None:
    h = harness(*GUARDS, model=[*[calls("fail") for _ in range(12)], "done"])
    found = h.send("go", approve="no").tool_calls
    assert all(not result.ok for result in found)
    assert any("Note: " in result.text for result in found)
    assert found[-1].text.startswith("Denied: ")
    assert_calls_paired(h)


CALLS = st.sampled_from(
    [
        calls("page", number=1),
        calls("page", number=2),
        calls("look"),
        calls("write", text="a"),
        calls("write", text="risky"),
        calls("fail"),
        calls("nothing"),
        calls("page", number="many"),
        calls("page"),
    ]
)


@pytest.mark.slow
@settings(max_examples=40)
@given(st.lists(st.lists(CALLS, min_size=1, max_size=8), min_size=1, max_size=4))
def test_guards_together_give_each_call_one_result(
    harness: Make, responses: list[list[Any]]
) -> None:
    h = harness(*GUARDS, model=[*responses, "done"])
    outcome = h.send("go", approve="no")
    assert outcome.text == "done"
    asked = [call.name for message in outcome.turn.messages for call in message.tool_calls]
    assert [result.call.name for result in outcome.tool_calls] == asked
    assert all(result.text for result in outcome.tool_calls)
    assert_calls_paired(h)
    h.close()
