"""Edits config.yaml in place: keeps comments and order, and refuses changes that would not load.

ruamel.yaml is imported only where it is used, because the import is slow.
"""

from __future__ import annotations

import io
import os
import re
from collections import Counter
from copy import deepcopy
from pathlib import Path
from typing import Any

from hookline_hookspecs import CommandError, Configuration, HooklineError
from hookline_hookspecs.cli import command_line

from .validation import near_key, new_problems, setting_problem, store_problem, unknown_key_problem

MAX_CONFIG_BYTES = 1_000_000
"""Core reads no larger config.yaml."""
_COMMENT = re.compile(r"(?m)(?:^|\s)(#.*)")
_QUOTED = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\n]|'')*'")
_ITEM = re.compile(r" *-( |$)")

# In a flow mapping, YAML would read the braces of an unquoted ${KEY} as a nested mapping. While the
# text is edited, these private-use characters stand for `$`, `{` and `}`; they keep its length.
_REFERENCE = re.compile(r"\$\{([A-Za-z_]\w*(?::-[^}\n]*)?)\}", re.A)
_STAND_INS = "\U0010fff0\U0010fff1\U0010fff2"


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
        self._core.parse(text)  # raises an error for text that ruamel.yaml cannot edit
        tree = self._tree(text)
        # A file with nothing but comments has no tree: the new key goes below them.
        before = text.rstrip() + "\n" if tree is None and text.strip() else ""
        tree = {} if tree is None else tree
        _put(tree, parts, parsed_value)
        edited = before + self._dump(tree)
        self._refuse_lost_comments(key, text, edited)
        if parts == ("store",) and (refused := store_problem(parsed_value)) is not None:
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
        tree = self._tree(text)
        edited = _without_lines(text, tree, parts)
        if not self._reads_as(edited, expected):  # the key shares its line with others
            del _value_at(tree, parts[:-1])[parts[-1]]
            edited = self._dump(tree)
            self._refuse_lost_comments(key, text, edited)
        return edited

    def _reads_as(self, text: str, values: object) -> bool:
        try:
            return bool(self._core.parse(text) == values)
        except HooklineError:
            return False

    def _tree(self, text: str) -> Any:
        """The text as ruamel.yaml's tree, which keeps comments; None if it contains no key."""
        from ruamel.yaml.error import YAMLError

        try:
            return _editor().load(_REFERENCE.sub(f"{_STAND_INS[:2]}\\1{_STAND_INS[2]}", text))
        except YAMLError as error:
            raise self._edit_error(error) from None

    def _dump(self, tree: Any) -> str:
        from ruamel.yaml.error import YAMLError

        out = io.StringIO()
        try:
            _editor().dump(tree, out)
        except YAMLError as error:
            raise self._edit_error(error) from None
        return out.getvalue().translate(str.maketrans(_STAND_INS, "${}"))

    def _edit_error(self, error: Exception) -> CommandError:
        reason = str(error).split("\n")[0]
        return CommandError(f"{self.path}: cannot be edited ({reason}); edit it by hand.")

    def _refuse_lost_comments(self, key: str, before: str, after: str) -> None:
        old, new = (Counter(_COMMENT.findall(_QUOTED.sub("", t))) for t in (before, after))
        if old - new:
            raise CommandError(
                f"{self.path}: {key}: its comments would be lost; edit the file by hand."
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


def _split_key(key: str) -> tuple[str, ...]:
    parts = tuple(key.split("."))
    if "" in parts:
        raise CommandError(f"{key}: not a key. Write it like session.idle_hours.")
    return parts


def _editor() -> Any:
    from ruamel.yaml import YAML

    editor = YAML()
    editor.preserve_quotes = True
    editor.width = 4096
    return editor


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
    elif not (isinstance(value, list) and isinstance(inner, list) and _put_items(inner, value)):
        values[last] = value


def _put_items(items: list[Any], wanted: list[Any]) -> bool:
    """Remove and append items until the list is ``wanted``, so that the others keep their comments.

    Returns False, with the list as it was, if that would not give the same order.
    """
    kept = [item for item in items if item in wanted]
    if kept != wanted[: len(kept)] or len({repr(item) for item in items}) < len(items):
        return False
    for at in reversed(range(len(items))):
        if items[at] not in wanted:
            del items[at]
    items.extend(wanted[len(kept) :])
    return True


def _value_at(values: Any, key: tuple[str, ...]) -> Any:
    """The value at ``key``; None if there is no such key."""
    for name in key:
        if not isinstance(values, dict) or name not in values:
            return None
        values = values[name]
    return values


def _without(values: Any, key: tuple[str, ...]) -> Any:
    """A copy of the values without ``key``; None if there is no such key."""
    left = deepcopy(values)
    section = _value_at(left, key[:-1])
    if not isinstance(section, dict) or key[-1] not in section:
        return None
    del section[key[-1]]
    return left


def _without_lines(text: str, tree: Any, key: tuple[str, ...]) -> str:
    """The text without the line of ``key`` and the lines indented below it.

    A section that loses its only key stays as ``{}``, because a plugin is on if it is named. If a
    key shares its line with others, they are removed too; the caller checks for that.
    """
    lines = text.split("\n")
    section = _value_at(tree, key[:-1])
    row, column = section.lc.key(key[-1])
    end = row + 1
    while end < len(lines) and _is_below(lines[end], column):
        end += 1
    while end > row + 1 and not lines[end - 1].strip():
        end -= 1
    if len(section) == 1 and len(key) > 1:
        above = _value_at(tree, key[:-2]).lc.key(key[-2])[0]
        lines[above] = re.sub(r":(?=\s*(#|$))", ": {}", lines[above], count=1)
    return "\n".join(lines[:row] + lines[end:])


def _is_below(line: str, column: int) -> bool:
    """Whether a line may belong to a key that begins at ``column``, in a line above."""
    indent = len(line) - len(line.lstrip(" "))
    return not line.strip() or indent > column or (indent == column and bool(_ITEM.match(line)))


def config_file() -> ConfigFile:
    """config.yaml of the home that the running command uses."""
    line = command_line()
    return ConfigFile(line.home, line.configuration)
