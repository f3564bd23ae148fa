"""Changes one key in the text of a YAML mapping; every other line stays byte for byte.

PyYAML's nodes say where each value begins and ends, and only that span is replaced. A library that
writes the whole tree again, such as ruamel.yaml, moves the comments behind a section to the end of
its last value.

``#name: …`` is an example: a key that is commented out. ``#  name: …``, with two or more spaces, is
an example inside the section above. Removing the ``#`` of any example gives valid YAML after any
edit, because a new key takes the place of its own example and stays in front of all others.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import yaml

from .yaml_values import INDENT, as_inline, as_lines

_EXAMPLE = re.compile(r" *#( {2,})?(?P<name>[^\s:#]+):(\s|$)")
_COMMENT = re.compile(r"(?P<indent> *)#(?P<inner> {2,})?")
_ITEM = re.compile(r" *-( |$)")

# In a flow mapping, YAML would read the braces of an unquoted ${KEY} as a nested mapping, and
# YAML 1.1 breaks lines at three more characters. While the text is parsed, others stand for them.
_REFERENCE = re.compile(r"\$\{([A-Za-z_]\w*(?::-[^}\n]*)?)\}", re.A)
_BREAKS = str.maketrans("\x85\u2028\u2029", "\U0010fff3\U0010fff4\U0010fff5")


@dataclass(frozen=True, slots=True)
class Entry:
    """A key and its value in a section, as nodes of PyYAML."""

    section: Any
    key: Any
    value: Any

    @property
    def column(self) -> int:
        """Where the key begins in its line."""
        return int(self.key.start_mark.column)


def put(
    text: str, key: tuple[str, ...], value: object, read: Callable[[str], dict[str, Any]]
) -> str:
    """Set ``value`` at ``key``; ``read`` returns the values of a text.

    Sections are made as needed, and a mapping is merged into an existing one. A boolean that meets
    a mapping becomes its ``enabled``, so that neither is lost. Raises ``yaml.YAMLError``, and
    ``ValueError`` if the key cannot be written without moving others.
    """
    values = read(text)
    old = value_at(values, key)
    if isinstance(value, dict) and isinstance(old, dict | bool):
        for name, item in value.items():
            text = put(text, (*key, name), item, read)
        return text
    if isinstance(value, bool) and isinstance(old, dict):
        return put(text, (*key, "enabled"), value, read)
    found = _entries(text, key)
    if len(found) < len(key):
        around = value_at(values, key[: len(found)])
        edited = _insert(text, found, key[len(found) :], value, around)
    else:
        with_items = _put_items(text, found[-1].value, old, value)
        edited = _replace(text, found[-1], value) if with_items is None else with_items
    for written in [key[:length] for length in range(1, len(key))] + _keys(key, value):
        edited = _without_example(edited, written)
    return edited


def _keys(key: tuple[str, ...], value: object) -> list[tuple[str, ...]]:
    """The key, and those of the mappings in its value."""
    inner = value if isinstance(value, dict) else {}
    return [key, *(found for name in inner for found in _keys((*key, name), inner[name]))]


def is_example(comment: str, key: tuple[str, ...], value: object) -> bool:
    """Whether a comment is the example of ``key``, of a section around it or of one inside."""
    found = _EXAMPLE.match(comment)
    return found is not None and any(found["name"] in one for one in _keys(key, value))


def remove(text: str, key: tuple[str, ...], default: str | None) -> str:
    """Remove an existing ``key``, with the lines below it and the comments in them.

    A section that loses its only key stays, because a plugin is on if it is named. If the line
    above is a comment, an example with the ``default`` as YAML stays below it, unless it is None.
    """
    found = _entries(text, key)
    entry = found[-1]
    if entry.section.flow_style:
        return _remove_inline(text, entry)
    lines = text.split("\n")
    row = _row(text, entry.key)
    end = row + 1
    while end < len(lines) and _is_below(lines[end], entry.column):
        end += 1
    while end > row + 1 and not lines[end - 1].strip():
        end -= 1
    left = []
    if _has_examples(lines[end:], entry.column):
        left = [f"{' ' * entry.column}#{key[-1]}:"]
    elif default is not None and row > 0 and _COMMENT.match(lines[row - 1]):
        left = [f"{' ' * entry.column}#{key[-1]}: {default}"]
    lines[row:end] = left
    if len(found) > 1 and len(entry.section.value) == 1:
        above = _row(text, found[-2].key)
        if not _has_examples(lines[above + 1 :], found[-2].column):
            lines[above] = re.sub(r":(?=\s*(#|$))", ": {}", lines[above], count=1)
    return "\n".join(lines)


def value_at(values: Any, key: tuple[str, ...]) -> Any:
    """The value at ``key``; None if there is no such key."""
    for name in key:
        if not isinstance(values, dict) or name not in values:
            return None
        values = values[name]
    return values


def _parse(text: str) -> Any:
    """The node of the text's mapping; None if it contains no key."""
    covered = _REFERENCE.sub("\U0010fff0\U0010fff1\\1\U0010fff2", text).translate(_BREAKS)
    return yaml.compose(covered, Loader=yaml.SafeLoader)


