"""The hook bus: kinds, order, isolation, deadlines, strict mode, signals and middleware."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable
from dataclasses import make_dataclass, replace
from typing import Any

import pytest
from hookline.bus.bus import Bus
from hookline.bus.implementation import MiddlewareError, PluginRefused
from hookline_hookspecs import (
    HOOKS,
    Answer,
    Ask,
    ContextBlock,
    Denial,
    Deny,
    Excerpt,
    Inbound,
    PluginFailure,
    Question,
    Reply,
    Session,
    ToolCall,
    ToolResult,
    Turn,
    hookimpl,
)
from hypothesis import given
from hypothesis import strategies as st

SESSION = Session("s", "terminal", "default", None, 0.0)
TURN = Turn("t", SESSION, Inbound("terminal", "default", "u", "m", "hi"))
REPLY = Reply(SESSION, "hello")
CALL = ToolCall("c1", "look", {"n": 1})
EXCERPT = Excerpt("file", "a.txt", "words")
QUESTION = Question("Which?", ("a", "b"))


class Ctx:
    """What the bus needs of a turn's context."""

    def __init__(self) -> None:
        self.failures: dict[str, int] = {}
        self.disabled: set[str] = set()
        self.told: list[str] = []

    def of(self, plugin: str) -> str:
        return plugin

    def notify(self, text: str) -> None:
        self.told.append(text)


Ask_ = Callable[[Bus, "Ctx"], Awaitable[Any]]
BY_KIND: dict[str, tuple[str, Ask_]] = {
    "collect": ("pre_prompt", lambda b, c: b.collect("pre_prompt", c, TURN, ContextBlock)),
    "pipeline": ("pre_reply", lambda b, c: b.pipeline("pre_reply", c, REPLY)),
    "first": ("on_question", lambda b, c: b.first("on_question", c, QUESTION, str)),
    "guard": ("pre_tool", lambda b, c: b.guard("pre_tool", c, CALL)),
    "guard that rewrites": ("pre_read", lambda b, c: b.guard("pre_read", c, EXCERPT)),
    "observe": ("start_of_turn", lambda b, c: b.observe("start_of_turn", c, TURN)),
}
OPEN = ("collect", "pipeline", "first", "observe")
CLOSED = ("guard", "guard that rewrites")
GOOD: dict[str, Any] = {
    "pre_prompt": ContextBlock("a", "b"),
    "pre_reply": replace(REPLY, text="changed"),
    "on_question": "a",
    "pre_tool": Ask("sure?"),
    "pre_read": replace(EXCERPT, text="changed"),
    "start_of_turn": None,
}


def implementing(hook: str, act: Callable[[], Any], **options: Any) -> object:
    """A plugin whose only hook does ``act()``."""

    class One:
        @hookimpl(specname=hook, **options)
        def implementation(self) -> Any:
            return act()

    return One()


def raising(hook: str, error: BaseException) -> object:
    def act() -> None:
        raise error

    return implementing(hook, act)


def failures(bus: Bus) -> list[PluginFailure]:
    heard: list[PluginFailure] = []
    bus.signals.connect("plugin_failed", lambda event, ctx: heard.append(event))
    return heard


@pytest.fixture
def bus() -> Bus:
    return Bus()


# Kinds


async def test_collect_keeps_contributions_in_order_with_their_plugin(bus: Bus) -> None:
    one, two, three = (ContextBlock("t", text) for text in "abc")
    bus.register("a", implementing("pre_prompt", lambda: one), 0)
    bus.register("b", implementing("pre_prompt", lambda: None), 1)
    bus.register("c", implementing("pre_prompt", lambda: [two, three]), 2)
    found = await bus.collect("pre_prompt", Ctx(), TURN, ContextBlock)
    assert found == [("a", one), ("c", two), ("c", three)]


async def test_collect_drops_contributions_of_the_wrong_type(bus: Bus) -> None:
    good = ContextBlock("t", "good")
    heard = failures(bus)
    bus.register("a", implementing("pre_prompt", lambda: "plain text"), 0)
    bus.register("b", implementing("pre_prompt", lambda: [good, 7]), 1)
    assert await bus.collect("pre_prompt", Ctx(), TURN, ContextBlock) == [("b", good)]
    assert [failure.plugin for failure in heard] == ["a", "b"]
    assert "str" in heard[0].reason
    assert "ContextBlock" in heard[0].reason


