"""What a bundle can do, as lines for the person who decides about it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

from hookline_hookspecs.visible_text import on_one_line

from .bundle import Bundle
from .content_hash import SKIPPED

CHARS_PER_TOKEN = 4
"""Characters counted as one token."""
MAX_SHOWN_CHARS = 300
MAX_SCANNED_BYTES = 500_000
MAX_NAMES = 12
_TEXT_SUFFIXES = (".md", ".txt", ".png", ".jpg", ".svg", ".gif", ".lock")
_ADDRESS = re.compile(rb"https?://([a-zA-Z0-9.-]{1,253})")
_REFERENCE = re.compile(r"\$\{?([A-Z][A-Z0-9_]{2,})\}?")
_SECRET = re.compile(r"KEY|TOKEN|SECRET|PASS|CREDENTIAL|COOKIE|AUTH", re.IGNORECASE)
_OWN_VARIABLES = re.compile(r"(?:CLAUDE|PLUGIN|CURSOR)_(?:PLUGIN_|PROJECT_)?(?:ROOT|DATA|DIR)\Z")


def describe(bundle: Bundle) -> list[str]:
    """Return the capabilities, one line each: what runs, which hosts, secrets and texts."""
    lines = [
        f"runs at {hook.event}{_matching(hook.matcher)}: {on_one_line(hook.shown, MAX_SHOWN_CHARS)}"
        for hook in bundle.hooks
    ]
    lines += [
        f"MCP server {server.name}, off until you allow it: "
        f"{on_one_line(server.shown, MAX_SHOWN_CHARS)}"
        for server in bundle.servers
    ]
    lines += [
        f"runs when you use /{command.name}: {on_one_line(program, MAX_SHOWN_CHARS)}"
        for command in bundle.commands
        for program in inline_programs(command.body)
    ]
    if hosts := hosts_of(bundle):
        lines.append(f"hosts in its programs: {_some(hosts)}")
    if secrets := _secrets(bundle):
        lines.append(f"secrets that it reads: {_some(secrets)}")
    named = {
        "skills": [skill.name for skill in bundle.skills],
        "commands": [f"/{command.name}" for command in bundle.commands],
        "sub-agents": [agent.name for agent in bundle.agents],
    }
    lines += [f"{what}: {_some(names)}" for what, names in named.items() if names]
    lines.append(f"about {tokens(bundle):,} tokens of each request")
    if bundle.ignored:
        lines.append(f"not used by Hookline: {', '.join(bundle.ignored)}")
    return lines + [f"not used: {problem}" for problem in bundle.problems]


def tokens(bundle: Bundle) -> int:
    """Return the tokens that its lists add to each request: one line for a skill or sub-agent."""
    skills = [f"- {bundle.name}:{one.name}: {one.description[:160]}" for one in bundle.skills]
    agents = [f"- {one.name}: {one.description[:120]}" for one in bundle.agents]
    return sum(len(line) + 1 for line in (*skills, *agents)) // CHARS_PER_TOKEN


_INLINE = re.compile(r"(?<![\w`])!`([^`\n]+)`")


def inline_programs(body: str) -> list[str]:
    """Return the shell commands in a command's text: ``!`git status` ``."""
    return [match[1] for match in _INLINE.finditer(body)]


def _matching(matcher: str) -> str:
    return f" ({on_one_line(matcher, 60)})" if matcher and matcher != "*" else ""


def _some(names: list[str]) -> str:
    shown = ", ".join(on_one_line(name, 60) for name in names[:MAX_NAMES])
    left = len(names) - MAX_NAMES
    return f"{shown} and {left} more" if left > 0 else shown


def hosts_of(bundle: Bundle) -> list[str]:
    """Return the hosts of servers, and those in the texts of programs."""
    found = {
        host
        for server in bundle.servers
        if (host := urlsplit(str(server.entry.get("url", ""))).hostname)
    }
    if bundle.format != "folder":
        for path in _programs(bundle.root):
            try:
                with path.open("rb") as stream:
                    data = stream.read(MAX_SCANNED_BYTES)
            except OSError:
                continue
            found |= {match[1].decode().lower() for match in _ADDRESS.finditer(data)}
    return sorted(found)


def _programs(root: Path) -> list[Path]:
    files = [
        path
        for path in sorted(root.rglob("*"))
        if not SKIPPED.intersection(path.parts)
        and path.suffix.lower() not in _TEXT_SUFFIXES
        and not path.is_symlink()
        and path.is_file()
    ]
    return files[:500]


def _secrets(bundle: Bundle) -> list[str]:
    texts = [hook.shown for hook in bundle.hooks]
    for server in bundle.servers:
        for part in (server.entry.get("env"), server.entry.get("headers")):
            if isinstance(part, Mapping):
                texts += [f"{value}" for value in part.values()]
                texts += [f"${name}" for name in part if _SECRET.search(name)]
        texts += [str(one) for one in server.entry.get("args", ())]
    names = {name for text in texts for name in _REFERENCE.findall(text)}
    return sorted(name for name in names if not _OWN_VARIABLES.match(name))
