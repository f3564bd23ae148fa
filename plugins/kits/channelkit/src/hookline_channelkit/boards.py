"""Shows a text that a running turn updates, such as a plan, in one message that is edited.

A turn has at most one. The message is recorded in ``host.storage.kv`` before and after it is sent,
so that the process that continues the turn edits the same message. The text is plain. On a platform
without edits, the first text stays.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from typing import Any

from hookline_hookspecs import Host, crash

from .answer_streams import next_sequence
from .client import UNKNOWN, PlatformClient, SendOptions
from .containers import ChatLocks
from .delivery_ledger import delivery_token
from .errors import (
    BadMarkup,
    ChatGone,
    DeliveryUnknown,
    MessageGone,
    MessageTooLong,
    NotModified,
    PermissionDenied,
    RetryAfter,
)
from .message_splitter import MIN_LIMIT, next_piece
from .rate_limiter import RateLimiter
from .sent_messages import SentMessages

PREFIX = "board:"
"""Before the chat and the inbound message in ``host.storage.kv``."""
CUT_MARK = "\n…"
STALE_SECONDS = 7 * 86_400.0
"""Age at which the record of a turn that never ended is deleted."""
MAX_FAILURES = 3
"""Failed requests in a row after which a board is no longer updated."""


@dataclass(slots=True, eq=False)
class Board:
    """The message of one turn.

    Attributes:
        chat: the turn's chat.
        inbound: the id of the message that the turn answers.
        room: the length that the text is cut to.
        message: the platform's id of the message, once it is sent.
        in_doubt: the message was sent, but its id was not received: it may exist.
        sent_at: Unix time just before it was sent.
        number: the message's number in the turn, from 0; one that cannot be edited is replaced.
        edits: how often it was edited.
        sequence: that of the last edit.
        failures: requests that failed in a row.
        text: the text to show.
        shown: the text that the message shows.
        final: the turn has ended.
        closed: no more requests.
        changed: set when there is work.
    """

    chat: str
    inbound: str
    room: int
    message: str | None = None
    in_doubt: bool = False
    sent_at: float = 0.0
    number: int = 0
    edits: int = 0
    sequence: int = 0
    failures: int = 0
    text: str = ""
    shown: str = ""
    final: bool = False
    closed: bool = False
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def key(self) -> str:
        """The key of its record."""
        return PREFIX + json.dumps([self.chat, self.inbound], ensure_ascii=False)

    @property
    def token(self) -> str:
        """The token its message is sent with."""
        return delivery_token("board", self.chat, self.inbound, self.number)


class Boards:
    """The boards of a channel; the arguments are those of :class:`.AnswerStreams`."""

    def __init__(
        self,
        host: Host,
        client: PlatformClient,
        rates: RateLimiter,
        locks: ChatLocks,
        sent: SentMessages,
    ) -> None:
        self._host, self._client, self._rates, self._locks = host, client, rates, locks
        self._sent = sent
        self._open: dict[str, Board] = {}
        self._recovered: dict[str, Any] = {}
        """Records of a process that died, by key."""
        self._loaded = asyncio.Event()

    async def load(self) -> None:
        """Read the records of a dead process. Raises ``StoreError``."""
        kv = self._host.storage.kv
        for key in await kv.keys(PREFIX):
            value = await kv.get(key)
            if isinstance(value, dict) and value.get("at", 0) > self._host.now() - STALE_SECONDS:
                self._recovered.setdefault(key, value)
            else:
                await kv.delete(key)
        self._loaded.set()

    def show(self, chat: str, inbound: str, text: str) -> None:
        """Show ``text`` as the board of the turn that answers a message.

        Nothing is shown before :meth:`load`: the turn of a dead process may continue before that.
        """
        new = Board(chat, inbound, self._client.limits.text)
        board = self._open.setdefault(new.key, new)
        board.text = text
        board.changed.set()
        if board is new:
            self._host.spawn(self._follow(board), "board")

    def end(self, chat: str, inbound: str) -> None:
        """End a turn: show the last text, and keep it."""
        key = Board(chat, inbound, 0).key
        if (board := self._open.get(key)) is not None:
            board.final = True
            board.changed.set()
        elif self._recovered.pop(key, None) is not None:
            self._host.spawn(self._delete_record(key), "board")

    async def _follow(self, board: Board) -> None:
        await self._loaded.wait()
        if (record := self._recovered.pop(board.key, None)) is not None:
            board.message = record.get("message")
            board.in_doubt = board.message is None
            board.sent_at = record.get("at", 0.0)
            board.number = record.get("number", 0)
        while not board.closed:
            await board.changed.wait()
            board.changed.clear()
            if board.text != board.shown:
                async with self._locks.of(board.chat):
                    await self._show(board)
            if board.final and (board.text == board.shown or board.closed):
                break
            await asyncio.sleep(self._client.limits.edit_every)
        self._open.pop(board.key, None)
        await self._delete_record(board.key)

    async def _show(self, board: Board) -> None:
        text = board.text
        try:
            piece = next_piece(text, self._client.limits, room=board.room, frame=CUT_MARK)
            cut = piece.text if piece.is_last else piece.text.rstrip() + CUT_MARK
            if await self._put(board, cut) or board.final:
                board.shown, board.failures = text, 0
            return
        except NotModified:
            board.shown = text
            return
        except RetryAfter as error:
            self._rates.pause(board.chat, error)
        except MessageTooLong:
            board.room = max(MIN_LIMIT, board.room * 3 // 4)
            board.failures += board.room == MIN_LIMIT
        except MessageGone:
            board.message, board.number, board.edits = None, board.number + 1, 0
            board.failures += 1
        except (ChatGone, PermissionDenied, DeliveryUnknown, BadMarkup) as error:
            self._host.log.info("cannot show a board: %s", error)
            board.closed = True
        except Exception as error:
            self._host.log.info("cannot show a board: %s", error)
            board.failures += 1
        board.closed = board.closed or board.failures >= MAX_FAILURES
        board.changed.set()

    async def _put(self, board: Board, text: str) -> bool:
        """Send or edit the message; False if the edit is left to the end of the turn."""
        if board.in_doubt:
            found = await self._client.find_message(board.chat, board.token, "", board.sent_at)
            if found is UNKNOWN:
                raise DeliveryUnknown("it may have been sent already")
            board.message, board.in_doubt = found, False
        if board.message is None:
            await self._send(board, text)
        elif "edits" in self._client.can:
            if not self._may_edit(board):
                return False
            await self._rates.acquire(board.chat, "edit")
            board.edits += 1
            board.sequence = next_sequence(board.sequence, self._host.now() - board.sent_at)
            options = SendOptions(board.token, kind="notice", sequence=board.sequence)
            await self._client.edit_message(board.chat, board.message, text, options)
        return True

    def _may_edit(self, board: Board) -> bool:
        """Whether an edit is left; the last one is reserved for the end of the turn."""
        limit = self._client.limits.edits
        return limit is None or board.edits < limit - (0 if board.final else 1)

    async def _send(self, board: Board, text: str) -> None:
        await self._rates.acquire(board.chat, "text")
        board.sent_at = self._host.now()
        await self._save_record(board)
        crash.point("before-board")
        board.in_doubt = True
        try:
            board.message = await self._client.send_text(
                board.chat, text, SendOptions(board.token, kind="notice")
            )
        except DeliveryUnknown:
            raise
        except Exception:
            board.in_doubt = False
            raise
        crash.point("after-board")
        self._sent.add(board.chat, board.message, board.sent_at)
        board.in_doubt = False
        await self._save_record(board)

    async def _save_record(self, board: Board) -> None:
        value = {"message": board.message, "at": board.sent_at, "number": board.number}
        await self._host.storage.kv.set(board.key, value)

    async def _delete_record(self, key: str) -> None:
        try:
            await self._host.storage.kv.delete(key)
        except Exception as error:
            self._host.log.warning("cannot delete the record of a board: %s", error)
