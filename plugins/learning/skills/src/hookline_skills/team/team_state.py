"""What this home remembers about the team's skills, in a file of its own: several homes may share
the configured store."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from hookline_teamskills.ledger import SeenVersions

from .. import safe_files

STATE_FILE = "team.json"
MAX_STATE_BYTES = 10_000_000


class TeamState:
    """The file ``team.json`` in ``folder``. Safe for several processes."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def seen(self) -> SeenVersions:
        """What was seen of the team's store."""
        found = self._read()
        return SeenVersions(found.get("heads", {}), found.get("revoked", {}))

    def record_seen(self, seen: SeenVersions) -> None:
        """Record what was seen; version numbers never decrease."""
        with self._changing() as data:
            heads = data.setdefault("heads", {})
            for name, number in seen.heads.items():
                heads[name] = max(heads.get(name, 0), number)
            revoked = data.setdefault("revoked", {})
            for name, numbers in seen.revoked.items():
                revoked[name] = sorted({*revoked.get(name, ()), *numbers})

    def base_version(self, name: str) -> int:
        """The team's version that this home's own skill was made from; 0 if none."""
        return int(self._read().get("bases", {}).get(name, 0))

    def set_base(self, name: str, number: int) -> None:
        """Record the team's version that this home's own skill was made from; 0 removes it."""
        with self._changing() as data:
            bases = data.setdefault("bases", {})
            bases[name] = number
            if not number:
                del bases[name]

    def keeps_draft(self, name: str, number: int) -> bool:
        """True if this home's own skill stays although it equals the team's version ``number``,
        because a person took it over to change it."""
        return bool(self._read().get("kept", {}).get(name, 0) == number)

    def keep_draft(self, name: str, number: int) -> None:
        """Keep this home's own skill while the team's newest version is ``number``."""
        with self._changing() as data:
            data.setdefault("kept", {})[name] = number

    def shown_version(self, name: str) -> int:
        """The version of a skill that a reviewer here was shown but has not decided on; 0 if
        none."""
        return int(self._read().get("shown", {}).get(name, 0))

    def mark_shown(self, name: str, number: int) -> None:
        """Record that a reviewer here was shown a version; 0 once it is decided."""
        with self._changing() as data:
            data.setdefault("shown", {})[name] = number

    def _read(self) -> dict[str, Any]:
        with suppress(FileNotFoundError):
            found: dict[str, Any] = json.loads(
                safe_files.read_bytes(self._folder, STATE_FILE, MAX_STATE_BYTES)
            )
            return found
        return {}

    @contextmanager
    def _changing(self) -> Iterator[dict[str, Any]]:
        from filelock import FileLock

        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with FileLock(self._folder / f"{STATE_FILE}.lock", mode=0o600):
            data = self._read()
            before = json.dumps(data, sort_keys=True)
            yield data
            after = json.dumps(data, sort_keys=True)
            if after != before:
                safe_files.write_bytes(self._folder, STATE_FILE, after.encode(), mode=0o600)
