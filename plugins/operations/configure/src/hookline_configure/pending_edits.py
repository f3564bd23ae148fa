"""Edits of config.yaml that wait for confirmation, each with the text it was made from."""

from __future__ import annotations

import secrets
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hookline_hookspecs import CommandError, Configuration, HooklineError

from .config_file import ConfigFile

MAX_AGE_SECONDS = 1800.0
MAX_PENDING_EDITS = 50
"""Edits are kept in memory alone, because they may contain secrets."""


@dataclass(frozen=True, slots=True)
class KeyChange:
    """A new value as YAML for a dotted key; None removes it."""

    key: str
    value: str | None


@dataclass(frozen=True, slots=True)
class ConfigEdit:
    """A person's changes to a plugin's settings: config.yaml ``before`` and ``after`` them."""

    plugin: str
    person: str
    changes: Sequence[KeyChange]
    before: str
    after: str
    created: float


class PendingEdits:
    """The edits that wait for confirmation.

    Args:
        now: the clock, Unix time in seconds.
    """

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._edits: OrderedDict[str, ConfigEdit] = OrderedDict()

    def keep(self, edit: ConfigEdit) -> str:
        """Keep an edit; return the token with which its person confirms it."""
        token = secrets.token_urlsafe(16)
        self._edits[token] = edit
        while len(self._edits) > MAX_PENDING_EDITS:
            self._edits.popitem(last=False)  # the oldest
        return token

    def take(self, token: str, person: str) -> ConfigEdit | None:
        """Remove and return an edit; None if it is missing, too old or another person's."""
        edit = self._edits.get(token)
        if edit is None or edit.person != person:
            return None
        del self._edits[token]
        return edit if self._now() - edit.created <= MAX_AGE_SECONDS else None


def apply_changes(
    file: ConfigFile, core: Configuration, text: str, changes: Sequence[KeyChange]
) -> tuple[str, Mapping[str, str]]:
    """Return ``text`` with the changes, and an error by key for those that could not be made."""
    errors: dict[str, str] = {}
    for change in changes:
        try:
            text = _apply_change(file, core, text, change)
        except (CommandError, HooklineError) as error:
            errors[change.key] = error.text if isinstance(error, CommandError) else str(error)
    return text, errors


def _apply_change(file: ConfigFile, core: Configuration, text: str, change: KeyChange) -> str:
    if change.value is None:
        return file.without(text, change.key)
    new = core.parse(change.value, tuple(change.key.split(".")))
    for removed in _removed_keys(_value_at(core.parse(text), change.key), new, change.key):
        text = file.without(text, removed)
    return file.with_value(text, change.key, change.value)


def _removed_keys(before: Any, after: Any, key: str) -> list[str]:
    """The keys of a mapping that a new one does not have.

    They are removed one by one, because the new mapping is merged into the old one.
    """
    if not isinstance(before, dict) or not isinstance(after, dict):
        return []
    found = [f"{key}.{name}" for name in before if name not in after]
    for name in before.keys() & after.keys():
        found += _removed_keys(before[name], after[name], f"{key}.{name}")
    return found


def _value_at(values: Any, key: str) -> Any:
    for name in key.split("."):
        values = values.get(name) if isinstance(values, dict) else None
    return values
