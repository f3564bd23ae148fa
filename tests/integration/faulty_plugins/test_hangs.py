"""Plugins that never return: they wait forever or block the event loop.

An ``async def`` hook is cancelled at its deadline. Code that blocks cannot be interrupted: it holds
up its process until it returns, and is logged with its plugin meanwhile.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from hookline.testing import calls
from hookline_hookspecs import HOOKS, Inbound, Plugin, command, hookimpl, tool
from hookline_hookspecs.plugin import NoConfig
from support.healthy_plugin import (
    CALLED,
    call_every_hook,
    collect_failures,
    make_harness,
    plugin_doing,
)
from support.matrices import sampled

from .test_exceptions import assert_survived

Make = Callable[..., Any]
SOON = 0.05
"""Seconds: the deadline in place of the hooks' own."""
BLOCKED_SECONDS = 2.2
"""Seconds that blocking code sleeps: long enough to be noticed."""


async def wait_forever() -> None:
    """Wait forever."""
    await asyncio.Event().wait()


async def suppress_cancellation() -> None:
    """Suppress one cancellation and wait a moment longer."""
    with contextlib.suppress(asyncio.CancelledError):
        await asyncio.Event().wait()
    await asyncio.sleep(SOON)


WAITING = [hook for hook in CALLED if not HOOKS[hook].sync and HOOKS[hook].deadline is not None]


@sampled("hook", WAITING)
def test_hook_that_never_returns_times_out_and_is_named(
    harness: Make, caplog: Any, hook: str
) -> None:
    h = make_harness(harness, plugin_doing(hook, wait_forever), deadlines={hook: SOON})
    found = call_every_hook(h)
    assert_survived(found, hook)
    assert "no answer within 0.05 s" in caplog.text
    if HOOKS[hook].kind != "observe" or hook not in ("setup", "teardown"):
        assert {(failure.plugin, failure.hook) for failure in found.failures} == {("bad", hook)}


def test_hook_that_suppresses_cancellation_still_fails(harness: Make) -> None:
    h = make_harness(
        harness, plugin_doing("pre_prompt", suppress_cancellation), deadlines={"pre_prompt": SOON}
    )
    failures = collect_failures(h)
    assert h.send("go").text == "well"
    assert [failure.reason for failure in failures] == ["no answer within 0.05 s"]


def test_guard_that_never_answers_denies(harness: Make) -> None:
    ran: list[str] = []

    class Danger(Plugin[NoConfig]):
        @tool
        def danger(self) -> str:
            """Do what a guard must judge first."""
            ran.append("danger")
            return "boom"

    script = [[calls("danger")], "well"]
    h = make_harness(
        harness,
        plugin_doing("pre_tool", wait_forever),
        Danger,
        deadlines={"pre_tool": SOON},
        model=script,
    )
    outcome = h.send("go", approve="yes")
    assert outcome.text == "well"
    assert outcome.tool_calls[0].text.startswith("Denied: guard 'bad' failed")
    assert ran == []


# What has no deadline


async def test_reply_does_not_wait_for_a_hanging_end_of_turn(harness: Make) -> None:
    h = make_harness(harness, plugin_doing("end_of_turn", wait_forever), model=["one", "two"])
    await h.aopen()
    before = asyncio.all_tasks()
    await h.channel.say("first")
    await h.channel.say("second")
    assert [reply.text for reply in await h.channel.replies(2)] == ["one", "two"]
    await h.aclose()
    assert asyncio.all_tasks() <= before


@pytest.mark.parametrize("hook", ["around_model", "around_tool"])
async def test_middleware_that_never_returns_can_be_stopped(harness: Make, hook: str) -> None:
    entered = asyncio.Event()

    def act() -> Any:
        async def middleware(event: Any, call_next: Any) -> Any:
            entered.set()
            await wait_forever()

        return middleware

    h = make_harness(harness, plugin_doing(hook, act))
    runtime = await h.aopen()
    await h.channel.say("go")
    await entered.wait()
    assert await h.channel.say("/stop")
    texts = [reply.text for reply in await h.channel.replies(2)]
    assert sorted(texts) == ["Stopped.", "Stopping."]
    assert runtime.dispatcher.queued(Inbound("fake", "chat", "user", "m", "")) == 0


# Code that blocks the event loop

BLOCKERS = (
    "a hook",
    "a tool",
    "a command",
    "middleware",
    "a receiver",
    "a task",
    "an async receiver",
)


