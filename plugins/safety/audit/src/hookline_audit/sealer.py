"""Adds rows to the hash chain, and signs the end of the chain at intervals.

Any process may seal: one transaction reads the end of the chain and extends it. A lease makes one
process seal for all.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any

from hookline_hookspecs import HooklineError, Host, Transaction

from .chain import START, row_hash
from .checkpoints import Checkpoints
from .keys import AuditKeys

SEAL_INTERVAL = 5.0
"""Seconds between two attempts to seal."""
LEASE_SECONDS = 15.0
"""After this time another node may take over from one that has died."""
CHECKPOINT_INTERVAL = 60.0
"""Seconds between two checkpoints."""
MAX_DELAY = 60_000_000
"""Microseconds by which a row may arrive after a later one was sealed. :meth:`Sealer.seal` with
``every`` also finds rows that arrive later."""
MAX_ROWS_PER_TRANSACTION = 500


def chain_head(tx: Transaction) -> tuple[int, str, int]:
    """Return number, hash and time of the last sealed row, or of the anchor before the first one.

    The time is Unix time in microseconds, 0 if unknown.
    """
    for row in tx.fetch("head"):
        return int(row["seq"]), str(row["sha"]), int(row["at"] or 0)
    anchor = read_state(tx, "anchor")
    return (int(anchor["seq"]), str(anchor["sha"]), 0) if anchor else (0, START, 0)


def read_state(tx: Transaction, name: str) -> dict[str, Any]:
    """Return the stored value of a name; empty if there is none."""
    for row in tx.fetch("state", name=name):
        value: dict[str, Any] = json.loads(row["value"])
        return value
    return {}


class Sealer:
    """Seals rows in the background, until all are sealed."""

    def __init__(self, host: Host, keys: AuditKeys, node: str, checkpoints: Checkpoints) -> None:
        self._host = host
        self._keys = keys
        self._node = node
        self._checkpoints = checkpoints
        self._task: asyncio.Task[None] | None = None

    def wake(self) -> None:
        """Start to seal every :data:`SEAL_INTERVAL` seconds, until nothing is left to seal."""
        if self._task is None or self._task.done():
            self._task = self._host.spawn(self._work(), "seal")

    async def _work(self) -> None:
        has_more = True
        while has_more:
            await asyncio.sleep(SEAL_INTERVAL)
            try:
                has_more = await self._seal_once()
            except HooklineError as error:
                self._host.log.warning("cannot seal audit rows now; will retry: %s", error)

    async def _seal_once(self) -> bool:
        """Seal, unless another node does; False if nothing is left to do."""
        now = self._host.now()
        lease = {"node": self._node, "now": now, "until": now + LEASE_SECONDS}
        if not await self._host.storage.execute("take_lease", **lease):
            return True
        sealed = await self.seal()
        is_signed = await self.checkpoint(now=now)
        if sealed or not is_signed:
            return True
        await self._host.storage.execute("give_lease", node=self._node)
        return False

    async def seal(self, *, every: bool = False) -> int:
        """Seal all rows written before this call; return their number.

        With ``every``, check all rows, also those written long before the last sealed one.
        """
        total = 0
        while True:
            sealed = await self._host.storage.transact(lambda tx: _seal(tx, every=every))
            total += sealed
            if sealed < MAX_ROWS_PER_TRANSACTION:
                return total

    async def checkpoint(self, *, now: float | None = None) -> bool:
        """Sign the end of the chain if it has grown; with ``now``, at most once a minute.

        Returns:
            False if it has grown and still has to be signed.
        """

        def read(tx: Transaction) -> tuple[tuple[int, str, int], Mapping[str, Any]]:
            return chain_head(tx), read_state(tx, "checkpoint")

        (seq, sha, _), last = await self._host.storage.transact(read)
        if seq <= last.get("seq", 0):
            return True
        if now is not None and now < last.get("at", 0) / 1e6 + CHECKPOINT_INTERVAL:
            return False
        line = self._checkpoints.make(seq, sha, self._node)
        await self._checkpoints.send(line)
        value = json.dumps(line)
        await self._host.storage.transact(
            lambda tx: tx.execute("put_state", name="checkpoint", value=value)
        )
        return True


def _seal(tx: Transaction, *, every: bool) -> int:
    """Seal the oldest unsealed rows; return how many."""
    seq, sha, at = chain_head(tx)
    rows = tx.fetch(
        "unsealed", since=0 if every else at - MAX_DELAY, limit=MAX_ROWS_PER_TRANSACTION
    )
    for row in rows:
        seq += 1
        sha = row_hash(sha, {**row, "seq": seq})
        tx.execute("seal", node=row["node"], n=row["n"], seq=seq, sha=sha)
    return len(rows)
