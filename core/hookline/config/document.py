"""Parses YAML into plain values and records the line of every key.

PyYAML's loaders keep the last of two equal keys, read `no` as false and `012` as ten, and crash on
deep nesting, so the values are built from the parser's events. Aliases and tags are refused: a
config does not need them, and a few aliases can expand to gigabytes.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from itertools import takewhile
from pathlib import Path
from typing import Any

import yaml
from hookline_hookspecs.errors import ConfigError
from hookline_hookspecs.setting_errors import Key

MAX_DEPTH = 50
MAX_FILE_BYTES = 1_000_000
"""Maximum size of a config file. A larger file is not a config and would take minutes to read."""

# YAML 1.2's core schema with two exceptions. A leading zero makes text, because `012` is a mistake
# or an identifier; so do more than a hundred digits, because Python refuses to convert thousands.
_WORDS = {"": None, "~": None, "null": None, "true": True, "false": False}
_INT = re.compile(r"[-+]?(0|[1-9][0-9]{0,99})|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?((0|[1-9][0-9]{0,99})(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]+)?")

# In a flow mapping, YAML would read the brace of an unquoted ${KEY} as a nested mapping. While the
# text is parsed, these three characters replace `$`, `{` and `}`.
_REFERENCE = re.compile(r"\$\{([A-Za-z_]\w*(?::-[^}\n]*)?)\}", re.A)
_STAND_INS = "\U0010fff0\U0010fff1\U0010fff2"

# Line breaks in YAML 1.1, which PyYAML implements, but ordinary characters in YAML 1.2, JSON and
# editors. While the text is parsed, the characters below replace them.
_LETTERS = "\x85\u2028\u2029"
_COVERED = "\U0010fff3\U0010fff4\U0010fff5"
_RESERVED = re.compile(f"[{_STAND_INS}{_COVERED}]")


def cover(text: str) -> str:
    """Hide the braces of `${VAR}` and YAML 1.1 line breaks from a parser; undone by `uncover`."""
    braces = _REFERENCE.sub(f"{_STAND_INS[:2]}\\1{_STAND_INS[2]}", text)
    return braces.translate(str.maketrans(_LETTERS, _COVERED))


def uncover(text: str) -> str:
    """Restore the text that was passed to `cover`."""
    return text.translate(str.maketrans(_STAND_INS + _COVERED, "${}" + _LETTERS))


def read_text(path: Path, faults: list[str]) -> str:
    """The text of a config file; empty if the file does not exist or cannot be read.

    If it cannot be read, a sentence that says why is added to `faults`.
    """
    try:
        if path.stat().st_size <= MAX_FILE_BYTES and (path.is_file() or path.samefile(os.devnull)):
            return path.read_bytes().decode("utf-8-sig")
        kind = "a pipe or a device"
        if path.is_dir():
            kind = "a folder"
        elif path.is_file():
            kind = "a file larger than 1 MB"
        fault = f"{path}: expected a text file, got {kind}; move it away."
    except FileNotFoundError:
        if not path.is_symlink():
            return ""
        fault = f"{path}: this is a broken link; restore its target or remove the link."
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        fault = f"{path}:{line}: this is not UTF-8 text; restore the file, or save it as UTF-8."
    except NotADirectoryError:
        fault = f"the home {path.parent} is not a folder; choose another with --home."
    except OSError as error:
        fault = f"{path}: cannot be read: {error.strerror}. Fix that, or move the file away."
    faults.append(fault)
    return ""


class Document:
    """A YAML text as plain `values`; `lines` holds the line of each key.

    `origin` is the file that the text is from, or the name of another source. The text is the value
    of `key`, or a whole config if `key` is empty. Raises ConfigError.
    """

    def __init__(self, origin: Path | str, text: str, key: Key = ()) -> None:
        self.origin = origin
        self.lines: dict[Key, int | str] = {}
        found = self._read(text, key)
        self.values: Any = next(
            (value for value in found if value is not None), None if key else {}
        )
        if len(found) > 1 or not (key or isinstance(self.values, dict)):
            raise self._error(1, "expected one mapping, with `key: value` on each line.")

    def overlay(self, key: Key, value: object, origin: str, inner: Iterable[Key] = ()) -> None:
        """`put` a value that `origin` set; `inner` are the keys inside the value."""
        put(self.values, key, value)
        around = {key[:length]: origin for length in range(1, len(key))}
        self.lines = {**around, **self.lines, **dict.fromkeys((key, *inner), origin)}

    def _read(self, text: str, key: Key) -> list[object]:
        """The values of all documents in `text`."""
        if found := _RESERVED.search(text):
            line = text.count("\n", 0, found.start()) + 1
            raise self._error(line, f"the character U+{ord(found[0]):X} cannot be read; remove it.")
        try:
            events = yaml.parse(cover(text), Loader=yaml.CSafeLoader)
            nodes = (event for event in events if isinstance(event, yaml.NodeEvent))
            return [self._value(node, events, key) for node in nodes]
        except (yaml.YAMLError, UnicodeError) as error:
            mark = getattr(error, "problem_mark", None)
            before = text.encode("utf-8", "replace")[: getattr(error, "position", 0)]
            line = mark.line + 1 if mark else before.count(b"\n") + 1
            reason = getattr(error, "problem", None) or str(error).split("\n")[0]
            for source_line in text.split("\n")[line - 1 : line]:
                if "\t" in source_line[: len(source_line) - len(source_line.lstrip())]:
                    reason = "this line begins with a tab"
            raise self._error(
                line, f"this is not YAML: {reason}; indent with spaces and put text in quotes."
            ) from None

    def _error(self, line: int, text: str) -> ConfigError:
        at = f"{self.origin}:{line}" if isinstance(self.origin, Path) else self.origin
        return ConfigError(f"{at}: {text}")

    def _value(self, event: Any, events: Iterator[Any], key: Key) -> object:
        line = self.lines[key] = event.start_mark.line + 1
        if len(key) > MAX_DEPTH:
            raise self._error(line, f"nested deeper than {MAX_DEPTH} levels.")
        if isinstance(event, yaml.AliasEvent) or event.tag:
            raise self._error(line, "*alias and !tag are not supported; write it out or quote it.")
        if isinstance(event, yaml.MappingStartEvent):
            return self._mapping(events, key)
        if isinstance(event, yaml.SequenceStartEvent):
            return [
                self._value(item, events, (*key, str(at)))
                for at, item in enumerate(takewhile(_continues, events))
            ]
        written = uncover(event.value)
        return _scalar(written) if event.implicit[0] else written

    def _mapping(self, events: Iterator[Any], key: Key) -> dict[str, object]:
        values: dict[str, object] = {}
        for name in takewhile(_continues, events):
            line = name.start_mark.line + 1
            if not isinstance(name, yaml.ScalarEvent):
                raise self._error(line, "a key must be text, not a list, a mapping or an *alias.")
            inner = (*key, uncover(name.value))
            if inner[-1] in values:
                text = f"written twice, here and in line {self.lines[inner]}; keep one of them."
                raise self._error(line, f"{'.'.join(inner)}: {text}")
            values[inner[-1]] = self._value(next(events), events, inner)
            self.lines[inner] = line
        return values


def _continues(event: object) -> bool:
    return not isinstance(event, yaml.CollectionEndEvent)


def _scalar(text: str) -> object:
    """The value of a plain (unquoted) scalar."""
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    if _INT.fullmatch(text):
        return int(text, 0)
    return float(text) if _FLOAT.fullmatch(text) else text


def put(values: dict[str, Any], key: Key, value: object) -> None:
    """Set `value` at `key` in nested mappings, creating them as needed and merging mappings.

    If one value is a boolean, such as `plugins.NAME: false`, and the other a mapping, the boolean
    becomes the mapping's `enabled`, so that neither is lost.
    """
    for name in key[:-1]:
        inner = values.get(name)
        if not isinstance(inner, dict):
            inner = values[name] = {"enabled": inner} if isinstance(inner, bool) else {}
        values = inner
    last, inner = key[-1], values.get(key[-1])
    if isinstance(value, dict) and isinstance(inner, dict | bool):
        for name, item in value.items():
            put(values, (last, name), item)
    elif isinstance(value, bool) and isinstance(inner, dict):
        inner["enabled"] = value
    else:
        values[last] = value
