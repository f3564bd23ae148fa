"""The answer of a running turn, shown as one message that is edited while the text grows.

The message is recorded in ``host.storage.kv`` before and after it is sent, so that whoever delivers
the reply, this process or the next, turns that very message into the reply.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from typing import Any

from hookline_hookspecs import Host, crash

from .errors import BadMarkup, Gone, Lost, NotModified, Refused, RetryAfter, TooLong, Unsure
from .limits import Kind
from .locks import Locks
from .progress import token_of
from .rates import Rates
from .shown import Shown
from .splitting import SMALLEST, fitting
from .wire import UNKNOWN, Post, Unknown, Wire

PREFIX = "stream:"
"""Before the chat and the inbound message in the plugin's key-value storage."""
FIRST = 1.0
"""Seconds from the first word to the first message at most, so that short answers need none."""
TICK = 0.05
"""Seconds between two looks at whether the platform takes an edit again, at least."""
CUT = "\n…"
"""Behind a text that is longer than one message."""
TURNS = 16
"""Turns of a chat that are remembered while their replies wait."""
STALE = 7 * 86_400.0
"""Seconds after which a record that no reply asked for is removed."""
RESERVE = 2
"""Edits of a message that are left to the reply: one that may be refused, and one plain."""
YOUNG = 0.8
"""The part of a message's time for edits that a running answer uses."""
A_SECOND = 20
"""By how much the sequence of edits rises in a second: more than a platform takes edits."""
HIGHEST = 2**31 - 1
"""The highest sequence; reached three years after the message was sent."""


@dataclass(slots=True, eq=False)
class Stream:
    """One turn's message.

    Attributes:
        message: the platform's id, once it is sent.
        doubt: a message was sent and its id never came: it may be there.
        delayed: the reply is stored and could not be delivered yet.
        opened: Unix time just before it was sent.
        number: which message of the turn it is, from 0; a message that grows too old is replaced.
        edits: how often it was edited.
        sequence: that of the last edit.
        edited: when it was last changed, by the loop's clock.
        closed: it is the reply's now.
    """

    chat: str
    inbound: str
    limit: int
    session: str = ""
    message: str | None = None
    doubt: bool = False
    delayed: bool = False
    opened: float = 0.0
    number: int = 0
    edits: int = 0
    sequence: int = 0
    edited: float = 0.0
    closed: bool = False
    rich: bool = True
    text: str = ""
    ended: bool = False
    shown: str = ""
    grown: asyncio.Event = field(default_factory=asyncio.Event)
    task: asyncio.Task[Any] | None = None

    @property
    def key(self) -> str:
        """Its name in the storage."""
        return key_of(self.chat, self.inbound)

    @property
    def token(self) -> str:
        """What its message is sent with."""
        return token_of("stream", self.chat, self.inbound, self.number)


def key_of(chat: str, inbound: str) -> str:
    """The name of a stream's record."""
    return PREFIX + json.dumps([chat, inbound], ensure_ascii=False)


