"""Changes config.yaml in place: keeps comments and order, and refuses what would not load.

ruamel.yaml is imported where it is used because that is slow.
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

from .checking import new_problems, unknown_key, wrong_setting

LARGEST = 1_000_000
"""Bytes of config.yaml; core reads no larger one."""
_COMMENT = re.compile(r"(?m)(?:^|\s)(#.*)")
_QUOTED = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\n]|'')*'")
_ITEM = re.compile(r" *-( |$)")

# In a flow mapping YAML would read the brace of an unquoted ${KEY} as a mapping of its own. While
# the text is edited these characters, as many, stand for `$`, `{` and `}`.
_REFERENCE = re.compile(r"\$\{([A-Za-z_]\w*(?::-[^}\n]*)?)\}", re.A)
_STAND_INS = "\U0010fff0\U0010fff1\U0010fff2"


class ConfigFile:
    """config.yaml of a home.

    Whatever keeps the file from being read or changed raises ``HooklineError`` or ``CommandError``
    with a sentence, and leaves it as it was.
    """

    def __init__(self, home: Path, core: Configuration) -> None:
        self.path = home / "config.yaml"
        self._core = core

    def text(self) -> str:
        """What is in the file; nothing if there is none."""
        try:
            if not self._is_switched_off():
                self.refuse_no_file()
            return self.path.read_bytes().decode("utf-8-sig")
        except FileNotFoundError:
            return ""
        except (OSError, UnicodeDecodeError) as error:
            self._core.effective()  # It says what is wrong, in the words of every command.
            raise CommandError(f"{self.path}: cannot be read: {error}.") from None

    def refuse_no_file(self) -> None:
        """Raise an error for what is no text file: reading a pipe may never end."""
        there = os.path.lexists(self.path)
        if there and not (self.path.is_file() and self.path.stat().st_size <= LARGEST):
            self._core.effective()  # It says more exactly what is there.
            raise CommandError(f"{self.path}: this is no text file; move it away.")

    def _is_switched_off(self) -> bool:
        """Whether the file is a link to ``/dev/null``, which is read as empty."""
        return self.path.exists() and self.path.samefile(os.devnull)

    def set(self, key: str, value: str) -> list[str]:
        """Set a dotted ``key`` to a ``value`` written as YAML; return warnings.

        A mapping is merged into an existing one; ``true`` or ``false`` switches a plugin and keeps
        its settings. The file is made if there is none. Comments are never lost.
        """
        text = self.text()
        return self.save(text, self.with_value(text, key, value))

    def with_value(self, text: str, key: str, value: str) -> str:
        """Return ``text`` with a dotted ``key`` set to a ``value`` written as YAML.

        Raises an error, as :meth:`set` does, for what would not load or would lose a comment.
        """
        parts = _parts(key)
        wanted = self._core.parse(value, parts)
        self._core.parse(text)  # The editor needs a text that this can read.
        tree = self._tree(text)
        # A file of comments alone is no tree: the new key goes below them.
        before = text.rstrip() + "\n" if tree is None and text.strip() else ""
        tree = {} if tree is None else tree
        _put(tree, parts, wanted)
        edited = before + self._dumped(tree)
        self._refuse_lost_comments(key, text, edited)
        if (refused := wrong_setting(self._core, edited, parts)) is not None:
            raise CommandError(refused)
        if (refused := unknown_key(self._core, edited, parts)) is not None:
            raise CommandError(refused)
        return edited

    def unset(self, key: str) -> list[str]:
        """Remove a dotted ``key``, with its comment; return warnings."""
        text = self.text()
        return self.save(text, self.without(text, key))

    def without(self, text: str, key: str) -> str:
        """Return ``text`` without a dotted ``key``. Raises an error if it is not there."""
        parts = _parts(key)
        wanted = _without(self._core.parse(text), parts)
        if wanted is None:
            raise CommandError(f"{key} is not in {self.path}, so there is nothing to remove.")
        tree = self._tree(text)
        edited = _without_lines(text, tree, parts)
        if not self._reads_as(edited, wanted):  # it is not on lines of its own
            del _inside(tree, parts[:-1])[parts[-1]]
            edited = self._dumped(tree)
            self._refuse_lost_comments(key, text, edited)
        return edited

    def _reads_as(self, text: str, values: object) -> bool:
        try:
            return bool(self._core.parse(text) == values)
        except HooklineError:
            return False

    def _tree(self, text: str) -> Any:
        """The text as ruamel.yaml keeps it, with its comments; None if it holds no key."""
        from ruamel.yaml.error import YAMLError

        try:
            return _editor().load(_REFERENCE.sub(f"{_STAND_INS[:2]}\\1{_STAND_INS[2]}", text))
        except YAMLError as error:
            raise self._not_edited(error) from None

    def _dumped(self, tree: Any) -> str:
        from ruamel.yaml.error import YAMLError

        out = io.StringIO()
        try:
            _editor().dump(tree, out)
        except YAMLError as error:
            raise self._not_edited(error) from None
        return out.getvalue().translate(str.maketrans(_STAND_INS, "${}"))

    def _not_edited(self, error: Exception) -> CommandError:
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
        A symbolic link is kept.

        Raises CommandError if the text would not load, unless the errors are old ones: whoever
        mends several mends one after the other.
        """
        if refused := new_problems(self._core, before, text):
            raise CommandError("\n".join(refused))
        try:
            problems, warnings = self._core.check(text)
        except HooklineError as error:
            problems, warnings = [], str(error).split("\n")
        self.refuse_no_file()
        target = self.path.resolve()
        fresh = target.with_name(".config.yaml.new")
        try:
            target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            fresh.touch(mode=0o600)
            fresh.write_text(text, encoding="utf-8", newline="")
            fresh.replace(target)
        except OSError as error:
            raise CommandError(f"{self.path}: cannot be written: {error.strerror}.") from None
        return [*warnings, *problems]


