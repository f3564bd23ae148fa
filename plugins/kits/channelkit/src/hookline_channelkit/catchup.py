"""Nothing is lost while the channel was away: a cursor for each chat, and what stands behind it.

A chat is *behind* from the moment that its messages may have been missed until its history has been
read up to the present. The next message that arrives in such a chat waits until it has caught up,
so that order is kept; the other chats are read one after the other meanwhile. A cursor moves when
what it stands for is stored, and never past something that was not.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass, replace
from decimal import Decimal
from typing import Any, TypeAlias

from hookline_hookspecs import Host, crash

from .arrivals import Arrival
from .errors import Gone, Lost, Refused, RetryAfter
from .refusals import Refusals
from .shown import number_of
from .wire import Wire

CURSOR = "cursor:"
"""Before a chat in the plugin's key-value storage."""
HEARD = "heard"
"""Where the time is at which the channel was last known to receive."""
OVERLAP = 60.0
"""Seconds that messages may come late, or out of order, and that clocks may differ."""
FRESH = 86_400.0
"""Seconds for which a chat is read again from a little before its cursor. Core knows for a week
what it had."""
STALE = 30 * 86_400.0
"""Seconds after which a chat that nobody writes in is not read any more, unless the platform names
it."""
AGAIN = 5.0
"""Seconds after a failure for which messages that arrive do not wait for another attempt."""
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 60.0
"""Seconds after a failure; they double."""
Keep: TypeAlias = Callable[[Arrival], Awaitable[bool]]


