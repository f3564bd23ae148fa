"""What operators changed through the web, and who came in: kept for 90 days.

Only which address was sent to is kept, never what was sent: that may hold secrets.
"""

from __future__ import annotations

from collections.abc import Sequence

from hookline_hookspecs import Host, Transaction
from hookline_hookspecs.caching import LaterWrites
from hookline_hookspecs.web import Identity, WebChange

KEPT_SECONDS = 90 * 86400.0
LONGEST = 300
"""Characters of what is noted."""


class Audit:
    """The table ``web_server_audit``."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._later = LaterWrites(host)

    def add(self, who: Identity, what: str, status: int) -> None:
        """Note that somebody did something; stored within a second."""
        at = self._host.now()

        def work(tx: Transaction) -> None:
            tx.execute("prune_audit", before=at - KEPT_SECONDS)
            tx.execute(
                "add_audit",
                at=at,
                person=who.person,
                device=who.device,
                what=what[:LONGEST],
                status=status,
            )

        self._later.add(work)

    async def flush(self) -> None:
        """Store what waits."""
        await self._later.flush()

    async def newest(self, limit: int) -> Sequence[WebChange]:
        """Return the newest entries, newest first."""
        await self.flush()
        rows = await self._host.storage.fetch("newest_audit", limit=limit)
        return [
            WebChange(row["at"], row["person"], row["device"], row["what"], row["status"])
            for row in rows
        ]
