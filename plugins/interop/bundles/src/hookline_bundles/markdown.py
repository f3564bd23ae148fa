"""Markdown files with front matter: commands, agents and skills."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import yaml

FENCE = "---"
MAX_FRONT_MATTER_CHARS = 16_000
MAX_LIBYAML_CHARS = 4_000
"""Longer front matter is read line by line, because libyaml recurses without a limit."""
_FIELD = re.compile(r"([A-Za-z][\w-]*):[ \t]*(.*)")


@dataclass(frozen=True, slots=True)
class MarkdownFile:
    """The fields of the front matter, and the stripped text below it.

    ``problem`` is why the front matter could not be read as YAML; empty if it could.
    """

    fields: dict[str, Any]
    body: str
    problem: str = ""

    def text(self, name: str) -> str:
        """Return a field as one stripped text; empty if it is missing or not a scalar."""
        value = self.fields.get(name)
        return str(value).strip() if isinstance(value, str | int | float) else ""

    def words(self, name: str) -> tuple[str, ...] | None:
        """Return a field that is a list, or a text with commas; None if it is missing."""
        value = self.fields.get(name)
        if value is None:
            return None
        if isinstance(value, str):
            return tuple(filter(None, map(str.strip, _split_outside_brackets(value))))
        if isinstance(value, list):
            return tuple(str(one).strip() for one in value if isinstance(one, str | int))
        return None


def parse_markdown(text: str) -> MarkdownFile:
    """Split a file into front matter and body. A file without front matter has no fields.

    Other agents accept front matter that is not quite YAML, such as ``description: Note: …``; then
    each line ``name: value`` is a field.
    """
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    if lines[0].rstrip() != FENCE:
        return MarkdownFile({}, text.strip())
    for number, line in enumerate(lines[1:], 1):
        if line.rstrip() == FENCE:
            fields, problem = _fields("\n".join(lines[1:number]))
            return MarkdownFile(fields, "\n".join(lines[number + 1 :]).strip(), problem)
    return MarkdownFile({}, text.strip(), "its front matter has no closing line ---")


def _fields(front: str) -> tuple[dict[str, Any], str]:
    problem = "its front matter is too long"
    if len(front) <= MAX_LIBYAML_CHARS:
        try:
            found = yaml.load(front, Loader=yaml.CSafeLoader)
        except (yaml.YAMLError, ValueError) as error:
            problem = f"its front matter is not YAML: {str(error).splitlines()[0]}"
        else:
            if found is None:
                return {}, ""
            if isinstance(found, dict):
                return {str(name): value for name, value in found.items()}, ""
            problem = "its front matter is not a mapping"
    if len(front) > MAX_FRONT_MATTER_CHARS:
        return {}, problem
    return _by_lines(front), problem


def _by_lines(front: str) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    last = ""
    for line in front.split("\n"):
        field = _FIELD.fullmatch(line)
        if field is not None:
            last = field[1]
            fields[last] = field[2].strip().strip("\"'")
        elif last and line.startswith((" ", "\t")):
            item = line.strip()
            mark = ", " if item.startswith("- ") and fields[last] else " "
            fields[last] = f"{fields[last]}{mark}{item.removeprefix('- ')}".strip()
    return fields


def _split_outside_brackets(text: str) -> list[str]:
    """Split at commas that are not inside ``Bash(git add:*, git commit:*)``."""
    parts, depth = [""], 0
    for char in text:
        depth += (char == "(") - (char == ")")
        if char == "," and depth <= 0:
            parts.append("")
        else:
            parts[-1] += char
    return parts
