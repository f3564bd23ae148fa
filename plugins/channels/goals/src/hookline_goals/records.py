"""Goals, stored in the plugin's own table.

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
"""Characters of ids, which people type: no look-alikes."""
KEPT = 30 * 86_400.0
"""Seconds that goals are kept after they were set, once they are reached or cleared."""
DENIED = 10
"""Denied calls that are named in a report."""
READ_SHARE = 10
"""A token read from the cache counts one part in ten, as for the plugin ``budget``."""
ADDRESS = ("session_id", "thread", "parent", "private", "sender")
"""What of the message that set a goal its own messages have too."""


@dataclass(frozen=True, slots=True)
class Goal:
    """A goal; the fields are explained with the table."""

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
        """The session in which it is worked on in the background."""
        return f"background-{self.id}"

    def message_id(self, what: str = "") -> str:
        """The id of a message that the plugin sends on its behalf: always the same for one turn."""
        return f"goal:{self.id}:{self.round}{what}"

    def inbound(self, text: str, what: str, now: float) -> Inbound:
        """Return such a message."""
        said = Inbound(self.channel, self.chat_id, self.user_id, self.message_id(what), text)
        return replace(said, received=now, **self.address)

    def is_of(self, inbound: Inbound) -> bool:
        """Whether a message came in its chat."""
        return (self.channel, self.chat_id) == (inbound.channel, inbound.chat_id)


@dataclass(frozen=True, slots=True)
class Ended:
    """What a turn of a goal came to; ``seconds`` it took, ``denied`` the calls that were."""

    session_id: str
    stop: str
    reply: str
    seconds: float = 0.0
    calls: int = 1
    denied: tuple[str, ...] = ()


def id_for(inbound: Inbound) -> str:
    """Return the id of the goal that a message sets: the same if it is worked on again."""
    name = "\0".join([inbound.channel, inbound.chat_id, inbound.message_id])
    digest = sha256(name.encode("utf-8", "surrogatepass")).digest()
    return "".join(LETTERS[byte % len(LETTERS)] for byte in digest[:6])


def named(message_id: str) -> tuple[str, int, str] | None:
    """Return goal, turn and purpose of a message id that :meth:`Goal.message_id` made."""
    head, _, rest = message_id.partition(":")
    id_, _, tail = rest.partition(":")
    number, _, what = tail.partition(":")
    return (id_, int(number), what) if head == "goal" and number.isdecimal() else None


def counted(usage: Usage) -> int:
    """Tokens of a budget: fresh and written input, output, and a tenth of what was read."""
    return usage.input - usage.cache_read + usage.output + usage.cache_read // READ_SHARE


class Records:
    """The table."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage

    async def add(self, made: Goal, now: float, most: int) -> bool:
        """Store a new goal; False if the chat has ``most`` of its kind, or it is there already."""
        names = ("id", "kind", "channel", "chat_id", "user_id", "session_id", "workspace", "goal")
        row = {name: getattr(made, name) for name in names} | {"process": made.process}
        row |= {"address": json.dumps(dict(made.address)), "now": now, "most": most}
        await self._storage.execute("prune", before=now - KEPT)
        return await self._storage.execute("add", **row) > 0

    async def get(self, id_: str) -> Goal | None:
        """The goal, if there is one."""
        rows = await self._storage.fetch("goal", id=_storable(id_))
        return _goal(rows[0]) if rows else None

    async def of(self, inbound: Inbound) -> list[Goal]:
        """The goals of a chat, newest first."""
        where = {"channel": _storable(inbound.channel), "chat_id": _storable(inbound.chat_id)}
        return [_goal(row) for row in await self._storage.fetch("of_chat", **where)]

    async def active(self) -> list[Goal]:
        """Every goal that is worked on."""
        return [_goal(row) for row in await self._storage.fetch("active")]

    async def untold(self) -> list[Goal]:
        """Goals whose report waits to be sent."""
        return [_goal(row) for row in await self._storage.fetch("untold")]

    async def tell(self, goal: Goal) -> None:
        """Its report was handed to core, which stores it."""
        await self._storage.execute("tell", id=goal.id, round=goal.round)

    async def spend(self, id_: str, usage: Usage, dollars: float) -> None:
        """A model call was answered."""
        await self._storage.execute("spend", id=id_, tokens=counted(usage), dollars=dollars)

    async def next(self, goal: Goal, ended: Ended) -> bool:
        """The next turn is due; False if somebody was first, or has stopped the goal."""
        row = _ended(goal, ended) | {"reason": goal.reason}
        return await self._storage.execute("next", **row) > 0

    async def stop(self, goal: Goal, ended: Ended, state: str) -> bool:
        """The goal stops with this turn; False as for :meth:`next`."""
        row = _ended(goal, ended) | {"reason": goal.reason, "state": state, "answer": ended.reply}
        return await self._storage.execute("stop", **row) > 0

    async def count(self, goal: Goal, ended: Ended) -> None:
        """A turn is over of a goal that is not active any more."""
        row = _ended(goal, ended)
        del row["idle"], row["unjudged"]
        await self._storage.execute("count", **row)

    async def halt(self, goal: Goal, state: str, reason: str, *, report: bool) -> bool:
        """Stop it at once; False if it is not active."""
        row = {"id": goal.id, "state": state, "reason": reason, "told": int(not report)}
        return await self._storage.execute("halt", **row) > 0

    async def clear(self, goal: Goal, reason: str) -> bool:
        """Give it up."""
        return await self._storage.execute("clear", id=goal.id, reason=reason) > 0

    async def resume(self, goal: Goal, process: str, session_id: str) -> bool:
        """Go on; False if it is not paused."""
        row = {"id": goal.id, "process": process, "session_id": session_id}
        return await self._storage.execute("resume", **row) > 0

    async def take(self, goal: Goal, process: str) -> bool:
        """Take over what a dead process worked on; False if another one was first."""
        row = {"id": goal.id, "was": goal.process, "process": process}
        return await self._storage.execute("take", **row) > 0

    async def skip(self, goal: Goal) -> None:
        """The turn at hand was begun by a dead process."""
        await self._storage.execute("skip", id=goal.id, round=goal.round)

    async def ended_turn(self, goal: Goal) -> tuple[str, str] | None:
        """How the goal's turn ended, and in which session; None while it is under way."""
        where = {"channel": goal.channel, "message_id": goal.message_id()}
        rows = await self._storage.fetch("ended_turn", **where)
        return (rows[0]["stop"], rows[0]["session_id"]) if rows else None


def _storable(text: str) -> str:
    """``text`` as a database takes it."""
    return text.encode("utf-8", "replace").decode().replace("\0", "\ufffd")


def _ended(goal: Goal, ended: Ended) -> dict[str, Any]:
    denied = list(dict.fromkeys([*goal.denied, *ended.denied]))[:DENIED]
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
    given = {name: row[name] for name in Goal.__slots__}
    given["address"] = json.loads(row["address"])
    given["denied"] = tuple(json.loads(row["denied"]))
    return Goal(**given)
