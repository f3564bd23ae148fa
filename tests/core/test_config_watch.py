"""A config.yaml that changes while the process runs."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from hookline.config import load
from hookline.runtime import Runtime
from hookline.testing import ScriptedModel, calls
from hookline_hookspecs import Inbound, Plugin, hookimpl, tool
from hookline_hookspecs.plugin import NoConfig


class Greeter(Plugin[NoConfig]):
    @tool(read_only=True)
    def greet(self) -> str:
        """Greet."""
        return "hello"

    @hookimpl
    def teardown(self, host: Any) -> None:
        (host.home / "greeter-is-gone").touch()


class Process:
    """A runtime that stays, and what it tells."""

    def __init__(self, runtime: Runtime, path: Path) -> None:
        self.runtime = runtime
        self.path = path
        self.told: list[str] = []
        runtime.bus.signals.connect("notice", lambda e, ctx=None: self.told.append(e.text))

    def edit(self, text: str) -> None:
        before = self.path.stat().st_mtime_ns if self.path.exists() else 0
        self.path.write_text(text)
        os.utime(self.path, ns=(before + 10**9, before + 10**9))

    async def say(self, text: str) -> Any:
        inbound = Inbound("terminal", "default", "me", f"m{text}", text, session_id="s")
        submission = await self.runtime.dispatcher.submit(inbound, "no")
        await submission.confirm()
        return submission.turn


Start = Callable[..., Any]


@asynccontextmanager
async def started(home: Path, config: str, steps: list[Any]) -> AsyncIterator[Process]:
    home.mkdir(exist_ok=True)
    path = home / "config.yaml"
    path.write_text(config)
    loaded = load(home, {}, {"model": "test/model"})
    async with Runtime(loaded, home, classes={"greeter": Greeter}) as runtime:
        runtime.engine.providers.add("test", ScriptedModel(steps))
        yield Process(runtime, path)


async def test_a_plugin_switched_off_stops_at_the_next_message(tmp_path: Path) -> None:
    steps = ["one", [calls("greet")], "two"]
    async with started(tmp_path / "home", "plugins: {greeter: true}\n", steps) as process:
        await process.say("a")
        schema = process.runtime.engine.tools["greet"].schema
        process.edit("plugins: {greeter: false}\n")
        turn = await process.say("b")
        assert [result.text for result in turn.tool_calls] == [
            "Error: tool greet is no longer available"
        ]
        assert (tmp_path / "home" / "greeter-is-gone").exists()
        assert any("greeter is off now" in text for text in process.told)
        state = process.runtime.sessions.loaded("s")
        assert schema in state.stable.tools


async def test_a_third_party_plugin_that_is_no_longer_named_stops_too(tmp_path: Path) -> None:
    async with started(tmp_path / "home", "plugins: {greeter: true}\n", ["one", "two"]) as process:
        await process.say("a")
        process.edit("plugins: {}\n")
        await process.say("b")
        assert process.runtime.plugins.state("greeter") == "off"


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("plugins: {greeter: true}\nmax_iterations: 3\n", "max_iterations"),
        ("plugins: {greeter: {loud: true}}\n", "plugins.greeter"),
        ("plugins: {greeter: true, other: true}\n", "plugins.other"),
    ],
)
async def test_everything_else_is_told_once_and_needs_a_restart(
    tmp_path: Path, text: str, key: str
) -> None:
    steps = ["one", "two", "three"]
    async with started(tmp_path / "home", "plugins: {greeter: true}\n", steps) as process:
        await process.say("a")
        process.edit(text)
        await process.say("b")
        await process.say("c")
        told = [one for one in process.told if "restart" in one]
        assert len(told) == 1
        assert told[0].endswith(f"restart to apply {key}.")
        assert process.runtime.plugins.state("greeter") == "on"


async def test_a_broken_file_is_told_and_changes_nothing(tmp_path: Path) -> None:
    async with started(tmp_path / "home", "plugins: {greeter: true}\n", ["one", "two"]) as process:
        await process.say("a")
        process.edit("plugins: [\n")
        turn = await process.say("b")
        assert turn.reply == "two"
        assert any("stays in force" in text and "config.yaml:" in text for text in process.told)
        assert process.runtime.plugins.state("greeter") == "on"


async def test_a_turn_under_way_is_not_torn(tmp_path: Path) -> None:
    go = asyncio.Event()

    class Waits(Plugin[NoConfig]):
        @tool
        async def wait(self) -> str:
            """Wait."""
            await go.wait()
            return "waited"

    home = tmp_path / "home"
    home.mkdir()
    (home / "config.yaml").write_text("plugins: {greeter: true, waits: true}\n")
    loaded = load(home, {}, {"model": "test/model"})
    classes = {"greeter": Greeter, "waits": Waits}
    async with Runtime(loaded, home, classes=classes) as runtime:
        runtime.engine.providers.add("test", ScriptedModel([[calls("wait")], "one", "two"]))
        process = Process(runtime, home / "config.yaml")
        first = asyncio.create_task(process.say("a"))
        while not ((state := runtime.sessions.loaded("s")) and state.active):
            await asyncio.sleep(0.01)
        process.edit("plugins: {greeter: false, waits: true}\n")
        second = asyncio.create_task(process.say("b"))
        await asyncio.sleep(0.05)
        go.set()
        assert (await first).reply == "one"
        assert (await second).reply == "two"
        assert runtime.plugins.state("greeter") == "off"
