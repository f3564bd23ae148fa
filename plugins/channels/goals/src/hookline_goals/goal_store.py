"""Stores goals in the plugin's own table.

Each change that only one process may make is a single conditional statement.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any

from hookline_hookspecs import Inbound, Storage, Usage

LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"
"""Characters of ids. People type them, so there are no look-alikes."""
RETENTION_SECONDS = 30 * 86_400.0
"""Seconds from setting a goal after which it is deleted, if it is reached or cleared."""
MAX_DENIED_CALLS = 10
"""Denied calls that a report names."""
CACHE_READ_DIVISOR = 10
"""A token read from the cache counts a tenth, as in the plugin ``budget``."""
ADDRESS = ("session_id", "thread", "parent", "private", "sender")
"""Fields that a goal's messages copy from the message that set it."""


@dataclass(frozen=True, slots=True)
class Goal:
    """A goal; ``migrations/0001_goals.sql`` explains the fields."""

    id: str
    kind: str
    channel: str
    chat_id: str
    user_id: str
    address: Mapping[str, Any]
    session_id: str
    workspace: str
    goal: str
    state: str
    reason: str
    round: int
    turns: int
    tokens: int
    dollars: float
    seconds: float
    idle: int
    unjudged: int
    denied: tuple[str, ...]
    answer: str
    process: str

    @property
    def own_session(self) -> str:
        """The session of a background goal."""
        return f"background-{self.id}"

    def message_id(self, what: str = "") -> str:
        """Return the id of the message for the current turn; the same each time it is sent."""
        return f"goal:{self.id}:{self.round}{what}"

    def inbound(self, text: str, what: str, now: float) -> Inbound:
        """Return a message that the plugin sends itself on behalf of the owner."""
        message = Inbound(self.channel, self.chat_id, self.user_id, self.message_id(what), text)
        return replace(message, received=now, **self.address)

    def is_of(self, inbound: Inbound) -> bool:
        """Whether a message is from its chat."""
        return (self.channel, self.chat_id) == (inbound.channel, inbound.chat_id)


@dataclass(frozen=True, slots=True)
class GoalTurnResult:
    """How a turn of a goal ended; ``denied`` names the tools of denied calls."""

    session_id: str
    stop: str
    reply: str
    seconds: float = 0.0
    calls: int = 1
    denied: tuple[str, ...] = ()


def id_for(inbound: Inbound) -> str:
    """Return the id of the goal that a message sets; the same if the message is repeated."""
    name = "\0".join([inbound.channel, inbound.chat_id, inbound.message_id])
    digest = sha256(name.encode("utf-8", "surrogatepass")).digest()
    return "".join(LETTERS[byte % len(LETTERS)] for byte in digest[:6])


def parse_message_id(message_id: str) -> tuple[str, int, str] | None:
    """Return goal, turn and purpose of an id made by :meth:`Goal.message_id`; else None."""
    head, _, rest = message_id.partition(":")
    id_, _, tail = rest.partition(":")
    number, _, what = tail.partition(":")
    return (id_, int(number), what) if head == "goal" and number.isdecimal() else None


def budget_tokens(usage: Usage) -> int:
    """Return the tokens that count: uncached input, output, and a tenth of cached input."""
    return usage.input - usage.cache_read + usage.output + usage.cache_read // CACHE_READ_DIVISOR


