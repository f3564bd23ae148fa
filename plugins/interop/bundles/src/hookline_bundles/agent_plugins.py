"""Agent Plugins 1.0.0: ``plugin.json`` and ``mcp.json`` at the root, ``skills/*/SKILL.md``.

The specification says how far each fault reaches, and this module follows it: an unknown field of
the manifest is told and ignored, any other fault of the manifest refuses the bundle, and a skill or
a server that is not valid is left out alone.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from . import bundle_files
from .bundle import Bundle, BundleServer, InvalidBundle
from .bundle_files import OutsideBundle, Unreadable
from .skills import SkillReader

MANIFEST = "plugin.json"
SCHEMA = "https://agent-plugins.org/schemas/1.0.0/plugin.schema.json"
MCP_SCHEMA = "https://agent-plugins.org/schemas/1.0.0/mcp.schema.json"
_SCHEMA_PREFIX = "https://agent-plugins.org/schemas/"
MAX_NAME_CHARS = 64
_NAME = re.compile(r"(?!.*(?:--|\.\.))[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?", re.ASCII)
_TEXTS = ("version", "description", "homepage", "repository", "license")
_FIELDS = {"$schema", "name", "author", "keywords", "extensions", *_TEXTS}
_SERVER_FIELDS = {
    "stdio": {"type", "command", "args", "env", "cwd"},
    "streamable-http": {"type", "url", "headers"},
    "sse": {"type", "url", "headers"},
}
_RESERVED = ("PLUGIN_ROOT", "PLUGIN_DATA")
_PLACEHOLDER = re.compile(r"\$\{(PLUGIN_ROOT|PLUGIN_DATA)\}")
_HEADER_NAME = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_HEADER_VALUE = re.compile(r"[\t\x20-\x7e\x80-\xff]*")


def is_agent_plugin(root: Path) -> bool:
    """True if the folder has a ``plugin.json`` at its root, unless that names no schema and there
    is the manifest of another format."""
    if not bundle_files.exists(root, MANIFEST):
        return False
    try:
        manifest = bundle_files.read_json(root, MANIFEST)
    except (OutsideBundle, Unreadable):
        return True
    is_named = isinstance(manifest, Mapping) and "$schema" in manifest
    return is_named or not has_other_manifest(root)


def has_other_manifest(root: Path) -> bool:
    """True if the folder has the manifest of another format."""
    folders = (".claude-plugin", ".plugin", ".cursor-plugin", ".codex-plugin")
    return any(bundle_files.exists(root, f"{folder}/plugin.json") for folder in folders)


def read_agent_plugin(root: Path, data: Path) -> Bundle:
    """Read the bundle in ``root``.

    Raises:
        InvalidBundle: the manifest is not valid.
    """
    problems: list[str] = []
    manifest = _manifest(root, problems)
    skills = SkillReader(root, strict=True)
    skills.read("skills")
    servers = _servers(root, data, problems)
    return Bundle(
        manifest["name"],
        root,
        "agent-plugins",
        data,
        manifest.get("version", ""),
        manifest.get("description", ""),
        skills=tuple(skills.skills),
        servers=servers,
        problems=(*problems, *skills.problems),
    )


def _manifest(root: Path, problems: list[str]) -> Mapping[str, Any]:
    try:
        manifest = bundle_files.read_json(root, MANIFEST)
    except (OutsideBundle, Unreadable) as error:
        raise InvalidBundle(str(error)) from None
    if not isinstance(manifest, dict):
        raise InvalidBundle(f"{MANIFEST}: expected an object")
    for name in sorted(manifest.keys() - _FIELDS):
        problems.append(f"{MANIFEST}: unknown field {name[:60]!r} is ignored")
    if not isinstance(manifest.get("extensions", {}), dict):
        problems.append(f"{MANIFEST}: extensions is not an object and is ignored")
    _check_schema(manifest.get("$schema"), SCHEMA, MANIFEST)
    if fault := _manifest_fault(manifest):
        raise InvalidBundle(f"{MANIFEST}: {fault}")
    return manifest


def _check_schema(value: Any, expected: str, file: str) -> None:
    if value == expected:
        return
    if isinstance(value, str) and value.startswith(_SCHEMA_PREFIX):
        raise InvalidBundle(f"{file}: version {value.removeprefix(_SCHEMA_PREFIX)[:40]} is unknown")
    raise InvalidBundle(f"{file}: $schema must be {expected}")


def _manifest_fault(manifest: Mapping[str, Any]) -> str:
    name = manifest.get("name")
    if not isinstance(name, str) or not name:
        return "name is missing"
    if len(name) > MAX_NAME_CHARS or not _NAME.fullmatch(name):
        return (
            f"name {name[:80]!r} is not valid: 1 to 64 of a-z, 0-9, - and ., without -- or .., and "
            "a letter or digit at both ends"
        )
    for field in _TEXTS:
        if not isinstance(manifest.get(field, ""), str):
            return f"{field}: expected a string"
    author = manifest.get("author", {})
    if not isinstance(author, dict) or author.keys() - {"name", "email", "url"}:
        return "author: expected an object with name, email and url"
    if not all(isinstance(value, str) for value in author.values()):
        return "author: expected strings"
    keywords = manifest.get("keywords", [])
    if not isinstance(keywords, list) or not all(isinstance(one, str) for one in keywords):
        return "keywords: expected a list of strings"
    return ""


def _servers(root: Path, data: Path, problems: list[str]) -> tuple[BundleServer, ...]:
    """Read ``mcp.json``; a fault of the file itself disables all servers."""
    if not bundle_files.exists(root, "mcp.json"):
        return ()
    try:
        document = bundle_files.read_json(root, "mcp.json")
        if not isinstance(document, dict):
            raise Unreadable("mcp.json: expected an object")
        _check_schema(document.get("$schema"), MCP_SCHEMA, "mcp.json")
        entries = document.get("mcpServers")
        if not isinstance(entries, dict) or document.keys() != {"$schema", "mcpServers"}:
            raise Unreadable("mcp.json: expected $schema and mcpServers, an object, alone")
    except (OutsideBundle, Unreadable, InvalidBundle) as error:
        problems.append(f"{error} (no server of it is used)")
        return ()
    servers = []
    for name, entry in entries.items():
        try:
            servers.append(BundleServer(name, _server(entry, root, data)))
        except ValueError as error:
            problems.append(f"mcp.json: server {name[:60]!r} is left out: {error}")
    return tuple(servers)


def _server(entry: Any, root: Path, data: Path) -> dict[str, Any]:
    """Return a server's entry, checked and expanded. Raises ``ValueError``."""
    if not isinstance(entry, dict):
        raise ValueError("expected an object")
    kind = entry.get("type")
    if not isinstance(kind, str) or kind not in _SERVER_FIELDS:
        raise ValueError("type must be stdio, streamable-http or sse")
    if unknown := sorted(entry.keys() - _SERVER_FIELDS[kind]):
        raise ValueError(f"unknown field {unknown[0][:60]!r}")
    if kind == "stdio":
        return _program(entry, root, data)
    return _address(entry) | ({"type": "sse"} if kind == "sse" else {})


