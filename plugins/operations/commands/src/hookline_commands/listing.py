"""What ``/help`` says: the commands by category, what each of them does, or all about one."""

from __future__ import annotations

import difflib
import inspect
import textwrap
from collections.abc import Collection, Sequence

from hookline_hookspecs import Audience, Command

CATEGORIES = (
    "Conversation",
    "Sessions",
    "Model and safety",
    "Knowledge",
    "People and schedule",
    "Help",
)
"""The order of the standard categories; others follow by name."""
ROWS = 20
"""Lines of a list that fits onto a screen of 24 with the line that asked for it."""
COLUMNS = 79
"""Width of a row of the table."""
LEAVE = "/exit"
"""Ends the chat on a terminal, whose own command it is."""
USUAL = {"/clear": "/new", "/cost": "/usage", "/permissions": "/grants"}
"""What other programs call a command, and its name here."""
NEAR = 0.75
"""How alike two names are of which one may be a slip of the other; 1 is the same."""
NO_THEME = "Other"
AUDIENCES: dict[Audience, str] = {
    "everyone": "Everyone who may write here can use it.",
    "turn": "In a group: whoever started the turn, and admins.",
    "session": "In a group: whoever began the session, and admins.",
    "admins": "In a group: admins only.",
    "operator": "Only in the terminal and in an admin's private chat.",
}
"""Who may use a command, in words."""
SCREENS = frozenset({"terminal"})
"""Channels whose letters are equally wide, so that columns can be aligned."""


def shortly(commands: Sequence[Command], channel: str) -> str:
    """A table of the names by category, or what each does where all of that fits onto a screen."""
    whole = listed(commands, channel)
    if channel not in SCREENS or whole.count("\n") < ROWS:
        return whole
    categories = by_theme(commands)
    width = max(map(len, categories))
    rows = []
    for category in sorted(categories, key=_place):
        names = [one.name for one in categories[category]] + [LEAVE] * (category == CATEGORIES[0])
        rows += textwrap.wrap(
            " ".join(names),
            COLUMNS,
            initial_indent=f"{category:{width}}  ",
            subsequent_indent=" " * (width + 2),
            break_on_hyphens=False,
        )
    return "\n".join([*rows, "", "/help NAME tells what one does, /help all what each does."])


def by_theme(commands: Sequence[Command]) -> dict[str, list[Command]]:
    """The commands of each category, in their order."""
    categories: dict[str, list[Command]] = {}
    for one in commands:
        categories.setdefault(one.category, []).append(one)
    return categories


def listed(commands: Sequence[Command], channel: str) -> str:
    """One command a line under the heading of its category."""
    categories = by_theme(commands)
    width = max((len(_named(one)) for one in commands), default=0)
    parts = []
    for category in sorted(categories, key=_place):
        rows = [_row(one, width if channel in SCREENS else 0) for one in categories[category]]
        parts.append("\n".join([category, *rows]))
    return "\n\n".join([*parts, "/help NAME tells more about one."])


def about(commands: Sequence[Command], asked: str) -> str:
    """All about the command that is called ``asked``, with or without its slash."""
    name = "/" + asked.strip().lstrip("/").casefold()
    for one in commands:
        if name in (one.name.casefold(), *(alias.casefold() for alias in one.aliases)):
            return _told(one)
    near = meant(name, names_of(commands))
    return f"There is no command {name}; " + (
        f"did you mean {near}?" if near else "/help all shows all of them."
    )


def names_of(commands: Sequence[Command]) -> set[str]:
    """Every name and alias, in lower case."""
    return {name.casefold() for one in commands for name in (one.name, *one.aliases)}


def meant(name: str, known: Collection[str]) -> str | None:
    """The command that somebody means who writes ``name``, which is none of those ``known``."""
    if (usual := USUAL.get(name)) in known:
        return usual
    return next(iter(difflib.get_close_matches(name, known, 1, NEAR)), None)


def _told(one: Command) -> str:
    lines = [_named(one), inspect.getdoc(one.run) or one.help]
    if one.help and one.help not in lines[1]:
        lines[1] = one.help
    if one.immediate:
        lines.append("It answers while a turn is running.")
    lines.append(AUDIENCES[one.audience])
    return "\n\n".join(lines)


def _place(category: str) -> tuple[int, str]:
    return (CATEGORIES.index(category) if category in CATEGORIES else len(CATEGORIES), category)


def _named(one: Command) -> str:
    return f"{one.name} ({', '.join(one.aliases)})" if one.aliases else one.name


def _row(one: Command, width: int) -> str:
    return f"{_named(one):{width}}  {one.help}" if width else f"{_named(one)}: {one.help}"
