"""Reads missed messages: those after a chat's cursor.

A chat is *behind* from the moment when messages may have been missed until its history has been
read completely. New messages in such a chat wait for that, which keeps their order; the other chats
are read one after the other. A cursor advances once its message is stored, and never past a message
that could not be stored.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass, replace
from decimal import Decimal
from typing import Any, TypeAlias

from hookline_hookspecs import Host, crash

from .client import PlatformClient
from .errors import ChatGone, MessageGone, PermissionDenied, RetryAfter
from .events import InboundEvent
from .problems import PermissionProblems
from .sent_messages import cursor_number

CURSOR_PREFIX = "cursor:"
"""Before the chat in ``host.storage.kv``."""
LAST_CONNECTED_KEY = "last_connected"
"""Key of the time at which the channel was last known to receive."""
MAX_DISORDER = 60.0
"""Seconds by which messages may come late or out of order, and by which clocks may differ."""
REREAD_SECONDS = 86_400.0
"""Seconds after its last message in which a chat is read again from a little before its cursor.
Core recognizes repeated messages for a week."""
CURSOR_SECONDS = 30 * 86_400.0
"""Seconds of silence after which a chat is read only if the platform lists it."""
CHAT_RETRY_SECONDS = 5.0
"""Seconds after a failure in which new messages do not wait for another attempt."""
MIN_RETRY_PAUSE, MAX_RETRY_PAUSE = 1.0, 60.0
"""Seconds to wait after a failure, doubled each time."""
StoreEvent: TypeAlias = Callable[[InboundEvent], Awaitable[bool]]


@dataclass(frozen=True, slots=True)
class _Cursor:
    """The cursors of a chat.

    ``newest`` is the highest stored cursor, ``settled`` one before which no message can be missing,
    and ``at`` the Unix time at which they began to differ.
    """

    newest: str
    settled: str
    at: float


class CatchUp:
    """Reads chats that are behind.

    Args:
        host: the plugin's host.
        client: the platform.
        problems: reports missing permissions.
    """

    def __init__(self, host: Host, client: PlatformClient, problems: PermissionProblems) -> None:
        self._host, self._client, self._problems = host, client, problems
        self._cursors: dict[str, _Cursor] = {}
        self._round = 0
        """Incremented with each connection that may have missed messages."""
        self._read_rounds: dict[str, int] = {}
        """The round in which each chat has caught up; it is behind unless that is the latest."""
        self._incomplete: set[str] = set()
        """Chats with a message that could not be stored, or a history that could not be read; their
        cursors do not advance."""
        self._skipped: dict[str, str] = {}
        """Cursors of messages that are not for the agent, until they are stored."""
        self._failed_at: dict[str, float] = {}
        """When reading each chat last failed, by the loop's clock."""
        self._since = 0.0
        self._changed = asyncio.Event()

    async def load(self) -> None:
        """Load the cursors. Raises ``StoreError``."""
        kv = self._host.storage.kv
        if not self._cursors:
            for key in await kv.keys(CURSOR_PREFIX):
                await self._load_cursor(key, await kv.get(key))
        connected = await kv.get(LAST_CONNECTED_KEY)
        if connected is None:  # the first start: this process and the next read nothing older
            connected = self._host.now() + MAX_DISORDER
            await kv.set(LAST_CONNECTED_KEY, connected)
        self._since = connected - MAX_DISORDER

    def mark_all_behind(self) -> None:
        """Record that messages may have been missed in any chat."""
        self._round += 1
        self._incomplete.clear()
        self._changed.set()

    def mark_failed(self, chat: str) -> None:
        """Record that an event of a chat could not be stored."""
        self._read_rounds.pop(chat, None)
        self._incomplete.add(chat)
        self._changed.set()

    async def save_connected(self) -> None:
        """Store that the channel receives, unless a chat is behind. A failure is logged."""
        if not self._incomplete and self._round:
            try:
                while self._skipped:
                    await self._move_cursor(*self._skipped.popitem())
                await self._host.storage.kv.set(LAST_CONNECTED_KEY, self._host.now())
            except Exception as error:
                self._host.log.warning("cannot store the time of the last connection: %s", error)

    async def catch_up(self, chat: str, store: StoreEvent) -> None:
        """Catch up with a chat before its next message is stored; the caller holds its lock.

        A failure is logged; the message is stored nevertheless, and the cursor does not advance.
        """
        now = asyncio.get_running_loop().time()
        retry_at = self._failed_at.get(chat, float("-inf")) + CHAT_RETRY_SECONDS
        if self._is_behind(chat) and now > retry_at:
            await self._read_history(chat, store)

    async def advance(self, event: InboundEvent) -> None:
        """Move the cursor of a stored event's chat. A failure is logged."""
        history_chat, chat = event.history_chat, event.inbound.chat_id
        if not (event.cursor and self._client.has_history):
            return
        if history_chat not in self._incomplete:
            await self._move_cursor(history_chat, event.cursor)
        if chat != history_chat and chat not in self._cursors:
            await self._move_cursor(chat, event.cursor)

    def skip(self, chat: str, cursor: str) -> None:
        """Record that a message need not be read again; the caller holds the chat's lock.

        The cursor is stored later, by :meth:`save_connected`.
        """
        old = self._cursors.get(chat)
        is_newer = old is None or _number(cursor) > _number(old.newest)
        if is_newer and not self._is_behind(chat) and chat not in self._incomplete:
            self._skipped[chat] = cursor

    async def run(self, store: StoreEvent, lock_of: Callable[[str], asyncio.Lock]) -> None:
        """Catch up with chats whenever any are behind, until cancelled."""
        pause = MIN_RETRY_PAUSE
        while True:
            if await self._catch_up_all(store, lock_of):
                pause = MIN_RETRY_PAUSE
                await self.save_connected()
                await self._changed.wait()
            else:
                await asyncio.sleep(pause)
                pause = min(pause * 2, MAX_RETRY_PAUSE)

    async def _catch_up_all(
        self, store: StoreEvent, lock_of: Callable[[str], asyncio.Lock]
    ) -> bool:
        """Catch up with all chats; return False if one could not be read."""
        self._changed.clear()
        if not self._client.has_history:
            return True
        try:
            chats = {*self._cursors, *await self._client.list_chats(), *self._incomplete}
        except PermissionDenied as error:
            await self._problems.report(error)
            chats = {*self._cursors, *self._incomplete}
        except Exception as error:
            self._host.log.warning("cannot list the chats: %s", error)
            return False
        is_complete = True
        for chat in sorted(chats):
            if self._is_behind(chat):
                async with lock_of(chat):
                    if self._is_behind(chat):
                        is_complete = await self._read_history(chat, store) and is_complete
        return is_complete

    def _is_behind(self, chat: str) -> bool:
        return self._client.has_history and self._read_rounds.get(chat, 0) < self._round

    async def _read_history(self, chat: str, store: StoreEvent) -> bool:
        """Read a chat's history; return whether the chat is up to date."""
        this_round = self._round
        self._incomplete.discard(chat)
        try:
            events = self._client.history(chat, self._start_of(chat), self._since)
            if self._client.pastes is not None:
                events = self._client.pastes.join_all(events)
            async for event in events:
                await store(event)
                crash.point("mid-catch-up")
        except PermissionDenied as error:
            await self._problems.report(error)
        except (ChatGone, MessageGone) as error:
            self._host.log.info("cannot read chat %s, which is gone: %s", chat, error)
        except Exception as error:
            self._incomplete.add(chat)
            self._failed_at[chat] = asyncio.get_running_loop().time()
            self._host.log.warning("cannot read the history of chat %s yet: %s", chat, error)
            if isinstance(error, RetryAfter):
                await asyncio.sleep(min(error.retry_after, MAX_RETRY_PAUSE))
            return False
        self._read_rounds[chat] = this_round
        self._failed_at.pop(chat, None)
        return True

    def _start_of(self, chat: str) -> str:
        """Return where to read a chat from.

        That is a little before its cursor if the cursor has moved lately, because a message that
        came out of order may be missing.
        """
        cursor = self._cursors.get(chat)
        if cursor is None:
            return ""
        return cursor.settled if cursor.at > self._host.now() - REREAD_SECONDS else cursor.newest

    async def _move_cursor(self, chat: str, to: str) -> None:
        now, old = self._host.now(), self._cursors.get(chat)
        if old is None:
            moved = _Cursor(to, to, now)
        elif _number(to) <= _number(old.newest):
            return
        elif old.at < now - MAX_DISORDER:
            moved = _Cursor(to, old.newest, now)
        else:
            moved = replace(old, newest=to)
        self._cursors[chat] = moved
        try:
            await self._host.storage.kv.set(CURSOR_PREFIX + chat, asdict(moved))
        except Exception as error:
            self._host.log.warning("cannot store the cursor of a chat: %s", error)

    async def _load_cursor(self, key: str, value: Any) -> None:
        try:
            cursor = _Cursor(**value)
        except TypeError:
            cursor = _Cursor("", "", 0.0)
        if cursor.at < self._host.now() - CURSOR_SECONDS:
            await self._host.storage.kv.delete(key)
        else:
            self._cursors[key.removeprefix(CURSOR_PREFIX)] = cursor


def _number(cursor: str) -> Decimal:
    return cursor_number(cursor) or Decimal(0)
