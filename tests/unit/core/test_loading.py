"""Loading and unloading plugins: states with reasons, settings, requirements, undo, dists."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, Protocol

import pytest
from hookline.bus.implementation import PluginRefused
from hookline.testing import calls
from hookline_hookspecs import (
    Deny,
    Plugin,
    Section,
    Session,
    Tool,
    ToolCall,
    command,
    hookimpl,
    tool,
)
from hookline_hookspecs.plugin import NoConfig
from pydantic import BaseModel, SecretStr
from support.site_packages import Site

Make = Callable[..., Any]


class Greeter(Plugin[NoConfig]):
    """A healthy plugin that the others must not affect."""

    @tool(read_only=True)
    def greet(self, name: str) -> str:
        """Greet a person."""
        return f"Hello, {name}!"


def works(h: Any) -> bool:
    """True if the healthy plugin does its work."""
    h.model.steps += [[calls("greet", name="Bo")], "ok"]
    outcome = h.send("hello")
    return [r.text for r in outcome.tool_calls] == ["Hello, Bo!"] and outcome.text == "ok"


def left(h: Any, plugin: str) -> list[str]:
    """What is still there of a plugin."""
    runtime = h.runtime
    tools = [f"tool {t.name}" for t in runtime.engine.tools.values() if t.plugin == plugin]
    commands = [
        f"command {c.name}"
        for c in runtime.commands.all()
        if runtime.commands.find(c.name)[0] == plugin
    ]
    hooks = [
        f"hook {hook}"
        for hook in ("setup", "start_of_turn", "pre_tool", "system_prompt")
        for impl in runtime.bus.implementations(hook)
        if impl.plugin == plugin
    ]
    return tools + commands + hooks


# States and reasons


class Bad(Plugin[NoConfig]):
    """Registers something of each kind, then does what its subclasses do wrong."""

    @tool
    def bad_tool(self) -> str:
        """Do something."""
        return "done"

    @command("/bad")
    def bad_command(self, ctx: Any, args: str) -> str:
        """Say something."""
        return "said"

    @hookimpl
    def start_of_turn(self, ctx: Any, turn: Any) -> None: ...

    @hookimpl
    def pre_tool(self, ctx: Any, call: ToolCall) -> Deny:
        return Deny("never")


class Init(Bad):
    def __init__(self, config: Any, host: Any) -> None:
        raise ValueError("no hands")


class Exits(Bad):
    def __init__(self, config: Any, host: Any) -> None:
        raise SystemExit(3)


class Misspelt(Bad):
    @hookimpl
    def pre_tol(self, ctx: Any, call: ToolCall) -> None: ...


class Unmarked(Bad):
    def pre_tool(self, ctx: Any, call: ToolCall) -> Deny:
        return Deny("never")


class Signature(Bad):
    @hookimpl
    def post_tool(self, ctx: Any, outcome: Any) -> None: ...


class Newer(Bad):
    requires_api: ClassVar[tuple[int, int]] = (1, 99)


class Major(Bad):
    requires_api: ClassVar[tuple[int, int]] = (2, 0)


class Lonely(Bad):
    requires: ClassVar[tuple[str, ...]] = ("memory",)


class Clash(Bad):
    @tool
    def greet(self) -> str:
        """Greet everybody."""
        return "hi"


class Grabs(Bad):
    @command("/HELP")
    def mine(self, ctx: Any, args: str) -> str:
        """Take another's command."""
        return "mine"


class Undocumented(Bad):
    @tool
    def mute(self) -> str:
        return ""


class WrongOption(Bad):
    @tool(readonly=True)  # type: ignore[call-overload]
    def look(self) -> str:
        """Look around."""
        return ""


class SetupFails(Bad):
    @hookimpl
    async def setup(self, host: Any) -> None:
        await asyncio.sleep(0)
        raise ConnectionError("the broker is away")


class SetupExits(Bad):
    @hookimpl
    def setup(self, host: Any) -> None:
        raise SystemExit("enough")


