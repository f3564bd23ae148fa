"""``AuditService``: joins keys, recorder, sealer and checkpoints of one process."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any

from hookline_hookspecs import HooklineError, Host, Transaction

from .checkpoints import Checkpoints
from .config import AuditConfig
from .entries import EntryReader
from .keys import AuditKeys, InvalidKey, read_root
from .recorder import AuditRow, Recorder, digest, person_here
from .sealer import Sealer, read_state
from .verification import VerificationReport, verify

CLOSE_TIMEOUT = 20.0
DAY = 86400.0


class AuditService:
    """The audit of one process."""

    def __init__(self, host: Host, config: AuditConfig, keys: AuditKeys) -> None:
        self.host = host
        self.config = config
        self.keys = keys
        self.recorder = Recorder(host, keys)
        self.checkpoints = Checkpoints(host, keys, config.checkpoints)
        self.sealer = Sealer(host, keys, self.recorder.node, self.checkpoints)
        self._is_closing = False

    @classmethod
    async def open(cls, host: Host, config: AuditConfig) -> AuditService:
        """Read or create the keys, and compare them with the database.

        Raises:
            InvalidKey: the database belongs to another key.
        """
        configured = config.key.get_secret_value() if config.key is not None else None
        root = await asyncio.to_thread(read_root, host.storage.dir / "key", configured)
        keys = await asyncio.to_thread(AuditKeys, root)
        own = json.dumps({"key": keys.public})
        found = await host.storage.fetch("state", name="identity")
        if not found:
            await host.storage.execute("add_state", name="identity", value=own)
            await host.storage.execute("add_state", name="lease", value="")
            found = await host.storage.fetch("state", name="identity")
        public = json.loads(found[0]["value"])["key"]
        if public != keys.public:
            raise InvalidKey(
                "this database was audited with another key. Set plugins.audit.key to that key, or "
                "restore the file plugins/audit/key of that home"
            )
        service = cls(host, config, keys)
        await service.note_config()
        return service

    async def note_config(self, actor: str = "", what: str = "") -> None:
        """Add a row if config.yaml has changed since a process last checked."""
        try:
            text = (self.host.home / "config.yaml").read_text("utf-8", "replace")
        except OSError:
            return
        current = digest(text)
        found = await self.host.storage.fetch("state", name="config")
        if found and json.loads(found[0]["value"]) == current:
            return
        verdict = "changed" if found else "loaded"
        detail = {"text": current, "what": what} if what else {"text": current}
        row = AuditRow(
            "config", "config.yaml", verdict, detail=detail, actor=actor or person_here()
        )
        value = json.dumps(current)

        def work(tx: Transaction) -> None:
            tx.execute("put_state", name="config", value=value)

        await self.recorder.write_with(row, work)

    def wake_sealer(self) -> None:
        """Seal the written rows soon."""
        if not self._is_closing:
            self.sealer.wake()

    async def settle(self) -> None:
        """Write, seal and sign all rows up to now."""
        await self.recorder.flush()
        if await self.sealer.seal():
            await self.sealer.checkpoint()

    async def close(self) -> None:
        """Write, seal and sign within :data:`CLOSE_TIMEOUT` seconds; log what fails."""
        self._is_closing = True
        try:
            async with asyncio.timeout(CLOSE_TIMEOUT):
                await self.recorder.flush()
                if self.recorder.written:
                    await self.sealer.seal()
                    await self.sealer.checkpoint()
        except (HooklineError, TimeoutError) as error:
            self.host.log.warning("audit rows will be sealed by the next process: %s", error)

    async def prune(self) -> int:
        """Remove rows older than ``keep_days``; return how many.

        The chain then starts after a signed anchor, which is also a checkpoint.
        """
        await self.recorder.flush()
        await self.sealer.seal(every=True)
        before = int((self.host.now() - self.config.keep_days * DAY) * 1e6)

        def read(tx: Transaction) -> Mapping[str, Any] | None:
            rows = tx.fetch("oldest_kept", before=before)
            if not rows:
                return None
            seq = rows[0]["seq"]
            known = dict(read_state(tx, "anchor").get("nodes", {}))
            known |= {row["node"]: row["n"] for row in tx.fetch("last_numbers", seq=seq)}
            later = {row["node"] for row in tx.fetch("later_nodes", seq=seq)}
            nodes = {node: n for node, n in known.items() if node in later}
            return {"seq": seq, "sha": rows[0]["sha"], "nodes": nodes}

        last = await self.host.storage.transact(read)
        if last is None:
            return 0
        anchor = json.dumps(self.checkpoints.sign(last))

        def remove(tx: Transaction) -> int:
            tx.execute("put_state", name="anchor", value=anchor)
            removed = tx.execute("prune_rows", seq=last["seq"])
            tx.execute("prune_seals", seq=last["seq"])
            tx.execute("drop_unused_keys")
            return removed

        self.keys.forget()
        removed = await self.host.storage.transact(remove)
        self.keys.forget()
        return removed

    async def erase(self, chat: str, by: str = "") -> int:
        """Destroy the keys of a chat, which makes the personal data in its rows unreadable.

        A row about it is added in the same transaction.

        Args:
            chat: ``CHANNEL:CHAT``.
            by: who did it, as ``CHANNEL:USER``; empty = the person at the command line.

        Returns:
            the number of destroyed keys.
        """
        await self.recorder.flush()
        name = self.keys.pseudonym(chat)
        kids = [row["kid"] for row in await self.host.storage.fetch("keys_of", chat=name)]
        if not kids:
            return 0
        row = AuditRow(
            "access", "a chat", "erased", chat.partition(":")[0], actor=by or person_here()
        )

        def destroy(tx: Transaction) -> None:
            # The number of unreadable rows is recorded, so that none can be added later.
            counts = {kid: tx.fetch("count_rows_of_key", kid=kid)[0]["n"] for kid in kids}
            row.detail = {"keys": kids, "rows": counts}
            for kid in kids:
                tx.execute("drop_key", kid=kid)

        await self.recorder.write_with(row, destroy)
        self.wake_sealer()
        return len(kids)

    async def reader(self) -> EntryReader:
        """Seal all rows up to now; return a reader for them."""
        await self.settle()
        reader = EntryReader(self.host, self.keys)
        await reader.load()
        return reader

    async def verify(self) -> VerificationReport:
        """Seal all rows and verify them."""
        await self.recorder.flush()
        await self.sealer.seal(every=True)
        report = await verify(
            EntryReader(self.host, self.keys), self.checkpoints, self.host.storage
        )
        if report.ok:
            await self.sealer.checkpoint()
        return report
