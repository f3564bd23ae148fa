"""Plugins that raise any exception in any hook: the turn ends and the plugin is named."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hookline.testing import calls
from hookline_hookspecs import Plugin, command, hookimpl, tool
from hookline_hookspecs.plugin import NoConfig
from support.healthy_plugin import (
    CALLED,
    GUARDED,
    TOOLS,
    HookCalls,
    call_every_hook,
    collect_failures,
    crossed_params,
    healthy_plugin_works,
    make_harness,
    plugin_doing,
    plugin_raising,
)
from support.matrices import sampled

Make = Callable[..., Any]
MOON = "the moon is wrong"


class Odd(BaseException):
    """What is no ``Exception``."""


class Mute(Exception):
    """An error that cannot even say what it is."""

    def __str__(self) -> str:
        raise ValueError("no words")


async def later(error: BaseException) -> None:
    await asyncio.sleep(0)
    raise error


def is_named(found: HookCalls, hook: str, log: str) -> bool:
    """True if the person or the operator can tell that ``bad`` failed in ``hook``."""
    if hook in ("setup", "register_tools", "register_channels", "teardown"):
        return f"plugin bad is not on: {hook}" in log or f"plugin bad failed in {hook}" in log
    told = {(failure.plugin, failure.hook) for failure in found.failures}
    return told == {("bad", hook)} and f"plugin bad failed in {hook}" in log


def assert_survived(found: HookCalls, hook: str) -> None:
    """Every turn ended, with the answer or with a sentence that names the plugin."""
    if hook == "on_message":
        assert (found.turn.stop, found.after.stop) == ("denied", "denied")
        assert "bad" in found.turn.text
        return
    if hook == "around_model":
        assert (found.turn.stop, found.after.stop) == ("error", "error")
        assert "plugin bad failed in around_model" in found.turn.text
        return
    assert (found.turn.stop, found.turn.text) == ("done", "well")
    assert (found.error.stop, found.error.text) == ("error", "the model is away")
    assert (found.after.stop, found.after.text) == ("done", "again")
    kept = GUARDED.get(hook, frozenset())
    assert {name: found.results[name] for name in TOOLS.keys() - kept} == {
        name: text for name, text in TOOLS.items() if name not in kept
    }
    for name in kept:
        assert "bad" in found.results[name], "a guard that fails denies, under its name"
        assert TOOLS[name] not in found.results[name]


@pytest.mark.long
@pytest.mark.parametrize("asynchronous", [False, True], ids=["def", "async"])
@sampled("hook", CALLED)
def test_hook_that_raises_is_survived_and_named(
    harness: Make, caplog: Any, hook: str, asynchronous: bool
) -> None:
    if asynchronous and hook.startswith("register_"):
        pytest.skip("it is called synchronously")
    bad = plugin_doing(hook, lambda: later(ValueError(MOON))) if asynchronous else None
    h = make_harness(harness, bad or plugin_raising(hook, ValueError(MOON)))
    found = call_every_hook(h)
    assert_survived(found, hook)
    assert is_named(found, hook, caplog.text)
    assert MOON in caplog.text


def test_plugin_that_raises_in_every_hook_is_survived(harness: Make) -> None:
    def act() -> Any:
        raise ValueError(MOON)

    everywhere = [h for h in CALLED if h not in ("setup", "on_message", "around_model")]
    hooks = {hook: vars(plugin_doing(hook, act))["implementation"] for hook in everywhere}
    h = make_harness(harness, type("Bad", (Plugin,), hooks))
    found = call_every_hook(h)
    assert (found.turn.stop, found.turn.text) == ("done", "well")
    assert all("bad" in text for text in found.results.values())
    assert {failure.plugin for failure in found.failures} == {"bad"}
    assert all(MOON in failure.reason for failure in found.failures)
    assert {failure.hook for failure in found.failures} >= {
        *("start_of_session", "system_prompt", "on_voice", "start_of_turn"),
        *("pre_prompt", "pre_model", "pre_send", "post_model", "pre_tool", "post_tool"),
        *("pre_reply", "end_of_turn", "on_error", "end_of_session"),
    }
    assert not any(failure.off for failure in found.failures), "it guards, so it stays"


def test_plugin_without_guards_is_off_after_three_failures_with_a_notice(harness: Make) -> None:
    class Bad(Plugin[NoConfig]):
        @hookimpl
        def start_of_turn(self) -> None:
            raise ValueError(MOON)

        @hookimpl
        def pre_prompt(self) -> None:
            raise ValueError(MOON)

        @hookimpl
        def pre_model(self) -> None:
            raise ValueError(MOON)

    h = make_harness(harness, Bad)
    failures = collect_failures(h)
    outcome = h.send("go")
    assert outcome.text == "well"
    assert [failure.off for failure in failures] == [False, False, True]
    (notice,) = [notice for notice in outcome.notices if "Plugin bad" in notice.text]
    assert MOON in notice.text
    assert "off for this session" in notice.text


def test_failures_count_by_session_and_over_restarts(harness: Make, tmp_path: Path) -> None:
    class Bad(Plugin[NoConfig]):
        @hookimpl
        def start_of_turn(self) -> None:
            raise ValueError(MOON)

    def notices(session: str) -> list[str]:
        h = harness(Bad, home=tmp_path / "home", model=["well"], strict=False)
        failures = collect_failures(h)
        outcome = h.send("go", session=session)
        h.close()
        said = [notice.text for notice in outcome.notices if "Plugin bad" in notice.text]
        return [*said, *(failure.plugin for failure in failures)]

    assert [notices("one"), notices("one"), notices("other")] == [["bad"]] * 3
    off, failed = notices("one")
    assert "failed 3 times in a row" in off
    assert "/new" in off
    assert failed == "bad"
    assert notices("one") == [], "it stays off in this session"
    assert notices("other") == ["bad"]


# What there is to raise

FAULTS: dict[str, Callable[[], BaseException]] = {
    "SystemExit": lambda: SystemExit(3),
    "a group": lambda: ExceptionGroup("several", [ValueError(MOON), OSError()]),
    "a BaseException": lambda: Odd(MOON),
    "a base group": lambda: BaseExceptionGroup("several", [Odd(MOON)]),
    "GeneratorExit": lambda: GeneratorExit(),
    "CancelledError": lambda: asyncio.CancelledError(MOON),
    "RecursionError": lambda: RecursionError("deep"),
    "MemoryError": lambda: MemoryError(),
    "StopIteration": lambda: StopIteration(MOON),
    "StopAsyncIteration": lambda: StopAsyncIteration(MOON),
    "a long one": lambda: ValueError(MOON * 100_000),
    "no words": lambda: Mute(),
    "one in a chain": lambda: _chained(),
}
KINDS = ("system_prompt", "pre_model", "on_question", "pre_tool", "post_model", "end_of_turn")
"""A hook of each kind."""


def _chained() -> BaseException:
    error = ValueError(MOON)
    error.__cause__ = error.__context__ = Mute()
    return error


@sampled(("fault", "hook"), crossed_params(FAULTS, KINDS))
def test_hook_exception_of_any_type_is_survived(
    harness: Make, caplog: Any, fault: str, hook: str
) -> None:
    h = make_harness(harness, plugin_raising(hook, FAULTS[fault]()))
    found = call_every_hook(h)
    assert_survived(found, hook)
    assert is_named(found, hook, caplog.text)


@sampled("fault", FAULTS)
def test_async_hook_exception_of_any_type_is_survived(
    harness: Make, caplog: Any, fault: str
) -> None:
    h = make_harness(harness, plugin_doing("pre_prompt", lambda: later(FAULTS[fault]())))
    found = call_every_hook(h)
    assert_survived(found, "pre_prompt")
    assert is_named(found, "pre_prompt", caplog.text)


@pytest.mark.parametrize("fault", FAULTS)
def test_setup_exception_of_any_type_fails_the_plugin(harness: Make, fault: str) -> None:
    h = make_harness(harness, plugin_raising("setup", FAULTS[fault]()))
    assert h.states()["bad"][0] == "failed"
    assert "setup" in h.states()["bad"][1]
    assert healthy_plugin_works(h)


@pytest.mark.long
@pytest.mark.parametrize("fault", FAULTS)
def test_middleware_exception_of_any_type_is_named_in_the_result(harness: Make, fault: str) -> None:
    def act() -> Any:
        async def middleware(event: Any, call_next: Any) -> Any:
            await call_next(event)
            raise FAULTS[fault]()

        return middleware

    h = make_harness(harness, plugin_doing("around_tool", act))
    found = call_every_hook(h)
    assert (found.turn.stop, found.turn.text) == ("done", "well")
    assert all("plugin bad failed in around_tool" in text for text in found.results.values())


@sampled("fault", FAULTS)
@pytest.mark.parametrize("asynchronous", [False, True], ids=["def", "async"])
def test_tool_exception_of_any_type_is_a_failed_result(
    harness: Make, fault: str, asynchronous: bool
) -> None:
    class Bad(Plugin[NoConfig]):
        @tool
        def plain(self) -> str:
            """Fail at once."""
            raise FAULTS[fault]()

        @tool
        async def awaited(self) -> str:
            """Fail later."""
            await asyncio.sleep(0)
            raise FAULTS[fault]()

    name = "awaited" if asynchronous else "plain"
    h = make_harness(harness, Bad, model=[[calls(name)], "well"])
    outcome = h.send("go")
    assert outcome.text == "well"
    (result,) = outcome.tool_calls
    assert result.text.startswith(f"Error: {name} failed")
    assert healthy_plugin_works(h)


@pytest.mark.parametrize("fault", FAULTS)
def test_command_exception_of_any_type_is_a_sentence(harness: Make, fault: str) -> None:
    class Bad(Plugin[NoConfig]):
        @command("/fall")
        async def fall(self, ctx: Any, args: str) -> str:
            """Fall."""
            raise FAULTS[fault]()

    h = make_harness(harness, Bad)
    assert h.send("/fall").text.startswith("/fall failed")
    assert healthy_plugin_works(h)


def test_command_reply_with_lone_surrogate_is_survived(harness: Make) -> None:
    class Bad(Plugin[NoConfig]):
        @command("/fall")
        def fall(self, ctx: Any, args: str) -> str:
            """Fall."""
            return "moon \ud83d"

    h = make_harness(harness, Bad)
    assert h.send("/fall").text.startswith("moon ")
    assert healthy_plugin_works(h)


def test_system_exit_in_a_task_ends_only_the_task(harness: Make, caplog: Any) -> None:
    class Bad(Plugin[NoConfig]):
        @hookimpl
        def start_of_turn(self) -> None:
            self.host.spawn(later(SystemExit(3)), "sweep")

        @hookimpl
        async def pre_prompt(self) -> None:
            await asyncio.sleep(0.01)

    h = make_harness(harness, Bad)
    assert h.send("go").text == "well"
    assert healthy_plugin_works(h)
    assert "bad:sweep" in caplog.text
