"""Reads MCP servers of Claude Code and its like: ``.mcp.json`` and ``mcpServers``.

Agent Plugins have a stricter format, see :mod:`.agent_plugins`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .bundle import BundleServer

ROOT_VARIABLES = ("CLAUDE_PLUGIN_ROOT", "PLUGIN_ROOT", "CURSOR_PLUGIN_ROOT")
DATA_VARIABLES = ("CLAUDE_PLUGIN_DATA", "PLUGIN_DATA")
_KEYS = ("command", "args", "env", "cwd", "url", "headers", "timeout", "type", "transport")
_PLACES = re.compile(r"\$\{(" + "|".join((*ROOT_VARIABLES, *DATA_VARIABLES)) + r")\}")


def plugin_variables(root: Path, data: Path) -> dict[str, str]:
    """Return the variables that tell a bundle's program where it is."""
    return dict.fromkeys(ROOT_VARIABLES, str(root)) | dict.fromkeys(DATA_VARIABLES, str(data))


def read_servers(
    document: Any, root: Path, data: Path, where: str, problems: list[str]
) -> list[BundleServer]:
    """Return the servers of a parsed file, expanded; add why others are left out."""
    entries = document
    if isinstance(document, Mapping):
        entries = document.get("mcpServers", document.get("mcp_servers", document))
    if not isinstance(entries, Mapping):
        problems.append(f"{where}: expected an object of servers")
        return []
    servers = []
    for name, entry in entries.items():
        try:
            servers.append(BundleServer(str(name), _entry(entry, root, data)))
        except ValueError as error:
            problems.append(f"{where}: server {str(name)[:60]!r} is left out: {error}")
    return servers


def _entry(entry: Any, root: Path, data: Path) -> dict[str, Any]:
    if not isinstance(entry, Mapping):
        raise ValueError("expected an object")
    if not entry.get("command") and not entry.get("url"):
        raise ValueError("it has neither a command nor a url")
    if entry.get("headersHelper"):
        raise ValueError("headersHelper is not supported")
    variables = plugin_variables(root, data)
    token = entry.get("bearer_token_env_var")
    if isinstance(token, str) and token:  # Codex
        headers = dict(entry.get("headers") or {})
        entry = {**entry, "headers": {**headers, "Authorization": f"Bearer ${{{token}}}"}}
    kept = {key: expand(entry[key], variables) for key in _KEYS if key in entry}
    if kept.get("command"):
        kept["env"] = {**kept.get("env", {}), **variables}
        if str(kept["command"]).startswith("./"):
            kept["command"] = str(root / kept["command"])
    return kept


def expand(value: Any, variables: Mapping[str, str]) -> Any:
    """Replace ``${CLAUDE_PLUGIN_ROOT}`` and the like; other variables stay as they are."""
    if isinstance(value, str):
        return _PLACES.sub(lambda found: variables[found[1]], value)
    if isinstance(value, list):
        return [expand(one, variables) for one in value]
    if isinstance(value, Mapping):
        return {str(name): expand(one, variables) for name, one in value.items()}
    return value
