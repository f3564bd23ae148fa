"""The commands that plugins add with ``register_cli``, and the errors for missing ones."""

from __future__ import annotations

import inspect
import logging
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import typer
from hookline_hookspecs import CommandError, HooklineError, PluginFailure

from hookline.bus.implementation import describe
from hookline.config import plugin_commands
from hookline.plugins.discovery import installed

from .shared import FAILED, INTERRUPTED, USAGE, err, stop

if TYPE_CHECKING:
    from hookline.runtime import Runtime

log = logging.getLogger("hookline.cli")
Explain: TypeAlias = "Callable[[set[str]], bool] | None"
"""Called with the names that a missing command may have: what is missing, and two words of it."""
BACKGROUND_SECONDS = 60.0
"""How long to wait for background work after a command."""
FIRST = ("init", "chat", "run", "sessions", "config", "plugins", "doctor", "demo")
"""The commands that the help lists before the others."""
STORE_CLOSED = "host.storage needs a command that is a coroutine: write `async def`, without asyncio.run, and await it"


class PluginCommands:
    """Adds the plugins' commands to the group ``root``.

    A name belongs to the plugin that registers it first; a second registration is refused.

    Args:
        root: the Click group ``hookline``.
        runtime: a runtime whose plugins are loaded but not set up; ``def`` commands run in it.
        in_runtime: opens a runtime and runs its first argument in it; the second overrides the
            config.
        known: help by command by plugin; named for the plugins that are on and installed.
    """

    def __init__(self, root: Any, runtime: Runtime, in_runtime: Callable[..., Any], known: Mapping[str, Any]) -> None:
        self._root = root
        self._runtime = runtime
        self._in_runtime = in_runtime
        self._owners: dict[str, str] = {}
        runtime.bus.signals.connect("plugin_failed", _warn)
        for plugin in filter(installed().__contains__, known):
            for name, text in known[plugin].items() if runtime.plugins.state(plugin) == "on" else ():
                self._add(plugin, name, lambda: None, help=text or "")
        runtime.bus.gather("register_cli", lambda plugin: partial(self._add, plugin))
        root.commands = {n: root.commands[n] for n in sorted(root.commands, key=lambda n: (*FIRST, n).index(n))}

    def _add(self, plugin: str, name: str, command: Any, *, help: str = "") -> None:  # noqa: A002
        *groups, last = words = str(name).split()
        parent = self._root
        for depth, word in enumerate(groups, 1):
            if word not in parent.commands:
                group = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="")
                parent.add_command(typer.main.get_group(group), word)
                self._owners[" ".join(groups[:depth])] = plugin
            parent = parent.commands[word]
            if not hasattr(parent, "commands"):
                raise ValueError(f"`hookline {' '.join(groups[:depth])}` is a command, not a group")
        if last in parent.commands:
            owner = self._owners.get(" ".join(words)) or self._owners[" ".join(groups)]
            raise ValueError(f"`hookline {name}` belongs to {owner} already; rename one of them")
        lists = groups and (parent.help or "") == ", ".join(parent.commands)  # a group of no plugin's own
        parent.add_command(self._runnable(plugin, words, _build(last, command, help)), last)
        parent.help = ", ".join(parent.commands) if lists else parent.help
        self._owners[" ".join(words)] = plugin

    def _runnable(self, plugin: str, words: Sequence[str], command: Any) -> Any:
        """Wrap every callback of ``command`` according to its kind and return ``command``."""
        for name, inner in getattr(command, "commands", {}).items():
            self._runnable(plugin, [*words, name], inner)
        written = getattr(command.callback, "__wrapped__", None)  # Typer wraps the function
        if inspect.iscoroutinefunction(written):
            command.callback = partial(self._run_coroutine, plugin, words)
        elif written is not None:
            command.callback = partial(self._run, plugin, words, command.callback)
            command.context_settings["obj"] = partial(self._open, plugin)
        return command

    def _run(self, plugin: str, words: Sequence[str], call: Any, /, **options: Any) -> Any:
        name = " ".join(words)
        try:
            return call(**options)
        except HooklineError as error:
            stop(f"plugin {plugin}, `hookline {name}`: {error}", FAILED)
        except Exception as error:
            if type(error).__module__.partition(".")[0] in ("click", "typer") or self._runtime.engine.strict:
                raise
            log.error("plugin %s failed in `hookline %s`", plugin, name, exc_info=error)
            hint = "HOOKLINE_STRICT=1 shows the traceback"
            stop(f"plugin {plugin} failed in `hookline {name}`: {describe(error)}; {hint}", FAILED)

    def _run_coroutine(self, plugin: str, words: Sequence[str], /, **options: Any) -> Any:
        """Run what the plugin registers under this name after setup.

        An option ``model`` overrides the config's ``model`` for this call.
        """

        async def work(runtime: Runtime) -> Any:
            result = await _registered(runtime, plugin, words).callback(**options)
            await runtime.finish_background(BACKGROUND_SECONDS)
            return result

        return self._run(plugin, words, lambda: self._set_up(plugin, work, {"model": options.get("model")}))

    def _open(self, plugin: str, work: Callable[..., Any], /, **settings: object) -> Any:
        """Implements ``OpenRuntime`` for a plugin."""
        return self._set_up(plugin, lambda runtime: work(runtime.plugins.host(plugin)), settings)

    def _set_up(self, plugin: str, work: Callable[[Runtime], Awaitable[Any]], settings: dict[str, Any]) -> Any:
        """Await ``work`` in an open runtime in which the plugin is set up."""

        async def checked(runtime: Runtime) -> Any:
            loading = runtime.plugins.loadings[plugin]
            if loading.plugin is None:
                stop(f"plugin {plugin} is not on: {loading.reason or 'config.yaml switches it off'}", FAILED)
            return await work(runtime)

        entry = self._runtime.engine.loaded.plugins.get(plugin)
        if entry is not None and entry.for_command:
            settings = {f"plugins.{plugin}.enabled": True} | settings
        return self._in_runtime(checked, settings)

    def explain(self, missing: set[str]) -> bool:
        """Print which plugin that is off brings, or may bring, the command in ``missing``; False for "may"."""
        brought = plugin_commands()
        near = [(one, n) for one, names in brought.items() for n in names if {n, n.partition(" ")[0]} & missing]
        for plugin, name in sorted(near, key=lambda found: found[1] not in missing):
            err(f"hookline: `hookline {name}` comes with plugin {plugin}, {self._fate(plugin)}")
            return True
        for plugin, loading in self._runtime.plugins.loadings.items():
            if loading.state in ("failed", "missing") and plugin not in brought:
                err(f"hookline: `hookline {min(missing)}` may come with plugin {plugin}, {self._fate(plugin)}")
        return False

    def _fate(self, plugin: str) -> str:
        if (found := self._runtime.plugins.loadings.get(plugin)) is not None and found.reason:
            return f"which is not on: {found.reason}"
        state = "installed" if found is not None and found.entry.enabled else "on"
        if state == "installed" and "configure" not in installed():  # no other name is ever suggested for pip
            return f"which is not installed: pip install hookline-{plugin}"
        # `hookline web` is for the pages.
        return f"which is not {state}; `hookline plugins enable {plugin.replace('web-server', 'web-ui')}` mends that"