async def test_collect_checks_fields_with_evaluated_annotations(bus: Bus) -> None:
    # as in a module without `from __future__ import annotations`
    noted = make_dataclass(
        "Noted", [("note", str | None, None)], bases=(ContextBlock,), frozen=True
    )
    good, bad = noted("t", "text", note="n"), noted("t", "text", note=7)
    heard = failures(bus)
    bus.register("a", implementing("pre_prompt", lambda: [good, bad]), 0)
    assert await bus.collect("pre_prompt", Ctx(), TURN, ContextBlock) == [("a", good)]
    assert "field note of Noted: expected str | None, got int" in heard[0].reason


async def test_pipeline_passes_each_output_to_the_next_plugin(bus: Bus) -> None:
    class Add:
        def __init__(self, letter: str) -> None:
            self.letter = letter

        @hookimpl
        def pre_reply(self, ctx: Any, reply: Reply) -> Reply:
            return replace(reply, text=reply.text + self.letter)

    bus.register("a", Add("a"), 0)
    bus.register("none", implementing("pre_reply", lambda: None), 1)
    bus.register("wrong", implementing("pre_reply", lambda: "text"), 2)
    bus.register("bad", raising("pre_reply", ValueError("no")), 3)
    bus.register("b", Add("b"), 4)
    assert (await bus.pipeline("pre_reply", Ctx(), REPLY)).text == "helloab"


async def test_first_stops_at_the_first_answer(bus: Bus) -> None:
    asked: list[str] = []

    def answer(name: str, text: str | None) -> object:
        return implementing("on_question", lambda: asked.append(name) or text)

    bus.register("none", answer("none", None), 0)
    bus.register("bad", raising("on_question", ValueError("no")), 1)
    bus.register("wrong", implementing("on_question", lambda: 7), 2)
    bus.register("yes", answer("yes", "Allow once"), 3)
    bus.register("late", answer("late", "Deny"), 4)
    assert await bus.first("on_question", Ctx(), QUESTION, str) == "Allow once"
    assert asked == ["none", "yes"]


VERDICTS = [Deny("no"), Ask("sure?"), Answer("known"), None]


@given(st.lists(st.sampled_from(VERDICTS), max_size=6))
def test_guard_asks_every_plugin_and_strictest_verdict_wins(verdicts: list[Any]) -> None:
    bus, asked = Bus(), []
    for rank, verdict in enumerate(verdicts):
        act = lambda rank=rank, verdict=verdict: asked.append(rank) or verdict  # noqa: E731
        bus.register(f"p{rank}", implementing("pre_tool", act), rank)
    found = asyncio.run(bus.guard("pre_tool", Ctx(), CALL))  # type: ignore[arg-type]
    assert asked == list(range(len(verdicts)))
    strictest = next((v for v in VERDICTS if v in verdicts), None)
    assert type(found.verdict) is type(strictest)
    assert found.plugin == (f"p{verdicts.index(strictest)}" if strictest is not None else "")


async def test_guard_merges_asks_with_all_reasons_and_previews(bus: Bus) -> None:
    asks = [Ask("it deletes files.", "rm -r x"), Ask("a page asked for it", "https://x", once=True)]
    for rank, ask in enumerate([*asks, Answer("cached"), Ask("again", "rm -r x")]):
        bus.register(f"p{rank}", implementing("pre_tool", lambda ask=ask: ask), rank)
    found = await bus.guard("pre_tool", Ctx(), CALL)
    reasons = "it deletes files; a page asked for it; again"
    assert found.plugin == "p0"
    assert found.verdict == Ask(reasons, "rm -r x\n\nhttps://x", once=True)


async def test_guard_passes_on_changes_and_stops_at_first_deny(bus: Bus) -> None:
    asked: list[str] = []

    class Change:
        @hookimpl
        def pre_read(self, ctx: Any, excerpt: Excerpt) -> Excerpt:
            return replace(excerpt, text=excerpt.text.upper())

    class Judge:
        @hookimpl
        def pre_read(self, ctx: Any, excerpt: Excerpt) -> Deny | None:
            asked.append(excerpt.text)
            return Deny("not this") if "SECRET" in excerpt.text else None

    bus.register("change", Change(), 0)
    bus.register("judge", Judge(), 1)
    bus.register("late", implementing("pre_read", lambda: asked.append("late")), 2)
    passed = await bus.guard("pre_read", Ctx(), EXCERPT)
    assert (passed.event, passed.verdict) == (replace(EXCERPT, text="WORDS"), None)
    denied = await bus.guard("pre_read", Ctx(), replace(EXCERPT, text="secret"))
    assert (denied.verdict, denied.plugin) == (Deny("not this"), "judge")
    assert asked == ["WORDS", "late", "SECRET"]


# Order


