"""Keeps when a session's turns began and ended, and which plugins' breaks were reported."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from math import inf

from hookline_hookspecs import HooklineError, Host, Session
from hookline_hookspecs.caching import LaterWrites

from .report import TurnCost
from .rhythm import LONG, RECENT

KEPT_DAYS = 90
"""Days for which turns are kept: longer than a session may last."""
FORGET_EVERY = 3600.0
"""Seconds between two deletions of old turns."""


OWN = 2
"""Pauses of a session from which the chat's earlier ones no longer count."""
CHATS = 512
"""Chats whose last session is remembered."""


@dataclass
class Pace:
    """One session. ``turns`` are ``[turn id, started, ended]``, oldest first, in Unix seconds;
    ``told`` are the plugins whose breaks were reported to the person; ``before`` are the pauses of
    the chat's earlier sessions, infinite where one of them ended."""

    turns: list[tuple[str, float, float]] = field(default_factory=list)
    told: set[str] = field(default_factory=set)
    before: Sequence[float] = ()

    def pauses(self) -> list[float]:
        """Return the seconds from each turn's last answer to the beginning of the next, after
        those of earlier sessions while there are few."""
        pairs = zip(self.turns, self.turns[1:], strict=False)
        own = [begun[1] - ended[2] for ended, begun in pairs]
        return own if len(own) >= OWN else [*self.before, *own]

    def is_cold(self, now: float) -> bool:
        """Return whether no provider can have kept anything since the last answer."""
        return bool(self.turns) and now - self.turns[-1][2] > LONG

    def begin(self, turn_id: str, now: float) -> None:
        """Record the beginning of a turn; a resumed one has begun already."""
        if all(turn_id != known for known, _, _ in self.turns):
            self.turns.append((turn_id, now, now))
            del self.turns[: -RECENT - 1]

    def answered(self, turn_id: str, now: float) -> None:
        """Record that the turn's last answer so far came at ``now``."""
        self.turns = [
            (known, started, now if known == turn_id else ended)
            for known, started, ended in self.turns
        ]


class Chats:
    """How each chat's last session went: in this process, or as it is stored."""

    def __init__(self, host: Host, turns: Turns | None) -> None:
        self._host = host
        self._turns = turns
        self._last: OrderedDict[tuple[str, str], Pace] = OrderedDict()

    async def begin(self, session: Session, pace: Pace) -> None:
        """Remember a session, and tell a new one how the last one went; of people's alone."""
        if session.kind != "chat" or session.parent_id is not None:
            return
        chat = session.channel, session.chat_id
        if not session.resumed:
            last = self._last.get(chat) or await self._stored(session)
            pace.before = [*last.pauses(), inf][-RECENT:] if last is not None else ()
        self._last.pop(chat, None)
        self._last[chat] = pace
        if len(self._last) > CHATS:
            self._last.popitem(last=False)

    async def _stored(self, session: Session) -> Pace | None:
        """Return what is stored of the session before this one in its chat."""
        chat = {"channel": session.channel, "chat_id": session.chat_id, "kind": "chat"}
        if self._turns is None:
            return None
        try:
            found = await self._host.sessions(**chat, limit=2)
        except HooklineError:
            return None
        earlier = [one for one in found if one.id != session.id]
        return await self._turns.read(earlier[0].id) if earlier else None


class Turns:
    """The table of turns. What a turn adds is written within a second, and no turn waits for it;
    a crash loses what was added since, which costs the choice of a TTL and a line of a report."""

    def __init__(self, host: Host) -> None:
        self._storage = host.storage
        self._later = LaterWrites(host)
        self._forgot = 0.0

    async def read(self, session_id: str) -> Pace:
        """Return what is stored of a session; an empty record if that cannot be read."""
        await self.flush()
        try:
            rows = await self._storage.fetch("recent_turns", session_id=session_id, most=RECENT + 1)
            broken = await self._storage.fetch("broken_turns", session_id=session_id)
        except HooklineError:
            return Pace()
        turns = [(row["turn_id"], row["started"], row["ended"]) for row in reversed(rows)]
        told = {one["plugin"] for row in broken for one in json.loads(row["broken"])}
        return Pace(turns, told)

    async def flush(self) -> None:
        """Write what waits."""
        await self._later.flush()

    def begin(self, turn_id: str, session: Session, now: float) -> None:
        """Store that a turn has begun."""
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
            "broken": json.dumps([asdict(one) for one in cost.breaks]) if cost.breaks else "[]",
        }
        self._later.add(lambda db: db.execute("end_turn", **row))
        if now - self._forgot > FORGET_EVERY:
            self._forgot = now
            before = now - KEPT_DAYS * 86400
            self._later.add(lambda db: db.execute("forget_turns", before=before))
