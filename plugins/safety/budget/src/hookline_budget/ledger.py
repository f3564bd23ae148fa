"""The tokens used today, by chat and in total.

The sums are read from core's journal once a day and then counted in memory. Because other processes
use tokens too, they are read again every minute, and before each call once 80 % of a limit is
used.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from datetime import date, datetime, time, timedelta
from typing import TypeAlias

from hookline_hookspecs import Storage, Usage
from hookline_hookspecs.prices import Prices
from hookline_hookspecs.storage import Row

from .state import BudgetState

ChatKey: TypeAlias = "tuple[str, str]"
"""Channel and chat id; both empty for all chats together."""
ALL_CHATS: ChatKey = ("", "")
CACHE_READ_DIVISOR = 10
"""A token read from the cache counts as a tenth of a token, which is its usual price."""
WARNING_SHARE = 0.8
"""From this share of a limit on, the signal is sent and the sums are read before every call."""
REFRESH_SECONDS = 60.0
"""Seconds after which the sums are read again."""
OUTSIDE_SESSIONS_KEY = "outside sessions"
"""The stored tokens of today's calls of chats without a session, such as those of a command before
the first message. Core's journal knows only the session of a call."""
TOKEN_COLUMNS = ("input", "cache_read", "cache_write", "cache_write_1h", "output")
SIGNALLED_KEY = "told"
"""The stored value that says which signals were sent today."""


def billable_tokens(usage: Usage) -> int:
    """The tokens that count: input and output, and of the cache reads a tenth."""
    return usage.input - usage.cache_read + usage.output + usage.cache_read // CACHE_READ_DIVISOR


class Ledger:
    """The sums of today, a day of the host's local time.

    Args:
        storage: returns the plugin's storage; called when it is first used.
        now: the clock, Unix time in seconds.
    """

    def __init__(self, storage: Callable[[], Storage], now: Callable[[], float]) -> None:
        self._open = storage
        self._now = now
        self._day = date.min
        self._read_at = 0.0
        self._used: Counter[ChatKey] = Counter()
        self._signalled: set[str] = set()

    async def check(self, key: ChatKey, limit: int) -> BudgetState:
        """What ``key`` has used of ``limit`` today; reads the journal if the sums are old."""
        now = self._now()
        day = datetime.fromtimestamp(now).date()
        stale = not 0 <= now - self._read_at < REFRESH_SECONDS
        if day != self._day or stale or self._used[key] >= WARNING_SHARE * limit:
            await self._read(day, now)
        return self.state(key, limit)

    def state(self, key: ChatKey, limit: int) -> BudgetState:
        """Like :meth:`check`, from the sums in memory."""
        scope = "all" if key == ALL_CHATS else "chat"
        day = max(self._day, date(1970, 1, 2))
        resets = _midnight(day + timedelta(days=1))
        return BudgetState(scope, *key, self._used[key], limit, day.isoformat(), resets)

    def add(self, key: ChatKey, usage: Usage) -> None:
        """Count the tokens of one answered call."""
        tokens = billable_tokens(usage)
        self._used[ALL_CHATS] += tokens
        if key != ALL_CHATS:
            self._used[key] += tokens

    async def store_outside_sessions(self, key: ChatKey, usage: Usage) -> None:
        """Store the tokens of a call of a chat without a session, so that a restart keeps them."""
        kv, day = self._open().kv, datetime.fromtimestamp(self._now()).date().isoformat()
        stored = await kv.get(OUTSIDE_SESSIONS_KEY, {})
        tokens = stored["tokens"] if stored.get("day") == day else {}
        name = "\0".join(key)
        tokens[name] = tokens.get(name, 0) + billable_tokens(usage)
        await kv.set(OUTSIDE_SESSIONS_KEY, {"day": day, "tokens": tokens})

    async def cost_today(self, key: ChatKey, prices: Prices) -> str:
        """What ``key`` has cost today, such as ``$1.37``; empty if no price is known."""
        day = datetime.fromtimestamp(self._now()).date()
        channel, chat_id = key if key != ALL_CHATS else (None, None)
        rows = await self._open().fetch(
            "usage_by_model", since=_midnight(day), channel=channel, chat_id=chat_id
        )
        return _format_cost(rows, prices)

    async def should_signal(self, state: BudgetState) -> bool:
        """Whether to send the signal: once a day from 80 % of a limit on, and once at its end."""
        if state.used < WARNING_SHARE * state.limit:
            return False
        level = "over" if state.over else "near"
        name = "\0".join([state.scope, state.channel, state.chat_id, level])
        if name in self._signalled:
            return False
        self._signalled.add(name)
        stored = {"day": state.day, "names": sorted(self._signalled)}
        await self._open().kv.set(SIGNALLED_KEY, stored)
        return True

    async def _read(self, day: date, now: float) -> None:
        rows = await self._open().fetch("usage_by_chat", since=_midnight(day))
        if day != self._day:
            self._used.clear()
            stored = await self._open().kv.get(SIGNALLED_KEY, {})
            is_today = stored.get("day") == day.isoformat()
            self._signalled = set(stored.get("names", ())) if is_today else set()
            self._day = day
        self._read_at = now
        sums: Counter[ChatKey] = Counter()
        for row in rows:
            tokens = int(row["full"] + row["reads"] // CACHE_READ_DIVISOR)
            sums[ALL_CHATS] += tokens
            if row["channel"] is not None:
                sums[row["channel"], row["chat_id"]] += tokens
        outside = await self._open().kv.get(OUTSIDE_SESSIONS_KEY, {})
        if outside.get("day") == day.isoformat():
            for name, tokens in outside["tokens"].items():
                channel, _, chat_id = name.partition("\0")
                sums[channel, chat_id] += tokens
        # A call that has just been answered may not be in the journal yet, so sums only grow.
        self._used |= sums


def _midnight(day: date) -> float:
    return datetime.combine(day, time.min).timestamp()


def _format_cost(rows: Sequence[Row], prices: Prices) -> str:
    """Format the cost of rows of the query ``usage_by_model``: ``$1.37``, or ``at least $1.37`` if
    a price is unknown; empty if no price is known.
    """
    total, has_unknown = 0.0, False
    for row in rows:
        usage = Usage(**{name: row[name] for name in TOKEN_COLUMNS})
        cost = prices.cost(row["model"], usage, row["thousands"] * 1000 + 1)
        if cost is None:
            has_unknown = True
        else:
            total += cost
    if not total:
        return ""
    return f"{'at least ' if has_unknown else ''}{prices.format(total)}"
