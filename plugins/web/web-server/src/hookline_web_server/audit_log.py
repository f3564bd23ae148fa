"""Records the operators' changes through the web server, and logins, for 90 days.

Only the path of a request is stored, never its body, which may hold secrets.
"""

from __future__ import annotations

from collections.abc import Sequence

from hookline_hookspecs import Host, Transaction
from hookline_hookspecs.caching import LaterWrites
from hookline_hookspecs.web import Identity, WebChange

RETENTION_SECONDS = 90 * 86400.0
MAX_ACTION_CHARS = 300


class AuditLog:
    """The table ``web_server_audit``."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._later = LaterWrites(host)

    def add(self, who: Identity, what: str, status: int) -> None:
        """Record an action. It is stored within a second."""
        at = self._host.now()

        def work(tx: Transaction) -> None:
            tx.execute("prune_audit", before=at - RETENTION_SECONDS)
            tx.execute(
                "add_audit",
                at=at,
                person=who.person,
                device=who.device,
                what=what[:MAX_ACTION_CHARS],
                status=status,
            )

        self._later.add(work)

    async def flush(self) -> None:
        """Store pending records."""
        await self._later.flush()

    async def newest(self, limit: int) -> Sequence[WebChange]:
        """Return the newest records, newest first."""
        await self.flush()
        rows = await self._host.storage.fetch("newest_audit", limit=limit)
        return [
            WebChange(row["at"], row["person"], row["device"], row["what"], row["status"])
            for row in rows
        ]
