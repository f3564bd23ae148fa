"""Login codes, which work once, and the browsers that are signed in.

Only SHA-256 digests of codes and tokens are stored. Both have 128 bits or more and cannot be
guessed.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, TypeVar

from hookline_hookspecs import HooklineError, Host, Transaction
from hookline_hookspecs.caching import RowCache
from hookline_hookspecs.people import PeopleDirectory, WebRole
from hookline_hookspecs.web import N_, Device, Identity, LoginLink

from .audit_log import AuditLog

T = TypeVar("T")
CHANNEL = "web"
CODE_SECONDS = 600.0
DEVICE_SECONDS = 30 * 86400.0
CODE_BYTES = 16
TOKEN_BYTES = 32
MAX_AGENT_CHARS = 200
MAX_NAME_CHARS = 64
WEB_ROLES: dict[str, WebRole] = {"admin": "operator", "person": "person", "auditor": "auditor"}
"""The role on the web by the person's role in ``access``."""
MAX_DEVICES_PER_PERSON = 100
"""Signed-in browsers of a person; above it, the least recently seen is signed out."""


@dataclass(frozen=True, slots=True)
class NewLogin:
    """A browser that has signed in: the value of its cookie, and its identity."""

    token: str
    identity: Identity


class OtherPersonLoggedIn(HooklineError):
    """The code is for another person than the one who is signed in. It was not used."""


