"""A healthy plugin to run beside a faulty one, and a conversation that calls every hook."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hookline.testing import calls
from hookline_hookspecs import (
    HOOKS,
    Attachment,
    Audio,
    Notice,
    Overloaded,
    Plugin,
    PluginFailure,
    hookimpl,
    tool,
)
from hookline_hookspecs.plugin import NoConfig

PICTURE = Attachment(Path("plan.pdf"), "application/pdf", "plan.pdf", 12, origins=())
VOICE = Audio(Path("words.ogg"), "audio/ogg", 2.0, origins=())
TOOLS = {"look": "a view", "keep": "a note", "act": "done", "both": "seen"}
"""What the tools of :class:`Healthy` answer, by name."""
GUARDED = {
    "pre_tool": frozenset(TOOLS),
    "around_tool": frozenset(TOOLS),
    "pre_read": frozenset({"look"}),
    "pre_learn": frozenset({"keep"}),
}
"""The tools that a failing guard or middleware keeps from being run, by hook."""
GATHERED = (
    *("register_cli", "register_routes", "register_checks", "register_jobs"),
    "register_reviewers",
)
"""Hooks that core gathers where a command or another plugin needs what they register."""
UNCALLED = frozenset({"pre_compact"})
"""Hooks that only a plugin makes core call."""
CALLED = tuple(hook for hook in HOOKS if hook not in UNCALLED)


class Healthy(Plugin[NoConfig]):
    """Reads, learns and asks; other plugins must not affect it."""

    @tool(read_only=True)
    async def look(self) -> str:
        """Look, through the gate for reading."""
        return await self.host.read("a view", "window")

    @tool
    async def keep(self) -> str:
        """Remember, through the gate for learning."""
        return await self.host.learn("a note", "a tool", "note")

    @tool(approval="it changes things")
    def act(self) -> str:
        """Do what needs an approval."""
        return "done"

    @tool(read_only=True)
    def both(self) -> str:
        """Look without any gate."""
        return "seen"


@dataclass(frozen=True)
class HookCalls:
    """The outcome of :func:`call_every_hook`.

    ``turn`` is the outcome of the turn with tools, voice, file and question; ``error`` that of
    the turn in which the model is away; ``failures`` and ``notices`` those of all of it.
    """

    turn: Any
    error: Any
    after: Any
    failures: tuple[PluginFailure, ...]
    notices: tuple[Notice, ...]

    @property
    def results(self) -> dict[str, str]:
        """Text by tool."""
        return {result.call.name: result.text for result in self.turn.tool_calls}


SCRIPT = [
    [calls("look"), calls("both")],
    [calls("keep"), calls("act")],
    "well",
    Overloaded("the model is away"),
    "again",
]


def make_harness(harness: Any, *bad: type[Plugin[Any]], **options: Any) -> Any:
    """A harness with bad plugins, outermost, and the healthy one."""
    given = {"model": list(SCRIPT), "answers": ["Allow once"], "strict": False}
    return harness(*bad, Healthy, **given | options)


def call_every_hook(h: Any) -> HookCalls:
    """Make core call every hook: a full turn, a failing one, a new session."""
    failures = collect_failures(h)
    for hook in GATHERED:
        h.runtime.bus.gather(hook, lambda _plugin: lambda *_parts, **_more: None)
    turn = h.send("go", attachments=[PICTURE, VOICE])
    error = h.send("and now?")
    h.send("/new")
    after = h.send("still there?")
    h.close()
    return HookCalls(turn, error, after, tuple(failures), tuple(h.notices))


def collect_failures(h: Any) -> list[PluginFailure]:
    """Open the core and collect the ``plugin_failed`` events from now on."""
    failures: list[PluginFailure] = []
    h.runtime.bus.signals.connect("plugin_failed", lambda event, ctx: failures.append(event))
    return failures


def plugin_doing(hook: str, act: Callable[[], Any]) -> type[Plugin[Any]]:
    """A plugin ``bad`` whose only hook does ``act()``, which may be a coroutine function."""

    def implementation(self: Any) -> Any:
        return act()

    def registering(self: Any, register: Any) -> Any:
        return act()

    made = registering if HOOKS[hook].sync else implementation
    return type("Bad", (Plugin,), {"implementation": hookimpl(specname=hook)(made)})


def plugin_raising(hook: str, error: BaseException) -> type[Plugin[Any]]:
    """A plugin ``bad`` whose only hook raises ``error``."""

    def act() -> None:
        raise error

    return plugin_doing(hook, act)


def registrations(h: Any, plugin: str) -> list[str]:
    """What is still registered of a plugin, in every registry."""
    runtime = h.runtime
    commands = runtime.commands
    return [
        *[f"tool {t.name}" for t in runtime.engine.tools.values() if t.plugin == plugin],
        *[
            f"command {c.name}"
            for c in commands.all()
            if (commands.find(c.name) or [""])[0] == plugin
        ],
        *[
            f"hook {hook}"
            for hook in HOOKS
            for impl in runtime.bus.implementations(hook)
            if impl.plugin == plugin
        ],
    ]


def healthy_plugin_works(h: Any) -> bool:
    """True if a turn with a tool of the healthy plugin ends with an answer."""
    h.model.steps[:] = [[calls("look")], "well"]
    outcome = h.send("hello")
    return [r.text for r in outcome.tool_calls] == ["a view"] and outcome.text == "well"


def crossed_params(rows: Iterable[Any], columns: Iterable[Any]) -> list[Any]:
    """Each row with each column, for ``parametrize``; a third, covering all rows, is quick."""
    return [
        pytest.param(row, column, marks=[pytest.mark.slow] if (up + along) % 3 else [])
        for up, row in enumerate(rows)
        for along, column in enumerate(columns)
    ]
