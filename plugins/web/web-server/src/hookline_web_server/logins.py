"""Who is logged in: codes that let a browser in once, and the browsers that are in.

Secrets are stored as SHA-256; both have 128 bits or more, so that none can be guessed.
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
from hookline_hookspecs.web import Device, Identity, LoginLink

from .audit import Audit

T = TypeVar("T")
CHANNEL = "web"
CODE_SECONDS = 600.0
DEVICE_SECONDS = 30 * 86400.0
CODE_BYTES = 16
TOKEN_BYTES = 32
LONGEST_AGENT = 200
LONGEST_NAME = 64
SITE_ROLES: dict[str, WebRole] = {"admin": "operator", "person": "person", "auditor": "auditor"}
"""What somebody is here, by what they are to the plugin ``access``."""
MOST_DEVICES = 100
"""Of one person; above, the one that was seen least recently is logged out."""


@dataclass(frozen=True, slots=True)
class Login:
    """A browser that was let in: its cookie's value and who it is."""

    token: str
    identity: Identity


class OtherPerson(HooklineError):
    """The code is somebody else's than who is logged in; it was not used."""


class Logins:
    """Codes and devices, in the tables ``web_server_codes`` and ``web_server_devices``."""

    def __init__(self, host: Host, audit: Audit) -> None:
        self._host = host
        self._audit = audit
        self._rows: RowCache[str, Mapping[str, Any] | None] = RowCache(host, 4096)
        self._seen: dict[str, float] = {}
        self._callbacks: list[Callable[[str], None]] = []

    # Codes

    async def link(self, url: str, name: str, role: WebRole, by: str) -> LoginLink:
        """Let ``web:NAME`` in, and store a code that logs them in once.

        Raises ``HooklineError`` with a sentence.
        """
        fault = fault_of(name)
        if fault is not None:
            raise HooklineError(fault)
        await self._let_in(name, role, by)
        code, now = secrets.token_urlsafe(CODE_BYTES), self._host.now()
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
    ) -> Login | None:
        """Log a browser in; None if the code is not good, or not any more.

        Of two that use a code at once one is let in. ``before`` is who this browser was logged in
        as; a code of another person raises :class:`OtherPerson` unless ``switch`` is set. A person
        who was taken off the list since the code was made does not come in by it.
        """
        found = await self._code(code)
        if found is None:
            return None
        name, role = str(found["name"]), found["role"]
        if before is not None and before.name != name and not switch:
            raise OtherPerson(f"This link is for {name}, and you are logged in as {before.name}")
        token, device = secrets.token_urlsafe(TOKEN_BYTES), secrets.token_hex(8)
        now = self._host.now()

        def work(tx: Transaction) -> bool:
            if not tx.execute("drop_code", digest=_digest(code)):
                return False
            tx.execute(
                "put_device",
                id=device,
                digest=_digest(token),
                name=name,
                role=role,
                agent=_on_one_line(agent)[:LONGEST_AGENT],
                now=now,
            )
            return True

        if not await self._transact(work):
            return None
        if before is not None:
            await self.revoke(before.device)
        await self._keep_few(name, device)
        identity = await self._identity(name, role, device)
        if identity is None:
            await self.revoke(device)
            return None
        self._audit.add(identity, "logged in", 200)
        return Login(token, identity)

    async def _code(self, code: str) -> Mapping[str, Any] | None:
        digest, now = _digest(code), self._host.now()
        rows = await self._host.storage.fetch("code_of", digest=digest, now=now)
        return rows[0] if rows else None

    async def _let_in(self, name: str, role: str, by: str) -> None:
        """Let a person in, and log out browsers that are in from before they were taken off."""
        people = self._host.services.get(PeopleDirectory)
        if people is None:
            return
        person = f"{CHANNEL}:{name}"
        if await people.role(person) == "unknown":
            for one in await self.devices(name):
                await self.revoke(one.id)
        is_auditor = role == "auditor"
        await people.allow(person, admin=role == "operator", by=by, auditor=is_auditor)

    async def _keep_few(self, name: str, newest: str) -> None:
        devices = sorted(await self.devices(name), key=lambda one: one.seen, reverse=True)
        for one in devices[MOST_DEVICES:]:
            if one.id != newest:
                await self.revoke(one.id)

    # Devices

    async def identify(self, token: str) -> Identity | None:
        """Return whose cookie this is, or None; reads only."""
        digest, since = _digest(token), self._host.now() - DEVICE_SECONDS

        async def read() -> Mapping[str, Any] | None:
            rows = await self._host.storage.fetch("device_of", digest=digest, since=since)
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
            found = SITE_ROLES.get(known)
            if found is None:
                return None
            role = found
        return Identity(CHANNEL, name, role, device)

    async def devices(self, name: str | None = None) -> Sequence[Device]:
        """Return the browsers that are logged in, the newest first."""
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

    async def is_in(self, device: str) -> bool:
        """Whether a device is still logged in, and its person still let in."""
        for one in await self.devices():
            if one.id == device:
                name = one.person.partition(":")[2]
                return await self._identity(name, one.role, device) is not None
        return False

    async def revoke(self, device: str) -> bool:
        """Log a device out; False if it was not in."""
        found = await self._transact(lambda tx: tx.execute("drop_device", id=device))
        self._seen.pop(device, None)
        for callback in self._callbacks:
            callback(device)
        return found > 0

    def on_revoked(self, callback: Callable[[str], None]) -> None:
        """Call ``callback(device)`` when a device is logged out."""
        self._callbacks.append(callback)

    async def flush(self) -> None:
        """Store when the devices were seen last."""
        seen, self._seen = dict(self._seen), {}
        if not seen:
            return

        def work(tx: Transaction) -> None:
            for device, at in seen.items():
                tx.execute("saw_device", id=device, seen=at)

        try:
            await self._transact(work)
        except HooklineError as error:
            self._host.log.warning("when browsers were seen is not stored: %s", error)

    async def _transact(self, work: Callable[[Transaction], T]) -> T:
        self._rows.forget()
        try:
            return await self._host.storage.transact(work)
        finally:
            self._rows.forget()


def fault_of(name: str) -> str | None:
    """Return why nobody can be called ``name``, as a sentence, or None."""
    if not name or len(name) > LONGEST_NAME or not name.isprintable() or name != name.strip():
        return f"a person's name has 1 to {LONGEST_NAME} characters and no blanks around it"
    if name == "*" or "/" in name or ":" in name:
        return "a person's name is no * and holds no slash and no colon"
    return None


def _digest(secret: str) -> str:
    return sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def _on_one_line(text: str) -> str:
    return "".join(one if one.isprintable() else " " for one in text)
