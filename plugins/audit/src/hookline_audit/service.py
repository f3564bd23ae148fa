"""All parts of the audit of one process: keys, rows, chain and checkpoints."""

from __future__ import annotations

import asyncio
import json

from hookline_hookspecs import HooklineError, Host

from .checkpoints import Checkpoints
from .config import AuditConfig
from .keys import BadKey, Keys, read_root
from .reading import Reader
from .recorder import Recorder
from .sealer import Sealer
from .verify import Finding, verify

CLOSING_SECONDS = 20.0


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
        return cls(host, config, keys)

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

    async def reader(self) -> Reader:
        """Return what reads rows, once all is sealed that was written until now."""
        await self.settle()
        found = Reader(self.host, self.keys)
        await found.load()
        return found

    async def verify(self) -> Finding:
        """Return what was changed; see :class:`.verify.Finding`. Seals first what is not."""
        await self.recorder.flush()
        await self.sealer.seal()
        found = await verify(Reader(self.host, self.keys), self.checkpoints, self.host.storage)
        if found.ok:
            await self.sealer.checkpoint()
        return found
