"""All parts of the audit of one process: keys, rows, chain and checkpoints."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any

from hookline_hookspecs import HooklineError, Host, Transaction

from .checkpoints import Checkpoints
from .config import AuditConfig
from .keys import BadKey, Keys, read_root
from .reading import Reader
from .recorder import Recorder, Row, digest, person_here
from .sealer import Sealer, state_of
from .verify import Finding, verify

CLOSING_SECONDS = 20.0
DAY = 86400.0


class Service:
    """The parts, and what they do together."""

    def __init__(self, host: Host, config: AuditConfig, keys: Keys) -> None:
        self.host = host
        self.config = config
        self.keys = keys
        self.recorder = Recorder(host, keys)
        self.checkpoints = Checkpoints(host, keys, config.checkpoints)
        self.sealer = Sealer(host, keys, self.recorder.node, self.checkpoints)
        self._is_closing = False

    @classmethod
    async def open(cls, host: Host, config: AuditConfig) -> Service:
        """Read or make the keys, and compare them with the database's.

        Raises:
            BadKey: the database belongs to another key.
        """
        given = config.key.get_secret_value() if config.key is not None else None
        root = await asyncio.to_thread(read_root, host.storage.dir / "key", given)
        keys = await asyncio.to_thread(Keys, root)
        own = json.dumps({"key": keys.public})
        found = await host.storage.fetch("state", name="identity")
        if not found:
            await host.storage.execute("add_state", name="identity", value=own)
            await host.storage.execute("add_state", name="lease", value="")
            found = await host.storage.fetch("state", name="identity")
        public = json.loads(found[0]["value"])["key"]
        if public != keys.public:
            raise BadKey(
                "the audit in this database was begun with another key; give plugins.audit.key the "
                "one it was begun with, or bring back the file plugins/audit/key of that home"
            )
        made = cls(host, config, keys)
        await made.note_config()
        return made

    async def note_config(self, actor: str = "", what: str = "") -> None:
        """Add a row if config.yaml is another than when a process last looked."""
        try:
            text = (self.host.home / "config.yaml").read_text("utf-8", "replace")
        except OSError:
            return
        told = digest(text)
        found = await self.host.storage.fetch("state", name="config")
        if found and json.loads(found[0]["value"]) == told:
            return
        verdict = "changed" if found else "loaded"
        detail = {"text": told, "what": what} if what else {"text": told}
        row = Row("config", "config.yaml", verdict, detail=detail, actor=actor or person_here())
        value = json.dumps(told)

        def work(tx: Transaction) -> None:
            tx.execute("put_state", name="config", value=value)

        await self.recorder.write_with(row, work)

    def sealer_wanted(self) -> None:
        """Rows were written: seal them soon."""
        if not self._is_closing:
            self.sealer.wake()

    async def settle(self) -> None:
        """Write, seal and sign everything up to now."""
        await self.recorder.flush()
        if await self.sealer.seal():
            await self.sealer.checkpoint()

    async def close(self) -> None:
        """Do the same within :data:`CLOSING_SECONDS`, and log what fails."""
        self._is_closing = True
        try:
            async with asyncio.timeout(CLOSING_SECONDS):
                await self.recorder.flush()
                if self.recorder.written:
                    await self.sealer.seal()
                    await self.sealer.checkpoint()
        except (HooklineError, TimeoutError) as error:
            self.host.log.warning("rows of the audit are sealed by the next process: %s", error)

    async def prune(self) -> int:
        """Remove rows that are older than ``keep_days``; return how many. The chain then begins
        after a signed anchor, which is also a checkpoint."""
        await self.recorder.flush()
        await self.sealer.seal(every=True)
        before = int((self.host.now() - self.config.keep_days * DAY) * 1e6)

        def look(tx: Transaction) -> Mapping[str, Any] | None:
            rows = tx.fetch("oldest_kept", before=before)
            if not rows:
                return None
            seq = rows[0]["seq"]
            known = dict(state_of(tx, "anchor").get("nodes", {}))
            known |= {row["node"]: row["n"] for row in tx.fetch("last_numbers", seq=seq)}
            later = {row["node"] for row in tx.fetch("later_nodes", seq=seq)}
            nodes = {node: n for node, n in known.items() if node in later}
            return {"seq": seq, "sha": rows[0]["sha"], "nodes": nodes}

        wanted = await self.host.storage.transact(look)
        if wanted is None:
            return 0
        anchor = json.dumps(self.checkpoints.sign(wanted))

        def remove(tx: Transaction) -> int:
            tx.execute("put_state", name="anchor", value=anchor)
            removed = tx.execute("prune_rows", seq=wanted["seq"])
            tx.execute("prune_seals", seq=wanted["seq"])
            tx.execute("drop_unused_keys")
            return removed

        self.keys.forget()
        removed = await self.host.storage.transact(remove)
        self.keys.forget()
        return removed

    async def erase(self, chat: str, by: str = "") -> int:
        """Destroy the keys of a chat (``CHANNEL:CHAT``), so that nobody reads any more what is
        personal in its rows, and write that down, in one transaction; return how many keys there
        were. ``by`` is who did it, as ``CHANNEL:USER``; the person at the command line if empty."""
        await self.recorder.flush()
        name = self.keys.pseudonym(chat)
        found = [row["kid"] for row in await self.host.storage.fetch("keys_of", chat=name)]
        if not found:
            return 0
        row = Row("access", "a chat", "erased", chat.partition(":")[0], actor=by or person_here())
        row.detail = {"keys": found}

        def destroy(tx: Transaction) -> None:
            for kid in found:
                tx.execute("drop_key", kid=kid)

        await self.recorder.write_with(row, destroy)
        self.sealer_wanted()
        return len(found)

    async def reader(self) -> Reader:
        """Return what reads rows, once all is sealed that was written until now."""
        await self.settle()
        found = Reader(self.host, self.keys)
        await found.load()
        return found

    async def verify(self) -> Finding:
        """Return what was changed; see :class:`.verify.Finding`. Seals first what is not."""
        await self.recorder.flush()
        await self.sealer.seal(every=True)
        found = await verify(Reader(self.host, self.keys), self.checkpoints, self.host.storage)
        if found.ok:
            await self.sealer.checkpoint()
        return found