def invoke(root: Any, words: Sequence[str], explain: Explain = None) -> int:
    """Run the command line ``words`` and return the exit code; usage errors are shown."""
    try:
        code = root.main(list(words), prog_name="hookline", standalone_mode=False)
    except CommandError as error:
        err(f"hookline: {error.text}")
        raise
    except Exception as error:
        # Typer bundles its own Click, and a plugin may use the other: check for methods, not types.
        if callable(show := getattr(error, "show", None)):
            name, asked = _missing(error), " ".join([word for word in words if not word.startswith("-")][:2])
            if not (explain and name and explain({name, asked})):
                vars(error)["message"] = str(getattr(error, "message", "")).removeprefix("Value error, ")
                show()
            return int(getattr(error, "exit_code", USAGE))
        if type(error).__name__ == "Abort":
            return INTERRUPTED
        raise
    return code if type(code) is int else 0


def _missing(error: Any) -> str:
    """Return the full name of the missing command, if that is the error, or an empty string."""
    found = re.match(r"No such command '([^']+)'", error.format_message())
    return f"{error.ctx.command_path} {found[1]}".removeprefix("hookline ") if found else ""


def _warn(event: PluginFailure, **_rest: Any) -> None:
    err(f"hookline: warning: plugin {event.plugin}: {event.hook}: {event.reason.removeprefix('ValueError: ')}")


def _build(name: str, command: Any, help_: str) -> Any:
    """Create the Click command for a function or a Typer app."""
    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    options: dict[str, Any] = {"help": help_} if help_ else {}
    if isinstance(command, typer.Typer):
        app.add_typer(command, name=name, **options)
    elif callable(command):
        app.command(name, **options)(command)
    else:
        raise ValueError(f"hookline {name} is {command!r}, which cannot be called")
    return typer.main.get_group(app).commands[name]


def _registered(runtime: Runtime, plugin: str, words: Sequence[str]) -> Any:
    """Return what a plugin that is set up registers under these words."""
    found: dict[str, Any] = {}
    runtime.bus.gather("register_cli", lambda _: lambda name, command, **_help: found.update({name: command}), plugin)
    depth = next(n for n in range(len(words), 0, -1) if " ".join(words[:n]) in found)
    command = _build(words[depth - 1], found[" ".join(words[:depth])], "")
    for word in words[depth:]:
        command = command.commands[word]
    return command
