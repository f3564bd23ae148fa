"""A YAML text as plain values, with the line of every key and every fault that was found.

`Document` reads the file and takes what the environment and the command line lay over it. PyYAML
keeps the last of two equal keys, reads `no` as false and `012` as ten, and dies of deep nesting:
hence a walk of our own over its nodes, after a look at its events.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path

import yaml

from .problems import ConfigError, Fault, Key

MAX_BYTES = 1_000_000
MAX_DEPTH = 50
MAX_VALUES = 20_000
_TAG = "tag:yaml.org,2002:"
# YAML 1.2's core schema, but a leading zero makes text: `012` is a mistake or an identifier.
_PLAIN = (
    ("null", r"~|null|Null|NULL|", "~nN\0"),
    ("bool", r"true|True|TRUE|false|False|FALSE", "tTfF"),
    ("int", r"[-+]?(0|[1-9][0-9]*)|0o[0-7]+|0x[0-9a-fA-F]+", "-+0123456789"),
    (
        "float",
        r"[-+]?((0|[1-9][0-9]*)(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf)|\.(nan|NaN)",
        "-+.0123456789",
    ),
)
_CONVERT: dict[str, Callable[[str], object]] = {
    "str": str,
    "null": lambda text: None,
    "bool": lambda text: text.lower() == "true",
    "int": lambda text: int(text, 0),
    "float": lambda text: float(re.sub(r"\.(inf|nan)", r"\1", text.lower())),
}


# In a flow mapping YAML would read the brace of an unquoted ${KEY} as a mapping of its own. While
# the text is parsed these characters, as many, stand for `$`, `{` and `}`.
_REFERENCE = re.compile(r"\$\{([A-Za-z_]\w*(?::-[^}\n]*)?)\}", re.A)
_STAND_INS = "\U0010fff0\U0010fff1\U0010fff2"
_BACK = str.maketrans(_STAND_INS, "${}")


def cover(text: str) -> str:
    """`text` with the braces of `${VAR}` hidden from a YAML parser; `uncover` undoes it."""
    return _REFERENCE.sub(f"{_STAND_INS[:2]}\\1{_STAND_INS[2]}", text)


def uncover(text: str) -> str:
    """The text that `cover` was given."""
    return text.translate(_BACK)


class _Loader(yaml.CSafeLoader):
    """PyYAML's loader with the plain values above and no others: dates stay text."""

    yaml_implicit_resolvers = {}  # noqa: RUF012  (PyYAML declares it without ClassVar)


for _kind, _pattern, _first in _PLAIN:
    _start = ["" if character == "\0" else character for character in _first]
    _Loader.add_implicit_resolver(_TAG + _kind, re.compile(f"(?:{_pattern})$"), _start)


class _Walk:
    """Turns the nodes of one text into values. `origin` is a file, or what else held the text."""

    def __init__(self, origin: Path | str) -> None:
        self.origin = origin
        self.lines: dict[Key, int | str] = {}
        self.faults: list[Fault] = []
        self._seen = 0

    def read(self, text: str, key: Key) -> object:
        """The value that `text` holds, to stand at `key`. Raises ConfigError if it is no YAML."""
        text = cover(text)
        try:
            self._check_depth(text)
            node = yaml.compose(text, Loader=_Loader)
        except yaml.MarkedYAMLError as error:
            line = error.problem_mark.line if error.problem_mark else 0
            raise ConfigError(f"{self._place(line)}: {_reason(error, text, line)}.") from None
        except (yaml.YAMLError, UnicodeError) as error:
            reason = str(error).split("\n")[0]
            at = text.encode("utf-8", "replace")[: getattr(error, "position", 0)].count(b"\n")
            raise ConfigError(f"{self._place(at)}: this is not YAML: {reason}.") from None
        return None if node is None else self._value(node, key)

    def _place(self, line: int) -> str:
        return f"{self.origin}:{line + 1}" if isinstance(self.origin, Path) else self.origin

    def _fault(self, node: yaml.Node, key: Key, text: str, *inner: str) -> None:
        name = "".join(f"{part}." for part in (*key, *inner))[:-1]
        sentence = ": ".join(filter(None, (self._place(node.start_mark.line), name, text)))
        if (key, sentence) not in self.faults:
            self.faults.append((key, sentence))

    def _check_depth(self, text: str) -> None:
        """Refuse deep nesting before the composer, which recurses in C, can crash on it."""
        depth = 0
        for event in yaml.parse(text, Loader=_Loader):
            depth += isinstance(event, yaml.CollectionStartEvent)
            depth -= isinstance(event, yaml.CollectionEndEvent)
            if depth > MAX_DEPTH:
                line = event.start_mark.line if event.start_mark else 0
                raise ConfigError(f"{self._place(line)}: nested deeper than {MAX_DEPTH} levels.")

    def _count(self, node: yaml.Node, depth: int) -> None:
        self._seen += 1
        if self._seen > MAX_VALUES or depth > MAX_DEPTH:
            limits = f"more than {MAX_VALUES} values or {MAX_DEPTH} levels"
            where = self._place(node.start_mark.line)
            raise ConfigError(f"{where}: with its aliases written out this is {limits}.")

    def _value(self, node: yaml.Node, key: Key) -> object:
        self._count(node, len(key))
        kind = node.tag.removeprefix(_TAG)
        if isinstance(node, yaml.MappingNode) and kind == "map":
            result = {}
            for name, (name_node, value) in self._pairs(node, key, len(key)).items():
                self.lines[*key, name] = name_node.start_mark.line + 1
                result[name] = self._value(value, (*key, name))
            return result
        if isinstance(node, yaml.SequenceNode) and kind == "seq":
            for index, item in enumerate(node.value):
                self.lines[*key, str(index)] = item.start_mark.line + 1
            return [self._value(item, (*key, str(i))) for i, item in enumerate(node.value)]
        try:
            return _CONVERT[kind](uncover(node.value))
        except (KeyError, ValueError, TypeError):
            self._fault(node, key, f"this is no value of the kind {kind}; put it in quotes.")
            return None

    def _pairs(
        self, node: yaml.MappingNode, key: Key, depth: int
    ) -> dict[str, tuple[yaml.Node, yaml.Node]]:
        """The pairs of a mapping by the text of their keys; its own win over merged ones."""
        self._count(node, depth)
        own: dict[str, tuple[yaml.Node, yaml.Node]] = {}
        merged: dict[str, tuple[yaml.Node, yaml.Node]] = {}
        for name, value in node.value:
            if not isinstance(name, yaml.ScalarNode):
                self._fault(name, key, "a key must be text, not a list or a mapping.")
            elif name.value == "<<":
                for source in value.value if isinstance(value, yaml.SequenceNode) else [value]:
                    if isinstance(source, yaml.MappingNode):
                        merged = {**self._pairs(source, key, depth + 1), **merged}
                    else:
                        self._fault(name, key, "<< merges mappings; this is none.")
            elif (written := uncover(name.value)) in own:
                first = own[written][0].start_mark.line + 1
                text = f"written twice, here and in line {first}; keep one of them."
                self._fault(name, key, text, written)
            else:
                own[written] = (name, value)
        return {**own, **{name: pair for name, pair in merged.items() if name not in own}}