class CatchUp:
    """How far each chat has been read.

    Args:
        host: the plugin's host.
        wire: the platform.
        refusals: where a missing permission is told.
    """

    def __init__(self, host: Host, wire: Wire, refusals: Refusals) -> None:
        self._host, self._wire, self._refusals = host, wire, refusals
        self._cursors: dict[str, _Cursor] = {}
        self._round = 0
        self._read: dict[str, int] = {}
        """The round in which a chat has caught up; it is behind if that is not the last."""
        self._unread: set[str] = set()
        """Chats in which something could not be stored, or whose history could not be read: their
        cursors stay."""
        self._skipped: dict[str, str] = {}
        """Cursors up to which a chat was read, though nothing of it was for the agent; not kept."""
        self._tried: dict[str, float] = {}
        """When reading a chat failed last, by the loop's clock."""
        self._since = 0.0
        self._changed = asyncio.Event()

    async def load(self) -> None:
        """Read the cursors. Raises ``StoreError``."""
        kv = self._host.storage.kv
        if not self._cursors:
            for key in await kv.keys(CURSOR):
                await self._load(key, await kv.get(key))
        heard = await kv.get(HEARD)
        if heard is None:  # the first start: nothing older is read, by this process or the next
            heard = self._host.now() + OVERLAP
            await kv.set(HEARD, heard)
        self._since = heard - OVERLAP

    def begin(self) -> None:
        """Messages may have been missed: every chat is behind."""
        self._round += 1
        self._unread.clear()
        self._changed.set()

    def failed(self, chat: str) -> None:
        """Something of a chat could not be stored."""
        self._read.pop(chat, None)
        self._unread.add(chat)
        self._changed.set()

    async def heard(self) -> None:
        """The channel receives, and no chat is behind. A failure is logged."""
        if not self._unread and self._round:
            try:
                while self._skipped:
                    await self._move(*self._skipped.popitem())
                await self._host.storage.kv.set(HEARD, self._host.now())
            except Exception as error:
                self._host.log.warning("when the channel was heard cannot be kept: %s", error)

    async def before(self, chat: str, keep: Keep) -> None:
        """Catch a chat up before the next message of it is stored; the caller holds its order. A
        failure is logged: the message is stored all the same, and the cursor stays. After one, the
        next messages do not wait for another attempt at once."""
        now = asyncio.get_running_loop().time()
        if self._is_behind(chat) and now > self._tried.get(chat, float("-inf")) + AGAIN:
            await self._try(chat, keep)

    async def reached(self, arrival: Arrival) -> None:
        """An arrival is stored; a failure to keep that is logged."""
        place, chat = arrival.place, arrival.inbound.chat_id
        if not (arrival.cursor and self._wire.catches_up):
            return
        if place not in self._unread:
            await self._move(place, arrival.cursor)
        if chat != place and chat not in self._cursors:
            await self._move(chat, arrival.cursor)

    def skipped(self, chat: str, cursor: str) -> None:
        """A message need not be read again; the caller holds the chat's order. It is kept by
        :meth:`heard`, from time to time."""
        old = self._cursors.get(chat)
        is_newer = old is None or _number(cursor) > _number(old.newest)
        if is_newer and not self._is_behind(chat) and chat not in self._unread:
            self._skipped[chat] = cursor

    async def run(self, keep: Keep, in_order: Callable[[str], asyncio.Lock]) -> None:
        """Catch up whatever is behind, whenever something is, until cancelled."""
        pause = FIRST_PAUSE
        while True:
            if await self._all(keep, in_order):
                pause = FIRST_PAUSE
                await self.heard()
                await self._changed.wait()
            else:
                await asyncio.sleep(pause)
                pause = min(pause * 2, LONGEST_PAUSE)

    async def _all(self, keep: Keep, in_order: Callable[[str], asyncio.Lock]) -> bool:
        self._changed.clear()
        if not self._wire.catches_up:
            return True
        try:
            chats = {*self._cursors, *await self._wire.chats(), *self._unread}
        except Refused as error:
            await self._refusals.tell(error)
            chats = {*self._cursors, *self._unread}
        except Exception as error:
            self._host.log.warning("the chats cannot be listed: %s", error)
            return False
        is_whole = True
        for chat in sorted(chats):
            if self._is_behind(chat):
                async with in_order(chat):
                    if self._is_behind(chat):
                        is_whole = await self._try(chat, keep) and is_whole
        return is_whole

    def _is_behind(self, chat: str) -> bool:
        return self._wire.catches_up and self._read.get(chat, 0) < self._round

    async def _try(self, chat: str, keep: Keep) -> bool:
        """Read a chat's history; True if it is up to the present."""
        this = self._round
        self._unread.discard(chat)
        try:
            async for arrival in self._wire.history(chat, self._after(chat), self._since):
                await keep(arrival)
                crash.point("mid-catch-up")
        except Refused as error:
            await self._refusals.tell(error)
        except (Gone, Lost) as error:
            self._host.log.info("chat %s is not there to be read back: %s", chat, error)
        except Exception as error:
            self._unread.add(chat)
            self._tried[chat] = asyncio.get_running_loop().time()
            self._host.log.warning("chat %s cannot be read back yet: %s", chat, error)
            if isinstance(error, RetryAfter):
                await asyncio.sleep(min(error.retry_after, LONGEST_PAUSE))
            return False
        self._read[chat] = this
        self._tried.pop(chat, None)
        return True

    def _after(self, chat: str) -> str:
        """From where a chat is read: a little before its cursor, if that has moved of late,
        because what came out of order may be missing."""
        cursor = self._cursors.get(chat)
        if cursor is None:
            return ""
        return cursor.settled if cursor.at > self._host.now() - FRESH else cursor.newest

    async def _move(self, chat: str, to: str) -> None:
        now, old = self._host.now(), self._cursors.get(chat)
        if old is None:
            moved = _Cursor(to, to, now)
        elif _number(to) <= _number(old.newest):
            return
        else:
            is_settled = old.at < now - OVERLAP
            moved = _Cursor(to, old.newest if is_settled else old.settled, now)
            moved = moved if is_settled else replace(moved, at=old.at)
        self._cursors[chat] = moved
        try:
            await self._host.storage.kv.set(CURSOR + chat, asdict(moved))
        except Exception as error:
            self._host.log.warning("how far a chat was read cannot be kept: %s", error)

    async def _load(self, key: str, value: Any) -> None:
        try:
            cursor = _Cursor(**value)
        except TypeError:
            cursor = _Cursor("", "", 0.0)
        if cursor.at < self._host.now() - STALE:
            await self._host.storage.kv.delete(key)
        else:
            self._cursors[key.removeprefix(CURSOR)] = cursor


@dataclass(frozen=True, slots=True)
class _Cursor:
    """The highest cursor that is stored, one before which nothing is missing any more, and the Unix
    time at which ``newest`` began to run ahead of ``settled``."""

    newest: str
    settled: str
    at: float


def _number(cursor: str) -> Decimal:
    return number_of(cursor) or Decimal(0)