def _parts(key: str) -> tuple[str, ...]:
    parts = tuple(key.split("."))
    if "" in parts:
        raise CommandError(f"{key}: not a key; write it like session.idle_hours.")
    return parts


def _editor() -> Any:
    from ruamel.yaml import YAML

    editor = YAML()
    editor.preserve_quotes = True
    editor.width = 4096
    return editor


def _put(values: dict[str, Any], key: tuple[str, ...], value: object) -> None:
    """Set ``value`` at ``key`` in nested mappings, made as needed; mappings are merged.

    Where a boolean, such as ``plugins.NAME: false``, meets a mapping, it becomes the mapping's
    ``enabled``, so that neither is lost.
    """
    for name in key[:-1]:
        inner = values.get(name)
        if not isinstance(inner, dict):
            inner = values[name] = {"enabled": inner} if isinstance(inner, bool) else {}
        values = inner
    last, inner = key[-1], values.get(key[-1])
    if isinstance(value, dict) and isinstance(inner, dict | bool):
        for name, item in value.items():
            _put(values, (last, name), item)
    elif isinstance(value, bool) and isinstance(inner, dict):
        inner["enabled"] = value
    else:
        values[last] = value


def _inside(values: Any, key: tuple[str, ...]) -> Any:
    """What stands at ``key``; None if there is no such key."""
    for name in key:
        if not isinstance(values, dict) or name not in values:
            return None
        values = values[name]
    return values


def _without(values: Any, key: tuple[str, ...]) -> Any:
    """A copy of the values without ``key``; None if it is not there."""
    left = deepcopy(values)
    section = _inside(left, key[:-1])
    if not isinstance(section, dict) or key[-1] not in section:
        return None
    del section[key[-1]]
    return left


def _without_lines(text: str, tree: Any, key: tuple[str, ...]) -> str:
    """The text without the lines of ``key`` and of what is indented below it.

    A section that loses its only key stays as ``{}``, since a plugin is on where it is named. Where
    a key shares its line with others, more than the key is gone.
    """
    lines = text.split("\n")
    section = _inside(tree, key[:-1])
    row, column = section.lc.key(key[-1])
    end = row + 1
    while end < len(lines) and _is_below(lines[end], column):
        end += 1
    while end > row + 1 and not lines[end - 1].strip():
        end -= 1
    if len(section) == 1 and len(key) > 1:
        above = _inside(tree, key[:-2]).lc.key(key[-2])[0]
        lines[above] = re.sub(r":(?=\s*(#|$))", ": {}", lines[above], count=1)
    return "\n".join(lines[:row] + lines[end:])


def _is_below(line: str, column: int) -> bool:
    """Whether a line may belong to a key that begins at ``column``, in a line above."""
    indent = len(line) - len(line.lstrip(" "))
    return not line.strip() or indent > column or (indent == column and bool(_ITEM.match(line)))


def config_file() -> ConfigFile:
    """The config.yaml that the running command is about."""
    line = command_line()
    return ConfigFile(line.home, line.configuration)
