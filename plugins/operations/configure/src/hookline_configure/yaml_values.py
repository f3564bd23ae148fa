"""Writes values as YAML that config.yaml's parser reads back as they were."""

from __future__ import annotations

import io
from collections.abc import Iterable
from typing import Any

import yaml

INDENT = 2
MAX_LINE_CHARS = 80
"""A longer list is written with one item on each line."""
_WORDS = ("", "~", "null", "true", "false")


class _Dumper(yaml.SafeDumper):
    def ignore_aliases(self, data: Any) -> bool:
        return True

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, False)  # items stand further right than their key


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.Node:
    style = None
    if not text.isprintable():
        style = '"'
    elif text.lower() in _WORDS or _is_number(text):
        style = "'"
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style)


def _is_number(text: str) -> bool:
    """Whether a text without quotes could be read as a number."""
    for number in (float, lambda text: int(text, 0)):
        try:
            number(text)
        except ValueError:
            continue
        return True
    return False


def _list(dumper: yaml.SafeDumper, values: Iterable[Any]) -> yaml.Node:
    node = dumper.represent_sequence("tag:yaml.org,2002:seq", values)
    is_flat = all(isinstance(item, yaml.ScalarNode) for item in node.value)
    node.flow_style = is_flat and sum(len(item.value) + 2 for item in node.value) <= MAX_LINE_CHARS
    return node


_Dumper.add_representer(str, _text)
_Dumper.add_representer(list, _list)


def as_lines(value: object, column: int = 0, indent: int = INDENT) -> list[str]:
    """The lines of a value, each ``column`` spaces to the right; ``indent`` is per level."""
    text = yaml.dump(
        value,
        Dumper=_Dumper,
        default_flow_style=False,
        width=10**9,
        indent=indent,
        allow_unicode=True,
        sort_keys=False,
    )
    return [" " * column + line for line in text.removesuffix("...\n").splitlines()]


def as_inline(value: object) -> str:
    """A value on one line, as it may stand between the braces of a mapping."""
    node = _Dumper(io.StringIO()).represent_data([value])
    for inner in _nodes(node):
        inner.flow_style = True
    text: str = yaml.serialize(node, Dumper=_Dumper, width=10**9, allow_unicode=True)
    return text.strip()[1:-1]


def _nodes(node: yaml.Node) -> Iterable[Any]:
    """Every mapping and list in a node, itself included."""
    if isinstance(node, yaml.CollectionNode):
        yield node
        for item in node.value:
            for inner in item if isinstance(item, tuple) else (item,):
                yield from _nodes(inner)
