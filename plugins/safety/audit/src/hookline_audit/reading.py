"""Rows as they are read: decrypted, or marked as erased."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from hookline_hookspecs import Host

from .keys import BadKey, Keys, opened_body

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

PAGE = 2000
PERSONAL = ("actor", "chat", "object", "approver")


@dataclass(frozen=True, slots=True)
class Entry:
    """A row as people read it. ``stored`` are its columns; ``state`` is ``ok``, ``erased`` (its
    chat's key was destroyed) or ``foreign`` (Hookline has not written it like this)."""

    stored: Mapping[str, Any]
    personal: Mapping[str, Any]
    state: str

    @property
    def time(self) -> str:
        """When it was written, in UTC."""
        found = datetime.fromtimestamp(self.stored["at"] / 1e6, UTC)
        return found.isoformat(timespec="microseconds").replace("+00:00", "Z")

    def as_dict(self) -> dict[str, Any]:
        """Return the row as JSON."""
        stored = self.stored
        return {
            "seq": stored["seq"],
            "at": self.time,
            "node": stored["node"],
            "n": stored["n"],
            "actor": self.personal.get("actor", ""),
            "channel": stored["channel"],
            "chat": self.personal.get("chat", ""),
            "session": stored["session"],
            "turn": stored["turn"],
            "kind": stored["kind"],
            "object": self.personal.get("object", ""),
            "verdict": stored["verdict"],
            "approver": self.personal.get("approver", ""),
            "detail": self.personal.get("detail", {}),
            "state": self.state,
            "sha": stored["sha"],
        }


class Reader:
    """Decrypts rows with the keys that are there as it is made."""

    def __init__(self, host: Host, keys: Keys) -> None:
        self._host = host
        self._keys = keys
        self._by_kid: dict[str, AESGCM] = {}
        self.kids: frozenset[str] = frozenset()
        """Keys that are there."""

    async def load(self) -> None:
        """Read the chats' keys."""
        found: dict[str, AESGCM] = {}
        for row in await self._host.storage.fetch("all_keys"):
            try:
                found[row["kid"]] = self._keys.unwrapped(row["kid"], row["wrapped"])
            except BadKey:
                continue  # its rows are foreign, and named
        self._by_kid, self.kids = found, frozenset(found)

    def entry(self, row: Mapping[str, Any]) -> Entry:
        """Return a row decrypted."""
        key = self._by_kid.get(row["kid"])
        if key is None:
            return Entry(row, {}, "erased")
        personal = opened_body(key, row)
        return Entry(row, personal or {}, "foreign" if personal is None else "ok")

    async def sealed(self, after: int = 0) -> AsyncIterator[Entry]:
        """Yield every sealed row, oldest first."""
        while rows := await self._host.storage.fetch("sealed_rows", after=after, limit=PAGE):
            for row in rows:
                yield self.entry(row)
            after = rows[-1]["seq"]

    async def since(
        self, since: float, until: float, kinds: frozenset[str] = frozenset()
    ) -> AsyncIterator[Entry]:
        """Yield sealed rows of a time (Unix seconds), oldest first."""
        after = 0
        span = {"since": int(since * 1e6), "until": int(until * 1e6)}
        while rows := await self._host.storage.fetch("rows_since", after=after, limit=PAGE, **span):
            for row in rows:
                if not kinds or row["kind"] in kinds:
                    yield self.entry(row)
            after = rows[-1]["seq"]

    async def newest(self, limit: int, kind: str = "", before: int = 2**53) -> list[Entry]:
        """Return the newest sealed rows, newest first."""
        rows = await self._host.storage.fetch("newest_rows", kind=kind, before=before, limit=limit)
        return [self.entry(row) for row in rows]


def shown_detail(detail: Mapping[str, Any], between: str = " ") -> str:
    """Return a row's detail, in a line unless its parts are joined by something else."""
    parts = []
    for name, value in detail.items():
        if isinstance(value, Mapping) and set(value) == {"sha256", "length"}:
            parts.append(f"{name}={value['length']}B:{str(value['sha256'])[:12]}")
        else:
            parts.append(f"{name}={value if isinstance(value, str) else json.dumps(value)}")
    return between.join(parts)
