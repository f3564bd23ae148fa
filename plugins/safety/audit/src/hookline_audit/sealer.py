"""Sealing: rows get their place in the chain, and the chain's end is signed now and then.

Any process may seal: one transaction reads the end of the chain and adds to it. A lease keeps all
but one from trying; whoever holds it seals for all.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any

from hookline_hookspecs import HooklineError, Host, Transaction

from .chain import START, chained
from .checkpoints import Checkpoints
from .keys import Keys

SECONDS = 5.0
"""How often rows are sealed."""
LEASE_SECONDS = 15.0
"""After which another node seals in place of one that has died."""
CHECKPOINT_SECONDS = 60.0
LATE = 60_000_000
"""Microseconds by which a row may come later than one that was sealed already; one that comes later
still is sealed by whoever looks at all (:meth:`Sealer.seal` with ``every``)."""
BATCH = 500
"""Rows of a transaction, so that others get their turn."""


def head_of(tx: Transaction) -> tuple[int, str, int]:
    """Return the number and hash of the chain's last row, or of what it begins after, and when
    the row was written (microseconds, 0 if nobody knows)."""
    for row in tx.fetch("head"):
        return int(row["seq"]), str(row["sha"]), int(row["at"] or 0)
    anchor = state_of(tx, "anchor")
    return (int(anchor["seq"]), str(anchor["sha"]), 0) if anchor else (0, START, 0)


def state_of(tx: Transaction, name: str) -> dict[str, Any]:
    """Return what is stored under a name, empty if nothing is."""
    found: dict[str, Any] = next(
        (json.loads(row["value"]) for row in tx.fetch("state", name=name)), {}
    )
    return found


class Sealer:
    """Seals what was written, while anything is."""

    def __init__(self, host: Host, keys: Keys, node: str, checkpoints: Checkpoints) -> None:
        self._host = host
        self._keys = keys
        self._node = node
        self._checkpoints = checkpoints
        self._task: asyncio.Task[None] | None = None

    def wake(self) -> None:
        """Begin to seal every :data:`SECONDS`, until nothing is left to seal."""
        if self._task is None or self._task.done():
            self._task = self._host.spawn(self._work(), "seal")

    async def _work(self) -> None:
        holds = True
        while holds:
            await asyncio.sleep(SECONDS)
            try:
                holds = await self._round()
            except HooklineError as error:
                self._host.log.warning("rows of the audit are sealed later: %s", error)

    async def _round(self) -> bool:
        """Seal, if no other node does; False once there is nothing to do."""
        now = self._host.now()
        lease = {"node": self._node, "now": now, "until": now + LEASE_SECONDS}
        if not await self._host.storage.execute("take_lease", **lease):
            return True
        sealed = await self.seal()
        checked = await self.checkpoint(now=now)
        if sealed or not checked:
            return True
        await self._host.storage.execute("give_lease", node=self._node)
        return False

    async def seal(self, *, every: bool = False) -> int:
        """Seal everything that was written before this call; return the number of rows.

        ``every``: look at all rows, also at those that were written long before the last one.
        """
        total = 0
        while True:
            sealed = await self._host.storage.transact(lambda tx: _seal(tx, every=every))
            total += sealed
            if sealed < BATCH:
                return total

    async def checkpoint(self, *, now: float | None = None) -> bool:
        """Sign the chain's end if it has grown; with ``now``, once a minute only.

        Returns:
            False if it has grown, and is to be signed later.
        """

        def look(tx: Transaction) -> tuple[tuple[int, str, int], Mapping[str, Any]]:
            return head_of(tx), state_of(tx, "checkpoint")

        (seq, sha, _), last = await self._host.storage.transact(look)
        if seq <= last.get("seq", 0):
            return True
        if now is not None and now < last.get("at", 0) / 1e6 + CHECKPOINT_SECONDS:
            return False
        line = self._checkpoints.signed(seq, sha, self._node)
        await self._checkpoints.send(line)
        value = json.dumps(line)
        await self._host.storage.transact(
            lambda tx: tx.execute("put_state", name="checkpoint", value=value)
        )
        return True


def _seal(tx: Transaction, *, every: bool) -> int:
    """Seal the oldest rows that are not; return how many."""
    seq, sha, at = head_of(tx)
    rows = tx.fetch("unsealed", since=0 if every else at - LATE, limit=BATCH)
    for row in rows:
        seq += 1
        sha = chained(sha, {**row, "seq": seq})
        tx.execute("seal", node=row["node"], n=row["n"], seq=seq, sha=sha)
    return len(rows)