CASES = [
    (Init, ["no hands"]),
    (Exits, ["SystemExit"]),
    (Misspelt, ["pre_tol", "did you mean pre_tool"]),
    (Unmarked, ["pre_tool", "never be called", "add @hookimpl"]),
    (Signature, ["post_tool", "outcome"]),
    (Newer, ["1.99", "1.0", "update hookline"]),
    (Major, ["2.0", "update hookline"]),
    (Lonely, ["memory", "hookline plugins enable memory"]),
    (Clash, ["greet", "greeter", "switch one of them off"]),
    (Grabs, ["/HELP", "plugin commands"]),
    (Undocumented, ["mute", "docstring"]),
    (WrongOption, ["look", "'readonly'", "did you mean read_only?"]),
    (SetupFails, ["setup", "the broker is away"]),
    (SetupExits, ["setup", "enough"]),
]


@pytest.mark.parametrize(("plugin", "words"), CASES, ids=lambda case: getattr(case, "__name__", ""))
def test_plugin_that_fails_to_load_has_a_reason_and_leaves_nothing(
    harness: Make, plugin: type[Plugin[Any]], words: list[str]
) -> None:
    h = harness(Greeter, plugin, strict=False)
    (name,) = [name for name in h.states() if name != "greeter"]
    state, reason = h.states()[name]
    assert state == "failed"
    for word in words:
        assert word in reason
    assert left(h, name) == []
    assert works(h), "the app runs on"


def test_strict_mode_raises_plugin_load_errors(harness: Make) -> None:
    with pytest.raises(PluginRefused, match="pre_tol"):
        harness(Misspelt).runtime  # noqa: B018


def test_duplicate_tool_names_are_refused_and_both_plugins_named(harness: Make) -> None:
    class Second(Plugin[NoConfig]):
        @hookimpl
        def register_tools(self, register: Any) -> None:
            def greet() -> str:
                """Greet everybody."""
                return "hi"

            register(Tool.from_function(greet))

    h = harness(Greeter, Second, strict=False)
    assert works(h)
    state, reason = h.states()["second"]
    assert state == "failed"
    assert "greeter" in reason


def test_requirement_is_met_by_an_enabled_plugin(harness: Make) -> None:
    class Needs(Plugin[NoConfig]):
        requires: ClassVar[tuple[str, ...]] = ("greeter",)

    h = harness(Needs, Greeter)
    assert h.states() == {"needs": ("on", ""), "greeter": ("on", "")}


SET_UP: list[str] = []


class Ticks(Plugin[NoConfig]):
    """A plugin with a task, a receiver, a service and state in every registry."""

    beats: ClassVar[list[str]] = []

    @hookimpl
    async def setup(self, host: Any) -> None:
        SET_UP.append(host.plugin)
        host.spawn(self.tick(), "tick")
        host.signals.connect("end_of_turn", self.heard)
        host.services.provide(Clockwork, self)

    async def tick(self) -> None:
        try:
            await asyncio.sleep(3600)
        finally:
            self.beats.append("stopped")

    def heard(self, event: Any, ctx: Any) -> None:
        self.beats.append("heard")


class Clockwork(Protocol):
    """What ``Ticks`` offers."""


class Breaks(Ticks):
    @hookimpl
    async def setup(self, host: Any) -> None:
        await Ticks.setup(self, host)
        await asyncio.sleep(0)
        raise ValueError("at the very end")


@pytest.fixture(autouse=True)
def _clean() -> None:
    SET_UP.clear()
    Ticks.beats.clear()


def test_late_setup_failure_is_undone_completely(harness: Make) -> None:
    h = harness(Breaks, Greeter, strict=False)
    assert h.states()["breaks"][0] == "failed"
    assert Ticks.beats == ["stopped"]
    assert h.plugin(Greeter).host.services.get(Clockwork) is None
    assert works(h)
    assert "heard" not in Ticks.beats


