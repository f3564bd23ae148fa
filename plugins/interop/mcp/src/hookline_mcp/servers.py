"""Reads the configured servers: config.yaml, files of other programs, the workspace's
``.mcp.json``."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from hookline_hookspecs import ToolError
from hookline_hookspecs.mcp_servers import OfferedServer
from pydantic import ValidationError

from .config import MAX_SERVER_NAME_CHARS, McpConfig, ServerConfig, explain_error, name_problem
from .tool_schema import strip_hidden

PROJECT_FILE = ".mcp.json"
MAX_FILE_BYTES = 1_000_000
"""Bytes of a file with ``mcpServers``."""
_REFERENCE = re.compile(r"\$\{([A-Za-z_]\w*)(?::-([^}]*))?\}", re.ASCII)
_KEYS = frozenset(ServerConfig.model_fields)
_NOT_IN_PROJECT_FILES = frozenset(
    {"sandbox", "approval", "connect_timeout", "cwd", "read_only", "writable"}
)
"""Keys that a workspace's ``.mcp.json`` may not set."""


class ServerGone(Exception):
    """The server is gone. ``sent`` is False if the call was certainly not executed."""

    def __init__(self, text: str, *, sent: bool = True) -> None:
        super().__init__(text)
        self.sent = sent


class ServerError(ToolError):
    """The server answered with an error; ``code`` is the protocol's."""

    def __init__(self, text: str, code: int) -> None:
        super().__init__(text)
        self.code = code


@dataclass(frozen=True, slots=True)
class ToolServer:
    """An MCP server that the agent may use.

    ``key`` identifies it in the catalog. ``source`` is shown to people: ``config.yaml`` or a path.
    ``fingerprint`` changes with the command or URL. ``project`` is the workspace whose
    ``.mcp.json`` names it, or None. ``looks_up`` are the variables that a file's entry refers to.
    ``sessions`` are the sessions to which a client attached it; None for a server of all sessions.
    ``data`` is a folder of its own, which is made before it starts. ``offered`` is how another
    plugin offers it.
    """

    name: str
    key: str
    config: ServerConfig
    source: str
    fingerprint: str
    project: Path | None = None
    looks_up: tuple[str, ...] = ()
    sessions: set[str] | None = field(default=None, compare=False)
    data: Path | None = None
    offered: OfferedServer | None = None

    @property
    def address(self) -> str:
        """The command line or the URL."""
        return self.config.url or " ".join([self.config.command, *self.config.args])

    def offers(self, tool: str) -> bool:
        """True for a tool that ``allow`` and ``deny`` permit."""
        if any(fnmatchcase(tool, pattern) for pattern in self.config.deny):
            return False
        allow = self.config.allow
        return not allow or any(fnmatchcase(tool, pattern) for pattern in allow)


def login_command(name: str) -> str:
    """Return the command that logs in to a server."""
    return f"hookline mcp login {name}"


def needs_login(name: str, more: str = "") -> str:
    """Return the error text for a server that requires a login, which also grants the scopes of
    ``more``."""
    grants = f" that also grants {more}" if more else ""
    return f"the server requires a login{grants}: run {login_command(name)}"


@dataclass(frozen=True, slots=True)
class ConfiguredServers:
    """All servers by name, and why other entries cannot be used."""

    servers: Mapping[str, ToolServer]
    problems: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[ToolServer]:
        return iter(self.servers.values())


def load_servers(
    config: McpConfig, env: Mapping[str, str], workspace: Path | None
) -> ConfiguredServers:
    """Return every server: of config.yaml, then of ``files``, then of the workspace.

    The first server of a name wins, so that a file never replaces one of config.yaml.
    """
    found = {
        name: ToolServer(name, name, server, "config.yaml", fingerprint(server))
        for name, server in config.servers.items()
    }
    problems = [
        f"config.yaml: plugins.mcp.{'.'.join(at)}: {why} (this server is not used)"
        for at, why in config.left_out.items()
    ]
    places = [(Path(name).expanduser(), False) for name in config.files]
    if workspace is not None:
        places.append((workspace / PROJECT_FILE, True))
    for path, is_project in places:
        if is_project and not path.is_file():
            continue
        for server in _read_servers_file(path, env, problems, is_project=is_project):
            if server.name in found:
                other = found[server.name].source
                problems.append(f"{path}: {server.name}: not used, because {other} has it too")
            else:
                found[server.name] = server
    return ConfiguredServers(found, tuple(problems))


