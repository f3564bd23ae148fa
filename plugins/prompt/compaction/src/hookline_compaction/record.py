"""What is known about a session from its earlier requests, stored across processes."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import asdict, dataclass, field
from typing import Any

from hookline_hookspecs import HooklineError, Host

from .weight import CHARS_PER_TOKEN

PLAUSIBLE = (0.25, 6.0)
"""Bounds of real tokens per estimated one. Fewer is not a count of this request; more is
clipped."""
KEPT = 512
"""Sessions whose records are kept in memory."""


@dataclass(slots=True)
class Record:
    """``ratio``: real tokens for each estimated one, by model. ``ineffective``: passes in a row
    that freed too little. ``tight``: the provider has said that a request was too long."""

    ratio: dict[str, float] = field(default_factory=dict)
    ineffective: int = 0
    tight: bool = False
    failed_turn: str = ""

    def tokens(self, chars: int, model: str) -> int:
        """Return about how many tokens ``chars`` characters are to ``model``."""
        return round(chars / CHARS_PER_TOKEN * self.ratio.get(model, 1.0))

    def chars(self, tokens: float, model: str) -> int:
        """Return about how many characters ``tokens`` are to ``model``."""
        return round(tokens * CHARS_PER_TOKEN / self.ratio.get(model, 1.0))

    def learn(self, model: str, chars: int, tokens: int) -> bool:
        """Record a provider's count of a request; return whether that changes much."""
        ratio = tokens * CHARS_PER_TOKEN / chars if chars else 0.0
        if ratio < PLAUSIBLE[0]:
            return False
        old = self.ratio.get(model, 1.0)
        self.ratio[model] = min(ratio, PLAUSIBLE[1])
        return abs(self.ratio[model] - old) > old / 10


class Records:
    """The records of sessions, in memory and in the plugin's storage."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._known: OrderedDict[str, Record] = OrderedDict()

    async def of(self, session_id: str) -> Record:
        """Return the session's record, a new one if there is none."""
        record = self._known.get(session_id)
        if record is None:
            record = _read(await self._stored(session_id))
            self._known[session_id] = record
            if len(self._known) > KEPT:
                self._known.popitem(last=False)
        self._known.move_to_end(session_id)
        return record

    async def _stored(self, session_id: str) -> Any:
        try:
            return await self._host.storage.kv.get(_key(session_id))
        except HooklineError as error:
            self._host.log.warning("compaction starts from nothing: %s", error)
            return None

    async def save(self, session_id: str) -> None:
        """Store the session's record; without a storage it is kept as long as the process lives."""
        try:
            await self._host.storage.kv.set(_key(session_id), asdict(self._known[session_id]))
        except HooklineError as error:
            self._host.log.warning("what compaction knows of a session is not stored: %s", error)

    async def forget(self, session_id: str) -> None:
        """Drop the record of a session that has ended."""
        self._known.pop(session_id, None)
        try:
            await self._host.storage.kv.delete(_key(session_id))
        except HooklineError as error:
            self._host.log.warning("a session's record stays in the storage: %s", error)


def _key(session_id: str) -> str:
    return f"session/{session_id}"


def _read(stored: Any) -> Record:
    if not isinstance(stored, dict):
        return Record()
    known = {name: stored[name] for name in Record.__slots__ if name in stored}
    return Record(**known)
