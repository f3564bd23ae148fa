"""The secrets in the store: kept, given, removed, and put under another key."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from hookline_hookspecs import Refused, Storage, Transaction
from hookline_hookspecs.secrets import ProcessFilter
from hookline_hookspecs.vault import Secret, passwords_in, valid_name

from .envelope import BadSeal, Content, Key, reference_of, rewrap, seal, unseal
from .keys import Keys, KeySource

T = TypeVar("T")
TRIES = 20
"""Times that a write is begun anew because another process was faster."""
LARGEST = 65_536
"""Characters of a value."""
UNKNOWN = "the vault has no secret {name}; `hookline vault set {name}` puts it there."
BROKEN = (
    "the secret {name} was changed in the database, or by another key than it names; set it anew."
)


class _Overtaken(Exception):
    """Another process changed what this write relied on."""


@dataclass(frozen=True, slots=True)
class Entry:
    """What is known of a secret without the key; ``created`` is Unix time of this version."""

    name: str
    version: int
    hosts: tuple[str, ...]
    header: str
    created: float


class Secrets:
    """Reads and writes the tables of the vault.

    Args:
        storage: the plugin's storage.
        keys: where keys are.
        now: returns Unix time.
        tell: called with a name and what is about to be done with it.
    """

    def __init__(
        self,
        storage: Storage,
        keys: Keys,
        now: Callable[[], float],
        tell: Callable[[str, str], None] = lambda _name, _verdict: None,
    ) -> None:
        self._storage = storage
        self.keys = keys
        self._now = now
        self._tell = tell
        self.used = ProcessFilter()
        """Holds every value that was given, and replaces it in the logs of this process."""

    async def use(self, name: str) -> Secret:
        """Return a secret. Raises ``Refused``."""
        self._tell(name, "used")
        return Secret(name, (await self.content(name)).value)

    async def sent(self, name: str) -> Content:
        """Return a secret that is sent to a host. Raises ``Refused``."""
        self._tell(name, "sent")
        return await self.content(name)

    async def content(self, name: str) -> Content:
        """Return a secret with its hosts and header. Raises ``Refused``."""
        rows = await self._storage.fetch("secret", name=name)
        if not rows:
            raise Refused(UNKNOWN.format(name=name))
        return await asyncio.to_thread(self._open, rows[0])

    async def some(self, names: Sequence[str]) -> tuple[dict[str, str], dict[str, str]]:
        """Return the values of those names that have one, and a sentence for each that has none."""
        values: dict[str, str] = {}
        faults: dict[str, str] = {}
        for name in dict.fromkeys(names):
            try:
                values[name] = (await self.content(name)).value
            except Refused as fault:
                faults[name] = str(fault)
        return values, faults

    async def entries(self) -> list[Entry]:
        """Return what is known of every secret without the key, by name."""
        found = []
        for row in await self._storage.fetch("secrets"):
            sent = json.loads(row["hosts"])
            hosts, header = tuple(sent.get("hosts", ())), sent.get("header", "")
            found.append(Entry(row["name"], row["version"], hosts, header, row["created"]))
        return found

    async def names(self) -> list[str]:
        """Return the names of all secrets, sorted."""
        return sorted(entry.name for entry in await self.entries())

    async def put(self, name: str, value: str) -> None:
        """Keep a value without hosts, in place of what was there. Raises ``Refused``."""
        await self.keep(name, Content(value))

    async def keep(self, name: str, content: Content) -> int:
        """Keep a content in place of what was there; return its version. Raises ``Refused``."""
        _check(name, content.value)
        self._tell(name, "set")
        return await self._write(name, lambda _row: content)

    async def rotate(self, name: str, value: str) -> int:
        """Give a secret that is there a new value, with its hosts. Raises ``Refused``."""
        _check(name, value)
        self._tell(name, "rotated")

        def renewed(row: Any) -> Content:
            if row is None:
                raise Refused(UNKNOWN.format(name=name))
            old = self._open(row)
            return Content(value, old.hosts, old.header)

        return await self._write(name, renewed)

    async def remove(self, name: str) -> bool:
        """Remove a secret; return False if there was none.

        A vault that is empty then is under no key any more, so that one whose key is lost can be
        filled anew.
        """
        self._tell(name, "removed")

        def work(transaction: Transaction) -> bool:
            removed = transaction.execute("remove_secret", name=name)
            if not transaction.fetch("secrets"):
                transaction.execute("remove_key")
            return bool(removed)

        return await self._storage.transact(work)

    async def rekey(self, to: KeySource | None = None) -> str:
        """Put every secret under a new key and return what is left for a person to do.

        Without ``to`` the key stays where it is. A process killed at any moment leaves everything
        readable: the new key is kept before the first secret is under it, and the old one goes
        after the last. Raises ``Refused``.
        """
        self._tell("the key of the vault", "rekeyed")
        reference = await self._reference()
        source = to if to is not None else await asyncio.to_thread(self._present, reference)
        new = await asyncio.to_thread(source.prepare)

        def work(transaction: Transaction) -> None:
            self._expect(transaction, reference)
            for row in transaction.fetch("secrets"):
                wrapped = rewrap(self.keys.find(reference_of(row)), new, row)
                transaction.execute("rewrap_secret", name=row["name"], wrapped_key=wrapped)
            done = "change_key" if reference else "add_key"
            transaction.execute(done, reference=new.reference)

        await self._transact(work)
        await self._storage.kv.set("rekeyed", self._now())  # durable, and with it what came before
        for row in await self._storage.fetch("secrets"):
            await asyncio.to_thread(self._unseal, new, row)
        return await asyncio.to_thread(source.promote, new)

    def _present(self, reference: str | None) -> KeySource:
        """The source of the present key, or of the first one."""
        holder = self.keys.holder(reference or self.keys.first().reference)
        if holder is None:
            self.keys.find(reference or "")
            raise AssertionError("unreachable")
        return holder

    async def _write(self, name: str, content: Callable[[Any], Content]) -> int:
        for _ in range(TRIES):
            reference = await self._reference()
            rows = await self._storage.fetch("secret", name=name)
            row = rows[0] if rows else None
            before = row["version"] if row else 0

            def sealed(reference: Any = reference, row: Any = row, before: int = before) -> Any:
                key = self.keys.find(reference) if reference else self.keys.first()
                return key, seal(key, name, before + 1, content(row))

            key, columns = await asyncio.to_thread(sealed)

            def work(
                transaction: Transaction,
                reference: Any = reference,
                before: int = before,
                columns: Any = columns,
                key: Key = key,
            ) -> int:
                self._expect(transaction, reference)
                found = transaction.fetch("secret", name=name)
                if (found[0]["version"] if found else 0) != before:
                    raise _Overtaken
                if reference is None:
                    transaction.execute("add_key", reference=key.reference)
                transaction.execute("remove_secret", name=name)
                transaction.execute("add_secret", **columns, created=self._now())
                return before + 1

            try:
                return await self._storage.transact(work)
            except _Overtaken:
                continue
        raise Refused(
            f"the secret {name} could not be kept, since others write the vault all the time."
        )

    async def _transact(self, work: Callable[[Transaction], T]) -> T:
        try:
            return await self._storage.transact(work)
        except _Overtaken:
            raise Refused(
                "another process put the vault under a new key meanwhile; look, and try again."
            ) from None
        except BadSeal:
            raise Refused(
                "a secret does not open with the key that it names, so nothing was changed."
            ) from None

    @staticmethod
    def _expect(transaction: Transaction, reference: str | None) -> None:
        rows = transaction.fetch("key")
        if (rows[0]["reference"] if rows else None) != reference:
            raise _Overtaken

    async def _reference(self) -> str | None:
        rows = await self._storage.fetch("key")
        return rows[0]["reference"] if rows else None

    def _open(self, row: Any) -> Content:
        content = self._unseal(self.keys.find(reference_of(row)), row)
        self.used.hide([content.value, *passwords_in(content.value), *others_of(content)])
        return content

    @staticmethod
    def _unseal(key: Key, row: Any) -> Content:
        try:
            return unseal(key, row)
        except BadSeal:
            raise Refused(BROKEN.format(name=row["name"])) from None


def others_of(content: Content) -> list[str]:
    """Forms of a value in which a header carries it."""
    if not content.header:
        return []
    whole = content.header.partition(":")[2].strip().replace("{}", content.value)
    return [whole] if whole != content.value else []


def _check(name: str, value: str) -> None:
    if not valid_name(name):
        rule = "up to 128 letters, digits, `.`, `_`, `-` and `/`, a letter or digit at both ends"
        raise Refused(f"{name[:80]!r} is no name; write {rule}, such as db/prod.")
    if not value:
        raise Refused("there is no value; give it on standard input.")
    if len(value) > LARGEST:
        raise Refused(f"the value is longer than {LARGEST} characters.")
