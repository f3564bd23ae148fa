"""When a review runs, its request, and its limits."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hookline.testing import Clock, calls
from hookline_hookspecs import (
    GatewayHost,
    Host,
    Inbound,
    Message,
    Modes,
    Plugin,
    Reviewer,
    Rewrite,
    ToolResultBlock,
    command,
    hookimpl,
)
from hookline_review import Review

Make = Callable[..., Any]
Diary = Callable[..., Any]
NOTHING = "Nothing to save."


def said(h: Any, *texts: str, **options: Any) -> list[str]:
    return [h.send(text, **options).text for text in texts]


def results(request: Any) -> list[str]:
    blocks = [block for message in request.messages for block in message.blocks]
    return [block.text for block in blocks if isinstance(block, ToolResultBlock)]


def test_review_runs_on_a_copy_of_the_session_after_enough_messages(
    harness: Make, diary: Diary
) -> None:
    kind = diary(turns=2)
    h = harness(Review, kind, model=["one", "two", calls("note", line="likes tea"), "Kept a line."])
    assert said(h, "hello", "I like tea") == ["one", "two"]
    assert (h.plugin(kind).lines, h.plugin(kind).kinds) == (["likes tea"], ["review"])
    last_turn, review = h.model.requests[1], h.model.requests[2]
    assert (review.system, review.tools, review.model) == (
        last_turn.system,
        last_turn.tools,
        last_turn.model,
    )
    assert review.messages[: len(last_turn.messages)] == last_turn.messages
    question = review.messages[-1].text
    assert "What is worth a line?" in question
    assert "Nothing to save." in question
    assert "note, leaf" in question


def test_review_adds_nothing_to_the_session(harness: Make, diary: Diary) -> None:
    kind = diary(turns=1)
    h = harness(Review, kind, model=["one", NOTHING, "two", NOTHING])
    said(h, "hello", "again")
    assert [message.text for message in h.model.requests[2].messages] == ["hello", "one", "again"]
    rows = h.run(h.plugin(Review).host.messages("test"))
    assert [message.text for message in rows] == ["hello", "one", "again", "two"]


@pytest.mark.parametrize(("turns", "reviews"), [(1, 4), (2, 2), (3, 1), (5, 0)])
def test_messages_count_towards_a_review(
    harness: Make, diary: Diary, turns: int, reviews: int
) -> None:
    h = harness(Review, diary(turns=turns), model=["ok"] * 12)
    said(h, *"abcd")
    assert len(h.model.requests) == 4 + reviews


def test_message_counts_survive_a_restart(harness: Make, diary: Diary, tmp_path: Path) -> None:
    kind = diary(turns=2)
    for number in range(2):
        h = harness(Review, kind, home=tmp_path, model=["ok", NOTHING])
        said(h, "hello")
        assert len(h.model.requests) == 1 + number
        h.close()


def test_two_processes_count_one_session_together(
    harness: Make, diary: Diary, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hookline_hookspecs.caching.deferred_writes.MAX_DELAY_SECONDS", 0.01)
    kind = diary(turns=5)
    here, there = (
        harness(Review, kind, home=tmp_path, model=["ok"] * 3 + [NOTHING]) for _ in range(2)
    )

    async def stored(h: Any, turns: int) -> None:
        storage, found = h.plugin(Review).host.storage, 0
        while found != turns:
            rows = await storage.fetch("counts", session_id="test")
            found = sum(json.loads(row["counts"])["of"]["diary"]["turns"] for row in rows)

    for number, h in enumerate((here, there, here, there), 1):
        said(h, "hello")
        h.run(stored(h, number))  # a moment later
    assert len(here.model.requests) == len(there.model.requests) == 2
    said(here, "hello")
    assert len(here.model.requests) == 4  # the fifth message, and its review


def test_turn_that_makes_no_review_due_uses_no_table(
    harness: Make, diary: Diary, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hookline_hookspecs.caching.deferred_writes.MAX_DELAY_SECONDS", 1000.0)
    h = harness(Review, diary(turns=50), model=["ok"] * 12)
    said(h, "hello")
    storage = type(h.plugin(Review).host.storage)
    used: list[str] = []

    def counted(name: str) -> None:
        method = getattr(storage, name)

        async def call(self: Any, *args: Any, **options: Any) -> Any:
            used.append(name)
            return await method(self, *args, **options)

        monkeypatch.setattr(storage, name, call)

    for name in ("fetch", "execute", "transact"):
        counted(name)
    said(h, "more", "more", "more")
    said(h, "hello", session="another")
    assert len(used) <= 1  # the thousand seconds may be over just now
    h.close()
    assert "transact" in used


def test_use_of_the_learning_tool_resets_the_count(harness: Make, diary: Diary) -> None:
    model = ["one", calls("note", line="x"), "two", "three", "four", NOTHING]
    h = harness(Review, diary(turns=2), model=model)
    assert said(h, "a", "b", "c") == ["one", "two", "three"]
    assert len(h.model.requests) == 4
    said(h, "d")
    assert len(h.model.requests) == 6


@pytest.mark.parametrize("look", [calls("leaf"), calls("note", line="", action="list")])
def test_reading_tool_does_not_reset_the_count(harness: Make, diary: Diary, look: Any) -> None:
    h = harness(Review, diary(turns=2), model=["one", look, "two", NOTHING])
    said(h, "a", "b")
    assert len(h.model.requests) == 4


def test_responses_with_tool_calls_count_as_work(harness: Make, diary: Diary) -> None:
    model = [calls("burn"), calls("burn"), calls("burn"), "done", NOTHING]
    h = harness(Review, diary(iterations=3), model=model)
    said(h, "work")
    assert len(h.model.requests) == 5
    assert "\nburn() ×3\n" in h.model.requests[4].messages[-1].text


def test_reviewer_decides_which_turns_count(harness: Make, diary: Diary) -> None:
    asked: list[str] = []

    async def due(ctx: Any) -> bool:
        asked.append(ctx.turn.inbound.text)
        return ctx.turn.inbound.text == "remember this"

    h = harness(Review, diary(due=due), model=["one", "two", NOTHING])
    said(h, "never mind", "remember this")
    assert asked == ["never mind", "remember this"]
    assert len(h.model.requests) == 3


def test_trace_has_call_shapes_and_outcomes_without_text(harness: Make, diary: Diary) -> None:
    lines = ["the secret of the sphinx", "it is kept below the sphinx, " * 9]
    work = [*(calls("note", line=line) for line in lines), calls("note"), calls("burn"), "done"]
    h = harness(Review, diary(iterations=4, tools=("leaf",)), model=[*work, NOTHING])
    said(h, "go")
    question = h.model.requests[5].messages[-1].text
    assert "\nnote(line)\nnote(line: 261)\nnote() failed\nburn()" in question
    assert "sphinx" not in question


def test_review_may_call_only_its_tools(harness: Make, diary: Diary) -> None:
    kind = diary(turns=1, tools=("note",))
    model = ["one", calls("burn"), calls("leaf"), calls("note", line="kept"), NOTHING]
    h = harness(Review, kind, model=model)
    h.plugin(kind).lines.append("old")
    said(h, "hello")
    assert h.plugin(kind).lines == ["old", "kept"]
    said_no = [text for text in results(h.model.requests[4]) if text.startswith("Denied: ")]
    assert said_no == ["Denied: a review may only call note"] * 2


def test_number_of_model_calls_in_a_review_is_limited(harness: Make, diary: Diary) -> None:
    kind = diary(turns=1, max_calls=2)
    more = [calls("note", line=str(n)) for n in range(4)]
    h = harness(Review, kind, model=["one", *more, NOTHING])
    said(h, "hello")
    assert h.plugin(kind).lines == ["0", "1"]


@pytest.mark.parametrize(("reviewer", "most"), [({}, 8), ({"max_calls": 2}, 2)])
def test_review_model_that_never_stops_is_cut_off(
    harness: Make, diary: Diary, reviewer: dict[str, Any], most: int
) -> None:
    kind = diary(turns=1, **reviewer)
    h = harness(Review, kind, model=["one", *[calls("burn") for _ in range(20)]])
    assert h.send("hello").text == "one"
    assert len(h.model.requests) == 1 + most
    h.model.steps[:] = ["two", NOTHING]
    assert h.send("again").text == "two"  # what was due is done: only the new turn is looked at
    assert len(h.model.requests) == 1 + most + 2


@pytest.mark.parametrize(
    ("said_beside", "call", "more"),
    [
        ("Done: a line.", calls("note", line="x"), 0),
        ("**Done:** a line.", calls("note", line="x"), 0),
        ("Kept a line.", calls("note", line="x"), 1),
        ("Done: a line.", calls("note"), 1),
        ("Done: a line.", calls("note", line="x", action="list"), 1),
        ("Done: a line.", calls("leaf"), 1),
        ("Done: all of it.", calls("burn"), 1),
    ],
    ids=["last", "in bold", "not said", "failed", "lists", "reads", "refused"],
)
def test_successful_last_call_ends_a_review(
    harness: Make, diary: Diary, said_beside: str, call: Any, more: int
) -> None:
    h = harness(Review, diary(turns=1), model=["one", [said_beside, call], NOTHING])
    said(h, "hello")
    assert len(h.model.requests) == 2 + more
    h.model.steps[:] = ["two", NOTHING]
    said(h, "again")  # what was due is done: only the new turn is looked at
    assert len(h.model.requests) == 4 + more
    assert [m.text for m in h.model.requests[-1].messages[:-1]] == ["hello", "one", "again", "two"]


def test_one_copy_serves_all_reviewers_that_are_due(harness: Make, diary: Diary) -> None:
    class Herbarium(Plugin):
        """A second reviewer, which is not due by itself."""

        @hookimpl
        def register_reviewers(self, register: Callable[[Reviewer], None]) -> None:
            register(Reviewer("plants", "Which plants?", ("leaf",), turns=100))

    h = harness(Review, diary(turns=1), Herbarium, model=["one", NOTHING])
    said(h, "hello")
    assert len(h.model.requests) == 2
    question = h.model.requests[1].messages[-1].text
    assert "Which plants?" in question
    assert "What is worth a line?" in question


def test_turn_that_a_reviewer_declines_does_not_count(harness: Make, diary: Diary) -> None:
    class Herbarium(Plugin):
        """A second reviewer, which learns from walks alone."""

        @hookimpl
        def register_reviewers(self, register: Callable[[Reviewer], None]) -> None:
            def due(ctx: Any) -> bool:
                return bool(ctx.turn.inbound.text == "a walk")

            register(Reviewer("plants", "Which plants?", ("burn",), due=due, iterations=100))

    answers = ["one", "two", NOTHING, "three", "four", NOTHING]
    h = harness(Review, diary(turns=2), Herbarium, model=answers)
    said(h, "hello", "again")
    said(h, "a walk", "again")
    without, one_with = (h.model.requests[at].messages[-1].text for at in (2, 5))
    assert "Which plants?" not in without
    assert "burn" not in without
    assert "Which plants?" in one_with


def test_reviewer_with_its_own_function_needs_no_copy(harness: Make, diary: Diary) -> None:
    kind = diary(turns=1, instruction="")
    kind.reviewer["run"] = lambda session: h.plugin(kind).visit(session)
    h = harness(Review, kind, model=["one"])
    said(h, "hello")
    assert h.plugin(kind).visited == ["test"]
    assert len(h.model.requests) == 1


@pytest.mark.parametrize(("messages", "lines"), [(2, []), (3, ["x"])])
def test_new_session_makes_the_old_one_due(
    harness: Make, diary: Diary, messages: int, lines: list[str]
) -> None:
    kind = diary(turns=50, at_end=3)
    h = harness(Review, kind, model=[*["ok"] * messages, "new", calls("note", line="x"), NOTHING])
    said(h, *["hello"] * messages, "/new")
    assert h.plugin(kind).lines == []
    said(h, "and now")
    assert h.plugin(kind).lines == lines


def test_pending_review_is_done_by_the_next_process(
    harness: Make, diary: Diary, tmp_path: Path
) -> None:
    kind = diary(turns=50, at_end=1)
    first = harness(Review, kind, home=tmp_path, model=["one"])
    said(first, "hello", "/new", session="left")
    first.close()
    second = harness(Review, kind, home=tmp_path, model=["two", calls("note", line="x"), NOTHING])
    assert said(second, "next", session="own") == ["two"]
    assert second.plugin(kind).lines == ["x"]
    assert [m.text for m in second.model.requests[1].messages][:2] == ["hello", "one"]


class Sleeper(Plugin):
    """Holds a review up."""

    @hookimpl
    def setup(self, host: Any) -> None:
        self.held = asyncio.Event()

    @hookimpl
    async def pre_tool(self, ctx: Any, call: Any) -> None:
        self.held.set()
        await asyncio.Event().wait()


def test_interrupted_review_is_done_by_the_next_process(
    harness: Make, diary: Diary, tmp_path: Path
) -> None:
    kind = diary(turns=1)
    model = ["one", calls("note", line="x")]
    first = harness(Review, kind, Sleeper, home=tmp_path, model=model, deadlines={"pre_tool": None})

    async def begin() -> None:
        runtime = await first.aopen()
        inbound = Inbound("terminal", "default", "ann", "m1", "hello", session_id="s")
        await (await runtime.dispatcher.submit(inbound, "no")).mark_delivered()
        await first.plugin(Sleeper).held.wait()

    first.run(begin())
    first.close()
    model = ["two", calls("note", line="y"), NOTHING, NOTHING]
    second = harness(Review, kind, home=tmp_path, model=model)
    said(second, "next", session="own")
    assert second.plugin(kind).lines == ["y"]


class Gate(Sleeper):
    """Holds the first review up until it is opened."""

    @hookimpl
    def setup(self, host: Any) -> None:
        self.held, self.opened = asyncio.Event(), asyncio.Event()

    @hookimpl
    async def pre_tool(self, ctx: Any, call: Any) -> None:
        self.held.set()
        await self.opened.wait()


def test_messages_during_a_review_are_reviewed_after_it(harness: Make, diary: Diary) -> None:
    kind = diary(turns=1)
    model = ["one", calls("note", line="x"), "two", NOTHING, NOTHING]
    h = harness(Review, kind, Gate, model=model, deadlines={"pre_tool": None})

    async def talk() -> None:
        runtime = await h.aopen()
        for text in ("hello", "again"):
            inbound = Inbound("terminal", "default", "ann", text, text, session_id="s")
            await (await runtime.dispatcher.submit(inbound, "no")).mark_delivered()
            await h.plugin(Gate).held.wait()
        h.plugin(Gate).opened.set()
        await h.plugin(Review).host.services[GatewayHost].finish(20)

    h.run(talk())
    begun = [r.messages for r in h.model.requests if "worth a line" in r.messages[-1].text]
    assert ["again" in [message.text for message in said] for said in begun] == [False, True]


def test_failed_review_is_given_up_without_effect(harness: Make, diary: Diary) -> None:
    kind = diary(turns=1)
    h = harness(Review, kind, model=["one"])  # the model has no words for a review
    assert h.send("hello").text == "one"
    assert h.plugin(kind).lines == []


def test_reply_does_not_wait_for_a_review(harness: Make, diary: Diary) -> None:
    seen: list[int] = []

    class Later(Plugin):
        """Registered after the review, as what people install themselves is."""

        @hookimpl
        def end_of_turn(self, ctx: Any, turn: Any) -> None:
            if turn.session.kind == "chat":
                seen.append(len(h.model.requests))

    h = harness(Review, diary(turns=1), Later, model=["one", NOTHING])
    said(h, "hello")
    assert (seen, len(h.model.requests)) == ([1], 2)


def test_sub_agents_turn_is_not_counted(harness: Make, diary: Diary) -> None:
    h = harness(Review, diary(turns=1), model=["sub"])

    async def nested() -> None:
        await h.aopen()
        await h.plugin(Review).host.run_turn("go")
        await h.plugin(Review).host.services[GatewayHost].finish(5)

    h.run(nested())
    assert len(h.model.requests) == 1


def test_old_review_records_are_deleted(harness: Make, diary: Diary, clock: Clock) -> None:
    h = harness(Review, diary(turns=1), model=["one", NOTHING])
    said(h, "hello")
    review, host = h.plugin(Review), h.plugin(Review).host
    (session,) = h.run(host.sessions(kind="review"))
    h.run(review.forget())
    assert h.run(host.sessions(kind="review")) == [session]
    clock.ahead(8 * 86400)
    h.run(review.forget())
    assert h.run(host.sessions(kind="review")) == []
    assert h.run(host.messages("test"))


class Shortener(Plugin):
    """Shortens the history when it is told to."""

    @command("/shorten")
    async def shorten(self, ctx: Any, args: str) -> str:
        """Shorten."""
        await ctx.rewrite([Rewrite(0, 1, (Message.user("short"),))])
        return "short"


@pytest.mark.parametrize(("fresh", "lines"), [(1, []), (2, ["before"])])
def test_review_runs_before_a_compaction(
    harness: Make, diary: Diary, fresh: int, lines: list[str]
) -> None:
    kind = diary(turns=50, at_end=2)
    model = [*["ok"] * fresh, calls("note", line="before"), NOTHING]
    h = harness(Review, kind, Shortener, model=model)
    assert said(h, *["hello"] * fresh, "/shorten")[-1] == "short"
    assert h.plugin(kind).lines == lines


class Switch(Plugin):
    """Stands for the modes: those of sessions by their ids, and one of all others."""

    modes: dict[str, str]

    @hookimpl
    def setup(self, host: Host) -> None:
        self.modes = {}
        host.services.provide(Modes, self)

    async def get(self, session_id: str) -> str:
        return self.modes.get(session_id, self.modes.get("", "auto"))


@pytest.mark.parametrize("strict", ["ask", "plan"])
def test_due_review_waits_until_plan_mode_is_left(
    harness: Make, diary: Diary, clock: Clock, strict: str
) -> None:
    kind = diary(turns=1)
    h = harness(Review, kind, Switch, model=["one"])
    h.model.steps.append(RuntimeError("no answer"))
    said(h, "hello")  # its review fails and is to be repeated
    clock.ahead(3600)
    h.plugin(Switch).modes[""] = strict
    h.model.steps += ["two"]
    said(h, "again")
    assert not h.model.steps
    assert h.plugin(kind).lines == []
    h.plugin(Switch).modes[""] = "auto"
    h.model.steps += ["three", calls("note", line="likes tea"), "Kept.", NOTHING]
    said(h, "and again")
    assert h.plugin(kind).lines == ["likes tea"]


def test_review_of_another_session_in_plan_mode_waits(
    harness: Make, diary: Diary, clock: Clock
) -> None:
    kind = diary(turns=1)
    h = harness(Review, kind, Switch, model=["one"])
    h.model.steps.append(RuntimeError("no answer"))
    first = h.send("hello", session="a").turn.session.id
    clock.ahead(3600)
    h.plugin(Switch).modes[first] = "plan"
    h.model.steps += ["two", NOTHING]
    h.send("hello", session="b")
    assert not h.model.steps
    h.plugin(Switch).modes.clear()
    h.model.steps += ["three", NOTHING, NOTHING]
    h.send("more", session="b")
    assert not h.model.steps
