"""What this home remembers of the team's skills: in a file of its own, not in a store that several
homes may share."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from hookline_teamskills.ledger import Seen

from .. import safely

FILE = "team.json"
LARGEST = 10_000_000


class Memory:
    """Kept in ``folder``. Safe for several processes."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def seen(self) -> Seen:
        """What was seen of the store."""
        found = self._read()
        return Seen(found.get("heads", {}), found.get("revoked", {}))

    def see(self, seen: Seen) -> None:
        """Remember what was seen; numbers only grow."""
        with self._changing() as data:
            heads = data.setdefault("heads", {})
            for name, number in seen.heads.items():
                heads[name] = max(heads.get(name, 0), number)
            revoked = data.setdefault("revoked", {})
            for name, numbers in seen.revoked.items():
                revoked[name] = sorted({*revoked.get(name, ()), *numbers})

    def base(self, name: str) -> int:
        """The version that this home's own skill was made from; 0 if it is not the team's."""
        return int(self._read().get("bases", {}).get(name, 0))

    def set_base(self, name: str, number: int) -> None:
        """Note that this home's own skill is made from a version; 0 forgets it."""
        with self._changing() as data:
            bases = data.setdefault("bases", {})
            bases[name] = number
            if not number:
                del bases[name]

    def is_kept(self, name: str, number: int) -> bool:
        """Whether this home's own skill stays although it is the team's version ``number``: a
        person has asked for it to change it."""
        return bool(self._read().get("kept", {}).get(name, 0) == number)

    def keep(self, name: str, number: int) -> None:
        """Have this home's own skill stay while the team's newest version is ``number``."""
        with self._changing() as data:
            data.setdefault("kept", {})[name] = number

    def shown(self, name: str) -> int:
        """The version of a skill that a reviewer here was shown and has not decided on; 0 for
        none."""
        return int(self._read().get("shown", {}).get(name, 0))

    def show(self, name: str, number: int) -> None:
        """Note that a reviewer here was shown a version; 0 that it is decided."""
        with self._changing() as data:
            data.setdefault("shown", {})[name] = number

    def _read(self) -> dict[str, Any]:
        with suppress(FileNotFoundError):
            found: dict[str, Any] = json.loads(safely.read_bytes(self._folder, FILE, LARGEST))
            return found
        return {}

    @contextmanager
    def _changing(self) -> Iterator[dict[str, Any]]:
        from filelock import FileLock

        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with FileLock(self._folder / f"{FILE}.lock", mode=0o600):
            data = self._read()
            before = json.dumps(data, sort_keys=True)
            yield data
            after = json.dumps(data, sort_keys=True)
            if after != before:
                safely.write_bytes(self._folder, FILE, after.encode(), mode=0o600)
