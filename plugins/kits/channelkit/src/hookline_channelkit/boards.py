"""A text that a running turn keeps up to date, such as a plan: one message that is edited.

A turn has one at most. It is recorded in ``host.storage.kv`` before and after it is sent, so that
the process which goes on with the turn edits that very message. Its text is plain. Where the
platform has no edits, it stays as it was first.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from typing import Any

from hookline_hookspecs import Host, crash

from .errors import BadMarkup, Gone, Lost, NotModified, Refused, RetryAfter, TooLong, Unsure
from .locks import Locks
from .progress import token_of
from .rates import Rates
from .shown import Shown
from .splitting import SMALLEST, fitting
from .streaming import A_SECOND, HIGHEST
from .wire import UNKNOWN, Post, Wire

PREFIX = "board:"
"""Before the chat and the inbound message in the plugin's key-value storage."""
CUT = "\n…"
STALE = 7 * 86_400.0
"""Seconds after which a record is removed whose turn never ended."""
TRIES = 3
"""Requests that fail in a row before a board is left as it is."""


@dataclass(slots=True, eq=False)
class Board:
    """One turn's message.

    ``doubt``: it was sent and its id never came. ``number``: which message of the turn it is, from
    0, as one that cannot be edited any more is replaced. ``final``: the turn is over.
    """

    chat: str
    inbound: str
    room: int
    message: str | None = None
    doubt: bool = False
    opened: float = 0.0
    number: int = 0
    edits: int = 0
    sequence: int = 0
    failed: int = 0
    text: str = ""
    shown: str = ""
    final: bool = False
    closed: bool = False
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def key(self) -> str:
        """Its name in the storage."""
        return PREFIX + json.dumps([self.chat, self.inbound], ensure_ascii=False)

    @property
    def token(self) -> str:
        """What its message is sent with."""
        return token_of("board", self.chat, self.inbound, self.number)


class Boards:
    """The boards of a channel; the arguments are those of :class:`.streaming.Streams`."""

    def __init__(self, host: Host, wire: Wire, rates: Rates, locks: Locks, shown: Shown) -> None:
        self._host, self._wire, self._rates, self._locks = host, wire, rates, locks
        self._shown = shown
        self._open: dict[str, Board] = {}
        self._left: dict[str, Any] = {}
        """Records of a process that died, by key."""

    async def load(self) -> None:
        """Read what a dead process left. Raises ``StoreError``."""
        kv = self._host.storage.kv
        for key in await kv.keys(PREFIX):
            value = await kv.get(key)
            if isinstance(value, dict) and value.get("at", 0) > self._host.now() - STALE:
                self._left.setdefault(key, value)
            else:
                await kv.delete(key)

    def show(self, chat: str, inbound: str, text: str) -> None:
        """Show ``text`` in place of what the turn of a message has shown before."""
        fresh = Board(chat, inbound, self._wire.limits.text)
        board = self._open.setdefault(fresh.key, fresh)
        board.text = text
        board.changed.set()
        if board is fresh:
            if (left := self._left.pop(board.key, None)) is not None:
                board.message, board.opened = left.get("message"), left.get("at", 0.0)
                board.number, board.doubt = left.get("number", 0), board.message is None
            self._host.spawn(self._follow(board), "board")

    def end(self, chat: str, inbound: str) -> None:
        """The turn is over: the last text is shown, and stays."""
        key = Board(chat, inbound, 0).key
        if (board := self._open.get(key)) is not None:
            board.final = True
            board.changed.set()
        elif self._left.pop(key, None) is not None:
            self._host.spawn(self._erase(key), "board")

    async def _follow(self, board: Board) -> None:
        while not board.closed:
            await board.changed.wait()
            board.changed.clear()
            if board.text != board.shown:
                async with self._locks.of(board.chat):
                    await self._show(board)
            if board.final and (board.text == board.shown or board.closed):
                break
            await asyncio.sleep(self._wire.limits.edit_every)
        self._open.pop(board.key, None)
        await self._erase(board.key)

    async def _show(self, board: Board) -> None:
        text = board.text
        try:
            piece = fitting(text, self._wire.limits, room=board.room, frame=CUT)
            cut = piece.text if piece.is_last else piece.text.rstrip() + CUT
            if await self._put(board, cut) or board.final:
                board.shown, board.failed = text, 0
            return
        except NotModified:
            board.shown = text
            return
        except RetryAfter as error:
            self._rates.hold(board.chat, error)
        except TooLong:
            board.room = max(SMALLEST, board.room * 3 // 4)
            board.failed += board.room == SMALLEST
        except Lost:
            board.message, board.number, board.edits = None, board.number + 1, 0
            board.failed += 1
        except (Gone, Refused, Unsure, BadMarkup) as error:
            self._host.log.info("what a turn keeps up to date is not shown: %s", error)
            board.closed = True
        except Exception as error:
            self._host.log.info("what a turn keeps up to date is not shown: %s", error)
            board.failed += 1
        board.closed = board.closed or board.failed >= TRIES
        board.changed.set()

    async def _put(self, board: Board, text: str) -> bool:
        """Send the message or edit it; False if the edit is left to the end of the turn."""
        if board.doubt:
            found = await self._wire.find(board.chat, board.token, "", board.opened)
            if found is UNKNOWN:
                raise Unsure("it may stand there already")
            board.message, board.doubt = found, False
        if board.message is None:
            await self._send(board, text)
        elif "edits" in self._wire.can:
            if not self._may_edit(board):
                return False
            await self._rates.wait(board.chat, "edit")
            board.edits += 1
            passed = int((self._host.now() - board.opened) * A_SECOND)
            board.sequence = min(HIGHEST, max(board.sequence + 1, passed))
            post = Post(board.token, kind="notice", sequence=board.sequence)
            await self._wire.edit(board.chat, board.message, text, post)
        return True

    def _may_edit(self, board: Board) -> bool:
        """Whether the message has an edit left; the last one is for the end of the turn."""
        most = self._wire.limits.edits
        return most is None or board.edits < most - (0 if board.final else 1)

    async def _send(self, board: Board, text: str) -> None:
        await self._rates.wait(board.chat, "text")
        board.opened = self._host.now()
        await self._keep(board)
        crash.point("before-board")
        board.doubt = True
        try:
            board.message = await self._wire.text(
                board.chat, text, Post(board.token, kind="notice")
            )
        except Unsure:
            raise
        except Exception:
            board.doubt = False
            raise
        crash.point("after-board")
        self._shown.note(board.chat, board.message, board.opened)
        board.doubt = False
        await self._keep(board)

    async def _keep(self, board: Board) -> None:
        value = {"message": board.message, "at": board.opened, "number": board.number}
        await self._host.storage.kv.set(board.key, value)

    async def _erase(self, key: str) -> None:
        try:
            await self._host.storage.kv.delete(key)
        except Exception as error:
            self._host.log.warning("the record of a turn's notice cannot be removed: %s", error)