def _entries(text: str, key: tuple[str, ...]) -> list[Entry]:
    """The entries along ``key``, as far as there are any."""
    found: list[Entry] = []
    section = _parse(text)
    for name in key:
        pairs = section.value if isinstance(section, yaml.MappingNode) else []
        pair = next(((k, v) for k, v in pairs if k.value == name), None)
        if pair is None:
            break
        found.append(Entry(section, *pair))
        section = pair[1]
    return found


def _row(text: str, node: Any) -> int:
    return text.count("\n", 0, node.start_mark.index)


def _end(text: str, node: Any) -> int:
    """Where the last value in a node ends; the node's own mark is behind the comments after it."""
    if isinstance(node, yaml.CollectionNode) and node.value and not node.flow_style:
        last = node.value[-1]
        return max(_end(text, one) for one in (last if isinstance(last, tuple) else (last,)))
    start, end = int(node.start_mark.index), int(node.end_mark.index)
    return start + len(text[start:end].rstrip())


def _replace(text: str, entry: Entry, value: object) -> str:
    """Write another value of an existing key, with the comment of its line."""
    colon = text.index(":", entry.key.end_mark.index) + 1
    start, end = int(entry.value.start_mark.index), max(_end(text, entry.value), colon)
    if entry.section.flow_style:
        return f"{text[:colon]} {as_inline(value)}{text[end:]}"
    comment = text[colon : max(start, colon)].split("\n")[0].strip()
    between = f"  {comment}" if comment else ""
    line_end = (text + "\n").index("\n", end)
    after = text[line_end + 1 :].split("\n")
    first, *others = _lines(entry.key.value, value, entry.column, after)
    written = first[entry.column + len(as_inline(entry.key.value)) + 1 :] + between
    rest = text[end:line_end]
    if others:
        rest = rest.rstrip()
    else:
        shorter = (end - colon) - len(written)  # the comment of the line keeps its column
        spaces = len(rest) - len(rest.lstrip(" "))
        if rest[spaces:].startswith("#"):
            rest = " " * max(spaces + shorter, 1) + rest[spaces:]
    return "\n".join([text[:colon] + written + rest, *others]) + text[line_end:]


def _lines(name: str, value: object, column: int, after: list[str]) -> list[str]:
    """The lines of a key at ``column``, to stand before the lines ``after``.

    Examples among those belong into its section.
    """
    examples_at = _examples_column(after, column)
    if examples_at is None:
        return as_lines({name: value}, column)
    if value in (None, {}):
        return [" " * column + as_inline(name) + ":"]
    return as_lines({name: value}, column, examples_at - column)


def _insert(
    text: str, above: list[Entry], missing: tuple[str, ...], value: object, old: object
) -> str:
    """Write the ``missing`` part of a key below the entries ``above``, whose value is ``old``."""
    for name in reversed(missing[1:]):
        value = {name: value}
    name = missing[0]
    section = above[-1].value if above else _parse(text)
    if isinstance(old, dict) and old and section.flow_style:
        at = max(_end(text, node) for node in section.value[-1])
        return f"{text[:at]}, {as_inline({name: value})[1:-1]}{text[at:]}"
    if isinstance(old, dict) and old:
        return _insert_lines(text, section, bool(above), name, value)
    if not above:
        return _insert_first(text, name, value)
    switch = {"enabled": old} if isinstance(old, bool) else {}
    return _replace(text, above[-1], {**switch, name: value})


def _insert_first(text: str, name: str, value: object) -> str:
    """Write a key into a text of comments: in place of its example, else below them."""
    lines = text.split("\n")
    row = _example_row(lines, name, 0, 0)
    if row is None:
        return "\n".join([*text.rstrip().split("\n"), *as_lines({name: value}), ""]).lstrip("\n")
    after = lines[row + 1 :]
    return "\n".join([*lines[:row], *_lines(name, value, 0, after), *after])


