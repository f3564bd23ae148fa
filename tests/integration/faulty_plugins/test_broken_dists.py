"""Dists that cannot be loaded: the command line works, and ``plugins list`` gives the reasons."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest
from support.machine import Machine
from support.site_packages import Site

HEAD = """
import asyncio, os, sys, time
from typing import Any, ClassVar
from pydantic import BaseModel, field_validator
from hookline_hookspecs import Plugin, Section, Tool, command, hookimpl, tool
from hookline_hookspecs.plugin import NoConfig
"""
WHOLE = """
    @tool
    def bad_tool(self) -> str:
        "Do something."
        return "done"

    @command("/bad")
    def bad_command(self, ctx, args):
        "Say something."
        return "said"

    @hookimpl
    def system_prompt(self, ctx, session):
        return Section("guidance", "BAD GUIDANCE")
"""
"""Something of each kind, none of which may stay."""


def plugin(body: str = "", before: str = "", base: str = "Plugin[NoConfig]") -> str:
    """The source of a plugin with a tool, a command and a hook, and ``body`` in its class."""
    return f"{HEAD}\n{before}\nclass One({base}):\n{WHOLE}\n{body}\n"


def row(machine: Machine, name: str = "bad") -> dict[str, Any]:
    """The plugin's line of ``hookline plugins list --json``."""
    listed = machine.run("plugins", "list", "--json")
    assert listed.code == 0, listed.err
    (found,) = [one for one in listed.json if one["name"] == name]
    return dict(found)


def assert_turn_works(machine: Machine) -> None:
    """A turn ends with its answer and shows no stack."""
    done = machine.run("run", "hi")
    assert (done.code, done.out) == (0, "hello\n"), done.err
    assert "Traceback" not in done.err


PROBE = """
import asyncio, json, os, sys
from pathlib import Path
from hookline.config import load
from hookline.runtime import Runtime
from hookline_hookspecs import HOOKS

async def main():
    home = Path(os.environ["HOOKLINE_HOME"])
    async with Runtime(load(home, os.environ), home) as runtime:
        tools = [t for t in runtime.engine.tools if t.endswith("_tool")]
        commands = [c.name for c in runtime.commands.all()]
        hooks = [i.plugin for h in HOOKS for i in runtime.bus.implementations(h)]
        print(json.dumps([tools, commands, hooks]))

asyncio.run(main())
"""


def assert_nothing_registered(machine: Machine) -> None:
    """Neither tool nor command nor hook of ``bad`` is live; those of ``good`` are."""
    command, env = [sys.executable, "-c", PROBE], machine.environment()
    probe = subprocess.run(command, env=env, cwd=machine.workspace, capture_output=True, check=True)
    tools, commands, hooks = json.loads(probe.stdout)
    assert tools == ["good_tool"]
    assert "/help" in commands
    assert "/bad" not in commands
    assert "bad" not in hooks


