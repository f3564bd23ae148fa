"""Edits config.yaml in place: keeps comments and order, and refuses changes that would not load."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from copy import deepcopy
from pathlib import Path
from typing import Any

from hookline_hookspecs import CommandError, Configuration, HooklineError, Host
from hookline_hookspecs.cli import command_line

from .validation import (
    misspelt_name_problem,
    near_key,
    new_problems,
    setting_problem,
    store_problem,
    unknown_key_problem,
)
from .yaml_lines import is_example, put, remove, value_at
from .yaml_values import as_inline

MAX_CONFIG_BYTES = 1_000_000
"""Core reads no larger config.yaml."""
_COMMENT = re.compile(r"(?m)(?:^|\s)(#.*)")
_QUOTED = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\n]|'')*'")


class ConfigFile:
    """config.yaml of a home.

    Its methods raise ``HooklineError`` or ``CommandError`` with a message for the person if the
    file cannot be read or changed; the file then stays as it was.
    """

    def __init__(self, home: Path, core: Configuration) -> None:
        self.path = home / "config.yaml"
        self._core = core

    def text(self) -> str:
        """The file's text; empty if there is no file."""
        try:
            if not self._is_switched_off():
                self.check_is_file()
            return self.path.read_bytes().decode("utf-8-sig")
        except FileNotFoundError:
            return ""
        except (OSError, UnicodeDecodeError) as error:
            self._core.effective()  # raises the error that every command prints
            raise CommandError(f"{self.path}: cannot be read: {error}.") from None

    def check_is_file(self) -> None:
        """Raise an error unless the path is a regular file of acceptable size, or missing.

        Reading a pipe might never end.
        """
        exists = os.path.lexists(self.path)
        if exists and not (self.path.is_file() and self.path.stat().st_size <= MAX_CONFIG_BYTES):
            self._core.effective()  # raises a more exact error where it can
            raise CommandError(f"{self.path}: not a text file. Move it away.")

    def _is_switched_off(self) -> bool:
        """Whether the path links to ``/dev/null``, which counts as an empty file."""
        return self.path.exists() and self.path.samefile(os.devnull)

    def set(self, key: str, value: str) -> list[str]:
        """Set a dotted ``key`` to a ``value`` written as YAML; return warnings.

        A mapping is merged into an existing one; ``true`` or ``false`` turns a plugin on or off and
        keeps its settings. The file is created if it is missing. Comments are never lost.
        """
        text = self.text()
        return self.save(text, self.with_value(text, key, value))

    def with_value(self, text: str, key: str, value: str) -> str:
        """Return ``text`` with a dotted ``key`` set to a ``value`` written as YAML.

        Raises an error, as :meth:`set` does, if the result would not load or would lose a comment.
        """
        parts = _split_key(key)
        parsed_value = self._core.parse(value, parts)
        values, before = self._core.parse(text), self._core.parse(text)
        edited = self._edit(lambda: put(text, parts, parsed_value, self._core.parse))
        _put(values, parts, parsed_value)
        self._refuse_other_values(key, edited, values)
        self._refuse_lost_comments(parts, parsed_value, text, edited)
        if parts == ("store",) and (refused := store_problem(parsed_value)) is not None:
            raise CommandError(refused)
        if (refused := misspelt_name_problem(self._core, before, values)) is not None:
            raise CommandError(refused)
        if (refused := setting_problem(self._core, edited, parts)) is not None:
            raise CommandError(refused)
        if (refused := unknown_key_problem(self._core, edited, parts)) is not None:
            raise CommandError(refused)
        return edited

    def unset(self, key: str) -> list[str]:
        """Remove a dotted ``key``, with its comment; return warnings."""
        text = self.text()
        return self.save(text, self.without(text, key))

    def without(self, text: str, key: str) -> str:
        """Return ``text`` without a dotted ``key``. Raises an error if it is missing."""
        parts = _split_key(key)
        expected = _without(self._core.parse(text), parts)
        if expected is None:
            near = near_key(self._core.parse(text), key)
            hint = f"; did you mean {near}?" if near else ", so there is nothing to remove."
            raise CommandError(f"{key} is not in {self.path}{hint}")
        edited = self._edit(lambda: remove(text, parts, self._default(parts)))
        self._refuse_other_values(key, edited, expected)
        return edited

    def _edit(self, change: Callable[[], str]) -> str:
        import yaml

        try:
            return change()
        except (yaml.YAMLError, ValueError) as error:
            raise self._edit_error(str(error).split("\n")[0]) from None

    def _refuse_other_values(self, key: str, text: str, expected: object) -> None:
        """Raise an error if the edited text does not have the ``expected`` values."""
        with suppress(HooklineError):
            if _without_nulls(self._core.parse(text)) == _without_nulls(expected):
                return
        raise self._edit_error(f"{key} cannot be changed alone")

    def _edit_error(self, reason: str) -> CommandError:
        return CommandError(f"{self.path}: cannot be edited ({reason}); edit it by hand.")

    def _default(self, key: tuple[str, ...]) -> str | None:
        """The default of one of core's top keys as YAML; None for every other key."""
        known = self._core.schema()["properties"] if len(key) == 1 else {}
        return as_inline(known[key[0]]["default"]) if key[0] in known else None

    def _refuse_lost_comments(
        self, key: tuple[str, ...], value: object, before: str, after: str
    ) -> None:
        """Raise an error if a comment is missing that is not an example of what was written."""
        old, new = (Counter(_COMMENT.findall(_QUOTED.sub("", t))) for t in (before, after))
        if any(not is_example(comment, key, value) for comment in old - new):
            raise CommandError(
                f"{self.path}: {'.'.join(key)}: its comments would be lost; edit the file by hand."
            )

    def save(self, before: str, text: str) -> list[str]:
        """Replace the file, whose text was ``before``, atomically, with mode 0600; return warnings.

        A symbolic link is kept. Raises CommandError if the text has errors that ``before`` does not
        have: several errors can be fixed one after the other.
        """
        if refused := new_problems(self._core, before, text):
            raise CommandError("\n".join(refused))
        try:
            problems, warnings = self._core.check(text)
        except HooklineError as error:
            problems, warnings = [], str(error).split("\n")
        self.check_is_file()
        target = self.path.resolve()
        temporary = target.with_name(".config.yaml.new")
        try:
            target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            temporary.touch(mode=0o600)
            temporary.write_text(text, encoding="utf-8", newline="")
            temporary.replace(target)
        except OSError as error:
            raise CommandError(f"{self.path}: cannot be written: {error.strerror}.") from None
        return [*warnings, *problems]