def fingerprint(server: ServerConfig) -> str:
    """Return a digest of what is started or reached.

    It leaves out the values of variables and headers, so that secrets can be renewed.
    """
    data = {
        "command": server.command,
        "args": server.args,
        "cwd": server.cwd,
        "env": sorted(server.env),
        "url": server.url,
        "transport": server.transport,
        "headers": sorted(name.lower() for name in server.headers),
    }
    return digest_of(data)


def digest_of(data: object) -> str:
    """Return the SHA-256 of a JSON value."""
    text = json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _read_servers_file(
    path: Path, env: Mapping[str, str], problems: list[str], *, is_project: bool
) -> Iterator[ToolServer]:
    try:
        if not path.is_file():
            raise ValueError("file not found")
        if path.stat().st_size > MAX_FILE_BYTES:
            raise ValueError(f"larger than {MAX_FILE_BYTES:,} bytes")
        entries = json.loads(path.read_text("utf-8"))["mcpServers"]
        items = list(entries.items())
    except (OSError, ValueError, KeyError, AttributeError, TypeError, RecursionError) as error:
        reason = "it has no `mcpServers`" if isinstance(error, KeyError) else str(error)
        problems.append(f"{path}: cannot read its servers: {reason}")
        return
    for raw_name, entry in items:
        written = strip_hidden(raw_name)[:60]
        name = plain_name(written)
        try:
            if wrong := name_problem(name):
                raise ValueError(wrong)
            if not isinstance(entry, dict):
                raise ValueError("expected a mapping")
            if entry.get("disabled") is True:
                continue
            server = ServerConfig.model_validate(
                expand_references(known_keys(entry, is_project), env)
            )
        except ValidationError as error:
            at, why = explain_error(error, entry)
            problems.append(": ".join([str(path), written, *filter(None, [".".join(at)]), why]))
            continue
        except (ValueError, RecursionError) as error:
            problems.append(f"{path}: {written}: {error}")
            continue
        # Of the entry as written, with unresolved references, so that secrets can be renewed.
        mark = digest_of([str(path.resolve()), entry] if is_project else entry)
        key = f"{path.resolve()}#{name}"
        project = path.parent if is_project else None
        yield ToolServer(name, key, server, str(path), mark, project, references(entry))


def plain_name(written: str) -> str:
    """Convert a name such as ``GitHub Copilot`` to a valid server name."""
    return re.sub(r"[^A-Za-z0-9]+", "-", written).strip("-")[:MAX_SERVER_NAME_CHARS].strip("-")


def known_keys(entry: Mapping[str, Any], is_project: bool = False) -> dict[str, Any]:
    """Return the keys of an entry that Hookline knows; ``type: sse`` becomes its ``transport``."""
    barred = _NOT_IN_PROJECT_FILES if is_project else frozenset()
    known = {name: value for name, value in entry.items() if name in _KEYS - barred}
    known.pop("transport", None)
    if entry.get("type", entry.get("transport")) == "sse":
        known["transport"] = "sse"
    return known


def expand_references(value: Any, env: Mapping[str, str]) -> Any:
    """Replace every ``${NAME}`` and ``${NAME:-default}`` in ``value``.

    Raises:
        ValueError: a variable is not set and has no default.
    """
    if isinstance(value, str):
        return _REFERENCE.sub(lambda found: _look_up(found, env), value)
    if isinstance(value, list):
        return [expand_references(one, env) for one in value]
    if isinstance(value, dict):
        return {name: expand_references(one, env) for name, one in value.items()}
    return value


def references(entry: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the names of the variables that an entry refers to."""
    text = json.dumps(entry)
    return tuple(dict.fromkeys(found[1] for found in _REFERENCE.finditer(text)))


def _look_up(found: re.Match[str], env: Mapping[str, str]) -> str:
    name, default = found.groups()
    if name in env and (env[name] or default is None):
        return env[name]
    if default is None:
        raise ValueError(f"{name} is not set; set it, or write ${{{name}:-DEFAULT}}")
    return default
