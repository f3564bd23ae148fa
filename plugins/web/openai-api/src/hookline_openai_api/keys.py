"""API keys: shown once, stored as SHA-256, each for one person ``api:NAME``."""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hookline_hookspecs import HooklineError, Host, Transaction
from hookline_hookspecs.caching import RowCache
from hookline_hookspecs.people import PeopleDirectory
from hookline_hookspecs.web import Identity

PREFIX = "hk-"
CHANNEL = "api"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}")


class KeyProblem(HooklineError):
    """A key cannot be added."""


@dataclass(frozen=True, slots=True)
class ApiKey:
    """A key: ``hint`` are its first characters, ``created`` is Unix time in seconds."""

    id: str
    name: str
    hint: str
    created: float


class KeyRing:
    """The keys of this home (protocol ``Keys``). Other processes may add and revoke."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._rows: RowCache[str, Sequence[Mapping[str, Any]]] = RowCache(host)

    async def add(self, name: str) -> str:
        """Create a key for ``name`` and allow ``api:NAME``; return the key, which is not stored.

        Raises:
            KeyProblem: the name is invalid or has a key.
            HooklineError: the person is blocked.
        """
        if not _NAME.fullmatch(name):
            raise KeyProblem(
                f"{name[:70]!r} is not a valid name. Use 1 to 64 letters, digits and . _ @ -, "
                "starting with a letter or digit"
            )
        key = PREFIX + secrets.token_urlsafe(32)
        row = {"id": secrets.token_hex(8), "name": name, "hint": key[:7]}
        row["digest"] = digest(key)
        now = self._host.now()

        def work(tx: Transaction) -> bool:
            if tx.fetch("key_named", name=name):
                return False
            return tx.execute("add_key", **row, now=now) > 0

        if not await self._host.storage.transact(work):
            raise KeyProblem(
                f"{name} already has a key. Run `hookline api keys revoke {name}` first"
            )
        self._rows.forget()
        people = self._host.services.get(PeopleDirectory)
        if people is not None:
            try:
                await people.allow(f"{CHANNEL}:{name}", admin=False, by="hookline api keys add")
            except BaseException:
                await self._host.storage.execute("drop_key", name=name)
                raise
        return key

    async def all(self) -> list[ApiKey]:
        """Return every key, by name."""
        rows = await self._host.storage.fetch("keys")
        return [ApiKey(row["id"], row["name"], row["hint"], row["created"]) for row in rows]

    async def revoke(self, name: str) -> bool:
        """Delete a key and remove its person; return False if there is none."""
        self._rows.forget()
        found = await self._host.storage.execute("drop_key", name=name)
        self._rows.forget()
        people = self._host.services.get(PeopleDirectory)
        if found and people is not None:
            await people.remove(f"{CHANNEL}:{name}", by="hookline api keys revoke")
        return found > 0

    async def identify(self, token: str) -> Identity | None:
        """Return the owner of a bearer token, or None."""
        if not token.startswith(PREFIX) or not token.isascii() or len(token) > 100:
            return None
        token_digest = digest(token)
        rows = await self._rows.get(
            token_digest, lambda: self._host.storage.fetch("key_by", digest=token_digest)
        )
        if not rows:
            return None
        name = rows[0]["name"]
        people = self._host.services.get(PeopleDirectory)
        known = await people.role(f"{CHANNEL}:{name}") if people is not None else "person"
        return Identity(CHANNEL, name, "auditor" if known == "auditor" else "person", rows[0]["id"])


def digest(key: str) -> str:
    """Return the stored digest of a key. A plain hash is enough for 256 random bits."""
    return hashlib.sha256(key.encode()).hexdigest()
