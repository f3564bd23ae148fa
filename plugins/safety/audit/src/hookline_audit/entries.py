"""Reads rows and decrypts them."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from hookline_hookspecs import Host

from .keys import AuditKeys, InvalidKey, decrypt_body

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

MAX_ROWS_PER_FETCH = 2000


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """A decrypted row.

    ``stored`` holds its columns and ``personal`` the decrypted data. ``state`` is ``ok``,
    ``erased`` (the key of its chat was destroyed) or ``foreign`` (not as Hookline wrote it).
    """

    stored: Mapping[str, Any]
    personal: Mapping[str, Any]
    state: str

    @property
    def time(self) -> str:
        """When it was written, in UTC."""
        written = datetime.fromtimestamp(self.stored["at"] / 1e6, UTC)
        return written.isoformat(timespec="microseconds").replace("+00:00", "Z")

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


class EntryReader:
    """Reads rows, with the keys that exist when :meth:`load` is called."""

    def __init__(self, host: Host, keys: AuditKeys) -> None:
        self._host = host
        self._keys = keys
        self._by_kid: dict[str, AESGCM] = {}

    async def load(self) -> None:
        """Read the keys of the chats."""
        found: dict[str, AESGCM] = {}
        for row in await self._host.storage.fetch("all_keys"):
            try:
                found[row["kid"]] = self._keys.unwrap(row["kid"], row["wrapped"])
            except InvalidKey:
                continue  # verify reports its rows as foreign
        self._by_kid = found

    def entry(self, row: Mapping[str, Any]) -> AuditEntry:
        """Decrypt a row."""
        key = self._by_kid.get(row["kid"])
        if key is None:
            return AuditEntry(row, {}, "erased")
        personal = decrypt_body(key, row)
        return AuditEntry(row, personal or {}, "foreign" if personal is None else "ok")

    async def sealed(self, after: int = 0) -> AsyncIterator[AuditEntry]:
        """Yield every sealed row, oldest first."""
        while rows := await self._host.storage.fetch(
            "sealed_rows", after=after, limit=MAX_ROWS_PER_FETCH
        ):
            for row in rows:
                yield self.entry(row)
            after = rows[-1]["seq"]

    async def since(
        self, since: float, until: float, kinds: frozenset[str] = frozenset()
    ) -> AsyncIterator[AuditEntry]:
        """Yield sealed rows between two times (Unix seconds), oldest first."""
        after = 0
        span = {"since": int(since * 1e6), "until": int(until * 1e6)}
        while rows := await self._host.storage.fetch(
            "rows_since", after=after, limit=MAX_ROWS_PER_FETCH, **span
        ):
            for row in rows:
                if not kinds or row["kind"] in kinds:
                    yield self.entry(row)
            after = rows[-1]["seq"]

    async def newest(self, limit: int, kind: str = "", before: int = 2**53) -> list[AuditEntry]:
        """Return the newest sealed rows, newest first."""
        rows = await self._host.storage.fetch("newest_rows", kind=kind, before=before, limit=limit)
        return [self.entry(row) for row in rows]


def format_detail(detail: Mapping[str, Any], between: str = " ") -> str:
    """Return a row's detail as text; ``between`` joins its parts."""
    parts = []
    for name, value in detail.items():
        if isinstance(value, Mapping) and set(value) == {"sha256", "length"}:
            parts.append(f"{name}={value['length']}B:{str(value['sha256'])[:12]}")
        else:
            parts.append(f"{name}={value if isinstance(value, str) else json.dumps(value)}")
    return between.join(parts)
