"""Mistakes of authors: each is refused where it was made, with plugin, file and line."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hookline.testing import calls
from hookline_hookspecs import Host, Plugin, PluginFailure, hookimpl, tool
from hookline_hookspecs.plugin import NoConfig
from support.machine import Machine
from support.site_packages import Site

HEAD = """
from hookline_hookspecs import Check, CheckResult, Command, Job, Plugin, Section
from hookline_hookspecs import command, hookimpl, tool
from hookline_hookspecs.plugin import NoConfig

class One(Plugin[NoConfig]):
"""


def install(machine: Machine, site: Site, body: str) -> Path:
    """Install a plugin ``mine`` with ``body`` in its class, and return its source file."""
    site.dist("mine", "mine", HEAD + body)
    machine.home.mkdir(exist_ok=True)
    (machine.home / "config.yaml").write_text("plugins: {mine: true}\n")
    return site.path / "dist_mine.py"


def row(machine: Machine) -> dict[str, Any]:
    """The plugin's row of ``hookline plugins list``."""
    listed = machine.run("plugins", "list", "--json")
    return next(one for one in listed.json if one["name"] == "mine")


def line_of(source: Path, text: str) -> str:
    """``FILE:LINE`` of the line that contains ``text``."""
    lines = source.read_text().split("\n")
    return f"{source}:{next(n for n, line in enumerate(lines, 1) if text in line)}"


@pytest.mark.long
@pytest.mark.parametrize(
    ("body", "line", "sentence"),
    [
        (
            "    @command('standup')\n    def it(self, ctx, args):\n        'Say it.'\n",
            "@command('standup')",
            "'standup' is not a slash command",
        ),
        (
            "    @tool(effects=('remember',))\n    def it(self):\n        'Remember it.'\n",
            "@tool(effects=('remember'",
            "effects of 'it': 'remember' is not one of read, write,",
        ),
        (
            "    @tool(effects='send')\n    def it(self):\n        'Send it.'\n",
            "@tool(effects='send'",
            "effects of 'it': write a tuple, ('send',)",
        ),
    ],
    ids=["command without a slash", "tool with an unknown effect", "effects as a string"],
)
def test_declaration_in_the_class_is_refused(
    machine: Machine, site: Site, body: str, line: str, sentence: str
) -> None:
    source = install(machine, site, body)
    found = row(machine)
    assert found["state"] == "failed"
    assert sentence in found["reason"]
    assert line_of(source, line) in found["reason"]


@pytest.mark.long
@pytest.mark.parametrize(
    ("body", "line", "sentence"),
    [
        (
            "    @hookimpl\n    def register_jobs(self, register):\n"
            "        register(Job('sweep', self.sweep, every=0))\n"
            "    async def sweep(self): ...\n",
            "every=0",
            "job 'sweep': every=0; write the seconds between two runs, more than 0",
        ),
        (
            "    @hookimpl\n    def system_prompt(self, ctx, session):\n"
            "        return Section('persona', 'Be kind.')\n",
            "Section('persona'",
            "'persona' is not a slot of the prompt: identity,",
        ),
    ],
    ids=["job that never waits", "section in an unknown slot"],
)
def test_declaration_in_a_hook_is_refused(
    machine: Machine, site: Site, body: str, line: str, sentence: str
) -> None:
    source = install(machine, site, body)
    machine.env["HOOKLINE_MODEL"] = machine.script({"text": "hello", "repeat": True})
    assert machine.run("run", "hi").out == "hello\n"
    found = row(machine)
    assert found["state"] == "on"
    assert sentence in found["reason"]
    assert line_of(source, line) in found["reason"]


@pytest.mark.long
def test_check_that_returns_a_bool_fails_alone(machine: Machine, site: Site) -> None:
    source = install(
        machine,
        site,
        "    @hookimpl\n    def register_checks(self, register):\n"
        "        register(Check('yes', self.yes))\n"
        "        register(Check('good', lambda: CheckResult(True, 'fine')))\n"
        "    def yes(self):\n        return True\n",
    )
    done = machine.run("doctor", "--offline", "--json")
    rows = {one["name"]: one for one in json.loads(done.out)}
    assert rows["yes"]["detail"] == (
        f"expected a CheckResult, got bool ({line_of(source, 'def yes')})"
    )
    assert not rows["yes"]["ok"]
    assert rows["good"]["ok"]
    assert "model" in rows


@pytest.mark.long
def test_refused_cli_command_loses_only_itself(machine: Machine, site: Site) -> None:
    install(
        machine,
        site,
        "    @hookimpl\n    def register_cli(self, register):\n"
        "        register('mine-bad', 7)\n"
        "        register('mine-good', self.good)\n"
        "    def good(self) -> None:\n        'Say hello.'\n        print('hello')\n",
    )
    done = machine.run("mine-good")
    assert done.out == "hello\n", done.err
    assert "hookline mine-bad: expected a function or an app, got 7" in row(machine)["reason"]


class Forgetful(Plugin[NoConfig]):
    """A plugin that forgets to await, and one that fails."""

    @tool(read_only=True)
    def weather(self) -> str:
        """Say the weather."""
        return self._fetch()  # type: ignore[return-value]

    async def _fetch(self) -> str:
        return "sun"

    @tool(read_only=True)
    def broken(self) -> str:
        """Fail."""
        raise KeyError("city")


@pytest.mark.parametrize(
    ("name", "sentence", "line"),
    [
        ("weather", r"it returned a coroutine; .*write `await Forgetful\._fetch\(…\)`", ""),
        ("broken", r"KeyError: 'city'", 'raise KeyError("city")'),
    ],
)
def test_failing_tool_is_told_with_its_plugin(
    harness: Callable[..., Any], name: str, sentence: str, line: str
) -> None:
    failures: list[PluginFailure] = []

    class Listener(Plugin[NoConfig]):
        """Notes failures."""

        @hookimpl
        def setup(self, host: Host) -> None:
            host.signals.connect("plugin_failed", lambda event, **_: failures.append(event))

    h = harness(Forgetful, Listener, model=[calls(name), "done"])
    (result,) = h.send("go").tool_calls
    assert re.search(sentence, result.text)
    (failure,) = failures
    assert failure.plugin == "forgetful"
    assert failure.hook == f"tool {name}"
    assert re.search(sentence, failure.reason)
    if line:
        assert line_of(Path(__file__), line) in failure.reason