class Dawdler(Plugin[NoConfig]):
    """Blocks the event loop where it is told to."""

    where = ""
    woke: list[str]

    @hookimpl
    def setup(self, host: Any) -> None:
        self.woke = []
        if self.where == "a receiver":
            host.signals.connect("start_of_turn", lambda event, ctx: self.sleep())
        if self.where == "an async receiver":
            host.signals.connect("start_of_turn", self.hear)

    def sleep(self) -> None:
        time.sleep(BLOCKED_SECONDS)
        self.woke.append(self.where)

    async def hear(self, event: Any, ctx: Any) -> None:
        self.sleep()

    @hookimpl
    def start_of_turn(self) -> None:
        if self.where == "a hook":
            self.sleep()
        if self.where == "a task":
            self.host.spawn(self.hear(None, None), "sweep")

    @hookimpl
    def around_tool(self) -> Any:
        async def middleware(event: Any, call_next: Any) -> Any:
            self.sleep()
            return await call_next(event)

        return middleware if self.where == "middleware" else None

    @tool
    async def dawdle(self) -> str:
        """Block the event loop."""
        self.sleep()
        return "done"

    @command("/dawdle")
    def dawdled(self, ctx: Any, args: str) -> str:
        """Block the event loop."""
        self.sleep()
        return "done"


SLEEPY_PROVIDER = f"""
import time
from hookline.testing import ScriptedModel

class Sleepy(ScriptedModel):
    name = "sleepy"

    async def send(self, wire, on_delta):
        time.sleep({BLOCKED_SECONDS})
        return await super().send(wire, on_delta)
"""


class Wrapper(Plugin[NoConfig]):
    """Waits for the model in a middleware."""

    @hookimpl
    def around_model(self) -> Any:
        async def middleware(request: Any, call_next: Any) -> Any:
            return await call_next(request)

        return middleware


@pytest.mark.long
def test_provider_that_blocks_is_named_instead_of_a_plugin_around_it(
    harness: Make, caplog: Any
) -> None:
    module: dict[str, Any] = {"__name__": "sleepy_provider"}
    exec(SLEEPY_PROVIDER, module)
    h = harness(Wrapper, model=module["Sleepy"](["well"]), strict=False)
    failures = collect_failures(h)
    assert h.send("go").text == "well"
    (line,) = [r.getMessage() for r in caplog.records if "blocks the event loop" in r.getMessage()]
    assert line.startswith("plugin test blocks the event loop in send")
    assert [failure.plugin for failure in failures] == ["test"]


@pytest.mark.long
@pytest.mark.parametrize(
    "where",
    [pytest.param(w, marks=[pytest.mark.slow] if n else []) for n, w in enumerate(BLOCKERS)],
)
def test_plugin_that_blocks_the_event_loop_is_logged(
    harness: Make, caplog: Any, where: str
) -> None:
    dawdler = type("Dawdler", (Dawdler,), {"where": where, "__module__": __name__})
    step: Any = [calls("dawdle" if where == "a tool" else "look")]
    h = make_harness(harness, dawdler, model=[step, "well"])
    failures = collect_failures(h)
    outcome = h.send("/dawdle" if where == "a command" else "go")
    assert outcome.stop in ("command", "done")
    (line,) = [r.getMessage() for r in caplog.records if "blocks the event loop" in r.getMessage()]
    assert line.startswith("plugin dawdler blocks")
    assert "time.sleep(BLOCKED_SECONDS)" in line, "the stack says where"
    (failure,) = failures
    assert failure.plugin == "dawdler"
    assert failure.reason.startswith("blocked the event loop for ")


def test_tool_that_never_returns_does_not_stop_other_chats(harness: Make) -> None:
    go_on = threading.Event()

    class Bad(Plugin[NoConfig]):
        @tool
        def dawdle(self) -> str:
            """Never return."""
            go_on.wait(10)
            return "done"

    async def talk() -> list[str]:
        await h.aopen()
        await h.channel.say("go", chat="one")
        while not any("go" in r.messages[0].text for r in h.model.requests):
            await asyncio.sleep(0.01)
        await h.channel.say("hello", chat="two")
        replies = await h.channel.replies(1)
        go_on.set()
        await h.channel.replies(2)
        return [reply.text for reply in replies]

    h = make_harness(harness, Bad, model=[[calls("dawdle")], "for two", "for one"])
    assert h.run(talk())[0] == "for two"