def test_second_provider_of_a_service_fails_and_the_first_stays(harness: Make) -> None:
    class Copies(Plugin[NoConfig]):
        @hookimpl
        def setup(self, host: Any) -> None:
            host.services.provide(Clockwork, self)

    h = harness(Ticks, Copies, Greeter, strict=False)
    state, reason = h.states()["copies"]
    assert state == "failed"
    assert "Clockwork" in reason
    assert h.plugin(Greeter).host.services[Clockwork] is h.plugin(Ticks)


def test_missing_service_error_names_the_service(harness: Make) -> None:
    h = harness(Greeter)
    with pytest.raises(KeyError, match="Clockwork"):
        h.plugin(Greeter).host.services[Clockwork]


def test_failed_background_task_is_logged_by_name(harness: Make, caplog: Any) -> None:
    class Spawns(Plugin[NoConfig]):
        @hookimpl
        def setup(self, host: Any) -> None:
            host.spawn(self.work(), "sweep")

        async def work(self) -> None:
            raise ValueError("a broken broom")

    h = harness(Spawns, Greeter)
    assert works(h)
    assert any("sweep" in r.getMessage() and "broom" in r.getMessage() for r in caplog.records)


def test_setup_failure_undoes_dependent_plugins_too(harness: Make) -> None:
    class Needs(Ticks):
        requires: ClassVar[tuple[str, ...]] = ("set-up-fails",)

    class SetUpFails(Plugin[NoConfig]):
        @hookimpl
        def setup(self, host: Any) -> None:
            raise ValueError("no")

    h = harness(Needs, SetUpFails, Greeter, strict=False)
    assert h.states()["needs"][0] == "failed"
    assert h.plugin(Greeter).host.services.get(Clockwork) is None
    assert works(h)
    assert "heard" not in Ticks.beats
    assert Ticks.beats == ["stopped"] * len(SET_UP)


def test_missing_indirect_requirement_keeps_plugin_off_before_setup(harness: Make) -> None:
    class Outer(Ticks):
        requires: ClassVar[tuple[str, ...]] = ("middle",)

    class Middle(Plugin[NoConfig]):
        requires: ClassVar[tuple[str, ...]] = ("not-there",)

    h = harness(Outer, Middle, strict=False)
    assert h.states()["outer"][0] == "failed"
    assert h.states()["middle"][0] == "failed"
    assert SET_UP == []


@pytest.mark.slow
@pytest.mark.parametrize("blocks", [False, True], ids=["waits", "blocks the loop"])
def test_setup_past_its_deadline_fails_whether_it_waits_or_blocks(
    harness: Make, monkeypatch: pytest.MonkeyPatch, blocks: bool
) -> None:
    class Hangs(Plugin[NoConfig]):
        @hookimpl
        async def setup(self, host: Any) -> None:
            if blocks:
                time.sleep(3)
            await asyncio.sleep(3)

    h = harness(Hangs, Greeter, strict=False, deadlines={"setup": 0.05})
    assert h.states()["hangs"][0] == "failed"
    assert "0.05 s" in h.states()["hangs"][1]
    assert works(h)


def test_setup_past_its_deadline_fails_the_plugin(harness: Make) -> None:
    class Hangs(Plugin[NoConfig]):
        @hookimpl
        async def setup(self, host: Any) -> None:
            await asyncio.sleep(3)

    h = harness(Hangs, Greeter, strict=False, deadlines={"setup": 0.05})
    assert h.states()["hangs"][0] == "failed"
    assert works(h)


# Teardown


async def test_close_leaves_no_task(harness: Make) -> None:
    before = asyncio.all_tasks()
    h = harness(Ticks, Greeter, model=["a"])
    await h.asend("x")
    assert asyncio.all_tasks() > before
    await h.aclose()
    assert asyncio.all_tasks() == before
    assert Ticks.beats == ["heard", "stopped"]