def _insert_lines(text: str, section: Any, is_inner: bool, name: str, value: object) -> str:
    """Write a key into a section: in place of its example, else below the last key."""
    lines = text.split("\n")
    column = section.start_mark.column
    row = _example_row(lines, name, column, _row(text, section) if is_inner else 0)
    if row is not None:
        after = lines[row + 1 :]
        return "\n".join([*lines[:row], *_lines(name, value, column, after), *after])
    last = text.count("\n", 0, _end(text, section))
    row = last + 1 + _own_comments(lines[last + 1 :], column)
    after = lines[row:] or [""]
    return "\n".join([*lines[:row], *as_lines({name: value}, column), *after])


def _without_example(text: str, key: tuple[str, ...]) -> str:
    """Remove the example of a key that has been written."""
    entry = _entries(text, key)[-1]
    if entry.section.flow_style:
        return text
    lines = text.split("\n")
    first = _row(text, entry.section) if len(key) > 1 else 0
    row = _example_row(lines, key[-1], entry.column, first)
    return text if row is None else "\n".join(lines[:row] + lines[row + 1 :])


def _example_row(lines: list[str], name: str, column: int, first: int) -> int | None:
    """The row of a key's example in the section at ``column`` that begins in row ``first``.

    A comment between the lines of another key is none.
    """
    for row in range(first, len(lines)):
        line = lines[row]
        if _is_content(line) and _indent(line) < column:
            return None
        found = _EXAMPLE.match(line)
        if found is None:
            continue
        if _comment_indent(line) < column:
            return None
        follows = next((other for other in lines[row + 1 :] if _is_content(other)), "")
        is_its = found["name"] == name and _comment_indent(line) == column
        if is_its and _indent(follows) <= column:
            return row
    return None


def _own_comments(lines: list[str], column: int) -> int:
    """How many of the lines behind the last key of a section at ``column`` belong to that key."""
    own = 0
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        indent = _comment_indent(line)
        if not _COMMENT.match(line) or indent < column:
            break
        if indent > column:
            own = number
        elif _EXAMPLE.match(line):
            break
    return own


def _examples_column(lines: list[str], column: int) -> int | None:
    """Where the keys in the examples of the key above begin, which is at ``column``; or None."""
    for line in lines:
        if line.strip() and not _COMMENT.match(line):
            return None
        if _EXAMPLE.match(line):
            indent = _comment_indent(line)
            return indent if indent > column else None
    return None


def _has_examples(lines: list[str], column: int) -> bool:
    return _examples_column(lines, column) is not None


def _comment_indent(line: str) -> int:
    """Where the text of a comment would begin if it were a key."""
    found = _COMMENT.match(line)
    return len(found["indent"]) + len(found["inner"] or "") if found else 0


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _is_content(line: str) -> bool:
    return bool(line.strip()) and not _COMMENT.match(line)


def _is_below(line: str, column: int) -> bool:
    """Whether a line may belong to a key that begins at ``column``, in a line above."""
    indent = _indent(line)
    return not line.strip() or indent > column or (indent == column and bool(_ITEM.match(line)))


def _remove_inline(text: str, entry: Entry) -> str:
    """Remove a key between braces, with the comma that separates it."""
    pairs = entry.section.value
    at = pairs.index((entry.key, entry.value))
    start, end = entry.key.start_mark.index, max(_end(text, node) for node in pairs[at])
    if at:
        start = max(_end(text, node) for node in pairs[at - 1])
    elif len(pairs) > 1:
        end = pairs[1][0].start_mark.index
    if "\n" in text[start:end] and "#" in text[start:end]:
        raise ValueError("its comments would be lost")
    return text[:start] + text[end:]


def _put_items(text: str, node: Any, old: object, new: object) -> str | None:
    """Remove and append items of a list, so that the others keep their comments.

    Returns None if they are not lists with a line for each item, or would have another order.
    """
    if not isinstance(old, list) or not isinstance(new, list) or node.flow_style:
        return None
    kept = [item for item in old if item in new]
    has_twice = any(old.count(item) > 1 for item in old)
    if kept != new[: len(kept)] or has_twice or not kept:
        return None
    lines = text.split("\n")
    starts = [_row(text, item) for item in node.value]
    ends = [text.count("\n", 0, _end(text, item)) + 1 for item in node.value]
    column = node.start_mark.column
    lines[ends[-1] : ends[-1]] = [
        line for item in new[len(kept) :] for line in _item_lines(item, column)
    ]
    for at in reversed(range(len(old))):
        if old[at] not in new:
            del lines[starts[at] : ends[at]]
    return "\n".join(lines)


def _item_lines(item: object, column: int) -> list[str]:
    first, *others = as_lines(item, column + INDENT)
    return [f"{' ' * column}- {first.lstrip()}", *others]
