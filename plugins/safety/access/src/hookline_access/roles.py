"""Who may do what: the table in ``roles.yaml``, and which part of it each door asks for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import yaml

OTHERWISE = "otherwise"
BELOW = "/*"
ONLY_NAMED = ("auditor",)
"""Roles to which a route is open only if the table names it."""


@dataclass(frozen=True, slots=True)
class Action:
    """What may be done: its name, what it is in words, and the roles that may."""

    name: str
    what: str
    may: frozenset[str]


class Table:
    """The table.

    Args:
        content: the file, as YAML reads it.
    """

    def __init__(self, content: Mapping[str, Any]) -> None:
        self.roles: Mapping[str, str] = content["roles"]
        """What a person has to be for each role, in the order of the table."""
        self.actions: Mapping[str, Action] = {
            name: Action(name, one["what"], frozenset(one["may"]))
            for name, one in content["actions"].items()
        }
        self._slash = _inverted(content["slash"])
        self._routes = _inverted(content["routes"])
        self._by_auth: Mapping[str, str] = content["routes"][OTHERWISE]
        self._commands = _inverted(content["commands"])

    def may(self, role: str, action: str) -> bool:
        """Whether a role may do something; False for a role or an action that nobody knows."""
        found = self.actions.get(action)
        return found is not None and role in found.may

    def of_slash(self, name: str) -> str:
        """The action that a slash command needs, by its name; a text without one needs ``chat``."""
        return self._slash.get("/" + name.strip("/").casefold(), self._slash[OTHERWISE])

    def may_call(self, role: str, method: str, path: str, auth: str) -> bool:
        """Whether a role may call a route; ``path`` is the route's, with its ``{parameters}``.

        A named route needs its action, and everybody but an auditor also what its ``auth`` needs,
        so that naming one opens it to nobody else.
        """
        named = self._named_route(f"{'GET' if method == 'HEAD' else method} {path}")
        if named is not None and not self.may(role, named):
            return False
        if role in ONLY_NAMED:
            return named is not None
        return self.may(role, self._by_auth.get(auth, ""))

    def _named_route(self, name: str) -> str | None:
        for known, action in self._routes.items():
            if name == known or (known.endswith(BELOW) and name.startswith(known[:-1])):
                return action
        return None

    def of_command(self, words: Sequence[str]) -> str:
        """The action that ``hookline WORDS`` needs; ``words`` begin with the command."""
        for length in (2, 1):
            if action := self._commands.get(" ".join(words[:length])):
                return action
        return self._commands[OTHERWISE]

    def commands_of(self, role: str) -> list[str]:
        """The commands of ``hookline`` that a role may run, options left out."""
        return sorted(
            words
            for words, action in self._commands.items()
            if words != OTHERWISE and not words.startswith("-") and self.may(role, action)
        )


@cache
def table() -> Table:
    """The table of this version."""
    text = files(__package__).joinpath("roles.yaml").read_text("utf-8")
    return Table(yaml.load(text, Loader=yaml.CSafeLoader))


def _inverted(door: Mapping[str, Any]) -> dict[str, str]:
    """The action of each thing; ``otherwise`` if it is the same for all."""
    found = {
        thing: action for action, things in door.items() if action != OTHERWISE for thing in things
    }
    if isinstance(otherwise := door[OTHERWISE], str):
        found[OTHERWISE] = otherwise
    return found