class SafeConfigEditor:
    """Implements ``ConfigEditor``: no refusal ends the process."""

    def __init__(self, host: Host) -> None:
        self._host = host

    def with_value(self, text: str, key: str, value: str) -> str:
        """Return ``text`` with a dotted ``key`` set to a ``value`` in YAML."""
        file = ConfigFile(self._host.home, self._host.services[Configuration])
        try:
            return file.with_value(text, key, value)
        except CommandError as error:
            raise HooklineError(error.text) from None


def _split_key(key: str) -> tuple[str, ...]:
    parts = tuple(key.split("."))
    if "" in parts:
        raise CommandError(f"{key}: not a key. Write it like session.idle_hours.")
    return parts


def _put(values: dict[str, Any], key: tuple[str, ...], value: object) -> None:
    """Set ``value`` at ``key`` in nested mappings, created as needed; mappings are merged.

    A boolean such as ``plugins.NAME: false`` that meets a mapping becomes the mapping's
    ``enabled``, so that neither is lost.
    """
    for name in key[:-1]:
        inner = values.get(name)
        if not isinstance(inner, dict):
            inner = values[name] = {"enabled": inner} if isinstance(inner, bool) else {}
        values = inner
    last = key[-1]
    inner = values.get(last)
    if isinstance(value, dict) and isinstance(inner, dict | bool):
        for name, item in value.items():
            _put(values, (last, name), item)
    elif isinstance(value, bool) and isinstance(inner, dict):
        inner["enabled"] = value
    else:
        values[last] = value


def _without(values: Any, key: tuple[str, ...]) -> Any:
    """A copy of the values without ``key``; None if there is no such key."""
    left = deepcopy(values)
    section = value_at(left, key[:-1])
    if not isinstance(section, dict) or key[-1] not in section:
        return None
    del section[key[-1]]
    return left


def _without_nulls(values: object) -> object:
    """The values with null for an empty mapping, which a section may be written as."""
    if isinstance(values, dict):
        return {name: _without_nulls(value) for name, value in values.items()} or None
    return values


def config_file() -> ConfigFile:
    """config.yaml of the home that the running command uses."""
    line = command_line()
    return ConfigFile(line.home, line.configuration)
