"""The servers that may be reached, from config.yaml, from files of other programs and from the
workspace's own ``.mcp.json``."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from .config import LONGEST_NAME, McpConfig, ServerConfig, fault, wrong_name
from .wire import visible

PROJECT_FILE = ".mcp.json"
LARGEST_FILE = 1_000_000
"""Bytes of a file with ``mcpServers``."""
_REFERENCE = re.compile(r"\$\{([A-Za-z_]\w*)(?::-([^}]*))?\}", re.ASCII)
_KEYS = frozenset(ServerConfig.model_fields)
_NOT_FROM_A_PROJECT = frozenset(
    {"sandbox", "approval", "connect_timeout", "cwd", "read_only", "writable"}
)
"""What a project may not say of its own servers."""


@dataclass(frozen=True, slots=True)
class Server:
    """A configured server.

    ``key`` identifies it in the catalog. ``source`` is what a person is shown: ``config.yaml`` or
    a path. ``fingerprint`` changes when what is started or reached changes. ``project`` is the
    workspace whose ``.mcp.json`` names it, or None. ``looks_up`` are the variables that a file's
    entry refers to. ``borrowers`` are the sessions that a client has brought it with; None for a
    server that is there for all.
    """

    name: str
    key: str
    config: ServerConfig
    source: str
    fingerprint: str
    project: Path | None = None
    looks_up: tuple[str, ...] = ()
    borrowers: set[str] | None = field(default=None, compare=False)

    @property
    def address(self) -> str:
        """The command line or the URL, for a person."""
        return self.config.url or " ".join([self.config.command, *self.config.args])

    def offers(self, tool: str) -> bool:
        """True for a tool that ``allow`` and ``deny`` let through."""
        if any(fnmatchcase(tool, pattern) for pattern in self.config.deny):
            return False
        allow = self.config.allow
        return not allow or any(fnmatchcase(tool, pattern) for pattern in allow)


def needs_login(name: str) -> str:
    """The sentence for a server that wants a login."""
    return f"it wants you to log in: run hookline mcp login {name}"


@dataclass(frozen=True, slots=True)
class Configured:
    """All servers by name, and sentences about entries that cannot be used."""

    servers: Mapping[str, Server]
    problems: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[Server]:
        return iter(self.servers.values())


def configured(config: McpConfig, env: Mapping[str, str], workspace: Path | None) -> Configured:
    """Return every server: of config.yaml first, then of ``files``, then of the workspace.

    A name that is taken is not given again, so that a file never replaces what config.yaml says.
    """
    found = {
        name: Server(name, name, server, "config.yaml", fingerprint(server))
        for name, server in config.servers.items()
    }
    problems = [
        f"config.yaml: plugins.mcp.{'.'.join(at)}: {why}; only this server is left out"
        for at, why in config.left_out.items()
    ]
    places = [(Path(name).expanduser(), False) for name in config.files]
    if workspace is not None:
        places.append((workspace / PROJECT_FILE, True))
    for path, is_project in places:
        if is_project and not path.is_file():
            continue
        for server in _of_file(path, env, problems, is_project=is_project):
            if server.name in found:
                other = found[server.name].source
                problems.append(f"{path}: {server.name}: {other} names one already, which is used")
            else:
                found[server.name] = server
    return Configured(found, tuple(problems))


def fingerprint(server: ServerConfig) -> str:
    """Of what is started or reached; values of variables and headers may be renewed."""
    data = {
        "command": server.command,
        "args": server.args,
        "cwd": server.cwd,
        "env": sorted(server.env),
        "url": server.url,
        "headers": sorted(name.lower() for name in server.headers),
    }
    return _digest(data)


def _digest(data: object) -> str:
    text = json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _of_file(
    path: Path, env: Mapping[str, str], problems: list[str], *, is_project: bool
) -> Iterator[Server]:
    try:
        if not path.is_file():
            raise ValueError("there is no such file")
        if path.stat().st_size > LARGEST_FILE:
            raise ValueError(f"larger than {LARGEST_FILE:,} bytes")
        entries = json.loads(path.read_text("utf-8"))["mcpServers"]
        items = list(entries.items())
    except (OSError, ValueError, KeyError, AttributeError, TypeError, RecursionError) as error:
        what = "there is no `mcpServers`" if isinstance(error, KeyError) else str(error)
        problems.append(f"{path}: no servers can be read from it: {what}")
        return
    for given, entry in items:
        written = visible(given)[:60]
        name = plain_name(written)
        try:
            if wrong := wrong_name(name):
                raise ValueError(wrong)
            if not isinstance(entry, dict):
                raise ValueError("it is no mapping")
            if entry.get("disabled") is True:
                continue
            server = ServerConfig.model_validate(_expanded(kept_keys(entry, is_project), env))
        except ValidationError as error:
            at, why = fault(error, entry)
            problems.append(": ".join([str(path), written, *filter(None, [".".join(at)]), why]))
            continue
        except (ValueError, RecursionError) as error:
            problems.append(f"{path}: {written}: {error}")
            continue
        # The whole entry as it is written: references are not looked up, so keys may be renewed.
        mark = _digest([str(path.resolve()), entry] if is_project else entry)
        key = f"{path.resolve()}#{name}"
        project = path.parent if is_project else None
        names = dict.fromkeys(found[1] for found in _REFERENCE.finditer(json.dumps(entry)))
        yield Server(name, key, server, str(path), mark, project, tuple(names))


def plain_name(written: str) -> str:
    """A name of another program's, such as ``GitHub Copilot``, as one of ours."""
    return re.sub(r"[^A-Za-z0-9]+", "-", written).strip("-")[:LONGEST_NAME].strip("-")


def kept_keys(entry: Mapping[str, Any], is_project: bool = False) -> dict[str, Any]:
    """The keys that are ours; ``type`` says what the others do already."""
    kind = entry.get("type", entry.get("transport"))
    if kind == "sse":
        raise ValueError(
            "the transport sse is not supported; give the server's Streamable HTTP url"
        )
    barred = _NOT_FROM_A_PROJECT if is_project else frozenset()
    return {name: value for name, value in entry.items() if name in _KEYS - barred}


def _expanded(value: Any, env: Mapping[str, str]) -> Any:
    """``value`` with every ``${NAME}`` and ``${NAME:-default}`` in it looked up.

    Raises:
        ValueError: a variable is not set and has no default.
    """
    if isinstance(value, str):
        return _REFERENCE.sub(lambda found: _looked_up(found, env), value)
    if isinstance(value, list):
        return [_expanded(one, env) for one in value]
    if isinstance(value, dict):
        return {name: _expanded(one, env) for name, one in value.items()}
    return value


def _looked_up(found: re.Match[str], env: Mapping[str, str]) -> str:
    name, default = found.groups()
    if name in env and (env[name] or default is None):
        return env[name]
    if default is None:
        raise ValueError(f"{name} is not set; set it, or write ${{{name}:-DEFAULT}}")
    return default
