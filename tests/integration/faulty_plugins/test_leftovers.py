"""What faulty plugins leave behind: running tasks, partial registrations, changed state."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Callable
from typing import Any, ClassVar, Protocol

import pytest
from hookline.testing import calls
from hookline_hookspecs import Plugin, Section, Tool, command, hookimpl, tool
from hookline_hookspecs.plugin import NoConfig
from support.healthy_plugin import Healthy, healthy_plugin_works, make_harness, registrations

Make = Callable[..., Any]
BEATS: list[str] = []
PATIENCE = 6.0
"""Seconds for which a task clings to life before it lets go by itself."""


@pytest.fixture(autouse=True)
def _clean() -> None:
    BEATS.clear()


async def beat() -> None:
    """Beat until cancelled."""
    try:
        await asyncio.sleep(3600)
    finally:
        BEATS.append("stopped")


async def ignore_cancellation() -> None:
    """Ignore cancellation."""
    loop = asyncio.get_running_loop()
    until = loop.time() + PATIENCE
    while (left_over := until - loop.time()) > 0:
        try:
            await asyncio.sleep(left_over)
        except asyncio.CancelledError:
            BEATS.append("told")
    BEATS.append("let go")


async def fail_on_cancellation() -> None:
    """Fail on cancellation."""
    try:
        await asyncio.sleep(3600)
    finally:
        raise ValueError("broken at the end")


class Bell(Protocol):
    """What the bad plugin offers."""


class Bad(Plugin[NoConfig]):
    """Makes one thing of each kind, then fails in ``setup``."""

    @hookimpl
    async def setup(self, host: Any) -> None:
        host.spawn(beat(), "tick")
        host.signals.connect("start_of_turn", lambda event, ctx: BEATS.append("heard"))
        host.services.provide(Bell, self)
        await asyncio.sleep(0)
        await host.storage.kv.set("half", "made")
        raise ValueError("half way")

    @hookimpl
    def teardown(self, host: Any) -> None:
        BEATS.append("torn down")

    @tool
    def bad_tool(self) -> str:
        """Do something."""
        return "done"

    @command("/bad", aliases=("/worse",))
    def bad_command(self, ctx: Any, args: str) -> str:
        """Say something."""
        return "said"

    @hookimpl
    def register_tools(self, register: Any) -> None:
        def late_tool() -> str:
            """Do something else."""
            return "done"

        register(Tool.from_function(late_tool))

    @hookimpl
    def register_channels(self, register: Any) -> None:
        BEATS.append("channels")

    @hookimpl
    def register_checks(self, register: Any) -> None:
        BEATS.append("checks")

    @hookimpl
    def system_prompt(self) -> Section:
        return Section("guidance", "BAD GUIDANCE")

    @hookimpl
    def end_of_turn(self) -> None:
        BEATS.append("end of turn")


def test_failed_setup_leaves_nothing_registered(harness: Make) -> None:
    h = make_harness(harness, Bad)
    assert h.states()["bad"][0] == "failed"
    assert registrations(h, "bad") == []
    assert healthy_plugin_works(h)
    assert h.checks() == []
    assert h.plugin(Healthy).host.services.get(Bell) is None
    assert "BAD GUIDANCE" not in h.model.last.system
    assert [schema.name for schema in h.model.last.tools if "tool" in schema.name] == []
    assert "Unknown command /worse" in h.send("/worse").text
    h.close()
    assert BEATS == ["stopped"]


def test_plugin_that_failed_in_setup_can_be_switched_off(harness: Make) -> None:
    h = make_harness(harness, Bad)
    assert h.states()["bad"][0] == "failed"
    h.run(h.runtime.plugins.switch_off("bad"))
    assert h.states()["bad"][0] == "failed", "it was never on"
    assert healthy_plugin_works(h)


def switching(spawn: Callable[[Any], Any]) -> type[Plugin[Any]]:
    """A plugin that starts a task in ``setup``."""

    class Switched(Plugin[NoConfig]):
        @hookimpl
        def setup(self, host: Any) -> None:
            self.task = spawn(host)

    return Switched


@pytest.mark.slow
async def test_task_that_ignores_cancellation_does_not_block_close(
    harness: Make, caplog: Any
) -> None:
    h = make_harness(
        harness, switching(lambda host: host.spawn(ignore_cancellation(), "sweep")), model=["well"]
    )
    await h.aopen()
    await asyncio.sleep(0)
    await h.aclose()
    assert "let go" not in BEATS, "nobody waits for it"
    assert any("switched:sweep" in record.getMessage() for record in caplog.records)
    for task in asyncio.all_tasks() - {asyncio.current_task()}:  # type: ignore[arg-type]
        await asyncio.wait([task])


@pytest.mark.slow
async def test_task_that_ignores_cancellation_does_not_block_switch_off(harness: Make) -> None:
    h = make_harness(
        harness, switching(lambda host: host.spawn(ignore_cancellation(), "sweep")), model=["well"]
    )
    runtime = await h.aopen()
    await asyncio.sleep(0)
    await runtime.plugins.switch_off("switched")
    assert "let go" not in BEATS
    assert (await h.asend("go")).text == "well"
    await h.aclose()


async def test_task_with_its_own_timeouts_is_not_cancelled(harness: Make) -> None:
    async def polls() -> None:
        for _ in range(10):
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(0.01):
                    await asyncio.sleep(60)
        BEATS.append("polled")

    tasks: list[asyncio.Task[Any]] = []
    h = make_harness(harness, switching(lambda host: tasks.append(host.spawn(polls(), "poll"))))
    await h.aopen()
    await tasks[0]
    assert BEATS == ["polled"]
    await h.aclose()


async def test_task_that_fails_on_cancellation_is_logged(harness: Make, caplog: Any) -> None:
    before = asyncio.all_tasks()
    h = make_harness(
        harness, switching(lambda host: host.spawn(fail_on_cancellation(), "sweep")), model=["well"]
    )
    await h.aopen()
    await asyncio.sleep(0)
    await h.aclose()
    assert asyncio.all_tasks() == before
    lines = [r.getMessage() for r in caplog.records]
    assert any("switched:sweep" in line and "broken at the end" in line for line in lines)


def test_task_that_spawns_tasks_forever_ends_with_its_plugin(harness: Make) -> None:
    class Bad(Plugin[NoConfig]):
        @hookimpl
        def setup(self, host: Any) -> None:
            host.spawn(self.again(), "again")

        async def again(self) -> None:
            BEATS.append("beat")
            await asyncio.sleep(0)
            self.host.spawn(self.again(), "again")

    async def talk() -> tuple[str, int]:
        before = asyncio.all_tasks()
        outcome = await h.asend("go")
        await h.aclose()
        count = len(BEATS)
        for _ in range(5):
            await asyncio.sleep(0)
        assert len(BEATS) == count
        return outcome.text, len(asyncio.all_tasks() - before)

    h = make_harness(harness, Bad)
    assert h.run(talk()) == ("well", 0)


def test_spawn_of_a_non_coroutine_fails_only_that_plugin(harness: Make) -> None:
    h = make_harness(harness, switching(lambda host: host.spawn(7, "seven")))
    state, reason = h.states()["switched"]
    assert state == "failed"
    assert "coroutine" in reason
    assert healthy_plugin_works(h)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_destructor_that_raises_is_survived(harness: Make) -> None:
    class Trap:
        def __del__(self) -> None:
            BEATS.append("deleted")
            raise ValueError("not yet")

    class Bad(Plugin[NoConfig]):
        @hookimpl
        def start_of_turn(self) -> None:
            Trap()

    h = make_harness(harness, Bad)
    assert h.send("go").text == "well"
    assert BEATS == ["deleted"]
    assert healthy_plugin_works(h)


def test_plugin_that_removes_other_plugins_objects_is_survived(harness: Make, caplog: Any) -> None:
    class Bad(Plugin[NoConfig]):
        @tool
        def bad_tool(self) -> str:
            """Do something."""
            return "done"

        @hookimpl
        def pre_tool(self) -> None:
            del self.host

        @hookimpl
        def start_of_turn(self) -> None:
            self.host.signals.disconnect("end_of_turn", None)
            self.host.services.undo() if hasattr(self.host.services, "undo") else None

    h = make_harness(harness, Bad, model=[[calls("bad_tool"), calls("bad_tool")], "well"])
    outcome = h.send("go")
    assert outcome.text == "well"
    assert outcome.tool_calls[1].text.startswith("Denied: guard 'bad' failed")


def test_plugins_that_require_each_other_are_both_on(harness: Make) -> None:
    class One(Plugin[NoConfig]):
        requires: ClassVar[tuple[str, ...]] = ("two",)

    class Two(Plugin[NoConfig]):
        requires: ClassVar[tuple[str, ...]] = ("one",)

    h = make_harness(harness, One, Two)
    assert {state for state, _ in h.states().values()} == {"on"}


def test_chain_of_missing_requirements_fails_and_names_each(harness: Make) -> None:
    def needs(name: str, other: str) -> type[Plugin[Any]]:
        return type(name, (Plugin,), {"requires": (other,)})

    names = [f"P{n}" for n in range(8)]
    made = [needs(name, f"p{n + 1}") for n, name in enumerate(names)]
    h = make_harness(harness, *made)
    states = h.states()
    for number in range(8):
        state, reason = states[f"p{number}"]
        assert state == "failed"
        assert f"p{number + 1}" in reason
    assert healthy_plugin_works(h)


# Tools that no model can be told of


class UnknownType(Plugin[NoConfig]):
    @tool
    def bad_tool(self, x: Nowhere) -> str:  # type: ignore[name-defined]  # noqa: F821
        """Take what nobody knows."""
        return ""


class TypeWithoutSchema(Plugin[NoConfig]):
    @tool
    def bad_tool(self, x: os.DirEntry[str]) -> str:
        """Take what JSON cannot say."""
        return ""


class SchemaThatIsNoJson(Plugin[NoConfig]):
    @hookimpl
    def register_tools(self, register: Any) -> None:
        parameters = {"type": "object", "properties": {"x": object()}}
        register(Tool("bad_tool", "Take anything.", lambda x: "", parameters=parameters))


@pytest.mark.parametrize("bad", [UnknownType, TypeWithoutSchema, SchemaThatIsNoJson])
def test_tool_without_a_valid_schema_is_left_out_and_names_its_plugin(
    harness: Make, caplog: Any, bad: type[Plugin[Any]]
) -> None:
    h = make_harness(harness, bad)
    (name,) = [name for name in h.states() if name != "healthy"]
    assert healthy_plugin_works(h)
    assert "bad_tool" not in [schema.name for schema in h.model.last.tools]
    told = [record.getMessage() for record in caplog.records] + [h.states()[name][1]]
    assert any("bad_tool" in line for line in told)
    assert name in caplog.text
