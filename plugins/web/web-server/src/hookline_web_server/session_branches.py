"""The service ``SessionBranches``: copies sessions up to a message."""

from __future__ import annotations

from typing import Any

from hookline_hookspecs import Host, Transaction

COPY_QUERIES = ("messages", "sidecars", "rewrites", "turns", "steps")


class StoredSessionBranches:
    """Copies sessions in the store.

    The prompt of a copy starts with the same bytes as that of its session, so that the provider's
    cache still applies.
    """

    def __init__(self, host: Host) -> None:
        self._host = host

    async def copy(
        self, session_id: str, new: str, chat: tuple[str, str], before: int | None = None
    ) -> bool:
        """Copy a session to ``new``. Return False if it is not stored. Raises ``StoreError``."""
        now, (channel, chat_id) = self._host.now(), chat

        def work(transaction: Transaction) -> int:
            open_ = transaction.fetch("first_open", id=session_id)[0]["seq"]
            last = transaction.fetch("last_seq", id=session_id)[0]["seq"]
            cut = before if before is not None else (last or 0) + 1
            cut = cut if open_ is None else min(cut, open_)
            params: dict[str, Any] = {"id": session_id, "new": new, "before": cut}
            made = {**params, "channel": channel, "chat_id": chat_id, "now": now}
            copied = transaction.execute("branch_session", **made)
            for step in COPY_QUERIES if copied else ():
                transaction.execute(f"branch_{step}", **params, mark=f".{new[-8:]}")
            return copied

        return bool(await self._host.storage.transact(work))