@given(st.permutations(range(5)))
def test_hook_order_follows_rank_not_registration(ranks: list[int]) -> None:
    bus = Bus()
    for rank in ranks:
        for hook in ("pre_model", "post_tool"):
            bus.register(f"{hook}{rank}", implementing(hook, lambda: None), rank)
    before = [impl.plugin for impl in bus.implementations("pre_model")]
    after = [impl.plugin for impl in bus.implementations("post_tool")]
    assert before == [f"pre_model{n}" for n in range(5)]
    assert after == [f"post_tool{n}" for n in reversed(range(5))]


@pytest.mark.parametrize("hook", HOOKS)
def test_post_and_end_hooks_run_in_reverse_order(hook: str, bus: Bus) -> None:
    for rank in (1, 0):
        bus.register(f"p{rank}", implementing(hook, lambda: None), rank)
    names = [impl.plugin for impl in bus.implementations(hook)]
    reverse = hook.startswith(("post_", "end_")) or hook == "teardown"
    assert names == (["p1", "p0"] if reverse else ["p0", "p1"])


@pytest.mark.parametrize("hook", HOOKS)
def test_tryfirst_runs_first_and_trylast_last_on_every_hook(hook: str, bus: Bus) -> None:
    bus.register("last", implementing(hook, lambda: None, trylast=True), 0)
    bus.register("middle", implementing(hook, lambda: None), 1)
    bus.register("first", implementing(hook, lambda: None, tryfirst=True), 2)
    names = [impl.plugin for impl in bus.implementations(hook)]
    assert names == ["first", "middle", "last"]


# Isolation

FAULTS = [ValueError("broken"), SystemExit(3), RecursionError("deep"), StopIteration("odd")]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: type(fault).__name__)
@pytest.mark.parametrize("kind", OPEN)
async def test_failing_plugin_is_skipped(kind: str, fault: BaseException, bus: Bus) -> None:
    hook, ask = BY_KIND[kind]
    ran: list[str] = []
    bus.register("bad", raising(hook, fault), 0)
    bus.register("good", implementing(hook, lambda: ran.append("good") or GOOD[hook]), 1)
    alone = Bus()
    alone.register("good", implementing(hook, lambda: GOOD[hook]), 1)
    heard = failures(bus)
    assert await ask(bus, Ctx()) == await ask(alone, Ctx())
    assert ran == ["good"]
    assert [(failure.plugin, failure.hook, failure.off) for failure in heard] == [
        ("bad", hook, False)
    ]


@pytest.mark.parametrize("wrong", [True, "yes", 0, {}, object(), Deny])
@pytest.mark.parametrize("kind", CLOSED)
async def test_guard_with_invalid_return_denies(kind: str, wrong: object, bus: Bus) -> None:
    hook, ask = BY_KIND[kind]
    bus.register("guard", implementing(hook, lambda: wrong), 0)
    found = await ask(bus, Ctx())
    assert isinstance(found.verdict, Deny)


@pytest.mark.parametrize("kind", CLOSED)
async def test_denial_for_invalid_return_names_the_guard(kind: str, bus: Bus) -> None:
    hook, ask = BY_KIND[kind]
    bus.register("doorman", implementing(hook, lambda: True), 0)
    found = await ask(bus, Ctx())
    assert "doorman" in found.verdict.reason


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: type(fault).__name__)
@pytest.mark.parametrize("kind", CLOSED)
async def test_failing_guard_denies(kind: str, fault: BaseException, bus: Bus) -> None:
    hook, ask = BY_KIND[kind]
    bus.register("guard", raising(hook, fault), 0)
    bus.register("other", implementing(hook, lambda: None), 1)
    found = await ask(bus, Ctx())
    assert isinstance(found.verdict, Deny)
    assert "guard" in found.verdict.reason


@pytest.mark.parametrize("kind", BY_KIND)
def test_keyboard_interrupt_passes_through(kind: str, bus: Bus) -> None:
    hook, ask = BY_KIND[kind]
    bus.register("p", raising(hook, KeyboardInterrupt()), 0)
    heard = failures(bus)

    async def work() -> None:
        await ask(bus, Ctx())

    with pytest.raises(KeyboardInterrupt):
        asyncio.run(work())
    assert heard == []


@pytest.mark.parametrize("kind", BY_KIND)
async def test_unrequested_cancellation_counts_as_failure(kind: str, bus: Bus) -> None:
    hook, ask = BY_KIND[kind]
    bus.register("p", raising(hook, asyncio.CancelledError()), 0)
    heard = failures(bus)
    await ask(bus, Ctx())
    assert [failure.plugin for failure in heard] == ["p"]


