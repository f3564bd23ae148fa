"""The plugins of the Agent Plugins conformance suite, made again from its descriptions.

The suite is agentplugins/agent-plugins-conformance. Names of plugins, servers and cases are its
own, so that the same checks hold for a checkout of it.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from .conftest import skill_text, write, write_json

PLUGIN = "https://agent-plugins.org/schemas/1.0.0/plugin.schema.json"
MCP = "https://agent-plugins.org/schemas/1.0.0/mcp.schema.json"
CORE = "agent-plugins-conformance-core"
RECOVERY = "agent-plugins-conformance-recovery"
INVALID_MCP = "agent-plugins-conformance-invalid-mcp"
PROBE = Path(__file__).with_name("conformance_probe.py")
INVALID_SERVERS = {
    "recovery-cwd-invalid-form": "mcp.stdio.cwd.invalid-form",
    "recovery-cwd-escape": "mcp.stdio.cwd.plugin-relative-escape",
    "recovery-cwd-data-escape": "mcp.stdio.cwd.plugin-data-escape",
    "recovery-cwd-symlink-escape": "filesystem.containment.cwd-symlink-escape",
    "recovery-unknown-field": "mcp.stdio.config.unknown-field",
    "recovery-missing-type": "mcp.config.missing-type",
    "recovery-env-plugin-root": "mcp.stdio.env.reserved-plugin-root",
    "recovery-env-plugin-data": "mcp.stdio.env.reserved-plugin-data",
    "recovery-http-type": "mcp.config.legacy-http-type",
    "recovery-http-relative-url": "mcp.streamable-http.url.relative",
    "recovery-http-fragment": "mcp.streamable-http.url.fragment",
    "recovery-http-userinfo": "mcp.streamable-http.url.userinfo",
    "recovery-http-duplicate-headers": "mcp.streamable-http.headers.duplicate-names",
    "recovery-http-header-name": "mcp.streamable-http.headers.invalid-name",
    "recovery-http-header-value": "mcp.streamable-http.headers.invalid-value",
    "recovery-sse-relative-url": "mcp.sse.url.relative",
    "recovery-sse-fragment": "mcp.sse.url.fragment",
    "recovery-sse-userinfo": "mcp.sse.url.userinfo",
    "recovery-sse-duplicate-headers": "mcp.sse.headers.duplicate-names",
    "recovery-sse-header-name": "mcp.sse.headers.invalid-name",
    "recovery-sse-header-value": "mcp.sse.headers.invalid-value",
}
"""Servers that must not be offered, and the case that each is."""


def make_suite(folder: Path) -> Path:
    """Write the three plugins below ``folder/plugins``."""
    plugins = folder / "plugins"
    _core(plugins / CORE)
    _recovery(plugins / RECOVERY)
    _plugin(plugins / INVALID_MCP, INVALID_MCP, "conformance-invalid-mcp-valid")
    write(plugins / INVALID_MCP / "mcp.json", "{")
    return folder


def program(name: str, *arguments: str, **more: Any) -> dict[str, Any]:
    """The entry of a probe."""
    args = ["${PLUGIN_ROOT}/dist/probe.py", name, *arguments]
    return {"type": "stdio", "command": Path(sys.executable).name, "args": args, **more}


def _plugin(root: Path, name: str, *skills: str, **more: Any) -> None:
    write_json(root / "plugin.json", {"$schema": PLUGIN, "name": name, **more})
    for skill in skills:
        write(root / "skills" / skill / "SKILL.md", skill_text(skill))
    write(root / "dist/probe.py", PROBE.read_text("utf-8"))


def _core(root: Path) -> None:
    _plugin(root, CORE, "conformance-alpha", "conformance-beta")
    nested = root / "skills/conformance-alpha/references/conformance-nested/SKILL.md"
    write(nested, skill_text("conformance-nested"))
    write(root / "skills/without-skill/README.md", "none")
    write(root / "probe-workdir/README.md", "none")
    token = f'#!/bin/sh\nexec {Path(sys.executable).name} dist/probe.py command-token "$@"\n'
    write(root / "bin/posix/probe token.sh", token, executable=True)
    arguments = ["arg with spaces", "", "${PLUGIN_ROOT}", "${PLUGIN_DATA}"]
    literal = ["${APC_UNKNOWN}", "$APC_VALUE", "${PLUGIN_ROOT_SUFFIX}"]
    env = {
        "APC_VALUE": "fixture value with spaces",
        "APC_EXPANSION": "${PLUGIN_ROOT}|${PLUGIN_DATA}|${PLUGIN_ROOT}",
        "APC_LITERAL": "|".join(literal),
    }
    command = {"type": "stdio", "command": "./bin/posix/probe token.sh"}
    servers = {
        "default": program("default", *arguments, *literal, env=env),
        "relative": program("relative", cwd="./probe-workdir"),
        "root": program("root", cwd="${PLUGIN_ROOT}/probe-workdir"),
        "data": program("data", cwd="${PLUGIN_DATA}"),
        "command-token-posix": {**command, "args": ["arg with spaces", "", "literal-value"]},
    }
    write_json(root / "mcp.json", {"$schema": MCP, "mcpServers": servers})


def _recovery(root: Path) -> None:
    _plugin(root, RECOVERY, "conformance-recovery-valid", conformanceUnknown=True)
    write(root / "skills/conformance-recovery-invalid/SKILL.md", "---\nname: other\n---\n")
    (root / "escape-link").symlink_to("..")
    bad: dict[str, dict[str, Any]] = {
        "cwd-invalid-form": {"cwd": "probe-workdir"},
        "cwd-escape": {"cwd": "./.."},
        "cwd-data-escape": {"cwd": "${PLUGIN_DATA}/.."},
        "cwd-symlink-escape": {"cwd": "./escape-link"},
        "unknown-field": {"conformanceUnknown": True},
        "env-plugin-root": {"env": {"PLUGIN_ROOT": "${PLUGIN_ROOT}"}},
        "env-plugin-data": {"env": {"PLUGIN_DATA": "${PLUGIN_DATA}"}},
    }
    servers: dict[str, Any] = {
        f"recovery-{name}": program(f"recovery-{name}", **more) for name, more in bad.items()
    }
    missing = program("recovery-missing-type")
    del missing["type"]
    servers |= {"recovery-missing-type": missing, "recovery-valid": program("recovery-valid")}
    for kind, short in (("streamable-http", "http"), ("sse", "sse")):
        url = "https://example.org/mcp"
        entries = {
            "relative-url": {"url": "/mcp"},
            "fragment": {"url": f"{url}#fragment"},
            "userinfo": {"url": "https://user:word@example.org/mcp"},
            "duplicate-headers": {"url": url, "headers": {"X-Apc": "1", "x-apc": "2"}},
            "header-name": {"url": url, "headers": {"x apc": "1"}},
            "header-value": {"url": url, "headers": {"x-apc": "1\r\nx: 2"}},
        }
        servers |= {
            f"recovery-{short}-{name}": {"type": kind, **entry} for name, entry in entries.items()
        }
    servers["recovery-http-type"] = {"type": "http", "url": "https://example.org/mcp"}
    write_json(root / "mcp.json", {"$schema": MCP, "mcpServers": servers})
