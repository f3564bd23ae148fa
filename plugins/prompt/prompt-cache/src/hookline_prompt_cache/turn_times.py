"""When a session's turns started and ended, in memory and in the table of turns."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from math import inf

from hookline_hookspecs import HooklineError, Host, Session
from hookline_hookspecs.caching import LaterWrites

from .cache_ttl import MAX_PAUSES, TTL_1H_SECONDS
from .report import TurnCost

MAX_AGE_DAYS = 90
"""Days after which turns are deleted: longer than a session may last."""
DELETE_INTERVAL = 3600.0
"""Seconds between two deletions of old turns."""

MIN_OWN_PAUSES = 2
"""With so many pauses of its own, a session no longer counts those of the chat's earlier ones."""
MAX_CHATS = 512
"""Chats whose last session is kept in memory."""


@dataclass
class TurnTimes:
    """The turns of one session.

    Attributes:
        turns: ``(turn id, started, ended)``, oldest first, in Unix seconds.
        reported: plugins that broke the prefix and were reported to the person.
        earlier_pauses: of the chat's earlier sessions, infinite where one of them ended.
    """

    turns: list[tuple[str, float, float]] = field(default_factory=list)
    reported: set[str] = field(default_factory=set)
    earlier_pauses: Sequence[float] = ()

    def pauses(self) -> list[float]:
        """Return the seconds from each turn's last response to the start of the next.

        While there are few, those of earlier sessions come first.
        """
        pairs = zip(self.turns, self.turns[1:], strict=False)
        own = [following[1] - turn[2] for turn, following in pairs]
        return own if len(own) >= MIN_OWN_PAUSES else [*self.earlier_pauses, *own]

    def is_cold(self, now: float) -> bool:
        """Return whether every provider's cache has expired since the last response."""
        return bool(self.turns) and now - self.turns[-1][2] > TTL_1H_SECONDS

    def start(self, turn_id: str, now: float) -> None:
        """Record the start of a turn; a resumed one is recorded already."""
        if all(turn_id != known for known, _, _ in self.turns):
            self.turns.append((turn_id, now, now))
            del self.turns[: -MAX_PAUSES - 1]

    def record_response(self, turn_id: str, now: float) -> None:
        """Record that the turn's last response so far came at ``now``."""
        self.turns = [
            (known, started, now if known == turn_id else ended)
            for known, started, ended in self.turns
        ]


class ChatTimes:
    """The turn times of each chat's last session."""

    def __init__(self, host: Host, turns: TurnTable | None) -> None:
        self._host = host
        self._turns = turns
        self._last: OrderedDict[tuple[str, str], TurnTimes] = OrderedDict()

    async def start(self, session: Session, times: TurnTimes) -> None:
        """Remember a person's session; a new one gets the pauses of the chat's last one."""
        if session.kind != "chat" or session.parent_id is not None:
            return
        chat = session.channel, session.chat_id
        if not session.resumed:
            last = self._last.get(chat) or await self._stored(session)
            times.earlier_pauses = [*last.pauses(), inf][-MAX_PAUSES:] if last is not None else ()
        self._last.pop(chat, None)
        self._last[chat] = times
        if len(self._last) > MAX_CHATS:
            self._last.popitem(last=False)

    async def _stored(self, session: Session) -> TurnTimes | None:
        """Return what is stored of the session before this one in its chat."""
        chat = {"channel": session.channel, "chat_id": session.chat_id, "kind": "chat"}
        if self._turns is None:
            return None
        try:
            found = await self._host.sessions(**chat, limit=2)
        except HooklineError:
            return None
        earlier = [other for other in found if other.id != session.id]
        return await self._turns.read(earlier[0].id) if earlier else None


class TurnTable:
    """The table of turns.

    Rows are written within a second, and no turn waits for it. A crash loses the latest rows, which
    costs the choice of a TTL and a line of a report.
    """

    def __init__(self, host: Host) -> None:
        self._storage = host.storage
        self._later = LaterWrites(host)
        self._deleted_at = 0.0

    async def read(self, session_id: str) -> TurnTimes:
        """Return what is stored of a session; empty if it cannot be read."""
        await self.flush()
        try:
            rows = await self._storage.fetch(
                "recent_turns", session_id=session_id, most=MAX_PAUSES + 1
            )
            broken = await self._storage.fetch("broken_turns", session_id=session_id)
        except HooklineError:
            return TurnTimes()
        turns = [(row["turn_id"], row["started"], row["ended"]) for row in reversed(rows)]
        reported = {entry["plugin"] for row in broken for entry in json.loads(row["broken"])}
        return TurnTimes(turns, reported)

    async def flush(self) -> None:
        """Write the rows that wait."""
        await self._later.flush()

    def start(self, turn_id: str, session: Session, now: float) -> None:
        """Store that a turn has started."""
        row = {"turn_id": turn_id, "session_id": session.id, "started": now}
        self._later.add(lambda db: db.execute("begin_turn", **row))

    def end(self, turn_id: str, cost: TurnCost, now: float) -> None:
        """Store a turn's totals; delete old ones."""
        usage = cost.usage
        row = {
            "turn_id": turn_id,
            "ended": cost.ended,
            "requests": cost.requests,
            "input": usage.input,
            "cache_read": usage.cache_read,
            "cache_write": usage.cache_write,
            "fresh": usage.fresh,
            "input_cost": usage.input_cost,
            "broken": json.dumps([asdict(broken) for broken in cost.breaks])
            if cost.breaks
            else "[]",
        }
        self._later.add(lambda db: db.execute("end_turn", **row))
        if now - self._deleted_at > DELETE_INTERVAL:
            self._deleted_at = now
            before = now - MAX_AGE_DAYS * 86400
            self._later.add(lambda db: db.execute("forget_turns", before=before))