async def test_turn_cancellation_ends_waiting_hook_without_failure(bus: Bus) -> None:
    entered = asyncio.Event()
    ended: list[str] = []

    class Waits:
        @hookimpl
        async def pre_prompt(self, ctx: Any, turn: Turn) -> None:
            entered.set()
            try:
                await asyncio.sleep(60)
            finally:
                ended.append("clean")

    bus.register("waits", Waits(), 0)
    heard = failures(bus)
    task = asyncio.ensure_future(bus.collect("pre_prompt", Ctx(), TURN, ContextBlock))
    await entered.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (ended, heard) == (["clean"], [])


async def test_strict_mode_reraises_plugin_exceptions() -> None:
    for hook, ask in BY_KIND.values():
        bus = Bus(strict=True)
        bus.register("bad", raising(hook, LookupError("the very one")), 0)
        with pytest.raises(LookupError, match="the very one"):
            await ask(bus, Ctx())


async def test_strict_mode_raises_on_wrong_return_type() -> None:
    bus = Bus(strict=True)
    bus.register("bad", implementing("pre_tool", lambda: True), 0)
    with pytest.raises(TypeError, match="bool"):
        await bus.guard("pre_tool", Ctx(), CALL)


# Awaiting


class _Own:
    def __await__(self) -> Any:
        return asyncio.sleep(0, ContextBlock("own", "x")).__await__()


async def test_hook_may_return_a_value_coroutine_or_awaitable(bus: Bus) -> None:
    async def soon() -> ContextBlock:
        return ContextBlock("at-once", "x")

    async def later() -> ContextBlock:
        for _ in range(3):
            await asyncio.sleep(0)
        return ContextBlock("later", "x")

    def future() -> Any:
        made = asyncio.get_running_loop().create_future()
        made.set_result(ContextBlock("future", "x"))
        return made

    for rank, act in enumerate([soon, later, future, _Own]):
        bus.register(f"p{rank}", implementing("pre_prompt", act), rank)
    found = await bus.collect("pre_prompt", Ctx(), TURN, ContextBlock)
    assert [block.tag for _, block in found] == ["at-once", "later", "future", "own"]


async def test_hook_may_use_its_own_timeout(bus: Bus) -> None:
    async def patient() -> ContextBlock:
        try:
            async with asyncio.timeout(0.01):
                await asyncio.sleep(60)
        except TimeoutError:
            return ContextBlock("gave-up", "x")
        return ContextBlock("waited", "x")

    bus.register("p", implementing("pre_prompt", patient), 0)
    found = await bus.collect("pre_prompt", Ctx(), TURN, ContextBlock)
    assert [block.tag for _, block in found] == ["gave-up"]


async def test_repeated_timeouts_inside_a_hook_do_not_cancel_it(bus: Bus) -> None:
    async def polls() -> ContextBlock:
        for _ in range(10):
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(0.01):
                    await asyncio.sleep(60)
            await asyncio.sleep(0.01)
        return ContextBlock("polled", "x")

    bus.register("p", implementing("pre_prompt", polls), 0)
    found = await bus.collect("pre_prompt", Ctx(), TURN, ContextBlock)
    assert [block.tag for _, block in found] == ["polled"]


# Deadlines


async def _waits() -> None:
    await asyncio.Event().wait()


async def _suppresses_the_cancellation() -> None:
    with contextlib.suppress(asyncio.CancelledError):
        await asyncio.Event().wait()


@pytest.mark.parametrize("act", [_waits, _suppresses_the_cancellation])
async def test_async_hook_past_its_deadline_is_cancelled_and_named(act: Callable[[], Any]) -> None:
    bus = Bus(deadlines={"pre_prompt": 0.05})
    good = ContextBlock("good", "x")
    bus.register("late", implementing("pre_prompt", act), 0)
    bus.register("good", implementing("pre_prompt", lambda: good), 1)
    heard = failures(bus)
    assert await bus.collect("pre_prompt", Ctx(), TURN, ContextBlock) == [("good", good)]
    assert [(f.plugin, f.reason) for f in heard] == [("late", "no answer within 0.05 s")]


@pytest.mark.parametrize("act", [_waits, _suppresses_the_cancellation])
async def test_async_guard_past_its_deadline_denies(act: Callable[[], Any]) -> None:
    bus = Bus(deadlines={"pre_tool": 0.05})
    bus.register("late", implementing("pre_tool", act), 0)
    found = await bus.guard("pre_tool", Ctx(), CALL)
    assert found.plugin == "late"
    assert isinstance(found.verdict, Deny)