REFUSED: dict[str, tuple[str, list[str]]] = {
    "import error": (
        plugin(before="import nothing_of_this_name"),
        ["nothing_of_this_name", "dist_bad.py:8)"],
    ),
    "a dependency that is missing": (plugin(before="import acme_sdk.client"), ["acme_sdk"]),
    "SystemExit at import": (plugin(before="raise SystemExit('go away')"), ["go away"]),
    "BaseException at import": (
        plugin(before="class Odd(BaseException): ...\nraise Odd('the moon')"),
        ["the moon"],
    ),
    "GeneratorExit at import": (plugin(before="raise GeneratorExit"), ["GeneratorExit"]),
    "CancelledError at import": (
        plugin(before="raise asyncio.CancelledError('the moon')"),
        ["CancelledError"],
    ),
    "endless recursion at import": (plugin(before="def f(): f()\nf()"), ["RecursionError"]),
    "an error without words at import": (
        plugin(before="class E(Exception):\n    def __str__(self): raise ValueError\nraise E"),
        ["E"],
    ),
    "lone surrogates at import": (
        plugin(before="raise ValueError('moon \\ud83d')"),
        ["ValueError: moon"],
    ),
    "wrong signature": (
        plugin("    @hookimpl\n    def post_tool(self, ctx, outcome): ..."),
        ["post_tool", "outcome"],
    ),
    "misspelt hook": (
        plugin("    @hookimpl\n    def pre_tol(self, ctx, call): ..."),
        ["pre_tol", "did you mean pre_tool"],
    ),
    "an __init__ that raises": (
        plugin("    def __init__(self, config, host):\n        raise ValueError('no hands')"),
        ["no hands"],
    ),
    "an __init__ with other arguments": (
        plugin("    def __init__(self, config, host, broker): ..."),
        ["__init__", "broker"],
    ),
    "an __init__ without arguments": (plugin("    def __init__(self): ..."), ["__init__"]),
    "raises in setup half way": (
        plugin(
            "    @hookimpl\n    async def setup(self, host):\n"
            "        host.spawn(asyncio.sleep(3600), 'tick')\n"
            "        await asyncio.sleep(0)\n        raise ConnectionError('no broker')"
        ),
        ["setup", "no broker"],
    ),
    "SystemExit in setup": (
        plugin("    @hookimpl\n    def setup(self, host):\n        raise SystemExit('enough')"),
        ["setup", "enough"],
    ),
    "asyncio.run in setup": (
        plugin(
            "    @hookimpl\n    def setup(self, host):\n        wait = asyncio.sleep(0)\n"
            "        try:\n            asyncio.run(wait)\n"
            "        finally:\n            wait.close()"
        ),
        ["setup", "running event loop"],
    ),
    "two tools of one name": (
        plugin(
            "    @tool(name='bad_tool')\n    def again(self) -> str:\n"
            "        'Do it again.'\n        return ''"
        ),
        ["bad_tool"],
    ),
    "a tool of somebody else's name": (
        plugin(
            "    @tool\n    def good_tool(self) -> str:\n        'Do it again.'\n        return ''"
        ),
        ["good_tool", "good"],
    ),
    "a tool with a name no model accepts": (
        plugin(
            "    @tool(name='no name')\n    def again(self) -> str:\n"
            "        'Do it again.'\n        return ''"
        ),
        ["no name"],
    ),
    "a newer API": (plugin("    requires_api: ClassVar = (1, 99)"), ["1.99", "update hookline"]),
    "an API that is a number": (plugin("    requires_api: ClassVar = 1.0"), ["requires_api"]),
    "an API that is text": (plugin("    requires_api: ClassVar = '1.0'"), ["requires_api"]),
    "an API of texts": (plugin("    requires_api: ClassVar = ('1', '0')"), ["requires_api"]),
    "an API that is nothing": (plugin("    requires_api: ClassVar = None"), ["requires_api"]),
    "needs a plugin that is not there": (
        plugin("    requires: ClassVar = ('nowhere',)"),
        ["nowhere", "hookline plugins enable nowhere"],
    ),
    "needs itself as a text": (plugin("    requires: ClassVar = 'good'"), ["requires"]),
    "needs a number": (plugin("    requires: ClassVar = 7"), ["requires"]),
    "needs nothing, said as None": (plugin("    requires: ClassVar = None"), ["requires"]),
    "settings that are no model": (
        plugin("    config_class: ClassVar = 7", base="Plugin"),
        ["config_class"],
    ),
    "settings whose check raises": (
        plugin(
            before="class Config(BaseModel):\n    def __init__(self, **given):\n"
            "        raise OSError('no disk')\n    key: int = 1\n"
            "    @field_validator('key', mode='before')\n    @classmethod\n"
            "    def look(cls, value): raise OSError('no disk')\n",
            base="Plugin[Config]",
        ),
        ["no disk"],
    ),
    "settings with a required key": (
        plugin(before="class Config(BaseModel):\n    token: str\n", base="Plugin[Config]"),
        ["plugins.bad.token", "missing"],
    ),
}
CONFIG = "plugins:\n  good: {}\n  bad: {}\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("body", "words"),
    [
        pytest.param(*case, id=name, marks=[pytest.mark.slow] if number % 3 else [])
        for number, (name, case) in enumerate(REFUSED.items())
    ],
)
def test_unloadable_plugin_is_listed_with_its_reason(
    machine: Machine, site: Site, body: str, words: list[str]
) -> None:
    site.dist("good", "good")
    site.dist("bad", "bad", body)
    machine.config(CONFIG.replace("bad: {}", "bad: {key: 2}"))
    found = row(machine)
    assert found["state"] == "failed"
    assert found["dist"] == "dist-bad"
    for word in words:
        assert word in found["reason"]
    assert_turn_works(machine)


LATE = (
    "an __init__ that raises",
    "raises in setup half way",
    "two tools of one name",
    "needs a plugin that is not there",
    "misspelt hook",
)


@pytest.mark.slow
@pytest.mark.parametrize("case", LATE)
def test_failed_plugin_leaves_nothing_registered(machine: Machine, site: Site, case: str) -> None:
    site.dist("good", "good")
    site.dist("bad", "bad", REFUSED[case][0])
    machine.config(CONFIG)
    assert_nothing_registered(machine)