class Logins:
    """Codes and devices in the tables ``web_server_codes`` and ``web_server_devices``."""

    def __init__(self, host: Host, audit: AuditLog) -> None:
        self._host = host
        self._audit = audit
        self._rows: RowCache[str, Mapping[str, Any] | None] = RowCache(host, 4096)
        self._seen: dict[str, float] = {}
        self._callbacks: list[Callable[[str], None]] = []

    async def link(self, url: str, name: str, role: WebRole, by: str) -> LoginLink:
        """Allow ``web:NAME`` and store a code that signs them in once. Raises ``HooklineError``."""
        fault = name_error(name)
        if fault is not None:
            raise HooklineError(fault)
        await self._allow(name, role, by)
        code = secrets.token_urlsafe(CODE_BYTES)
        now = self._host.now()
        expires = now + CODE_SECONDS

        def work(tx: Transaction) -> None:
            tx.execute("prune_codes", now=now)
            tx.execute("prune_devices", since=now - DEVICE_SECONDS)
            tx.execute(
                "put_code", digest=_digest(code), name=name, role=role, by_whom=by, expires=expires
            )

        await self._transact(work)
        return LoginLink(f"{url}/login#{code}", code, expires)

    async def redeem(
        self, code: str, agent: str, before: Identity | None, *, switch: bool
    ) -> NewLogin | None:
        """Sign a browser in. Return None if the code is unknown, used or expired.

        If two browsers use a code at once, one gets in. A person who was removed since the code was
        created does not.

        Args:
            before: who this browser is signed in as.
            switch: replace the login of another person.

        Raises:
            OtherPersonLoggedIn: another person is signed in, and ``switch`` is False.
        """
        found = await self._code(code)
        if found is None:
            return None
        name = str(found["name"])
        role = found["role"]
        if before is not None and before.name != name and not switch:
            raise OtherPersonLoggedIn(
                f"This link is for {name}, but you are signed in as {before.name}"
            )
        made = await self._put_device(name, role, agent, before, code)
        if made is not None:
            self._audit.add(made.identity, N_("signed in"), 200)
        return made

    async def sign_in(
        self, name: str, role: WebRole, agent: str, before: Identity | None
    ) -> NewLogin | None:
        """Sign a browser in whose person has been verified. Return None if they were removed."""
        return await self._put_device(name, role, agent, before)

    async def _put_device(
        self, name: str, role: WebRole, agent: str, before: Identity | None, code: str = ""
    ) -> NewLogin | None:
        """Store a device; with a ``code``, only if that was not used yet."""
        token = secrets.token_urlsafe(TOKEN_BYTES)
        device = secrets.token_hex(8)
        now = self._host.now()

        def work(tx: Transaction) -> bool:
            if code and not tx.execute("drop_code", digest=_digest(code)):
                return False
            tx.execute(
                "put_device",
                id=device,
                digest=_digest(token),
                name=name,
                role=role,
                agent=_single_line(agent)[:MAX_AGENT_CHARS],
                now=now,
            )
            return True

        if not await self._transact(work):
            return None
        if before is not None:
            await self.revoke(before.device)
        await self._limit_devices(name, device)
        identity = await self._identity(name, role, device)
        if identity is None:
            await self.revoke(device)
            return None
        return NewLogin(token, identity)

    async def _code(self, code: str) -> Mapping[str, Any] | None:
        digest = _digest(code)
        now = self._host.now()
        rows = await self._host.storage.fetch("find_code", digest=digest, now=now)
        return rows[0] if rows else None

    async def _allow(self, name: str, role: str, by: str) -> None:
        """Allow a person in; logins and passkeys from before they were removed end."""
        people = self._host.services.get(PeopleDirectory)
        if people is None:
            return
        person = f"{CHANNEL}:{name}"
        if await people.role(person) == "unknown":
            for one in await self.devices(name):
                await self.revoke(one.id)
            await self._host.storage.execute("drop_passkeys", name=name)
        is_auditor = role == "auditor"
        await people.allow(person, admin=role == "operator", by=by, auditor=is_auditor)

    async def _limit_devices(self, name: str, newest: str) -> None:
        devices = sorted(await self.devices(name), key=lambda one: one.seen, reverse=True)
        for one in devices[MAX_DEVICES_PER_PERSON:]:
            if one.id != newest:
                await self.revoke(one.id)

    async def identify(self, token: str) -> Identity | None:
        """Return the identity that a cookie's token stands for, or None."""
        digest = _digest(token)
        since = self._host.now() - DEVICE_SECONDS

        async def read() -> Mapping[str, Any] | None:
            rows = await self._host.storage.fetch("find_device", digest=digest, since=since)
            return rows[0] if rows else None

        row = await self._rows.get(digest, read)
        if row is None or row["created"] <= since:
            return None
        self._seen[row["id"]] = self._host.now()
        return await self._identity(row["name"], row["role"], row["id"])

    async def _identity(self, name: str, role: WebRole, device: str) -> Identity | None:
        people = self._host.services.get(PeopleDirectory)
        if people is not None:
            known = await people.role(f"{CHANNEL}:{name}")
            found = WEB_ROLES.get(known)
            if found is None:
                return None
            role = found
        return Identity(CHANNEL, name, role, device)

    async def devices(self, name: str | None = None) -> Sequence[Device]:
        """Return the browsers that are signed in, newest first."""
        since = self._host.now() - DEVICE_SECONDS
        rows = await self._host.storage.fetch("devices", since=since)
        return [
            Device(
                row["id"],
                f"{CHANNEL}:{row['name']}",
                row["role"],
                row["agent"],
                row["created"],
                max(row["seen"], self._seen.get(row["id"], 0.0)),
            )
            for row in rows
            if name is None or row["name"] == name
        ]

    async def revoke(self, device: str) -> bool:
        """Sign a device out. Return False if it was not signed in."""
        found = await self._transact(lambda tx: tx.execute("drop_device", id=device))
        self._seen.pop(device, None)
        for callback in self._callbacks:
            callback(device)
        return found > 0

    def on_revoked(self, callback: Callable[[str], None]) -> None:
        """Call ``callback(device)`` when a device is signed out."""
        self._callbacks.append(callback)

    async def flush(self) -> None:
        """Store when each device was last seen."""
        seen = dict(self._seen)
        self._seen = {}
        if not seen:
            return

        def work(tx: Transaction) -> None:
            for device, at in seen.items():
                tx.execute("update_device_seen", id=device, seen=at)

        try:
            await self._transact(work)
        except HooklineError as error:
            self._host.log.warning("could not store when browsers were last seen: %s", error)

    async def _transact(self, work: Callable[[Transaction], T]) -> T:
        self._rows.forget()
        try:
            return await self._host.storage.transact(work)
        finally:
            self._rows.forget()


def name_error(name: str) -> str | None:
    """Return what is wrong with a person's name, or None."""
    if not name or len(name) > MAX_NAME_CHARS or not name.isprintable() or name != name.strip():
        return f"a name must have 1 to {MAX_NAME_CHARS} characters and no spaces around it"
    if name == "*" or "/" in name or ":" in name:
        return "a name must not be * or contain a slash or a colon"
    return None


def _digest(secret: str) -> str:
    return sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def _single_line(text: str) -> str:
    return "".join(one if one.isprintable() else " " for one in text)