async def test_sync_hook_past_its_deadline_is_not_interrupted() -> None:
    bus = Bus(deadlines={"pre_prompt": 0.01})
    block = ContextBlock("late", "x")

    def act() -> ContextBlock:
        time.sleep(0.05)
        return block

    bus.register("late", implementing("pre_prompt", act), 0)
    heard = failures(bus)
    assert await bus.collect("pre_prompt", Ctx(), TURN, ContextBlock) == [("late", block)]
    assert heard == []


async def test_timeout_error_of_a_plugin_keeps_its_message(bus: Bus) -> None:
    bus.register("p", raising("pre_prompt", TimeoutError("the weather service is slow")), 0)
    heard = failures(bus)
    await bus.collect("pre_prompt", Ctx(), TURN, ContextBlock)
    assert "the weather service is slow" in heard[0].reason


async def test_slow_hook_notice_names_plugin_and_hook(
    monkeypatch: pytest.MonkeyPatch, bus: Bus
) -> None:
    monkeypatch.setattr("hookline.bus.deadline.SLOW_HOOK_SECONDS", 0.02)

    async def slow() -> None:
        await asyncio.sleep(0.1)

    ctx = Ctx()
    for rank, hook in enumerate(["pre_prompt", "on_question", "end_of_turn"]):
        bus.register(f"p{rank}", implementing(hook, slow), rank)
    await bus.first("on_question", ctx, QUESTION, str)
    await bus.observe("end_of_turn", ctx, TURN)
    assert ctx.told == [], "a question waits for the person, and nobody waits for the background"
    await bus.collect("pre_prompt", ctx, TURN, ContextBlock)
    assert ctx.told == ["Waiting for plugin p0 (pre_prompt)."]


async def test_hook_that_suppresses_cancellation_does_not_block_the_turn(bus: Bus) -> None:
    entered = asyncio.Event()

    async def swallows() -> None:
        entered.set()
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.sleep(60)

    bus.register("p", implementing("pre_prompt", swallows), 0)
    task = asyncio.ensure_future(bus.collect("pre_prompt", Ctx(), TURN, ContextBlock))
    await entered.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


# Failures in a row


async def test_plugin_is_switched_off_after_three_failures_in_a_row(bus: Bus) -> None:
    ran: list[int] = []

    def act() -> None:
        ran.append(1)
        raise ValueError("broken")

    bus.register("bad", implementing("start_of_turn", act), 0)
    heard, ctx = failures(bus), Ctx()
    for _ in range(5):
        await bus.observe("start_of_turn", ctx, TURN)
    assert len(ran) == 3
    assert [failure.off for failure in heard] == [False, False, True]
    assert len(ctx.told) == 1
    assert "bad" in ctx.told[0]
    assert "broken" in ctx.told[0]
    await bus.observe("start_of_turn", Ctx(), TURN)
    assert len(ran) == 4, "another session is not concerned"


async def test_success_resets_the_failure_count(bus: Bus) -> None:
    outcomes = [ValueError(), ValueError(), None, ValueError(), ValueError(), None]
    ran: list[int] = []

    def act() -> None:
        ran.append(1)
        outcome = outcomes[len(ran) - 1]
        if outcome is not None:
            raise outcome

    bus.register("shaky", implementing("start_of_turn", act), 0)
    ctx = Ctx()
    for _ in outcomes:
        await bus.observe("start_of_turn", ctx, TURN)
    assert len(ran) == len(outcomes)
    assert ctx.told == []


async def test_wrong_items_in_a_list_count_as_failures(bus: Bus) -> None:
    bus.register("bad", implementing("pre_prompt", lambda: [7]), 0)
    heard = failures(bus)
    ctx = Ctx()
    for _ in range(4):
        await bus.collect("pre_prompt", ctx, TURN, ContextBlock)
    assert [failure.off for failure in heard] == [False, False, True]


@pytest.mark.parametrize("guard", ["pre_tool", "on_message", "pre_learn", "pre_read"])
async def test_plugin_with_guards_is_never_switched_off(guard: str, bus: Bus) -> None:
    ran: list[str] = []

    class Guard:
        @hookimpl
        def start_of_turn(self, ctx: Any, turn: Turn) -> None:
            ran.append("other hook")
            raise ValueError

        @hookimpl(specname=guard)
        def deny(self) -> None:
            raise ValueError

    bus.register("guard", Guard(), 0)
    ctx = Ctx()
    for _ in range(5):
        await bus.observe("start_of_turn", ctx, TURN)
        found = await bus.guard(guard, ctx, CALL)
        assert isinstance(found.verdict, Deny)
    assert len(ran) == 5
    assert ctx.told == []


# Registration


def test_misspelt_hook_error_suggests_the_nearest_name(bus: Bus) -> None:
    with pytest.raises(PluginRefused, match=r"unknown hook 'pre_tol'; did you mean pre_tool"):
        bus.register("greeter", implementing("pre_tol", lambda: None), 0)