def _reason(error: yaml.MarkedYAMLError, text: str, line: int) -> str:
    written = text.split("\n")[line : line + 1]
    if written and written[0][: len(written[0]) - len(written[0].lstrip())].count("\t"):
        return "indented with a tab; use spaces"
    return f"this is not YAML: {error.problem or error.context}; if it is text, put it in quotes"


def read_text(path: Path) -> str:
    """The text of a config file; empty if there is none. Raises ConfigError."""
    try:
        raw = path.read_bytes()
        if len(raw) > MAX_BYTES:
            raise ConfigError(f"{path}: larger than {MAX_BYTES} bytes; this is no config.")
        return raw.decode("utf-8-sig")
    except FileNotFoundError:
        return ""
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise ConfigError(f"{path}:{line}: not UTF-8; save the file as UTF-8.") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ConfigError(f"{path}: cannot be read: {reason}.") from None


def read_value(text: str, origin: str, key: Key = ()) -> tuple[object, list[Fault]]:
    """A single value by the same rules, and its faults. Raises ConfigError if it is no YAML."""
    walk = _Walk(origin)
    return walk.read(text, key), walk.faults


class Document:
    """The text of a config as `values`, with `lines` and `faults`; see the module."""

    def __init__(self, path: Path, text: str) -> None:
        walk = _Walk(path)
        values = walk.read(text, ())
        if values is not None and not isinstance(values, dict):
            raise ConfigError(f"{path}:1: a config is a mapping, `key: value` on each line.")
        self.path = path
        self.values: dict[str, object] = values or {}
        self.lines = walk.lines
        self.faults = walk.faults

    def overlay(self, key: Key, value: object, origin: str) -> None:
        """Put `value` at `key`, as `origin` says; mappings are merged.

        `plugins.NAME` may be a switch or a mapping: a switch laid over a mapping becomes its
        `enabled`, so that no settings are lost, and a mapping over a switch keeps it so.
        """
        if isinstance(value, Mapping) and value:
            for name, inner in value.items():
                self.overlay((*key, str(name)), inner, origin)
            return
        below: object = self.values
        for depth, name in enumerate(key[:-1], 1):
            below = below.get(name) if isinstance(below, dict) else None
            if not isinstance(below, dict | bool):
                self.lines[key[:depth]] = origin
        key = put(self.values, key, value)
        self.lines = {k: at for k, at in self.lines.items() if k[: len(key)] != key}
        self.lines[key] = origin


def put(values: dict[str, object], key: Key, value: object) -> Key:
    """Set `value` at `key` in nested mappings, made as needed; returns the key that it came to.

    A switch and a mapping go together as `Document.overlay` says.
    """
    holder = values
    for name in key[:-1]:
        below = holder.get(name)
        if isinstance(below, dict):
            holder = below
        else:
            fresh: dict[str, object] = {"enabled": below} if isinstance(below, bool) else {}
            holder[name] = fresh
            holder = fresh
    inner = holder.get(key[-1])
    if isinstance(value, bool) and isinstance(inner, dict):
        inner["enabled"] = value
        return (*key, "enabled")
    holder[key[-1]] = value
    return key
