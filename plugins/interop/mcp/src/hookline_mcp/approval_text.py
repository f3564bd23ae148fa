"""Text shown to a person before they approve a server; hidden characters become visible."""

from __future__ import annotations

import difflib
import json
import shutil
import textwrap
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from hookline_hookspecs.mcp_servers import OfferedServer
from hookline_hookspecs.visible_text import on_one_line, spell_out
from hookline_sandbox import secrets_in

from .catalog import CatalogEntry, HeldTool, ToolListing
from .names import full_name
from .servers import ToolServer
from .tool_schema import MAX_DESCRIPTION_CHARS, has_hidden, model_schema

MAX_HOSTS = 20
"""Hosts shown for one server."""
_FETCHING_PROGRAMS = frozenset({"npx", "bunx", "pnpx", "uvx", "pipx", "docker", "podman", "deno"})
"""Programs that run what they download."""
MAX_DIFF_LINES = 60
"""Diff lines shown for one changed tool."""


def single_line(text: str, longest: int = 300) -> str:
    """Return ``text`` on one line, spelled out, shortened to ``longest`` characters."""
    return on_one_line(text, longest)


def count_tools(tools: Collection[str]) -> str:
    """Return a count for people, such as ``2 tools``."""
    return f"{len(tools)} tool{'' if len(tools) == 1 else 's'}"


def mask_secrets(text: str, env: Mapping[str, str]) -> str:
    """Return ``text`` with the values of secret variables replaced by ``***``."""
    for value in secrets_in(env):
        text = text.replace(value, "***")
    return text


def describe_server(server: ToolServer, env: Mapping[str, str]) -> str:
    """Describe what a server starts or connects to, where it is configured, and what it gets."""
    config = server.config
    lines = [f"{server.name} ({server.source})"]
    if config.url:
        old = " (sse)" if config.transport == "sse" else ""
        lines.append(f"  address   {mask_secrets(spell_out(config.url), env)}{old}")
        if config.headers:
            lines.append(f"  headers   {', '.join(map(spell_out, config.headers))}")
    else:
        words = [config.command, *config.args]
        shown = " ".join(json.dumps(one) if " " in one or not one else one for one in words)
        lines.append(f"  command   {mask_secrets(spell_out(shown), env)}")
        if config.env:
            lines.append(f"  variables {', '.join(map(spell_out, config.env))}")
        lines.append(f"  sandbox   {'yes, where there is one' if config.sandbox else 'no'}")
    if server.looks_up:
        lines.append(f"  looks up  {', '.join(server.looks_up)}")
    if server.offered is not None:
        lines += _offer_lines(server.offered, config.command)
    return "\n".join(lines)


def _offer_lines(offered: OfferedServer, command: str) -> Iterator[str]:
    """Yield what holds a server that another plugin offers; the approval is bound to it."""
    yield f"  version   {single_line(offered.version) or 'not given'}"
    yield f"  pinned    {spell_out(offered.pin)}"
    if Path(command).name in _FETCHING_PROGRAMS:
        yield f"  not pinned: {Path(command).name} fetches its program whenever the server starts"
    yield f"  folder    {spell_out(offered.root)} (read only)"
    if command:
        yield f"  data      {spell_out(offered.data)}"
    if offered.hosts:
        shown = offered.hosts[:MAX_HOSTS]
        more = len(offered.hosts) - len(shown)
        yield f"  hosts     {', '.join(map(spell_out, shown))}{f' and {more} more' if more else ''}"


def describe_changes(
    server: ToolServer,
    known: CatalogEntry,
    listing: ToolListing,
    held: Mapping[str, HeldTool],
    gone: Sequence[str],
) -> str:
    """Describe which tools of a server are new, changed or gone."""
    lines: list[str] = []
    for tool, one in held.items():
        name = full_name(server.name, tool)
        mark = "  HIDDEN CHARACTERS" if has_hidden(one.wire) else ""
        if one.why == "new":
            lines += [f"new      {name}{mark}", *_model_texts(one.wire)]
        else:
            lines.append(f"changed  {name}{mark}")
            lines += _difference(known.tools[tool].wire, one.wire)
    lines += [f"gone     {full_name(server.name, tool)}" for tool in gone]
    if listing.instructions and listing.instructions != known.instructions:
        lines.append(f"instructions: {single_line(listing.instructions, 500)}")
    if not lines:
        lines.append(f"{count_tools(listing.tools)}, all unchanged since approval")
    return "\n".join(lines)


def _model_texts(wire: Mapping[str, Any]) -> Iterator[str]:
    """Yield all texts of a tool that a model reads; any of them may contain instructions."""
    description, parameters = model_schema(wire)
    yield from _wrap(description)
    for path, text in _texts(parameters):
        yield from _wrap(f"{path}: {text}")


def _texts(schema: Any, path: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(schema, Mapping):
        for key, value in schema.items():
            if isinstance(value, str):
                if key not in _SHORT:
                    yield f"{path or 'parameters'} {key}".removesuffix(" description"), value
            else:
                inner = f"{path}.{key}" if path else str(key)
                if key in _STRUCTURE:
                    inner = path
                yield from _texts(value, inner)
    elif isinstance(schema, list | tuple):
        for value in schema:
            if isinstance(value, str) and not path.endswith("required"):
                yield path, value
            else:
                yield from _texts(value, path)


_SHORT = frozenset({"type", "format", "$ref", "pattern"})
_STRUCTURE = frozenset({"properties", "items", "anyOf", "oneOf", "allOf", "$defs", "enum"})


def _wrap(text: str) -> list[str]:
    wide = max(40, min(110, shutil.get_terminal_size().columns) - 9)
    lines = textwrap.wrap(single_line(text, MAX_DESCRIPTION_CHARS + 100), wide)
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
    shown = [f"         {single_line(line[0])} {single_line(line[1:], 400)}" for line in found]
    left = len(shown) - MAX_DIFF_LINES
    return [*shown[:MAX_DIFF_LINES], f"         … {left} more lines"] if left > 0 else shown
