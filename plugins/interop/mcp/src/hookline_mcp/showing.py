"""What a person is shown before they approve: literal, with hidden characters made visible."""

from __future__ import annotations

import difflib
import json
import shutil
import textwrap
import unicodedata
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from hookline_sandbox import secrets_in

from .catalog import Entry, Held, Listing
from .names import full_name
from .servers import Server
from .wire import LONGEST_DESCRIPTION, has_hidden, offered

MOST_LINES = 60
"""Lines of a difference that are shown of one tool."""


def on_one_line(text: str, longest: int = 300) -> str:
    """Return ``text`` on one line, printable, cut to ``longest`` characters."""
    line = printable(" ".join(text.split()))
    return line if len(line) <= longest else line[: longest - 1] + "…"


def printable(text: str) -> str:
    """Return ``text`` with every character that is not shown, or moves the cursor, as an escape."""
    return "".join(
        char
        if char == "\n" or unicodedata.category(char)[0] not in "CZ" or char == " "
        else f"\\u{{{ord(char):x}}}"
        for char in text
    )


def counted(tools: Collection[str]) -> str:
    """Return how many tools these are, in words."""
    return f"{len(tools)} tool{'' if len(tools) == 1 else 's'}"


def hidden_secrets(text: str, env: Mapping[str, str]) -> str:
    """Return ``text`` without the values of secret variables."""
    for value in secrets_in(env):
        text = text.replace(value, "***")
    return text


def what_is_reached(server: Server, env: Mapping[str, str]) -> str:
    """Say what is started or reached, where that is written, and what it gets."""
    config = server.config
    lines = [f"{server.name} ({server.source})"]
    if config.url:
        lines.append(f"  address   {hidden_secrets(printable(config.url), env)}")
        if config.headers:
            lines.append(f"  headers   {', '.join(map(printable, config.headers))}")
    else:
        words = [config.command, *config.args]
        shown = " ".join(json.dumps(one) if " " in one or not one else one for one in words)
        lines.append(f"  command   {hidden_secrets(printable(shown), env)}")
        if config.env:
            lines.append(f"  variables {', '.join(map(printable, config.env))}")
        lines.append(f"  sandbox   {'yes, where there is one' if config.sandbox else 'no'}")
    if server.looks_up:
        lines.append(f"  looks up  {', '.join(server.looks_up)}")
    return "\n".join(lines)


def changes(
    server: Server, known: Entry, listing: Listing, held: Mapping[str, Held], gone: Sequence[str]
) -> str:
    """Say what of a server's listing is new, changed or gone."""
    lines: list[str] = []
    for tool, one in held.items():
        name = full_name(server.name, tool)
        mark = "  HIDDEN CHARACTERS" if has_hidden(one.wire) else ""
        if one.why == "new":
            lines += [f"new      {name}{mark}", *_read_by_a_model(one.wire)]
        else:
            lines.append(f"changed  {name}{mark}")
            lines += _difference(known.tools[tool].wire, one.wire)
    lines += [f"gone     {full_name(server.name, tool)}" for tool in gone]
    if listing.instructions and listing.instructions != known.instructions:
        lines.append(f"instructions: {on_one_line(listing.instructions, 500)}")
    if not lines:
        lines.append(f"{len(listing.tools)} tools, all as they were approved")
    return "\n".join(lines)


def _read_by_a_model(wire: Mapping[str, Any]) -> Iterator[str]:
    """All texts of a tool that a model reads: orders may stand in any of them."""
    description, parameters = offered(wire)
    yield from _wrapped(description)
    for path, text in _texts(parameters):
        yield from _wrapped(f"{path}: {text}")


def _texts(schema: Any, path: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(schema, Mapping):
        for key, value in schema.items():
            if isinstance(value, str):
                if key not in _SHORT:
                    yield f"{path or 'parameters'} {key}".removesuffix(" description"), value
            else:
                inner = path if key in _STRUCTURE else f"{path}.{key}" if path else str(key)
                yield from _texts(value, inner)
    elif isinstance(schema, list | tuple):
        for value in schema:
            if isinstance(value, str) and not path.endswith("required"):
                yield path, value
            else:
                yield from _texts(value, path)


_SHORT = frozenset({"type", "format", "$ref", "pattern"})
_STRUCTURE = frozenset({"properties", "items", "anyOf", "oneOf", "allOf", "$defs", "enum"})


def _wrapped(text: str) -> list[str]:
    wide = max(40, min(110, shutil.get_terminal_size().columns) - 9)
    lines = textwrap.wrap(on_one_line(text, LONGEST_DESCRIPTION + 100), wide)
    return [f"         {line}" for line in lines]


def _difference(before: Mapping[str, object], after: Mapping[str, object]) -> list[str]:
    old, new = (
        json.dumps(one, indent=1, sort_keys=True, ensure_ascii=False).split("\n")
        for one in (before, after)
    )
    found = [
        line
        for line in difflib.unified_diff(old, new, lineterm="", n=0)
        if line[:1] in "+-" and line[:3] not in ("+++", "---")
    ]
    shown = [f"         {on_one_line(line[0])} {on_one_line(line[1:], 400)}" for line in found]
    left = len(shown) - MOST_LINES
    return [*shown[:MOST_LINES], f"         … {left} more lines"] if left > 0 else shown