class GoalStore:
    """Reads and writes the table of goals."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage

    async def add(self, goal: Goal, now: float, limit: int) -> bool:
        """Store a new goal; False if it exists or the chat has ``limit`` of its kind."""
        names = ("id", "kind", "channel", "chat_id", "user_id", "session_id", "workspace", "goal")
        row = {name: getattr(goal, name) for name in names} | {"process": goal.process}
        row |= {"address": json.dumps(dict(goal.address)), "now": now, "most": limit}
        await self._storage.execute("prune", before=now - RETENTION_SECONDS)
        return await self._storage.execute("add", **row) > 0

    async def get(self, id_: str) -> Goal | None:
        """Return a goal; None if there is none."""
        rows = await self._storage.fetch("goal", id=_storable(id_))
        return _goal(rows[0]) if rows else None

    async def of_chat(self, inbound: Inbound) -> list[Goal]:
        """Return the goals of a chat, newest first."""
        where = {"channel": _storable(inbound.channel), "chat_id": _storable(inbound.chat_id)}
        return [_goal(row) for row in await self._storage.fetch("of_chat", **where)]

    async def active(self) -> list[Goal]:
        """Return every active goal."""
        return [_goal(row) for row in await self._storage.fetch("active")]

    async def unreported(self) -> list[Goal]:
        """Return goals whose report was not sent."""
        return [_goal(row) for row in await self._storage.fetch("unreported")]

    async def mark_reported(self, goal: Goal) -> None:
        """Record that core has stored the goal's report."""
        await self._storage.execute("mark_reported", id=goal.id, round=goal.round)

    async def spend(self, id_: str, usage: Usage, dollars: float) -> None:
        """Add the usage of a model call."""
        await self._storage.execute("spend", id=id_, tokens=budget_tokens(usage), dollars=dollars)

    async def next(self, goal: Goal, ended: GoalTurnResult) -> bool:
        """Go to the next turn; False if that was done already or the goal is not active."""
        row = _turn_row(goal, ended) | {"reason": goal.reason}
        return await self._storage.execute("next", **row) > 0

    async def stop(self, goal: Goal, ended: GoalTurnResult, state: str) -> bool:
        """Stop the goal after this turn; False as for :meth:`next`."""
        row = _turn_row(goal, ended) | {
            "reason": goal.reason,
            "state": state,
            "answer": ended.reply,
        }
        return await self._storage.execute("stop", **row) > 0

    async def count(self, goal: Goal, ended: GoalTurnResult) -> None:
        """Count a turn of a goal that is no longer active."""
        row = _turn_row(goal, ended)
        del row["idle"], row["unjudged"]
        await self._storage.execute("count", **row)

    async def halt(self, goal: Goal, state: str, reason: str, *, report: bool) -> bool:
        """Stop a goal at once; False if it is not active."""
        row = {"id": goal.id, "state": state, "reason": reason, "told": int(not report)}
        return await self._storage.execute("halt", **row) > 0

    async def clear(self, goal: Goal, reason: str) -> bool:
        """Clear a goal; False if it is done or cleared already."""
        return await self._storage.execute("clear", id=goal.id, reason=reason) > 0

    async def resume(self, goal: Goal, process: str, session_id: str) -> bool:
        """Make a goal active again; False if it is not paused."""
        row = {"id": goal.id, "process": process, "session_id": session_id}
        return await self._storage.execute("resume", **row) > 0

    async def take(self, goal: Goal, process: str) -> bool:
        """Take over a goal of a dead process; False if another process was first."""
        row = {"id": goal.id, "was": goal.process, "process": process}
        return await self._storage.execute("take", **row) > 0

    async def skip(self, goal: Goal) -> None:
        """Skip the current turn, which a dead process had begun."""
        await self._storage.execute("skip", id=goal.id, round=goal.round)

    async def ended_turn(self, goal: Goal) -> tuple[str, str] | None:
        """Return how the goal's turn ended, and its session; None while it runs."""
        where = {"channel": goal.channel, "message_id": goal.message_id()}
        rows = await self._storage.fetch("ended_turn", **where)
        return (rows[0]["stop"], rows[0]["session_id"]) if rows else None


def _storable(text: str) -> str:
    """Return ``text`` without what a database cannot store."""
    return text.encode("utf-8", "replace").decode().replace("\0", "\ufffd")


def _turn_row(goal: Goal, ended: GoalTurnResult) -> dict[str, Any]:
    denied = list(dict.fromkeys([*goal.denied, *ended.denied]))[:MAX_DENIED_CALLS]
    return {
        "id": goal.id,
        "round": goal.round,
        "seconds": ended.seconds,
        "idle": goal.idle,
        "unjudged": goal.unjudged,
        "denied": json.dumps(denied),
        "session_id": ended.session_id or goal.session_id,
    }


def _goal(row: Mapping[str, Any]) -> Goal:
    fields = {name: row[name] for name in Goal.__slots__}
    fields["address"] = json.loads(row["address"])
    fields["denied"] = tuple(json.loads(row["denied"]))
    return Goal(**fields)
