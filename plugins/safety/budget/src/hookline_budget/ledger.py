"""What has been used today, by chat and in all.

The sums come from core's journal when a day is first asked for, and are counted in memory from then
on. Because other processes spend too, they are read again each minute, and before every call once
four fifths of a limit are used.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from typing import TypeAlias

from hookline_hookspecs import Storage, Usage
from hookline_hookspecs.prices import Prices

from .money import cost
from .state import BudgetState

Key: TypeAlias = "tuple[str, str]"
"""Channel and chat id; both empty for all chats together."""
ALL: Key = ("", "")
READ_SHARE = 10
"""A token read from the cache counts one part in ten, its usual price."""
WARN = 0.8
"""The share of a limit from which on the signal is sent and other processes are looked after."""
READ_EVERY = 60.0
"""Seconds after which the sums are read again."""


def counted(usage: Usage) -> int:
    """Tokens of the budget: fresh and written input, output, and a tenth of what was read."""
    return usage.input - usage.cache_read + usage.output + usage.cache_read // READ_SHARE


class Ledger:
    """The sums of the day it is; days are the host's local ones.

    Args:
        storage: gives the plugin's own, when it is first used.
        now: the clock, Unix time in seconds.
    """

    def __init__(self, storage: Callable[[], Storage], now: Callable[[], float]) -> None:
        self._open = storage
        self._now = now
        self._day = date.min
        self._read_at = 0.0
        self._used: Counter[Key] = Counter()
        self._told: set[str] = set()

    async def look(self, key: Key, limit: int) -> BudgetState:
        """What ``key`` has used of ``limit`` today."""
        now = self._now()
        day = datetime.fromtimestamp(now).date()
        stale = not 0 <= now - self._read_at < READ_EVERY
        if day != self._day or stale or self._used[key] >= WARN * limit:
            await self._read(day, now)
        return self.state(key, limit)

    def state(self, key: Key, limit: int) -> BudgetState:
        """As :meth:`look`, of what is known without reading."""
        scope = "all" if key == ALL else "chat"
        day = max(self._day, date(1970, 1, 2))
        resets = _midnight(day + timedelta(days=1))
        return BudgetState(scope, *key, self._used[key], limit, day.isoformat(), resets)

    def add(self, key: Key, usage: Usage) -> None:
        """A call has been answered."""
        tokens = counted(usage)
        self._used[ALL] += tokens
        if key != ALL:
            self._used[key] += tokens

    async def paid(self, key: Key, prices: Prices) -> str:
        """What ``key`` has cost today, in words; empty if nothing is known of it."""
        day = datetime.fromtimestamp(self._now()).date()
        channel, chat_id = key if key != ALL else (None, None)
        where = {"since": _midnight(day), "channel": channel, "chat_id": chat_id}
        return cost(await self._open().fetch("paid", **where), prices)

    async def _read(self, day: date, now: float) -> None:
        rows = await self._open().fetch("spent", since=_midnight(day))
        if day != self._day:
            self._used.clear()
            told = await self._open().kv.get("told", {})
            self._told = set(told.get("names", ())) if told.get("day") == day.isoformat() else set()
            self._day = day
        self._read_at = now
        found: Counter[Key] = Counter()
        for row in rows:
            tokens = int(row["full"] + row["reads"] // READ_SHARE)
            found[ALL] += tokens
            if row["channel"] is not None:
                found[row["channel"], row["chat_id"]] += tokens
        # A call that has just been answered may not be in the journal yet; sums only grow.
        self._used |= found

    async def first_time(self, state: BudgetState) -> bool:
        """Whether this is the first time today that ``state`` is at its end, or near it."""
        if state.used < WARN * state.limit:
            return False
        name = "\0".join(
            [state.scope, state.channel, state.chat_id, "over" if state.over else "near"]
        )
        if name in self._told:
            return False
        self._told.add(name)
        told = {"day": state.day, "names": sorted(self._told)}
        await self._open().kv.set("told", told)
        return True


def _midnight(day: date) -> float:
    return datetime.combine(day, time.min).timestamp()
