"""Changes of config.yaml that wait for a person's yes, each on the text that it was made from."""

from __future__ import annotations

import secrets
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hookline_hookspecs import CommandError, Configuration, HooklineError

from .file import ConfigFile

KEPT_SECONDS, MOST = 1800.0, 50
"""How long a change waits, and how many do; they are in memory, because they may hold secrets."""


@dataclass(frozen=True, slots=True)
class Change:
    """A new value as YAML for a dotted key; None removes it."""

    key: str
    value: str | None


@dataclass(frozen=True, slots=True)
class Edit:
    """What a person wants changed: of which plugin, made from ``before`` to ``after``."""

    plugin: str
    person: str
    changes: Sequence[Change]
    before: str
    after: str
    at: float


class Edits:
    """The changes that wait.

    Args:
        now: the clock, Unix time in seconds.
    """

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._waiting: OrderedDict[str, Edit] = OrderedDict()

    def keep(self, edit: Edit) -> str:
        """Keep a change and return the name by which its person confirms it."""
        token = secrets.token_urlsafe(16)
        self._waiting[token] = edit
        while len(self._waiting) > MOST:
            self._waiting.popitem(last=False)
        return token

    def take(self, token: str, person: str) -> Edit | None:
        """Return a change and forget it; None if it is not there, too old, or another's."""
        edit = self._waiting.get(token)
        if edit is None or edit.person != person:
            return None
        del self._waiting[token]
        return edit if self._now() - edit.at <= KEPT_SECONDS else None


def apply(
    file: ConfigFile, core: Configuration, text: str, changes: Sequence[Change]
) -> tuple[str, Mapping[str, str]]:
    """Return ``text`` with the changes, and a sentence for each key that could not be changed."""
    errors: dict[str, str] = {}
    for change in changes:
        try:
            text = _applied(file, core, text, change)
        except (CommandError, HooklineError) as error:
            errors[change.key] = error.text if isinstance(error, CommandError) else str(error)
    return text, errors


def _applied(file: ConfigFile, core: Configuration, text: str, change: Change) -> str:
    if change.value is None:
        return file.without(text, change.key)
    new = core.parse(change.value, tuple(change.key.split(".")))
    for gone in _gone(_at(core.parse(text), change.key), new, change.key):
        text = file.without(text, gone)
    return file.with_value(text, change.key, change.value)


def _gone(before: Any, after: Any, key: str) -> list[str]:
    """The keys of a mapping that a new one lacks; a new value is merged into the old one."""
    if not isinstance(before, dict) or not isinstance(after, dict):
        return []
    found = [f"{key}.{name}" for name in before if name not in after]
    for name in before.keys() & after.keys():
        found += _gone(before[name], after[name], f"{key}.{name}")
    return found


def _at(values: Any, key: str) -> Any:
    for name in key.split("."):
        values = values.get(name) if isinstance(values, dict) else None
    return values
