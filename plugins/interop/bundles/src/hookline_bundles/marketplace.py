"""``marketplace.json``: a repository that holds or names several plugins of Claude Code."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import bundle_files
from .bundle_files import OutsideBundle, Unreadable
from .claude_plugins import MANIFEST_FOLDERS, plain_name

MARKETPLACE = "marketplace.json"


@dataclass(frozen=True, slots=True)
class MarketplaceEntry:
    """A plugin of a marketplace.

    Attributes:
        name: empty for the source itself.
        folder: where its files are.
        values: the entry, which may name parts.
        elsewhere: the source to fetch, if it is not in the same repository.
    """

    name: str
    folder: Path
    values: Mapping[str, Any] | None
    elsewhere: str = ""
    notes: tuple[str, ...] = ()
    revision: str = ""


def entries(root: Path) -> list[MarketplaceEntry]:
    """Return the plugins that a marketplace in ``root`` lists; none without one.

    Entries that cannot be used are left out.
    """
    for folder in MANIFEST_FOLDERS:
        path = f"{folder}/{MARKETPLACE}"
        if bundle_files.exists(root, path):
            try:
                return _parse(bundle_files.read_json(root, path), root)
            except (OutsideBundle, Unreadable):
                return []
    return []


def _parse(document: Any, root: Path) -> list[MarketplaceEntry]:
    if not isinstance(document, Mapping) or not isinstance(document.get("plugins"), list):
        return []
    about = document.get("metadata")
    base = about.get("pluginRoot", "") if isinstance(about, Mapping) else ""
    found = []
    for row in document["plugins"]:
        if isinstance(row, Mapping) and isinstance(row.get("name"), str):
            entry = _entry(row, root, base if isinstance(base, str) else "")
            if entry is not None:
                found.append(entry)
    return found


def _entry(row: Mapping[str, Any], root: Path, base: str) -> MarketplaceEntry | None:
    name, source = plain_name(row["name"]), row.get("source", "./")
    if isinstance(source, str):
        path = source if source.startswith("./") else f"{base.strip('/') or '.'}/{source}"
        try:
            folder = bundle_files.resolve(root, path)
        except OutsideBundle:
            return None
        return MarketplaceEntry(name, folder, row) if folder.is_dir() else None
    address = _address(source) if isinstance(source, Mapping) else ""
    return MarketplaceEntry(name, root, row, address) if address else None


def _address(source: Mapping[str, Any]) -> str:
    """Return a source as :class:`.installer.BundleRequest` has it; empty for an unknown kind."""
    kind = source.get("source")
    reference = source.get("sha") or source.get("ref") or ""
    inner = f":{source['path']}" if isinstance(source.get("path"), str) else ""
    place = f"#{reference}{inner}" if reference or inner else ""
    if kind == "github" and isinstance(source.get("repo"), str):
        return f"https://github.com/{source['repo']}{place}"
    if kind in ("url", "git", "git-subdir") and isinstance(source.get("url"), str):
        return f"{source['url']}{place}"
    return ""
