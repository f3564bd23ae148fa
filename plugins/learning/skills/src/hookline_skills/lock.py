"""``skills/.lock.json``: where installed skills came from, and what their files were."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path

from . import safely
from .history import snapshot

FILE = ".lock.json"
LARGEST = 10_000_000


@dataclass(frozen=True, slots=True)
class Entry:
    """An installed skill: its source, the commit of a git source, and SHA-256 by file."""

    source: str
    revision: str = ""
    installed: float = 0.0
    files: Mapping[str, str] = field(default_factory=dict)


def read(root: Path) -> dict[str, Entry]:
    """The installed skills; none if there is no lock file or it cannot be read."""
    with suppress(OSError, ValueError, TypeError, AttributeError, KeyError):
        data = json.loads(safely.read_bytes(root, FILE, LARGEST))
        return {name: Entry(**entry) for name, entry in data["skills"].items()}
    return {}


def put(root: Path, name: str, entry: Entry) -> None:
    """Note an installed skill. Raises ``OSError``."""
    _write(root, {**read(root), name: entry})


def drop(root: Path, name: str) -> None:
    """Forget an installed skill, if it is noted."""
    entries = read(root)
    if entries.pop(name, None) is not None:
        _write(root, entries)


def _write(root: Path, entries: Mapping[str, Entry]) -> None:
    skills = {name: asdict(entry) for name, entry in sorted(entries.items())}
    text = json.dumps({"version": 1, "skills": skills}, ensure_ascii=False, indent=1)
    safely.write_bytes(root, FILE, text.encode("utf-8"))


def digests(files: Mapping[str, bytes]) -> dict[str, str]:
    """SHA-256 in hexadecimal by path."""
    return {path: hashlib.sha256(data).hexdigest() for path, data in sorted(files.items())}


def changes(root: Path, name: str) -> list[str]:
    """How an installed skill differs from what was installed, as sentences."""
    entry = read(root).get(name)
    if entry is None:
        return []
    now = digests(snapshot(root / name))
    found = [f"{path} was changed" for path in now if now[path] != entry.files.get(path, now[path])]
    found += [f"{path} was added" for path in now if path not in entry.files]
    return found + [f"{path} is missing" for path in entry.files if path not in now]