def test_unknown_hook_error_says_where_hooks_are_listed(bus: Bus) -> None:
    with pytest.raises(PluginRefused, match="hookline hooks"):
        bus.register("greeter", implementing("zzzz", lambda: None), 0)


def test_unmarked_method_with_hook_name_is_refused(bus: Bus) -> None:
    class Guard:
        def pre_tool(self, ctx: Any, call: ToolCall) -> Deny:
            return Deny("never")

    with pytest.raises(PluginRefused, match=r"its method pre_tool .* add @hookimpl"):
        bus.register("guard", Guard(), 0)


def test_hook_wrapper_error_points_to_around_hooks(bus: Bus) -> None:
    class Wraps:
        @hookimpl(wrapper=True)
        def pre_tool(self, ctx: Any, call: ToolCall) -> Any:
            return (yield)

    with pytest.raises(PluginRefused, match="around_tool"):
        bus.register("wraps", Wraps(), 0)


def test_unknown_hook_argument_is_refused_by_name(bus: Bus) -> None:
    class Wrong:
        @hookimpl
        def pre_tool(self, ctx: Any, tool_call: ToolCall) -> None: ...

    with pytest.raises(PluginRefused, match="tool_call"):
        bus.register("wrong", Wrong(), 0)


def test_coroutine_for_sync_hook_is_refused(bus: Bus) -> None:
    class Async:
        @hookimpl
        async def register_tools(self, register: Any) -> None: ...

    with pytest.raises(PluginRefused, match=r"register_tools.*def"):
        bus.register("async", Async(), 0)


def test_refused_plugin_leaves_nothing_registered(bus: Bus) -> None:
    class HalfRight:
        @hookimpl
        def post_tool(self, ctx: Any, result: ToolResult) -> None: ...

        @hookimpl
        def pre_tool(self, ctx: Any, wrong: ToolCall) -> None: ...

        @hookimpl
        def start_of_turn(self, ctx: Any, turn: Turn) -> None: ...

    with pytest.raises(PluginRefused):
        bus.register("p", HalfRight(), 0)
    assert [hook for hook in HOOKS if bus.implementations(hook)] == []
    bus.register("p", implementing("start_of_turn", lambda: None), 0)
    bus.register("other", implementing("post_tool", lambda: None), 1)
    assert [hook for hook in HOOKS if bus.implementations(hook)] == ["start_of_turn", "post_tool"]


def test_property_that_raises_does_not_prevent_registration(bus: Bus) -> None:
    class Lazy:
        @property
        def client(self) -> Any:
            raise RuntimeError("made in setup")

        @hookimpl
        def start_of_turn(self, ctx: Any, turn: Turn) -> None: ...

    bus.register("lazy", Lazy(), 0)
    assert len(bus.implementations("start_of_turn")) == 1


async def test_unregistered_plugin_is_not_called(bus: Bus) -> None:
    bus.register("a", implementing("pre_tool", lambda: Deny("no")), 0)
    bus.unregister("a")
    bus.unregister("a")
    assert (await bus.guard("pre_tool", Ctx(), CALL)).verdict is None


async def test_hook_may_take_any_subset_of_arguments(bus: Bus) -> None:
    got: list[Any] = []

    class EventOnly:
        @hookimpl
        def start_of_turn(self, turn: Turn) -> None:
            got.append(turn)

    class ContextOnly:
        @hookimpl
        def start_of_turn(self, ctx: Any) -> None:
            got.append(ctx)

    class Swapped:
        @hookimpl
        def start_of_turn(self, turn: Turn, ctx: Any) -> None:
            got.append((turn, ctx))

    for rank, plugin in enumerate([EventOnly(), ContextOnly(), Swapped()]):
        bus.register(f"p{rank}", plugin, rank)
    await bus.observe("start_of_turn", Ctx(), TURN)
    assert got == [TURN, "p1", (TURN, "p2")]


# Signals


@pytest.mark.parametrize("kind", BY_KIND)
async def test_signal_of_a_hook_follows_the_hook(kind: str, bus: Bus) -> None:
    hook, ask = BY_KIND[kind]
    order: list[str] = []
    bus.register("p", implementing(hook, lambda: order.append("hook")), 0)
    bus.signals.connect(hook, lambda event, ctx: order.append("signal"))
    await ask(bus, Ctx())
    assert order == ["hook", "signal"]