async def test_close_ends_async_signal_receivers(harness: Make) -> None:
    class Listens(Plugin[NoConfig]):
        @hookimpl
        def setup(self, host: Any) -> None:
            host.signals.connect("start_of_turn", self.heard)

        async def heard(self, event: Any, ctx: Any) -> None:
            await asyncio.sleep(3600)

    before = asyncio.all_tasks()
    h = harness(Listens, model=["a"])
    await h.asend("x")
    await h.aclose()
    lasting = asyncio.all_tasks() - before
    for task in lasting:
        task.cancel()
    assert not lasting


async def test_close_leaves_running_turn_to_the_next_process(harness: Make, tmp_path: Path) -> None:
    class Slow(Plugin[NoConfig]):
        @tool(read_only=True)
        async def wait(self) -> str:
            """Wait for long."""
            entered.set()
            await asyncio.sleep(pause.pop())
            return "waited"

    entered, pause = asyncio.Event(), [0.0, 3600.0]
    h = harness(Slow, home=tmp_path / "one", model=[[calls("wait")]])
    await h.aopen()
    await h.channel.say("go")
    await entered.wait()
    await h.aclose()
    again = harness(Slow, home=tmp_path / "one", model=["done", "next"])
    await again.aopen()
    await again.channel.say("and?", message_id="m2")
    replies = await again.channel.replies(2)
    assert sorted(reply.text for reply in replies) == ["done", "next"]
    assert [b.text for b in again.model.requests[0].messages[-1].blocks] == ["waited"]


def test_plugin_switched_off_at_run_time_leaves_sessions_intact(harness: Make) -> None:
    class Gone(Ticks):
        @tool
        def act(self) -> str:
            """Do something."""
            return "done"

        @hookimpl
        def system_prompt(self, ctx: Any, session: Session) -> Section:
            return Section("memory", "REMEMBER")

    h = harness(Gone, Greeter, model=[[calls("act")], "a", [calls("act")], "b", "c"])
    assert [r.text for r in h.send("x").tool_calls] == ["done"]
    h.run(h.runtime.plugins.switch_off("gone"))
    assert Ticks.beats == ["heard", "stopped"]
    assert left(h, "gone") == []
    (answer,) = h.send("y").tool_calls
    assert (answer.text, answer.ok) == ("Error: tool act is no longer available", False)
    first, last = h.model.requests[0], h.model.last
    assert (first.system, first.tools) == (last.system, last.tools)
    h.send("z", session="another")
    assert "REMEMBER" not in h.model.last.system
    assert [schema.name for schema in h.model.last.tools] == ["greet"]


# Settings


class Settings(BaseModel):
    greeting: str = "Hello"
    times: int = 1
    key: SecretStr = SecretStr("")


class Polite(Plugin[Settings]):
    @tool(read_only=True)
    def greet(self, name: str) -> str:
        """Greet a person."""
        return f"{self.config.greeting}, {name}!" * self.config.times


def test_settings_are_validated_and_given_to_the_plugin(harness: Make) -> None:
    h = harness(Polite, config={"greeting": "Hi", "times": 2})
    h.model.steps += [[calls("greet", name="Bo")], "ok"]
    assert h.send("x").tool_calls[0].text == "Hi, Bo!Hi, Bo!"


def test_invalid_setting_switches_the_plugin_off_with_a_reason(harness: Make) -> None:
    config = {"polite": {"times": "often", "key": "hunter2"}}
    h = harness(Polite, Greeter, config=config, strict=False)
    state, reason = h.states()["polite"]
    assert state == "failed"
    assert "plugins.polite.times" in reason
    assert "often" in reason
    assert "hunter2" not in reason
    assert works(h)


def test_unknown_setting_warns_with_a_suggestion(harness: Make) -> None:
    h = harness(Polite, config={"greting": "Hi"})
    assert h.states()["polite"][0] == "on"
    (warning,) = h.runtime.plugins.statuses["polite"].warnings
    assert "greting" in warning
    assert "greeting" in warning