@pytest.mark.slow
def test_invalid_plugin_setting_is_listed_with_its_line(machine: Machine, site: Site) -> None:
    site.dist("good", "good")
    config = "class Config(BaseModel):\n    times: int = 1\n"
    site.dist("bad", "bad", plugin(before=config, base="Plugin[Config]"))
    machine.config("plugins:\n  bad: {times: often}\n  good: {}\n")
    found = row(machine)
    assert found["state"] == "failed"
    for word in ("config.yaml:2", "plugins.bad.times", "often"):
        assert word in found["reason"]
    assert_turn_works(machine)
    assert_nothing_registered(machine)


@pytest.mark.slow
def test_settings_without_a_schema_do_not_break_info_and_schema(
    machine: Machine, site: Site
) -> None:
    config = """
class Handle: ...
class Config(BaseModel):
    model_config = {"arbitrary_types_allowed": True}
    handle: Handle | None = None
"""
    site.dist("good", "good")
    site.dist("bad", "bad", plugin(before=config, base="Plugin[Config]"))
    machine.config(CONFIG)
    assert_turn_works(machine)
    info = machine.run("plugins", "info", "bad", "--json")
    assert info.code == 0, info.err
    assert info.json["name"] == "bad"
    assert machine.run("config", "schema").code == 0


SLOW = plugin(before="time.sleep(2.3)")
"""A little longer than an import may take without a word."""


@pytest.mark.slow
def test_slow_import_only_warns(machine: Machine, site: Site) -> None:
    site.dist("bad", "bad", SLOW)
    machine.config("plugins: {bad: true}\n")
    done = machine.run("run", "hi")
    assert (done.code, done.out) == (0, "hello\n"), done.err
    log = (machine.home / "logs" / "hookline.log").read_text("utf-8")
    (line,) = [line for line in log.splitlines() if "to import" in line]
    assert "plugin bad took 2." in line


ODD_DISTS: dict[str, bytes] = {
    "no class": b"[hookline.plugins]\nbad = dist_good\n",
    "no module": b"[hookline.plugins]\nbad = not a module!\n",
    "another group's": b"[hookline.stores]\nsqlite7 = nowhere:Store\n",
    "nothing at all": b"",
}


@pytest.mark.slow
@pytest.mark.parametrize("entry_points", ODD_DISTS.values(), ids=ODD_DISTS)
def test_garbage_metadata_fails_only_its_plugin(
    machine: Machine, site: Site, entry_points: bytes
) -> None:
    site.dist("good", "good")
    site.metadata("bad", entry_points)
    machine.config(CONFIG)
    found = row(machine)
    assert found["state"] in ("failed", "missing")
    assert found["reason"]
    assert_turn_works(machine)


@pytest.mark.slow
def test_dists_with_the_same_plugin_name_are_refused_by_name(machine: Machine, site: Site) -> None:
    site.dist("good", "good")
    site.dist("bad", "bad", plugin())
    site.dist("worse", "bad", plugin())
    machine.config(CONFIG)
    found = row(machine)
    assert found["state"] == "failed"
    for word in ("dist-bad", "dist-worse", "uninstall one of them"):
        assert word in found["reason"]
    assert_turn_works(machine)
    assert_nothing_registered(machine)


@pytest.mark.slow
def test_keyboard_interrupt_in_an_import_ends_the_command(machine: Machine, site: Site) -> None:
    site.dist("bad", "bad", plugin(before="raise KeyboardInterrupt"))
    machine.config("plugins: {bad: true}\n")
    done = machine.run("run", "hi")
    assert done.code == 130
    assert "Traceback" not in done.err
    assert machine.run("plugins", "disable", "bad").code == 0, "it can be switched off all the same"
    assert machine.run("run", "hi").out == "hello\n"


@pytest.mark.slow
def test_plugin_that_exits_at_import_can_be_switched_off(machine: Machine, site: Site) -> None:
    site.dist("bad", "bad", plugin(before="import os; os._exit(9)"))
    path = machine.config("plugins: {bad: true}\n")
    assert machine.run("config", "check").code == 9, "it does end the process"
    assert machine.run("config", "set", "trace", "true").code == 0
    off = machine.run("plugins", "disable", "bad")
    assert (off.code, off.out, off.err) == (0, f"bad is off in {path}\n", "")
    assert machine.run("run", "hi").out == "hello\n"


CLI = {
    "takes a name of core": "register('run', lambda: None)",
    "registers no command": "register('worse', 7)",
    "registers no name": "register(None, lambda: None)",
    "a parameter that cannot be given": "register('worse', lambda *, x: None)",
    "exits": "sys.exit(7)",
    "raises": "raise ValueError('the moon is wrong')",
}