class Streams:
    """The streams of a channel.

    Args:
        host: the plugin's host.
        wire: the platform.
        rates: an edit that would have to wait is left out.
        locks: one request at a time in each chat.
        shown: told of what is sent.
    """

    def __init__(self, host: Host, wire: Wire, rates: Rates, locks: Locks, shown: Shown) -> None:
        self._shown = shown
        self._host, self._wire, self._rates, self._locks = host, wire, rates, locks
        self._turns: dict[str, dict[str, Stream]] = {}
        """Streams by chat and inbound message, in the order of their turns."""
        self._sessions: dict[str, Stream] = {}
        self._left: dict[str, Any] | None = None
        """Records of a process that died, by key."""

    async def load(self) -> None:
        """Read what a dead process left, once. Raises ``StoreError``."""
        if self._left is not None:
            return
        kv, found = self._host.storage.kv, {}
        for key in await kv.keys(PREFIX):
            value = await kv.get(key)
            if not isinstance(value, dict) or value.get("at", 0) < self._host.now() - STALE:
                await kv.delete(key)
            else:
                found[key] = value
        self._left = {**found, **(self._left or {})}
        for stream in [one for turns in self._turns.values() for one in turns.values()]:
            self._take_over(stream)  # its turn began before this

    # What a turn does

    def begin(self, chat: str, inbound: str, session: str) -> None:
        """A turn of a chat runs, which a message began."""
        turns = self._turns.setdefault(chat, {})
        if (stream := turns.get(inbound)) is None:
            stream = turns[inbound] = self._continued(chat, inbound)
        stream.session, stream.ended = session, True
        self._sessions[session] = stream
        while len(turns) > TURNS:
            self._end(chat, next(iter(turns)))

    def _continued(self, chat: str, inbound: str) -> Stream:
        """A stream, with the message that a dead process showed."""
        stream = Stream(chat, inbound, self._wire.limits.text)
        self._take_over(stream)
        return stream

    def _take_over(self, stream: Stream) -> None:
        left = (self._left or {}).get(stream.key)
        if left is not None:
            stream.message = left.get("message")
            stream.doubt = stream.message is None
            stream.opened, stream.number = left.get("at", 0.0), left.get("number", 0)
            stream.edits = left.get("edits", 0)

    def grow(self, session_id: str, text: str) -> None:
        """More words of the answer; nothing is shown of it before :meth:`load`."""
        stream = self._sessions.get(session_id)
        if stream is None or stream.closed or stream.doubt:
            return
        if stream.ended:
            stream.text, stream.ended = "", False
        if len(stream.text) <= 2 * stream.limit:
            stream.text += text
            stream.grown.set()
        if stream.task is None and self._left is not None:
            stream.task = self._host.spawn(self._follow(stream), "stream")

    def pause(self, session_id: str) -> None:
        """A model call has ended; the words of the next one replace its."""
        if stream := self._sessions.get(session_id):
            stream.ended = True

    def close(self, chat: str, inbound: str | None) -> None:
        """The reply is there: no more edits."""
        if inbound is not None and (stream := self._turns.get(chat, {}).get(inbound)):
            stream.closed = True
            stream.grown.set()

    def close_all(self) -> None:
        """Edit nothing any more; what is shown waits for its reply."""
        for chat, turns in self._turns.items():
            for inbound in turns:
                self.close(chat, inbound)

    # What a reply does; it holds the chat's lock

    async def take(self, chat: str, inbound: str | None) -> Stream | None:
        """The stream whose message the reply becomes. Raises ``StoreError``."""
        if inbound is None:
            return None
        await self.load()
        found = self._turns.get(chat, {}).get(inbound)
        if found is None and key_of(chat, inbound) in (self._left or {}):
            found = self._turns.setdefault(chat, {})[inbound] = self._continued(chat, inbound)
        if found is not None:
            found.closed = True
        return found

    async def over(self, chat: str, inbound: str | None) -> None:
        """The reply is delivered: the record goes."""
        if inbound is None:
            return
        stream = self._end(chat, inbound)
        left = (self._left or {}).pop(key_of(chat, inbound), None)
        if left is not None or (stream is not None and (stream.message or stream.doubt)):
            await self._erase(key_of(chat, inbound))

    def delay(self, chat: str, inbound: str) -> None:
        """The reply will be delivered later; the answers of later turns wait for it. One of a turn
        that is not known is of a process that died, and stands before those that run now."""
        turns = self._turns.get(chat, {})
        if inbound and inbound not in turns:
            self._turns[chat] = {inbound: self._continued(chat, inbound), **turns}
        if inbound:
            self._turns[chat][inbound].delayed = True

    def give_up(self, chat: str, inbound: str) -> None:
        """The reply will never be delivered; nothing waits for it."""
        self._end(chat, inbound)

    def settled(self, chat: str, inbound: str) -> None:
        """The message needs no more work; a turn whose reply never comes blocks nobody."""
        stream = self._turns.get(chat, {}).get(inbound)
        if stream is not None and not (stream.message or stream.doubt or stream.delayed):
            self._end(chat, inbound)

    async def look_up(self, stream: Stream) -> str | Unknown | None:
        """Learn what became of a message whose id never came; see :meth:`Wire.find`."""
        found = await self._wire.find(stream.chat, stream.token, "", stream.opened)
        if found is not UNKNOWN:
            stream.message, stream.doubt = found, False
        return found

    def sequence_of(self, stream: Stream) -> int:
        """The sequence of the next edit: it rises with the time since the message was sent, so
        that it does after a restart, too."""
        passed = int((self._host.now() - stream.opened) * A_SECOND)
        stream.sequence = min(HIGHEST, max(stream.sequence + 1, passed))
        return stream.sequence

    async def lose(self, stream: Stream) -> None:
        """Its message cannot become the reply: away with it. Raises what the wire raises, but not
        where the message is gone already or cannot be removed."""
        if stream.message is not None:
            await self._rates.wait(stream.chat, "edit")
            try:
                await self._wire.delete(stream.chat, stream.message)
            except (Lost, Gone, NotModified, BadMarkup) as error:
                self._host.log.info("a shown answer cannot be removed: %s", error)
        stream.message, stream.doubt, stream.number = None, False, stream.number + 1
        (self._left or {}).pop(stream.key, None)
        await self._erase(stream.key)

    def _end(self, chat: str, inbound: str) -> Stream | None:
        turns = self._turns.get(chat, {})
        stream = turns.pop(inbound, None)
        if not turns:
            self._turns.pop(chat, None)
        if stream is not None:
            stream.closed = True
            stream.grown.set()
            if self._sessions.get(stream.session) is stream:
                del self._sessions[stream.session]
        return stream

    # Showing

    async def _follow(self, stream: Stream) -> None:
        every = self._wire.limits.edit_every
        await asyncio.sleep(min(FIRST, every))
        while not stream.closed:
            await stream.grown.wait()
            stream.grown.clear()
            now = asyncio.get_running_loop().time()
            await asyncio.sleep(max(0.0, stream.edited + every - now))
            lock = self._locks.of(stream.chat)
            if stream.closed or self._is_behind(stream) or lock.locked():
                await self._later(stream, max(TICK, every))
                continue
            async with lock:
                kind: Kind = "text" if stream.message is None else "edit"
                if stream.closed or not await self._rates.may_now(stream.chat, kind):
                    await self._later(stream, 0)
                else:
                    await self._show(stream)
            if stream.grown.is_set():
                await asyncio.sleep(max(TICK, min(every, FIRST)))

    async def _later(self, stream: Stream, seconds: float) -> None:
        stream.grown.set()
        if not stream.closed:
            await asyncio.sleep(seconds)

    def _is_behind(self, stream: Stream) -> bool:
        """True while the reply of an earlier turn of the chat has not been delivered."""
        return next(iter(self._turns.get(stream.chat, {})), None) != stream.inbound

    def preview(self, stream: Stream) -> str:
        """The text so far, cut to one message."""
        if not stream.text:
            return ""
        piece = fitting(stream.text, self._wire.limits, room=stream.limit, frame=CUT)
        return piece.text if piece.is_last else piece.text.rstrip() + CUT

    async def _show(self, stream: Stream) -> None:
        text = self.preview(stream)
        if not text.strip() or text == stream.shown:
            return
        try:
            shown = self._wire.render(text) if stream.rich else text
            rich = stream.rich and bool(shown.strip())
            shown = shown if rich else text
            await self._put(stream, shown, rich)
            stream.shown = text
        except RetryAfter as error:
            self._rates.hold(stream.chat, error)
            stream.grown.set()
        except BadMarkup:
            stream.rich = False
            stream.grown.set()
        except TooLong:
            stream.limit = max(SMALLEST, stream.limit * 3 // 4)
            stream.grown.set()
        except (Gone, Refused, Unsure):
            stream.closed = True
        except Exception as error:
            self._host.log.info("the running answer is not shown: %s", error)

    async def _put(self, stream: Stream, text: str, rich: bool) -> None:
        """Edit the message, or send it; one that cannot be edited for long any more is replaced."""
        loop = asyncio.get_running_loop()
        if stream.message is not None and self._is_used_up(stream):
            await self.lose(stream)
            await self._rates.wait(stream.chat, "text")
        if stream.message is None:
            await self._open(stream, text, rich)
            stream.edited = loop.time()
            return
        stream.edits += 1
        if self._wire.limits.edits is not None:  # they count after a death, too
            await self._keep(stream)
        post = Post(stream.token, rich=rich, final=False, sequence=self.sequence_of(stream))
        try:
            await self._wire.edit(stream.chat, stream.message, text, post)
        except NotModified:
            pass
        except Lost:
            stream.closed = True
            await self.lose(stream)
        finally:
            stream.edited = loop.time()

    def _is_used_up(self, stream: Stream) -> bool:
        """True if the message has only those edits, or that time, left that its reply needs."""
        limits, age = self._wire.limits, self._host.now() - stream.opened
        if limits.edits is not None and stream.edits >= limits.edits - RESERVE:
            return True
        return limits.edit_seconds is not None and age > limits.edit_seconds * YOUNG

    async def _open(self, stream: Stream, text: str, rich: bool) -> None:
        stream.opened, stream.edits, stream.sequence = self._host.now(), 0, 0
        await self._keep(stream)
        stream.doubt = True
        post = Post(stream.token, rich=rich, reply_to=stream.inbound, final=False)
        crash.point("before-stream")
        try:
            stream.message = await self._wire.text(stream.chat, text, post)
        except Unsure:
            raise
        except Exception:
            stream.doubt = False
            await self._erase(stream.key)
            raise
        crash.point("after-stream")
        self._shown.note(stream.chat, stream.message, stream.opened)
        stream.doubt = False
        await self._keep(stream)

    async def _keep(self, stream: Stream) -> None:
        value = {"message": stream.message, "at": stream.opened, "number": stream.number}
        value["edits"] = stream.edits
        await self._host.storage.kv.set(stream.key, value)

    async def _erase(self, key: str) -> None:
        try:
            await self._host.storage.kv.delete(key)
        except Exception as error:
            self._host.log.warning("the record of a running answer cannot be removed: %s", error)
