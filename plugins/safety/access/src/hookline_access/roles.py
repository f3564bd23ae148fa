"""The table of roles in ``roles.yaml``, and the action that each command and route needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import yaml

OTHERWISE = "otherwise"
BELOW = "/*"
ONLY_NAMED_ROUTES = ("auditor",)
"""Roles that may call only routes that the table names."""


@dataclass(frozen=True, slots=True)
class RoleAction:
    """An action: its name, a description, and the roles that may do it."""

    name: str
    what: str
    may: frozenset[str]


class RoleTable:
    """The table.

    Args:
        content: the file, as YAML reads it.
    """

    def __init__(self, content: Mapping[str, Any]) -> None:
        self.roles: Mapping[str, str] = content["roles"]
        """The description of each role, in the order of the table."""
        self.actions: Mapping[str, RoleAction] = {
            name: RoleAction(name, one["what"], frozenset(one["may"]))
            for name, one in content["actions"].items()
        }
        self._slash = _action_by_name(content["slash"])
        self._routes = _action_by_name(content["routes"])
        self._by_auth: Mapping[str, str] = content["routes"][OTHERWISE]
        self._commands = _action_by_name(content["commands"])

    def may(self, role: str, action: str) -> bool:
        """Whether a role may do an action; False for an unknown role or action."""
        found = self.actions.get(action)
        return found is not None and role in found.may

    def of_slash(self, name: str) -> str:
        """The action that a slash command needs, by its name."""
        return self._slash.get("/" + name.strip("/").casefold(), self._slash[OTHERWISE])

    def may_call(self, role: str, method: str, path: str, auth: str) -> bool:
        """Whether a role may call a route; ``path`` is the route's, with its ``{parameters}``.

        A named route needs its action and, except for auditors, also the action of its ``auth``, so
        that naming a route never opens it to more roles.
        """
        named = self._named_route(f"{'GET' if method == 'HEAD' else method} {path}")
        if named is not None and not self.may(role, named):
            return False
        if role in ONLY_NAMED_ROUTES:
            return named is not None
        return self.may(role, self._by_auth.get(auth, ""))

    def _named_route(self, name: str) -> str | None:
        for known, action in self._routes.items():
            if name == known or (known.endswith(BELOW) and name.startswith(known[:-1])):
                return action
        return None

    def of_command(self, words: Sequence[str]) -> str:
        """The action that ``hookline WORDS`` needs."""
        for length in (2, 1):
            if action := self._commands.get(" ".join(words[:length])):
                return action
        return self._commands[OTHERWISE]

    def commands_of(self, role: str) -> list[str]:
        """The commands of ``hookline`` that a role may run, without options."""
        return sorted(
            words
            for words, action in self._commands.items()
            if words != OTHERWISE and not words.startswith("-") and self.may(role, action)
        )


@cache
def role_table() -> RoleTable:
    """Read the table."""
    text = files(__package__).joinpath("roles.yaml").read_text("utf-8")
    return RoleTable(yaml.load(text, Loader=yaml.CSafeLoader))


def _action_by_name(section: Mapping[str, Any]) -> dict[str, str]:
    """The action of each name; ``otherwise`` is included if it is one action for all."""
    actions = {
        name: action for action, names in section.items() if action != OTHERWISE for name in names
    }
    if isinstance(otherwise := section[OTHERWISE], str):
        actions[OTHERWISE] = otherwise
    return actions
