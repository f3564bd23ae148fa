"""The installed commands, found by entry point and described without importing them."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib.metadata import EntryPoint, entry_points, metadata
from pathlib import Path
from typing import Any

from hookline_hookspecs.cli import InstalledCommand

from hookline.config import PluginEntry
from hookline.plugins.discovery import installed

from .build import build_command, is_group

GROUP = "hookline.commands"
FIRST = ("init", "chat", "run", "sessions", "config", "plugins", "doctor", "demo")
"""Commands that the help lists first."""
_DOCSTRING = re.compile(r"""(?:\s|\#[^\n]*\n)*[rRuU]?(?:\"\"\"|'''|"|')\s*([^\n]*)""")
_WORKS_WHEN_OFF = re.compile(r"^WORKS_WHEN_OFF = True\b", re.MULTILINE)


class CommandEntry:
    """One command.

    Args:
        name: its words, such as ``plugins list``.
        value: ``module:attribute``; empty for a command that a plugin registered at run time.
        plugin: the plugin that it belongs to; empty if none.
        built: the Click command; None until ``command`` builds it.
    """

    def __init__(self, name: str, value: str, plugin: str, built: Any = None) -> None:
        self.name = name
        self.value = value
        self.plugin = plugin
        self.module = value.partition(":")[0]
        self.built = built

    @property
    def summary(self) -> str:
        """The one-line help."""
        if self.value:
            found = _DOCSTRING.match(source_of(self.module))
            return found[1].rstrip("\\\"' ") if found else ""
        return str(self.built.get_short_help_str(200))

    @property
    def works_when_off(self) -> bool:
        """True if the command also runs while its plugin is off."""
        return _WORKS_WHEN_OFF.search(source_of(self.module)) is not None

    def command(self) -> Any:
        """Import the command's module and return its Click command."""
        if self.built is None:
            found = EntryPoint(self.name, self.value, GROUP).load()
            self.built = build_command(self.name.split()[-1], found, self.summary)
        return self.built

    @property
    def is_built_group(self) -> bool:
        """True for a group that has been built."""
        return self.built is not None and is_group(self.built)


class Catalog:
    """Every command, by its words.

    Args:
        entries: the commands. If two have the same name, the one whose plugin config names first
            is used.
        plugins: the plugins that config names, in call order.
        register_more: registers the commands that plugins know only at run time. Called once, when
            a command is not found or all are listed.
        warn: shows a warning.

    Attributes:
        failed: the error of each plugin whose run-time commands may be missing.
    """

    def __init__(
        self,
        entries: Iterable[CommandEntry],
        plugins: Mapping[str, PluginEntry],
        register_more: Callable[[Catalog], None] = lambda _: None,
        warn: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.failed: dict[str, str] = {}
        self._plugins = plugins
        self._ranks = {name: rank for rank, name in enumerate(plugins)}
        self._register_more: Callable[[Catalog], None] | None = register_more
        self._entries: dict[str, CommandEntry] = {}
        self._overridden: dict[str, list[str]] = {}
        for entry in sorted(entries, key=self._order):
            first = self._entries.setdefault(entry.name, entry)
            if first is not entry and self.is_on(entry):
                self._overridden.setdefault(entry.name, []).append(entry.plugin)
                warn(f"hookline: warning: {_conflict(first, entry)}")

    def _order(self, entry: CommandEntry) -> tuple[int, int, str]:
        word = entry.name.partition(" ")[0]
        first = FIRST.index(word) if word in FIRST else len(FIRST)
        return first, self._ranks.get(entry.plugin, len(self._ranks)), entry.name

    def __iter__(self) -> Iterator[CommandEntry]:
        """Every command in the order of the help, including those of plugins that are off."""
        self.complete()
        return iter(sorted(self._entries.values(), key=self._order))

    def find(self, name: str) -> CommandEntry | None:
        """The command of this name."""
        return self._entries.get(name)

    def below(self, name: str) -> list[CommandEntry]:
        """The commands in the group of this name; all commands if it is empty."""
        found = [
            one for one in self._entries.values() if not name or one.name.startswith(f"{name} ")
        ]
        return sorted(found, key=self._order)

    def complete(self) -> None:
        """Register the commands that plugins know only at run time, once."""
        register_more, self._register_more = self._register_more, None
        if register_more is not None:
            register_more(self)

    def is_on(self, entry: CommandEntry) -> bool:
        """True if the command's plugin is on or it belongs to no plugin."""
        plugin = self._plugins.get(entry.plugin)
        return not entry.plugin or (plugin is not None and plugin.enabled)

    def can_run(self, entry: CommandEntry) -> bool:
        """True if the command runs now."""
        return self.is_on(entry) or entry.works_when_off

    def why_off(self, entry: CommandEntry) -> str:
        """Why a command cannot run while its plugin is off, and what to do."""
        belongs = f"`hookline {entry.name}` belongs to plugin {entry.plugin}, which is"
        plugin = self._plugins.get(entry.plugin)
        if plugin is not None and plugin.error:
            return f"{belongs} not on: {plugin.error}"
        return f"{belongs} off. Run `hookline plugins enable {entry.plugin}`."

    def describe(self) -> list[InstalledCommand]:
        """A description of each command."""
        return [
            InstalledCommand(
                one.name,
                one.plugin,
                one.summary,
                self.is_on(one),
                tuple(self._overridden.get(one.name, ())),
            )
            for one in self
        ]

    def register(self, plugin: str, name: str, command: Any) -> None:
        """Add a built command. Raises ``ValueError`` if its name is taken."""
        words = name.split()
        for depth in range(1, len(words)):
            self._check_group(" ".join(words[:depth]), words[depth:])
        taken = [self._entries[name]] if name in self._entries else self.below(name)
        if taken:
            raise ValueError(
                f"`hookline {name}` belongs to {taken[0].plugin} already; rename one of them"
            )
        self._entries[name] = CommandEntry(name, "", plugin, command)

    def _check_group(self, name: str, rest: list[str]) -> None:
        """Raise ``ValueError`` if ``name`` is not a group, or if it already has the command."""
        entry = self._entries.get(name)
        if entry is None or not (entry.is_built_group or not entry.value):
            return
        found, path = entry.command(), [name]
        for word in [*rest, ""]:
            if not is_group(found):
                if not word:
                    break
                raise ValueError(f"`hookline {' '.join(path)}` is a command, not a group")
            if word not in found.commands:
                return
            found = found.commands[word]
            path.append(word)
        raise ValueError(
            f"`hookline {' '.join(path)}` belongs to {entry.plugin} already; rename one of them"
        )


@cache
def installed_commands() -> tuple[CommandEntry, ...]:
    """The commands of the installed packages."""
    from stevedore import NamedExtensionManager

    packages: dict[str, str] = {}
    for plugin, values in installed().items():
        for value in values:
            packages.setdefault(value.partition(":")[0].partition(".")[0], plugin)
    points = {
        (one.name, one.value) for one in NamedExtensionManager[Any](GROUP, []).list_entry_points()
    }
    return tuple(
        CommandEntry(
            " ".join(name.split()),
            value,
            packages.get(value.partition(":")[0].partition(".")[0], ""),
        )
        for name, value in sorted(points)
    )


@cache
def source_of(module: str) -> str:
    """The source of a module, found without importing it or its package; empty if unavailable."""
    if module in sys.modules:  # it may have been created without a file
        doc = sys.modules[module].__doc__ or ""
        works = getattr(sys.modules[module], "WORKS_WHEN_OFF", False)
        return f'"""{doc}"""\nWORKS_WHEN_OFF = {works}\n'
    name, loader, origin = "", None, ""
    path: Sequence[str] | None = None
    for part in module.split("."):
        name = f"{name}.{part}" if name else part
        try:
            specs = (finder.find_spec(name, path) for finder in sys.meta_path)
            spec = next((found for found in specs if found is not None), None)
        except KeyError:  # a namespace package is found only through its imported parent
            folders = [Path(place, part) for place in path or ()]
            path = [str(folder) for folder in folders if folder.is_dir()]
            continue
        if spec is None:
            return ""
        path, loader, origin = spec.submodule_search_locations, spec.loader, spec.origin or ""
    get_source = getattr(loader, "get_source", None)
    try:
        if get_source is None:  # a loader that rewrites what it imports, such as pytest's
            return Path(origin).read_text("utf-8")
        return get_source(name) or ""
    except (ImportError, OSError, SyntaxError, UnicodeDecodeError):
        return ""


def not_installed(word: str) -> list[str]:
    """Hookline's own plugins that the extra ``word`` would install."""
    pattern = re.compile(rf"hookline-([\w-]+).*;.*extra == ['\"]{re.escape(word)}['\"]")
    found = (pattern.match(line) for line in metadata("hookline").get_all("Requires-Dist") or [])
    return [match[1] for match in found if match and match[1] not in installed()]


def _conflict(first: CommandEntry, second: CommandEntry) -> str:
    dists = {point.value: point.dist for point in entry_points(group=GROUP, name=first.name)}
    names = [dist.name if (dist := dists.get(one.value)) else one.module for one in (first, second)]
    return (
        f"{names[0]} and {names[1]} both bring `hookline {first.name}`; that of {names[0]} is used"
    )
