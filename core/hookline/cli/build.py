"""Builds Click commands from functions and Typer apps, and groups that import them lazily."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import typer
from hookline_hookspecs import CommandError
from typer.core import TyperGroup

from .value_names import name_values

if TYPE_CHECKING:
    from .catalog import Catalog, CommandEntry

HELP_SECTIONS = {
    "Talk": ("chat", "run", "sessions", "questions", "web", "acp"),
    "Set up": ("init", "config", "plugins", "bundles", "profile", "completion", "demo", "dev"),
    "Permissions and people": (
        *(
            "permissions",
            "trust",
            "sources",
            "provenance",
            "proposals",
            "pairing",
            "vault",
            "audit",
        ),
    ),
    "Memory and skills": ("memory", "skills", "semantic", "migrate"),
    "Connections": ("mcp", "api", "db"),
    "Operation": (
        *("gateway", "worker", "cluster", "cron", "jobs", "doctor", "health", "logs"),
        *("backup", "store", "migrate-store"),
    ),
    "Insight": ("trace", "prompt", "hooks", "insights", "prices"),
}
"""Commands in the order of the help; those of other packages follow under "More"."""


def build_command(name: str, command: Any, summary: str) -> Any:
    """Build a Click command from a function or a Typer app; return a Click command unchanged."""
    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    if isinstance(command, typer.Typer):
        app_help = command.info.help
        text = app_help if isinstance(app_help, str) else summary
        app.add_typer(command, name=name, cls=CommandGroup, help=text)
    elif hasattr(command, "make_context"):
        return command
    elif callable(command):
        app.command(name, help=None if command.__doc__ else summary)(command)
    else:
        raise ValueError(f"hookline {name}: expected a function or an app, got {command!r}")
    built = typer.main.get_group(app).commands[name]
    name_values(built)
    return built


def is_group(command: Any) -> bool:
    """True if a Click command is a group."""
    return hasattr(command, "commands")


class CommandGroup(TyperGroup):
    """A group that imports a command only when it runs."""

    commands: Any

    def list_commands(self, ctx: Any) -> list[str]:
        """The names of the commands."""
        return list(self.commands)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """List the commands without importing them."""
        if not isinstance(self.commands, LazyCommands):
            super().format_commands(ctx, formatter)
            return
        rows = self.commands.summaries()
        width = max(map(len, rows), default=0)
        limit = formatter.width - 6 - width
        for title, names in self.commands.sections(rows).items():
            with formatter.section(title):
                formatter.write_dl(
                    [(name.ljust(width), _shortened(rows[name], limit)) for name in names]
                )


class LazyCommands(Mapping[str, Any]):
    """The commands of a group, by name; each is imported when it is looked up.

    Args:
        catalog: every command.
        prefix: the words of the group; empty for ``hookline`` itself.
        selected: called with each command that is looked up.
        own: the commands that the group's own app defines, if it has one.
    """

    def __init__(
        self,
        catalog: Catalog,
        prefix: str,
        selected: Callable[[CommandEntry], None],
        own: Mapping[str, Any] = {},
    ) -> None:
        self._catalog = catalog
        self._prefix = prefix
        self._selected = selected
        self._own = own

    def __iter__(self) -> Iterator[str]:
        return iter(self.summaries())

    def __len__(self) -> int:
        return len(self.summaries())

    def summaries(self) -> dict[str, str]:
        """The one-line help of each command that can run."""
        self._catalog.complete()
        shown = {
            name: command.get_short_help_str(200)
            for name, command in self._own.items()
            if not command.hidden
        }
        words: dict[str, list[str]] = {}
        for entry in self._catalog.below(self._prefix):
            if self._catalog.can_run(entry):
                word, _, rest = entry.name[len(self._prefix) :].strip().partition(" ")
                words.setdefault(word, []).append(rest.partition(" ")[0])
        for word, below in words.items():
            named = self._catalog.find(f"{self._prefix} {word}".strip())
            if named is not None and self._catalog.can_run(named):
                shown[word] = named.summary
            else:
                shown[word] = self._group_summary(f"{self._prefix} {word}".strip(), below)
        return shown

    def sections(self, names: Iterable[str]) -> dict[str, list[str]]:
        """The commands by heading; those of a group have one heading."""
        if self._prefix:
            return {"Commands": sorted(names)} if names else {}
        titles = {name: title for title, known in HELP_SECTIONS.items() for name in known}
        order = [name for known in HELP_SECTIONS.values() for name in known]
        found: dict[str, list[str]] = {}
        for name in sorted(names, key=lambda name: order.index(name) if name in order else 1000):
            found.setdefault(titles.get(name, "More"), []).append(name)
        return found

    def _group_summary(self, name: str, words: Iterable[str]) -> str:
        """The help of a group without an app: the names of its commands, or its only one's help."""
        names = list(dict.fromkeys(words))
        only = self._catalog.find(f"{name} {names[0]}") if len(names) == 1 else None
        return only.summary if only is not None else ", ".join(names)

    def __getitem__(self, word: str) -> Any:
        name = f"{self._prefix} {word}".strip()
        found = self._look_up(name) or self._own.get(word)
        if found is None:
            self._catalog.complete()
            found = self._look_up(name)
        if found is None:
            self._refuse_if_off()
            raise KeyError(word)
        return found

    def _refuse_if_off(self) -> None:
        """Raise ``CommandError`` if this group belongs to a plugin that is off."""
        entry = self._catalog.find(self._prefix) if self._prefix else None
        if entry is not None and not self._catalog.can_run(entry):
            raise CommandError(self._catalog.why_off(entry))

    def _look_up(self, name: str) -> Any:
        """The command or group of this name, or None.

        Raises:
            CommandError: its plugin is off.
        """
        entry, below = self._catalog.find(name), self._catalog.below(name)
        if entry is None and not below:
            return None
        if not any(map(self._catalog.can_run, [entry, *below] if entry else below)):
            raise CommandError(self._catalog.why_off(entry or below[0]))
        if entry is None or not self._catalog.can_run(entry):
            return self._group(name)
        self._selected(entry)
        command = entry.command()
        if is_group(command) and not isinstance(command.commands, LazyCommands):
            command.commands = LazyCommands(self._catalog, name, self._selected, command.commands)
        return command

    def _group(self, name: str) -> CommandGroup:
        """A group that has no app of its own."""
        commands: Any = LazyCommands(self._catalog, name, self._selected)
        return CommandGroup(
            name=name.split()[-1],
            commands=commands,
            help=self._group_summary(name, commands),
            no_args_is_help=True,
            rich_markup_mode=None,
        )


def _shortened(text: str, limit: int) -> str:
    """The text, cut between words if it is longer than ``limit`` characters."""
    if len(text) <= limit:
        return text
    return f"{text[: limit - 3].rpartition(' ')[0]}..."
