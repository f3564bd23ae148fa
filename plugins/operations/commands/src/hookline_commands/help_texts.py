"""The texts of ``/help``: commands by category, a line for each, or details of one."""

from __future__ import annotations

import difflib
import inspect
import textwrap
from collections.abc import Collection, Sequence

from hookline_hookspecs import Audience, Command
from hookline_hookspecs.sentences import N_

CATEGORIES = (
    N_("Conversation"),
    N_("Sessions"),
    N_("Model and safety"),
    N_("Knowledge"),
    N_("People and schedule"),
    N_("Terminal"),
    N_("Help"),
)
"""The order of the standard categories; others follow by name."""
MAX_ROWS = 20
"""Lines of a list that fits on a screen of 24 lines."""
MAX_COLUMNS = 79
"""Width of a row of the table."""
EXIT_COMMAND = "/exit"
"""Ends the chat in the terminal, which implements it."""
COMMON_ALIASES = {"/clear": "/new"}
"""Names of commands in other programs, and Hookline's names."""
MIN_SIMILARITY = 0.75
"""The similarity, from 0 to 1, at which an unknown name counts as a misspelling."""
AUDIENCE_TEXTS: dict[Audience, str] = {
    "everyone": N_("For everyone who may write here."),
    "turn": N_("In a group: the person who started the turn, and admins."),
    "session": N_("In a group: the person who started the session, and admins."),
    "admins": N_("In a group: admins only."),
    "operator": N_("Only in the terminal and in an admin's private chat."),
}
"""Descriptions of the audiences."""
MONOSPACE_CHANNELS = frozenset({"terminal"})
"""Channels with a monospaced font, where columns can be aligned."""


def short_help(commands: Sequence[Command], channel: str) -> str:
    """The names by category; with descriptions if that fits on a screen."""
    complete = full_help(commands, channel)
    if channel not in MONOSPACE_CHANNELS or complete.count("\n") < MAX_ROWS:
        return complete
    categories = by_category(commands)
    width = max(map(len, categories))
    rows = []
    for category in sorted(categories, key=_sort_key):
        names = [command.name for command in categories[category]] + [EXIT_COMMAND] * (
            category == CATEGORIES[0]
        )
        rows += textwrap.wrap(
            " ".join(names),
            MAX_COLUMNS,
            initial_indent=f"{category:{width}}  ",
            subsequent_indent=" " * (width + 2),
            break_on_hyphens=False,
        )
    return "\n".join([*rows, "", N_("/help NAME explains one command, /help all describes each.")])


def by_category(commands: Sequence[Command]) -> dict[str, list[Command]]:
    """The commands of each category, in their order."""
    categories: dict[str, list[Command]] = {}
    for command in commands:
        categories.setdefault(heading(command), []).append(command)
    return categories


def heading(command: Command) -> str:
    """The standard category of a command, or where one of another plugin or a bundle comes from."""
    is_standard = command.category in CATEGORIES or not command.source
    source = command.source[:1].upper() + command.source[1:]
    return command.category if is_standard else source


def full_help(commands: Sequence[Command], channel: str) -> str:
    """One line for each command, grouped by category."""
    categories = by_category(commands)
    width = max((len(_names_of(command)) for command in commands), default=0)
    parts = []
    for category in sorted(categories, key=_sort_key):
        rows = [
            _row(command, width if channel in MONOSPACE_CHANNELS else 0)
            for command in categories[category]
        ]
        parts.append("\n".join([category, *rows]))
    return "\n\n".join([*parts, N_("/help NAME explains one command.")])


def command_help(commands: Sequence[Command], asked: str) -> str:
    """Details of the command named ``asked``, with or without its slash."""
    name = "/" + asked.strip().lstrip("/").casefold()
    for command in commands:
        if name in (command.name.casefold(), *(alias.casefold() for alias in command.aliases)):
            return _help_of(command)
    near = closest_command(name, names_of(commands))
    if near:
        return N_(f"Unknown command {name}. Did you mean {near}?")
    return N_(f"Unknown command {name}. Try /help all.")


def names_of(commands: Sequence[Command]) -> set[str]:
    """Every name and alias, in lower case."""
    return {name.casefold() for command in commands for name in (command.name, *command.aliases)}


def closest_command(name: str, known: Collection[str]) -> str | None:
    """The known command that the unknown ``name`` probably means, or None."""
    if (usual := COMMON_ALIASES.get(name)) in known:
        return usual
    return next(iter(difflib.get_close_matches(name, known, 1, MIN_SIMILARITY)), None)


def _help_of(one: Command) -> str:
    lines = [_names_of(one), inspect.getdoc(one.run) or one.help]
    if one.help and one.help not in lines[1]:
        lines[1] = one.help
    if one.immediate:
        lines.append(N_("It works while a turn is running."))
    lines.append(AUDIENCE_TEXTS[one.audience])
    if one.source:
        lines.append(N_(f"It comes from the {one.source}."))
    return "\n\n".join(lines)


def _sort_key(category: str) -> tuple[int, str]:
    return (CATEGORIES.index(category) if category in CATEGORIES else len(CATEGORIES), category)


def _names_of(one: Command) -> str:
    return f"{one.name} ({', '.join(one.aliases)})" if one.aliases else one.name


def _row(one: Command, width: int) -> str:
    return f"{_names_of(one):{width}}  {one.help}" if width else f"{_names_of(one)}: {one.help}"
