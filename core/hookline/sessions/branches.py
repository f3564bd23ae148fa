"""The service ``SessionBranches``: copies sessions up to a message."""

from __future__ import annotations

from typing import Any

from hookline_hookspecs.conversations import SessionCopyListener
from hookline_hookspecs.drivers import Connection
from hookline_hookspecs.turns import Session

from .. import clock
from ..engine import Engine
from .manager import Sessions

COPY_QUERIES = ("messages", "sidecars", "rewrites", "turns", "steps")


class StoredSessionBranches:
    """Implements ``SessionBranches``: copies sessions in the store."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def copy(
        self, session_id: str, new: str, chat: tuple[str, str], before: int | None = None
    ) -> bool:
        """Copy a session to ``new``. Return False if it is not stored. Raises ``HooklineError``."""
        row = await self._engine.journal.session(session_id)
        if row is None:
            return False
        copy = Session(new, *chat, None, clock.now())
        listeners: list[SessionCopyListener] = self._engine.added_services.get(
            SessionCopyListener, []
        )
        for listener in listeners:
            await listener.session_copied(Sessions.record(row), copy)
        sql = self._engine.journal.sql
        session = {"channel": copy.channel, "chat_id": copy.chat_id, "now": copy.created}

        def work(db: Connection) -> bool:
            found = {"id": session_id}
            open_ = db.fetch(sql["first_open_seq"], found)[0]["seq"]
            last = db.fetch(sql["last_seq"], found)[0]["seq"]
            cut = before if before is not None else (last or 0) + 1
            cut = cut if open_ is None else min(cut, open_)
            params: dict[str, Any] = {"id": session_id, "new": new, "before": cut}
            if not db.execute(sql["branch_session"], {**params, **session}):
                return False
            for step in COPY_QUERIES:
                db.execute(sql[f"branch_{step}"], {**params, "mark": f".{new[-8:]}"})
            return True

        return await self._engine.store.write(work, durable=True)
