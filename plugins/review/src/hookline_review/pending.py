"""Reviews that are due, kept until they are done: what one process could not do the next does."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hookline_hookspecs import Host, Session

TRIES = 2
"""How often a review is begun at most."""


@dataclass(frozen=True, slots=True)
class Due:
    """A review that is due: of which session, by whom, over which trace."""

    session: Session
    model: str
    reviewers: tuple[str, ...]
    trace: tuple[str, ...]
    tries: int = 0

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> Due:
        """A stored row."""
        session = Session(
            row["session_id"], row["channel"], row["chat_id"], None, row["created"], resumed=True
        )
        reviewers, trace = (tuple(json.loads(row[name])) for name in ("reviewers", "trace"))
        return cls(session, row["model"], reviewers, trace, row["tries"])


class Pending:
    """The reviews that are due, over the plugin's storage.

    ``patience`` is after how many seconds a review that another process has begun counts as left.
    """

    def __init__(self, host: Host, patience: float) -> None:
        self._host = host
        self._patience = patience

    async def put(
        self, session: Session, model: str, reviewers: Sequence[str], trace: Sequence[str]
    ) -> None:
        """Keep a review that is due."""
        row: dict[str, Any] = {"session_id": session.id, "created": session.created}
        row |= {"channel": session.channel, "chat_id": session.chat_id}
        row |= {"model": model, "now": self._host.now()}
        lists = {"reviewers": json.dumps(list(reviewers)), "trace": json.dumps(list(trace))}
        await self._host.storage.execute("put", **row, **lists)

    async def open(self) -> list[Due]:
        """What nobody works on, oldest first; what was begun too often is given up."""
        rows = [Due.of(row) for row in await self._host.storage.fetch("open", stale=self._stale)]
        for due in [one for one in rows if one.tries >= TRIES]:
            await self.done(due.session.id)
        return [one for one in rows if one.tries < TRIES]

    async def claim(self, session_id: str) -> bool:
        """Take a review up; False if another process was first."""
        now = self._host.now()
        claimed = {"session_id": session_id, "now": now, "stale": self._stale}
        return await self._host.storage.execute("claim", **claimed) > 0

    async def release(self, session_id: str) -> None:
        """Leave it to whoever comes next; done even while this task is being cancelled."""
        await asyncio.shield(self._host.storage.execute("release", session_id=session_id))

    async def done(self, session_id: str) -> None:
        """It needs no further work."""
        await self._host.storage.execute("done", session_id=session_id)

    @property
    def _stale(self) -> float:
        return self._host.now() - self._patience
