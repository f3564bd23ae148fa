"""Plugins of Claude Code, and of agents with near-identical manifests: Open Plugins, Cursor, Codex.

The manifest ``.claude-plugin/plugin.json`` may be missing; it may name further places of the parts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from . import bundle_files
from .bundle import Bundle, BundleServer, Format, InvalidBundle
from .bundle_files import OutsideBundle, Unreadable
from .hook_files import HookReader
from .parts import PartReader
from .servers import read_servers
from .skills import SkillReader

MANIFEST_FOLDERS: Mapping[str, Format] = {
    ".claude-plugin": "claude",
    ".plugin": "open-plugin",
    ".cursor-plugin": "cursor",
    ".codex-plugin": "codex",
}
MANIFEST = "plugin.json"
MARKETPLACE = "marketplace.json"
_IGNORED = {
    "outputStyles": "output styles",
    "output-styles": "output styles",
    "lspServers": "language servers",
    ".lsp.json": "language servers",
    "themes": "themes",
    "monitors": "monitors",
    "workflows": "workflows",
    "userConfig": "settings for the person",
    "channels": "channels",
    "rules": "rules",
    "apps": "apps",
    ".app.json": "apps",
    "bin": "programs on PATH",
}
"""Fields of a manifest and places that Hookline has no use for."""
_SIGNS = ("skills", "commands", "agents", "hooks/hooks.json", ".mcp.json")
"""What makes a folder without a manifest a plugin."""


def find_manifest(root: Path) -> tuple[str, Format] | None:
    """Return the manifest's path and format; None without one."""
    for folder, kind in MANIFEST_FOLDERS.items():
        if bundle_files.exists(root, f"{folder}/{MANIFEST}"):
            return f"{folder}/{MANIFEST}", kind
    return None


def looks_like_plugin(root: Path) -> bool:
    """True for a folder with a manifest, or with the parts of a plugin."""
    return find_manifest(root) is not None or any(bundle_files.exists(root, one) for one in _SIGNS)


def read_claude_plugin(root: Path, data: Path, entry: Mapping[str, Any] | None) -> Bundle:
    """Read the bundle in ``root``.

    Args:
        entry: the plugin's entry in a ``marketplace.json``, which may name parts too.

    Raises:
        InvalidBundle: it has a manifest that is not valid, or nothing of a plugin.
    """
    found = find_manifest(root)
    manifest: Mapping[str, Any] = {}
    kind: Format = "claude"
    if found is not None:
        manifest, kind = _read_manifest(root, found[0]), found[1]
    elif entry is None and not looks_like_plugin(root):
        raise InvalidBundle("it has no manifest, and none of the folders of a plugin")
    reader = _PluginReader(root, data, {**(entry or {}), **manifest})
    return reader.bundle(kind)


def _read_manifest(root: Path, path: str) -> Mapping[str, Any]:
    try:
        manifest = bundle_files.read_json(root, path)
    except (OutsideBundle, Unreadable) as error:
        raise InvalidBundle(str(error)) from None
    if not isinstance(manifest, dict):
        raise InvalidBundle(f"{path}: expected an object")
    return manifest


class _PluginReader:
    """Reads the parts that a manifest and the fixed places name."""

    def __init__(self, root: Path, data: Path, manifest: Mapping[str, Any]) -> None:
        self._root = root
        self._data = data
        self._manifest = manifest
        self._problems: list[str] = []
        self._ignored: list[str] = []
        self._parts = PartReader(root)
        self._skills = SkillReader(root, strict=False)
        self._hooks = HookReader()

    def bundle(self, kind: Format) -> Bundle:
        """Read everything."""
        for path in self._places("commands"):
            self._parts.read_commands(path)
        for path in self._places("agents"):
            self._parts.read_agents(path)
        for path in self._places("skills"):
            self._skills.read(path)
        if not self._skills.skills and bundle_files.exists(self._root, "SKILL.md"):
            self._skills.read(".")
        self._parts.add_commands(self._skills.commands)
        self._read_hooks()
        servers = self._servers()
        self._note_ignored()
        return Bundle(
            plain_name(self._text("name") or self._root.name),
            self._root,
            kind,
            self._data,
            self._text("version"),
            self._text("description"),
            tuple(self._skills.skills),
            tuple(self._parts.commands),
            tuple(self._parts.agents),
            tuple(self._hooks.hooks),
            servers,
            tuple(self._all_problems()),
            tuple(dict.fromkeys(self._ignored)),
        )

    def _all_problems(self) -> Iterator[str]:
        yield from self._problems
        for reader in (self._skills, self._parts, self._hooks):
            yield from reader.problems

    def _text(self, name: str) -> str:
        value = self._manifest.get(name, "")
        return value.strip() if isinstance(value, str) else ""

    def _places(self, name: str) -> Iterator[str]:
        """Yield the fixed place, then those that the manifest adds."""
        named = self._manifest.get(name)
        paths = [named] if isinstance(named, str) else named
        if isinstance(paths, Mapping):
            paths = [one.get("source") for one in paths.values() if isinstance(one, Mapping)]
        if bundle_files.exists(self._root, name):
            yield name
        for path in paths if isinstance(paths, list) else ():
            if not isinstance(path, str):
                self._problems.append(f"{name}: expected paths")
            elif (plain := path.removeprefix("./").strip("/") or ".") != name:
                if bundle_files.exists(self._root, plain):
                    yield plain
                else:
                    self._problems.append(f"{name}: there is no {path[:80]}")

    def _read_hooks(self) -> None:
        named = self._manifest.get("hooks")
        paths = ["hooks/hooks.json", "hooks.json"]
        if isinstance(named, str):
            paths.append(named)
        elif isinstance(named, list):
            paths += [one for one in named if isinstance(one, str)]
            for one in named:
                if isinstance(one, Mapping):
                    self._hooks.read(one, "hooks in the manifest")
        elif isinstance(named, Mapping):
            self._hooks.read(named, "hooks in the manifest")
        plain = dict.fromkeys(path.removeprefix("./") for path in paths)
        for path in plain:
            if bundle_files.exists(self._root, path):
                try:
                    self._hooks.read(bundle_files.read_json(self._root, path), path)
                except (OutsideBundle, Unreadable) as error:
                    self._problems.append(f"{error}; its hooks are not used")

    def _servers(self) -> tuple[BundleServer, ...]:
        named = self._manifest.get("mcpServers")
        sources: list[Any] = [".mcp.json"]
        sources += named if isinstance(named, list) else [named] if named else []
        found: dict[str, BundleServer] = {}
        for source in sources:
            document: Any = source
            where = "mcpServers in the manifest"
            if isinstance(source, str):
                where = source.removeprefix("./")
                if not bundle_files.exists(self._root, where):
                    if source != ".mcp.json":
                        self._problems.append(f"mcpServers: there is no {source[:80]}")
                    continue
                try:
                    document = bundle_files.read_json(self._root, where)
                except (OutsideBundle, Unreadable) as error:
                    self._problems.append(f"{error}; its servers are not used")
                    continue
            for server in read_servers(document, self._root, self._data, where, self._problems):
                found.setdefault(server.name, server)
        return tuple(found.values())

    def _note_ignored(self) -> None:
        for name, what in _IGNORED.items():
            if name in self._manifest or bundle_files.exists(self._root, name):
                self._ignored.append(what)


def plain_name(written: str) -> str:
    """Return a name of a bundle: lowercase letters, digits, ``-`` and ``.``."""
    name = re.sub(r"[^a-z0-9.]+", "-", written.lower()).strip("-.")
    return re.sub(r"\.\.+", ".", name)[:64].strip("-.") or "bundle"