async def test_pipeline_signal_carries_the_final_value(bus: Bus) -> None:
    heard: list[Reply] = []
    bus.register("p", implementing("pre_reply", lambda: GOOD["pre_reply"]), 0)
    bus.signals.connect("pre_reply", lambda event, ctx: heard.append(event))
    await bus.pipeline("pre_reply", Ctx(), REPLY)
    assert [reply.text for reply in heard] == ["changed"]


@pytest.mark.parametrize("kind", CLOSED)
async def test_denial_sends_the_denied_signal(kind: str, bus: Bus) -> None:
    hook, ask = BY_KIND[kind]
    heard: list[tuple[str, Any]] = []
    bus.register("lenient", implementing(hook, lambda: None), 0)
    bus.register("strict", implementing(hook, lambda: Deny("not today")), 1)
    for name in (hook, "denied"):
        bus.signals.connect(name, lambda event, ctx, name=name: heard.append((name, event)))
    await ask(bus, Ctx())
    event = {"pre_tool": CALL, "pre_read": EXCERPT}[hook]
    assert heard[-1] == ("denied", Denial(hook, "strict", event, "not today"))
    passed = [name for name, _ in heard[:-1]]
    rewrites = HOOKS[hook].rewrites
    assert passed == ([] if rewrites else [hook]), "a guard that rewrites tells what has passed"


async def test_guard_without_a_denial_sends_no_denied_signal(bus: Bus) -> None:
    heard: list[Any] = []
    bus.signals.connect("denied", lambda event, ctx: heard.append(event))
    bus.register("asks", implementing("pre_tool", lambda: Ask("sure?")), 0)
    bus.register("passes", implementing("pre_read", lambda: None), 0)
    await bus.guard("pre_tool", Ctx(), CALL)
    await bus.guard("pre_read", Ctx(), EXCERPT)
    assert heard == []


async def test_failing_signal_receiver_does_not_affect_others(bus: Bus) -> None:
    heard: list[str] = []

    def bad(event: Any, ctx: Any) -> None:
        raise ValueError

    def leaves(event: Any, ctx: Any) -> None:
        raise SystemExit

    async def bad_later(event: Any, ctx: Any) -> None:
        raise ValueError

    async def good_later(event: Any, ctx: Any) -> None:
        heard.append("later")

    bus.signals.connect("delta", bad)
    bus.signals.connect("delta", leaves)
    bus.signals.connect("delta", bad_later)
    bus.signals.connect("delta", good_later)
    bus.signals.connect("delta", lambda event, ctx: heard.append(event))
    bus.signals.send("delta", "word")
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert sorted(heard) == ["later", "word"]


def test_disconnected_receiver_gets_no_signals(bus: Bus) -> None:
    heard: list[Any] = []

    def hear(event: Any, ctx: Any) -> None:
        heard.append(event)

    bus.signals.connect("delta", hear)
    assert bus.signals.has_receivers("delta")
    bus.signals.disconnect("delta", hear)
    assert not bus.signals.has_receivers("delta")
    bus.signals.send("delta", "word")
    assert heard == []


# Around

RESULT = ToolResult(CALL, "core's")


class Wrap:
    """A plugin whose middleware is given to it."""

    def __init__(self, middleware: Any) -> None:
        self.middleware = middleware

    @hookimpl
    def around_tool(self, ctx: Any, call: ToolCall) -> Any:
        return self.middleware


async def run(bus: Bus, core: Any = None) -> ToolResult:
    async def answer(_call: ToolCall) -> ToolResult:
        return RESULT

    return await bus.around("around_tool", Ctx(), CALL, core or answer, ToolResult)


async def test_middleware_nests_in_rank_order(bus: Bus) -> None:
    order: list[str] = []

    def layer(name: str) -> Wrap:
        async def middleware(call: ToolCall, call_next: Any) -> ToolResult:
            order.append(f"{name} in")
            changed = replace(call, arguments={**call.arguments, name: True})
            result: ToolResult = await call_next(changed)
            order.append(f"{name} out")
            return replace(result, text=f"{name}({result.text})")

        return Wrap(middleware)

    async def core(call: ToolCall) -> ToolResult:
        order.append("core")
        return ToolResult(call, ",".join(call.arguments))

    bus.register("b", layer("b"), 1)
    bus.register("none", Wrap(None), 2)
    bus.register("a", layer("a"), 0)
    assert (await run(bus, core)).text == "a(b(n,a,b))"
    assert order == ["a in", "b in", "core", "b out", "a out"]


async def _breaks(call: ToolCall, call_next: Any) -> ToolResult:
    raise ValueError("my own fault")


async def _breaks_after(call: ToolCall, call_next: Any) -> ToolResult:
    await call_next(call)
    raise ValueError("my own fault")