@pytest.mark.slow
@pytest.mark.parametrize("act", CLI.values(), ids=CLI)
def test_invalid_plugin_command_leaves_other_commands_working(
    machine: Machine, site: Site, act: str
) -> None:
    bad = plugin(f"    @hookimpl\n    def register_cli(self, register):\n        {act}")
    good = plugin(
        "    @hookimpl\n    def register_cli(self, register):\n"
        "        def fine(): print('fine')\n        register('fine', fine, help='Say fine.')"
    ).replace("bad", "good")
    site.dist("bad", "bad", bad)
    site.dist("good", "good", good)
    machine.config(CONFIG)
    assert machine.run("fine").out == "fine\n"
    helped = machine.run("--help")
    assert helped.code == 0, helped.err
    assert "Say fine." in helped.out
    assert "Traceback" not in helped.err
    assert_turn_works(machine)


GROUP = """
    @hookimpl
    def register_cli(self, register):
        import typer
        group = typer.Typer(help="Count what is kept.")
        group.command("add")(self.add)
        register("count", group)

    async def add(self, word: str):
        "Keep a word."
        kept = [*await self.host.storage.kv.get("kept", []), word]
        await self.host.storage.kv.set("kept", kept)
        print(len(kept))
        raise SystemExit(len(kept))
"""


@pytest.mark.slow
def test_coroutine_command_in_a_group_returns_its_exit_code(machine: Machine, site: Site) -> None:
    site.dist("bad", "bad", plugin(GROUP))
    machine.config(CONFIG)
    first, second = machine.run("count", "add", "one"), machine.run("count", "add", "two")
    assert (first.code, first.out, first.err) == (1, "1\n", "")
    assert (second.code, second.out, second.err) == (2, "2\n", "")
    assert "Count what is kept." in machine.run("count", "--help").out


@pytest.mark.slow
def test_duplicate_commands_name_both_plugins(machine: Machine, site: Site) -> None:
    site.dist("bad", "bad", plugin(GROUP))
    site.dist("good", "good", plugin(GROUP).replace("bad", "good"))
    machine.config(CONFIG)
    done = machine.run("count", "add", "one")
    assert (done.code, done.out) == (1, "1\n")
    assert done.err == (
        "hookline: warning: plugin bad: register_cli: `hookline count` belongs to good already; "
        "rename one of them\n"
    )


@pytest.mark.slow
def test_missing_command_error_names_the_plugin_and_its_failure(
    machine: Machine, site: Site
) -> None:
    site.dist("bad", "bad", plugin(GROUP, before="import nothing_of_this_name"))
    machine.config(CONFIG)
    done = machine.run("count", "add", "one")
    assert done.code == 2
    assert "No such command 'count'" in done.err
    said = (
        "hookline: `hookline count` may belong to plugin bad, which is not on: "
        "ModuleNotFoundError: No module named 'nothing_of_this_name' "
        f"({site.path / 'dist_bad.py'}:8)"
    )
    assert said in done.err.splitlines()
    machine.config("plugins: {insights: false, skills: {most: [nonsense]}}\n")
    (off,) = machine.run("insights").err.splitlines()
    assert off == (
        "hookline: `hookline insights` belongs to plugin insights, which is off. "
        "Run `hookline plugins enable insights`."
    )


@pytest.mark.slow
def test_missing_web_command_suggests_both_web_plugins(machine: Machine, site: Site) -> None:
    (site.path / "sitecustomize.py").write_text(
        "from importlib.metadata import Distribution, EntryPoints\n"
        "found = Distribution.entry_points.fget\n"
        "Distribution.entry_points = property(\n"
        "    lambda dist: EntryPoints(one for one in found(dist) if 'web' not in one.name)\n)\n"
    )
    machine.config("")
    assert machine.run("web").err.splitlines()[-1] == (
        "hookline: `hookline web` belongs to web-server and web-ui, which are not installed. "
        "Run `hookline plugins enable web-server web-ui`."
    )


@pytest.mark.slow
def test_commands_that_need_no_config_run_with_an_invalid_one(machine: Machine) -> None:
    machine.config("max_iterations: [many]\n")
    health = machine.run("health")
    assert health.code == 1
    assert "max_iterations" in health.err
    assert "No gateway has run" in health.out
    asking = machine.run("sessions", "list")
    assert asking.code == 2
    assert "No such command" not in asking.err


@pytest.mark.slow
def test_command_guard_that_cannot_be_imported_denies(machine: Machine, site: Site) -> None:
    site.metadata("reader", b"[hookline.command_guards]\nreader = no_such_module\n")
    done = machine.run("plugins", "list")
    assert done.code == 2
    assert done.err == (
        "hookline: Denied: command guard 'reader' cannot be imported: "
        "ModuleNotFoundError: No module named 'no_such_module'. Reinstall dist-reader.\n"
    )
