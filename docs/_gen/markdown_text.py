"""Helpers to write Markdown: tables, code, and docstrings."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Sequence

_ROLE = re.compile(r":(?:class|meth|func|data|attr|mod):`~?([^`]+)`")
_SECTIONS = ("Args:", "Attributes:", "Raises:", "Returns:")
_ITEM = re.compile(r"(\w+): (.*)")


def code(text: str) -> str:
    """``text`` as inline code; a ``|`` inside does not end a table's cell."""
    return f"`{text}`"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; cells are single lines of Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def docstring(text: str | None) -> str:
    """Convert a docstring to Markdown: its code, references and ``Args:`` lists."""
    text = _ROLE.sub(r"`\1`", inspect.cleandoc(text or "")).replace("``", "`")
    return "\n".join(_lists(text.splitlines()))


def _lists(lines: Iterable[str]) -> Iterable[str]:
    inside = False
    for line in lines:
        if line in _SECTIONS:
            inside = True
            yield f"**{line[:-1]}**\n"
        elif inside and line.startswith(" "):
            item = _ITEM.fullmatch(line.strip())
            starts = item is not None and len(line) - len(line.lstrip()) == 4
            yield f"- `{item[1]}`: {item[2]}" if item and starts else f"  {line.strip()}"
        else:
            inside = inside and not line
            yield line