async def _translates(call: ToolCall, call_next: Any) -> ToolResult:
    try:
        return await call_next(call)  # type: ignore[no-any-return]
    except LookupError as error:
        raise ValueError("my own words") from error


async def _returns_text(call: ToolCall, call_next: Any) -> Any:
    return "text"


async def _forgets(call: ToolCall, call_next: Any) -> Any:
    await call_next(call)


async def _leaves(call: ToolCall, call_next: Any) -> ToolResult:
    raise SystemExit


async def _passes(call: ToolCall, call_next: Any) -> ToolResult:
    return await call_next(call)  # type: ignore[no-any-return]


async def _inner_error(_call: ToolCall) -> ToolResult:
    raise LookupError("inner")


OWN_FAULTS = [_breaks, _breaks_after, _returns_text, _forgets, _leaves, "no middleware"]


@pytest.mark.parametrize("middleware", OWN_FAULTS)
async def test_middleware_error_names_its_plugin(middleware: Any, bus: Bus) -> None:
    bus.register("outer", Wrap(_passes), 0)
    bus.register("broken", Wrap(middleware), 1)
    heard = failures(bus)
    with pytest.raises(MiddlewareError, match="broken") as caught:
        await run(bus)
    assert caught.value.plugin == "broken"
    assert [failure.plugin for failure in heard] == ["broken"]


async def test_failing_middleware_factory_stops_the_call(bus: Bus) -> None:
    ran: list[ToolCall] = []

    async def core(call: ToolCall) -> ToolResult:
        ran.append(call)
        return RESULT

    bus.register("broken", raising("around_tool", ValueError("no")), 0)
    for _ in range(5):
        with pytest.raises(MiddlewareError, match="broken"):
            await run(bus, core)
    assert ran == []


async def test_inner_error_passes_through_middleware_unchanged(bus: Bus) -> None:
    bus.register("a", Wrap(_passes), 0)
    bus.register("b", Wrap(_passes), 1)
    heard = failures(bus)
    with pytest.raises(LookupError, match="inner"):
        await run(bus, _inner_error)
    assert heard == []


async def test_error_translated_by_middleware_is_blamed_on_it(bus: Bus) -> None:
    bus.register("translates", Wrap(_translates), 0)
    with pytest.raises(MiddlewareError, match=r"translates.*my own words"):
        await run(bus, _inner_error)


async def test_middleware_may_short_circuit_or_retry(bus: Bus) -> None:
    count: list[int] = []

    async def flaky(call: ToolCall) -> ToolResult:
        count.append(1)
        if len(count) < 3:
            raise LookupError("inner")
        return RESULT

    async def retries(call: ToolCall, call_next: Any) -> ToolResult:
        while True:
            try:
                return await call_next(call)  # type: ignore[no-any-return]
            except LookupError:
                continue

    async def answers(call: ToolCall, call_next: Any) -> ToolResult:
        return ToolResult(call, "cached")

    bus.register("retries", Wrap(retries), 1)
    assert await run(bus, flaky) == RESULT
    assert len(count) == 3
    bus.register("answers", Wrap(answers), 0)
    assert (await run(bus, flaky)).text == "cached"
    assert len(count) == 3


async def test_cancellation_passes_through_middleware(bus: Bus) -> None:
    entered = asyncio.Event()
    seen: list[type[BaseException]] = []

    async def watches(call: ToolCall, call_next: Any) -> ToolResult:
        try:
            return await call_next(call)  # type: ignore[no-any-return]
        except BaseException as error:
            seen.append(type(error))
            raise

    async def core(_call: ToolCall) -> ToolResult:
        entered.set()
        await asyncio.sleep(60)
        return RESULT

    bus.register("watches", Wrap(watches), 0)
    heard = failures(bus)
    task = asyncio.ensure_future(run(bus, core))
    await entered.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (seen, heard) == ([asyncio.CancelledError], [])


async def test_observers_see_each_hook_call_with_result_and_error(bus: Bus) -> None:
    seen: list[tuple[str, Any, str]] = []
    bus.observers.append(
        lambda ctx, step: seen.append((step.plugin, step.result, type(step.failure).__name__))
    )
    bus.register("good", implementing("pre_tool", lambda: Answer("known")), 0)
    bus.register("bad", raising("pre_reply", ValueError("no")), 1)
    bus.register("wrap", Wrap(_passes), 2)
    await bus.guard("pre_tool", Ctx(), CALL)
    await bus.pipeline("pre_reply", Ctx(), REPLY)
    await run(bus)
    assert seen == [
        ("good", Answer("known"), "NoneType"),
        ("bad", None, "ValueError"),
        ("wrap", RESULT, "NoneType"),
    ]