# Dists

LIST = """
import asyncio, json, os, sys
from pathlib import Path
from hookline.config import load
from hookline.runtime import Runtime

async def main():
    home = Path(sys.argv[1])
    loaded = load(home, {}, {"model": "test/model"})
    async with Runtime(loaded, home) as runtime:
        states = {n: [one.state, one.reason] for n, one in runtime.plugins.statuses.items()}
        imported = [name for name in sys.modules if name.startswith("dist_")]
        tools = sorted(runtime.engine.tools)
    print(json.dumps({"states": states, "imported": imported, "tools": tools}))

asyncio.run(main())
"""


class Computer(Site):
    """A site, and a home whose config names plugins."""

    def __init__(self, folder: Path, python: Any) -> None:
        super().__init__(folder / "site")
        self.home = folder / "home"
        self.home.mkdir()
        self._python = python

    def load(self, config: str) -> Any:
        (self.home / "config.yaml").write_text(config, "utf-8")
        done = self._python(LIST, str(self.home), site=self.path)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout.splitlines()[-1])


@pytest.fixture
def site(tmp_path: Path, python: Any) -> Computer:
    return Computer(tmp_path, python)


@pytest.mark.slow
def test_installed_plugin_is_on_only_when_config_names_it(site: Computer) -> None:
    site.dist("greeter", "greeter")
    site.dist("idle", "idle")
    site.dist("off", "off")
    found = site.load("plugins: {greeter: {}, off: false}\n")
    assert found["states"]["greeter"] == ["on", ""]
    assert found["states"]["off"][0] == "off"
    assert "idle" not in found["states"]
    assert found["imported"] == ["dist_greeter"], "what is not on is not even imported"
    assert "greeter_tool" in found["tools"]
    assert not {"idle_tool", "off_tool"} & set(found["tools"])


@pytest.mark.slow
def test_configured_plugin_that_is_not_installed_is_missing(site: Computer) -> None:
    state, reason = site.load("plugins: {nowhere: true}\n")["states"]["nowhere"]
    assert state == "missing"
    assert "hookline plugins enable nowhere" in reason


@pytest.mark.slow
def test_duplicate_plugin_name_is_refused_and_names_both_dists(site: Computer) -> None:
    site.dist("first", "greeter")
    site.dist("second", "greeter")
    site.dist("third", "other")
    found = site.load("plugins: {greeter: true, other: true}\n")
    state, reason = found["states"]["greeter"]
    assert state == "failed"
    assert "dist-first" in reason
    assert "dist-second" in reason
    assert found["states"]["other"] == ["on", ""]
    assert found["imported"] == ["dist_third"]


BROKEN_IMPORTS = {
    "raises": ("import nothing_of_this_name", "nothing_of_this_name"),
    "exits": ("raise SystemExit('go away')", "go away"),
    "syntax": ("def (", "SyntaxError"),
    "lacks the class": ("", "One"),
    "is no plugin": ("class One: pass", "not a subclass of Plugin"),
    "is an instance": ("One = 7", "not a subclass of Plugin"),
}


@pytest.mark.slow
@pytest.mark.parametrize(("body", "words"), BROKEN_IMPORTS.values(), ids=BROKEN_IMPORTS)
def test_failing_plugin_import_leaves_the_app_running(
    site: Computer, body: str, words: str
) -> None:
    site.dist("broken", "broken", body)
    site.dist("good", "good")
    states = site.load("plugins: {broken: true, good: true}\n")["states"]
    assert states["broken"][0] == "failed"
    assert words in states["broken"][1]
    assert states["good"] == ["on", ""]


@pytest.mark.slow
def test_third_party_plugins_are_called_in_config_order(site: Computer) -> None:
    for name in ("a", "b", "c"):
        site.dist(name, name)
    states = list(site.load("plugins: {c: true, a: true, b: true}\n")["states"])
    assert [name for name in states if name in "abc"] == ["c", "a", "b"]
