"""``skills/.lock.json``: where installed skills came from, and the hashes of their files."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path

from . import safe_files
from .history import digests, snapshot

LOCKFILE = ".lock.json"
MAX_LOCKFILE_BYTES = 10_000_000


@dataclass(frozen=True, slots=True)
class InstalledSkill:
    """An installed skill: its source, the commit of a git source, the time (Unix, seconds), and
    SHA-256 by file."""

    source: str
    revision: str = ""
    installed: float = 0.0
    files: Mapping[str, str] = field(default_factory=dict)


def read(root: Path) -> dict[str, InstalledSkill]:
    """The installed skills by name; empty if the lock file is missing or damaged."""
    with suppress(OSError, ValueError, TypeError, AttributeError, KeyError):
        data = json.loads(safe_files.read_bytes(root, LOCKFILE, MAX_LOCKFILE_BYTES))
        return {name: InstalledSkill(**entry) for name, entry in data["skills"].items()}
    return {}


def record(root: Path, name: str, skill: InstalledSkill) -> None:
    """Add or replace an installed skill. Raises ``OSError``."""
    _write(root, {**read(root), name: skill})


def forget(root: Path, name: str) -> None:
    """Remove a skill from the lock file, if it is there. Raises ``OSError``."""
    entries = read(root)
    if entries.pop(name, None) is not None:
        _write(root, entries)


def _write(root: Path, entries: Mapping[str, InstalledSkill]) -> None:
    skills = {name: asdict(entry) for name, entry in sorted(entries.items())}
    text = json.dumps({"version": 1, "skills": skills}, ensure_ascii=False, indent=1)
    safe_files.write_bytes(root, LOCKFILE, text.encode("utf-8"))


def describe_changes(root: Path, name: str) -> list[str]:
    """How the files of an installed skill differ from what was installed, one phrase a file."""
    entry = read(root).get(name)
    if entry is None:
        return []
    now = digests(snapshot(root / name))
    found = [f"{path} was changed" for path in now if now[path] != entry.files.get(path, now[path])]
    found += [f"{path} was added" for path in now if path not in entry.files]
    return found + [f"{path} is missing" for path in entry.files if path not in now]
