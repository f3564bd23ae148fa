"""The names of project folders, without anything that takes time to import."""

from __future__ import annotations

from pathlib import Path

TRUST_KIND = "bundles"
"""The kind of content that ``FolderTrust`` knows."""
FOLDERS = (".claude", ".agents", ".codex", ".hookline")
"""Folders with skills, commands, agents and settings, in a workspace or the person's own folder."""
HASHED_FOLDERS = ("skills", "commands", "prompts", "agents", "hooks", "scripts", "plugins")
"""Parts of a project folder whose files count for trust. Other programs keep their own there."""
_SETTINGS = ("hooks.json", "settings.json", "settings.local.json")
_PARTS = ("skills", "commands", "prompts", "agents", "plugins", *_SETTINGS)
"""What makes such a folder worth reading."""


def has_parts(place: Path) -> bool:
    """True if ``place`` has a project folder with something in it that may be used."""
    return any(
        (place / name).is_dir() and any((place / name / part).exists() for part in _PARTS)
        for name in FOLDERS
    )