def _program(entry: Mapping[str, Any], root: Path, data: Path) -> dict[str, Any]:
    command, args, env = entry.get("command"), entry.get("args", []), entry.get("env", {})
    if not isinstance(command, str) or not command:
        raise ValueError("command is missing")
    if not isinstance(args, list) or not all(isinstance(one, str) for one in args):
        raise ValueError("args: expected a list of strings")
    if not isinstance(env, dict) or not all(isinstance(one, str) for one in env.values()):
        raise ValueError("env: expected an object of strings")
    if reserved := [name for name in _RESERVED if name in env]:
        raise ValueError(f"env must not set {reserved[0]}")
    values = {"PLUGIN_ROOT": str(root), "PLUGIN_DATA": str(data)}

    def expand(text: str) -> str:
        return _PLACEHOLDER.sub(lambda found: values[found[1]], text)

    return {
        "type": "stdio",
        "command": _command(command, root),
        "args": [expand(one) for one in args],
        "env": {name: expand(value) for name, value in env.items()} | values,
        "cwd": str(_folder(entry.get("cwd"), expand, root, data)),
    }


def _command(command: str, root: Path) -> str:
    """Return a bare name, or the path of a program in the bundle. Raises ``ValueError``."""
    if command.startswith("./"):
        program = bundle_files.resolve(root, command)
        if not program.is_file():
            raise ValueError(f"there is no program {command}")
        return str(program)
    if "/" in command or "\\" in command or command in (".", ".."):
        raise ValueError(f"command {command[:80]!r} is neither a bare name nor a path from ./")
    return command


def _folder(cwd: Any, expand: Any, root: Path, data: Path) -> Path:
    """Return the working folder. Raises ``ValueError``."""
    if cwd is None:
        return root
    if not isinstance(cwd, str):
        raise ValueError("cwd: expected a string")
    if cwd.startswith("./") or re.match(r"\$\{PLUGIN_ROOT\}(?:/|\Z)", cwd):
        folder = bundle_files.resolve(root, expand(cwd))
        if not folder.is_dir():
            raise ValueError(f"there is no folder {cwd[:80]}")
        return folder
    if re.match(r"\$\{PLUGIN_DATA\}(?:/|\Z)", cwd):
        return bundle_files.resolve(data, expand(cwd))
    raise ValueError("cwd must begin with ./, ${PLUGIN_ROOT} or ${PLUGIN_DATA}")


def _address(entry: Mapping[str, Any]) -> dict[str, Any]:
    url, headers = entry.get("url"), entry.get("headers", {})
    if not isinstance(url, str) or not url:
        raise ValueError("url is missing")
    if problem := address_problem(url):
        raise ValueError(problem)
    if not isinstance(headers, dict) or not all(isinstance(one, str) for one in headers.values()):
        raise ValueError("headers: expected an object of strings")
    for name, value in headers.items():
        if not _HEADER_NAME.fullmatch(name) or not _HEADER_VALUE.fullmatch(value):
            raise ValueError(f"header {name[:60]!r} is not a valid HTTP header")
    if len({name.lower() for name in headers}) != len(headers):
        raise ValueError("a header is given twice under different letter case")
    return {"type": "http", "url": url, "headers": dict(headers)}


def address_problem(url: str) -> str:
    """Return why a server's address is not allowed; empty if it is."""
    if not url.isprintable() or " " in url:
        return "url is not an address"
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
        parts.port  # noqa: B018 - raises for a port that is none
    except ValueError:
        return "url is not an address"
    if parts.scheme not in ("http", "https") or not host:
        return "url must be an absolute http or https address"
    if "@" in parts.netloc:
        return "url must not hold a user or password"
    if "#" in url:
        return "url must not have a fragment"
    if parts.scheme == "http" and not _is_loopback(host):
        return "url must be https, except on this machine"
    return ""


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
