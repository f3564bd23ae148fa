"""``SecretStore``: reads, writes and removes secrets, and encrypts them with another key."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from hookline_hookspecs import Refused, Storage, Transaction
from hookline_hookspecs.secrets import ProcessFilter
from hookline_hookspecs.vault import Secret, passwords_in, valid_name

from .envelope import (
    DecryptionFailed,
    SecretContent,
    WrappingKey,
    reference_of,
    rewrap,
    seal,
    unseal,
)
from .keys import KeyChain, KeySource

T = TypeVar("T")
MAX_ATTEMPTS = 20
"""Attempts of a write while other processes change the same rows."""
MAX_VALUE_CHARS = 65_536
UNKNOWN = "the vault has no secret {name}. Run `hookline vault set {name}`."
TAMPERED = (
    "the secret {name} was changed in the database or does not match its key. "
    "Run `hookline vault set {name}`."
)


class _ConcurrentWrite(Exception):
    """Another process changed the rows that this write depends on."""


@dataclass(frozen=True, slots=True)
class SecretEntry:
    """What is known of a secret without its key; ``created`` is the Unix time of this version."""

    name: str
    version: int
    hosts: tuple[str, ...]
    header: str
    created: float


class SecretStore:
    """Reads and writes the tables of the vault.

    Args:
        storage: the plugin's storage.
        keys: finds the keys.
        now: returns Unix time in seconds.
        audit: called with a name and what is about to be done with the secret.
    """

    def __init__(
        self,
        storage: Storage,
        keys: KeyChain,
        now: Callable[[], float],
        audit: Callable[[str, str], None] = lambda _name, _verdict: None,
    ) -> None:
        self._storage = storage
        self.keys = keys
        self._now = now
        self._audit = audit
        self.used = ProcessFilter()
        """Holds every used value, and replaces it in the logs of this process."""

    async def use(self, name: str) -> Secret:
        """Return a secret. Raises ``Refused``."""
        self._audit(name, "used")
        return Secret(name, (await self.read(name)).value)

    async def use_for_host(self, name: str) -> SecretContent:
        """Return a secret to send to a host. Raises ``Refused``."""
        self._audit(name, "sent")
        return await self.read(name)

    async def read(self, name: str) -> SecretContent:
        """Return a secret with its hosts and header. Raises ``Refused``."""
        rows = await self._storage.fetch("secret", name=name)
        if not rows:
            raise Refused(UNKNOWN.format(name=name))
        return await asyncio.to_thread(self._open, rows[0])

    async def read_many(self, names: Sequence[str]) -> tuple[dict[str, str], dict[str, str]]:
        """Return the value of each name, and the reason for each name without a readable value."""
        values: dict[str, str] = {}
        errors: dict[str, str] = {}
        for name in dict.fromkeys(names):
            try:
                values[name] = (await self.read(name)).value
            except Refused as error:
                errors[name] = str(error)
        return values, errors

    async def entries(self) -> list[SecretEntry]:
        """Return an entry for each secret, sorted by name; needs no key."""
        entries = []
        for row in await self._storage.fetch("secrets"):
            target = json.loads(row["hosts"])
            hosts, header = tuple(target.get("hosts", ())), target.get("header", "")
            entries.append(SecretEntry(row["name"], row["version"], hosts, header, row["created"]))
        return entries

    async def names(self) -> list[str]:
        """Return the names of all secrets, sorted."""
        return sorted(entry.name for entry in await self.entries())

    async def put(self, name: str, value: str) -> None:
        """Store a value without hosts, replacing an earlier one. Raises ``Refused``."""
        await self.store(name, SecretContent(value))

    async def store(self, name: str, content: SecretContent) -> int:
        """Store a secret, replacing an earlier one; return its version. Raises ``Refused``."""
        _check(name, content.value)
        self._audit(name, "set")
        return await self._write(name, lambda _row: content)

    async def rotate(self, name: str, value: str) -> int:
        """Replace the value of an existing secret and keep its hosts; return its version.

        Raises ``Refused``.
        """
        _check(name, value)
        self._audit(name, "rotated")

        def with_new_value(row: Any) -> SecretContent:
            if row is None:
                raise Refused(UNKNOWN.format(name=name))
            old = self._open(row)
            return SecretContent(value, old.hosts, old.header)

        return await self._write(name, with_new_value)

    async def remove(self, name: str) -> bool:
        """Remove a secret; return False if there was none.

        An empty vault forgets its key, so that it can be used again if the key was lost.
        """
        self._audit(name, "removed")

        def work(transaction: Transaction) -> bool:
            removed = transaction.execute("remove_secret", name=name)
            if not transaction.fetch("secrets"):
                transaction.execute("remove_key")
            return bool(removed)

        return await self._storage.transact(work)

    async def rekey(self, to: KeySource | None = None) -> str:
        """Encrypt every secret with a new key; return what the person still has to do.

        Without ``to`` the source of the key stays the same. If the process is killed, every secret
        stays readable: the new key is stored before the first secret uses it, and the old one is
        removed after the last. Raises ``Refused``.
        """
        self._audit("the key of the vault", "rekeyed")
        reference = await self._reference()
        source = to if to is not None else await asyncio.to_thread(self._current_source, reference)
        new = await asyncio.to_thread(source.prepare)

        def work(transaction: Transaction) -> None:
            self._expect_key(transaction, reference)
            for row in transaction.fetch("secrets"):
                wrapped = rewrap(self.keys.find(reference_of(row)), new, row)
                transaction.execute("rewrap_secret", name=row["name"], wrapped_key=wrapped)
            statement = "change_key" if reference else "add_key"
            transaction.execute(statement, reference=new.reference)

        await self._transact(work)
        await self._storage.kv.set("rekeyed", self._now())  # durable, with all writes before it
        for row in await self._storage.fetch("secrets"):
            await asyncio.to_thread(self._unseal, new, row)
        return await asyncio.to_thread(source.promote, new)

    def _current_source(self, reference: str | None) -> KeySource:
        """The source of the current key, or of the initial one."""
        holder = self.keys.source_of(reference or self.keys.initial().reference)
        if holder is None:
            self.keys.find(reference or "")
            raise AssertionError("unreachable")
        return holder

    async def _write(self, name: str, content: Callable[[Any], SecretContent]) -> int:
        for _ in range(MAX_ATTEMPTS):
            reference = await self._reference()
            rows = await self._storage.fetch("secret", name=name)
            row = rows[0] if rows else None
            before = row["version"] if row else 0

            def seal_row(reference: Any = reference, row: Any = row, before: int = before) -> Any:
                key = self.keys.find(reference) if reference else self.keys.initial()
                return key, seal(key, name, before + 1, content(row))

            key, columns = await asyncio.to_thread(seal_row)

            def work(
                transaction: Transaction,
                reference: Any = reference,
                before: int = before,
                columns: Any = columns,
                key: WrappingKey = key,
            ) -> int:
                self._expect_key(transaction, reference)
                found = transaction.fetch("secret", name=name)
                if (found[0]["version"] if found else 0) != before:
                    raise _ConcurrentWrite
                if reference is None:
                    transaction.execute("add_key", reference=key.reference)
                transaction.execute("remove_secret", name=name)
                transaction.execute("add_secret", **columns, created=self._now())
                return before + 1

            try:
                return await self._storage.transact(work)
            except _ConcurrentWrite:
                continue
        raise Refused(
            f"could not store the secret {name}: other processes keep writing the vault. Try again."
        )

    async def _transact(self, work: Callable[[Transaction], T]) -> T:
        try:
            return await self._storage.transact(work)
        except _ConcurrentWrite:
            raise Refused(
                "another process changed the vault's key at the same time. Try again."
            ) from None
        except DecryptionFailed:
            raise Refused("nothing was changed: a secret does not match its key.") from None

    @staticmethod
    def _expect_key(transaction: Transaction, reference: str | None) -> None:
        rows = transaction.fetch("key")
        if (rows[0]["reference"] if rows else None) != reference:
            raise _ConcurrentWrite

    async def _reference(self) -> str | None:
        rows = await self._storage.fetch("key")
        return rows[0]["reference"] if rows else None

    def _open(self, row: Any) -> SecretContent:
        content = self._unseal(self.keys.find(reference_of(row)), row)
        self.used.hide([content.value, *passwords_in(content.value), *header_forms(content)])
        return content

    @staticmethod
    def _unseal(key: WrappingKey, row: Any) -> SecretContent:
        try:
            return unseal(key, row)
        except DecryptionFailed:
            raise Refused(TAMPERED.format(name=row["name"])) from None


def header_forms(content: SecretContent) -> list[str]:
    """The values of the header that contain the secret, which are hidden like the secret."""
    if not content.header:
        return []
    whole = content.header.partition(":")[2].strip().replace("{}", content.value)
    return [whole] if whole != content.value else []


def _check(name: str, value: str) -> None:
    if not valid_name(name):
        rule = "up to 128 letters, digits, `.`, `_`, `-` and `/`, a letter or digit at both ends"
        raise Refused(f"invalid name {name[:80]!r}: expected {rule}, such as db/prod.")
    if not value:
        raise Refused("the value is empty. Give it on standard input.")
    if len(value) > MAX_VALUE_CHARS:
        raise Refused(f"the value has more than {MAX_VALUE_CHARS} characters.")
