"""Per-session records: token ratios and failed or ineffective passes, stored across processes."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import asdict, dataclass, field
from typing import Any

from hookline_hookspecs import HooklineError, Host

from .token_estimate import CHARS_PER_TOKEN

MIN_TOKEN_RATIO = 0.25
"""Counted tokens per estimated token; a lower ratio is ignored as a wrong count."""
MAX_TOKEN_RATIO = 6.0
"""Higher ratios are clipped to this."""
MAX_CACHED_RECORDS = 512
"""Sessions whose records are kept in memory."""


@dataclass(slots=True)
class SessionRecord:
    """What is known of a session from its earlier requests.

    ``ratio``: counted tokens per estimated token, by model. ``ineffective``: passes in a row that
    freed too little. ``tight``: the provider has refused a request as too long. ``failed_turn``:
    the turn whose summary failed.
    """

    ratio: dict[str, float] = field(default_factory=dict)
    ineffective: int = 0
    tight: bool = False
    failed_turn: str = ""

    def to_tokens(self, chars: int, model: str) -> int:
        """Return about how many tokens ``chars`` characters are for ``model``."""
        return round(chars / CHARS_PER_TOKEN * self.ratio.get(model, 1.0))

    def to_chars(self, tokens: float, model: str) -> int:
        """Return about how many characters ``tokens`` are for ``model``."""
        return round(tokens * CHARS_PER_TOKEN / self.ratio.get(model, 1.0))

    def record_count(self, model: str, chars: int, tokens: int) -> bool:
        """Record a provider's count of a request; return whether that changes much."""
        ratio = tokens * CHARS_PER_TOKEN / chars if chars else 0.0
        if ratio < MIN_TOKEN_RATIO:
            return False
        old = self.ratio.get(model, 1.0)
        self.ratio[model] = min(ratio, MAX_TOKEN_RATIO)
        return abs(self.ratio[model] - old) > old / 10


class SessionRecords:
    """The records of sessions, in memory and in the plugin's storage."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._cache: OrderedDict[str, SessionRecord] = OrderedDict()

    async def get(self, session_id: str) -> SessionRecord:
        """Return the session's record, a new one if there is none."""
        record = self._cache.get(session_id)
        if record is None:
            record = _read(await self._stored(session_id))
            self._cache[session_id] = record
            if len(self._cache) > MAX_CACHED_RECORDS:
                self._cache.popitem(last=False)
        self._cache.move_to_end(session_id)
        return record

    async def _stored(self, session_id: str) -> Any:
        try:
            return await self._host.storage.kv.get(_key(session_id))
        except HooklineError as error:
            self._host.log.warning("cannot read the session's record; using a new one: %s", error)
            return None

    async def save(self, session_id: str) -> None:
        """Store the session's record. If that fails, it is kept only in memory."""
        try:
            await self._host.storage.kv.set(_key(session_id), asdict(self._cache[session_id]))
        except HooklineError as error:
            self._host.log.warning("cannot store the session's record: %s", error)

    async def delete(self, session_id: str) -> None:
        """Delete the record of a session that has ended."""
        self._cache.pop(session_id, None)
        try:
            await self._host.storage.kv.delete(_key(session_id))
        except HooklineError as error:
            self._host.log.warning("cannot delete the session's record: %s", error)


def _key(session_id: str) -> str:
    return f"session/{session_id}"


def _read(stored: Any) -> SessionRecord:
    if not isinstance(stored, dict):
        return SessionRecord()
    fields = {name: stored[name] for name in SessionRecord.__slots__ if name in stored}
    return SessionRecord(**fields)
