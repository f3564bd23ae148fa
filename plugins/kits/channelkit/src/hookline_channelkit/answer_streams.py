"""The answer of a running turn, shown as one message that is edited while the text grows.

The message is recorded in ``host.storage.kv`` before and after it is sent, so that the process that
delivers the reply, this one or the next, turns this message into the reply.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from typing import Any

from hookline_hookspecs import Host, crash

from .client import UNKNOWN, PlatformClient, SendOptions, Unknown
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
from .limits import Kind
from .message_splitter import MIN_LIMIT, next_piece
from .rate_limiter import RateLimiter
from .sent_messages import SentMessages

PREFIX = "stream:"
"""Before the chat and the inbound message in ``host.storage.kv``."""
FIRST_MESSAGE_DELAY = 1.0
"""Maximum seconds from the first word to the first message; a shorter answer is sent whole."""
MIN_EDIT_PAUSE = 0.05
"""Minimum seconds before an edit is tried again."""
CUT_MARK = "\n…"
"""Follows a text that is longer than one message."""
MAX_TURNS_PER_CHAT = 16
"""Turns of a chat that are remembered while their replies wait."""
STALE_SECONDS = 7 * 86_400.0
"""Age at which a record that no reply has used is deleted."""
RESERVED_EDITS = 2
"""Edits of a message that are left to the reply: a formatted one that may be rejected, and a plain
one."""
STREAM_EDIT_SHARE = 0.8
"""The share of a message's time for edits that a running answer uses."""
SEQUENCE_PER_SECOND = 20
"""How much the sequence of edits rises per second: by more than a platform accepts edits."""
MAX_SEQUENCE = 2**31 - 1
"""Reached three years after a message was sent."""


@dataclass(slots=True, eq=False)
class AnswerStream:
    """The message of one turn.

    Attributes:
        chat: the turn's chat.
        inbound: the id of the message that the turn answers.
        limit: the length that a preview of the text is cut to.
        session: the turn's session.
        message: the platform's id of the message, once it is sent.
        in_doubt: the message was sent, but its id was not received: it may exist.
        delayed: the reply is stored and could not be delivered yet.
        sent_at: Unix time just before the message was sent.
        number: the message's number in the turn, from 0; one that gets too old is replaced.
        edits: how often it was edited.
        sequence: that of the last edit.
        edited_at: when it was last edited, by the loop's clock.
        closed: no more edits; the reply takes the message over.
        rich: send formatted text; False once the platform has rejected the markup.
        text: the text so far.
        restart: the next text replaces the current one.
        shown: the text that the message shows.
        grown: set when there is more text.
        task: the task that edits the message.
    """

    chat: str
    inbound: str
    limit: int
    session: str = ""
    message: str | None = None
    in_doubt: bool = False
    delayed: bool = False
    sent_at: float = 0.0
    number: int = 0
    edits: int = 0
    sequence: int = 0
    edited_at: float = 0.0
    closed: bool = False
    rich: bool = True
    text: str = ""
    restart: bool = False
    shown: str = ""
    grown: asyncio.Event = field(default_factory=asyncio.Event)
    task: asyncio.Task[Any] | None = None

    @property
    def key(self) -> str:
        """The key of its record."""
        return key_of(self.chat, self.inbound)

    @property
    def token(self) -> str:
        """The token its message is sent with."""
        return delivery_token("stream", self.chat, self.inbound, self.number)


def key_of(chat: str, inbound: str) -> str:
    """Return the key of a stream's record."""
    return PREFIX + json.dumps([chat, inbound], ensure_ascii=False)


class AnswerStreams:
    """The streams of a channel.

    Args:
        host: the plugin's host.
        client: the platform.
        rates: paces requests; an edit that would have to wait is left out.
        locks: allow one request at a time in each chat.
        sent: notes the messages that are sent.
    """

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
        self._turns: dict[str, dict[str, AnswerStream]] = {}
        """AnswerStreams by chat and inbound message, in the order of their turns."""
        self._sessions: dict[str, AnswerStream] = {}
        self._recovered: dict[str, Any] | None = None
        """Records of a process that died, by key; None until :meth:`load`."""

    async def load(self) -> None:
        """Read the records of a dead process, once. Raises ``StoreError``."""
        if self._recovered is not None:
            return
        kv, found = self._host.storage.kv, {}
        for key in await kv.keys(PREFIX):
            value = await kv.get(key)
            if not isinstance(value, dict) or value.get("at", 0) < self._host.now() - STALE_SECONDS:
                await kv.delete(key)
            else:
                found[key] = value
        self._recovered = {**found, **(self._recovered or {})}
        for stream in [stream for turns in self._turns.values() for stream in turns.values()]:
            self._adopt_record(stream)  # its turn started before this

    # Called while a turn runs

    def start(self, chat: str, inbound: str, session: str) -> None:
        """Start the stream of the turn that answers a message."""
        turns = self._turns.setdefault(chat, {})
        if (stream := turns.get(inbound)) is None:
            stream = turns[inbound] = self._new_stream(chat, inbound)
        stream.session, stream.restart = session, True
        self._sessions[session] = stream
        while len(turns) > MAX_TURNS_PER_CHAT:
            self._remove(chat, next(iter(turns)))

    def _new_stream(self, chat: str, inbound: str) -> AnswerStream:
        """Return a stream, with the message that a dead process has sent for it."""
        stream = AnswerStream(chat, inbound, self._client.limits.text)
        self._adopt_record(stream)
        return stream

    def _adopt_record(self, stream: AnswerStream) -> None:
        record = (self._recovered or {}).get(stream.key)
        if record is not None:
            stream.message = record.get("message")
            stream.in_doubt = stream.message is None
            stream.sent_at = record.get("at", 0.0)
            stream.number = record.get("number", 0)
            stream.edits = record.get("edits", 0)

    def grow(self, session_id: str, text: str) -> None:
        """Add to the answer of a session's turn. Nothing is shown before :meth:`load`."""
        stream = self._sessions.get(session_id)
        if stream is None or stream.closed or stream.in_doubt:
            return
        if stream.restart:
            stream.text, stream.restart = "", False
        if len(stream.text) <= 2 * stream.limit:
            stream.text += text
            stream.grown.set()
        if stream.task is None and self._recovered is not None:
            stream.task = self._host.spawn(self._follow(stream), "stream")

    def end_response(self, session_id: str) -> None:
        """End a model's response; the text of the next one replaces its text."""
        if stream := self._sessions.get(session_id):
            stream.restart = True

    def close(self, chat: str, inbound: str | None) -> None:
        """Stop editing, because the reply has come."""
        if inbound is not None and (stream := self._turns.get(chat, {}).get(inbound)):
            stream.closed = True
            stream.grown.set()

    def close_all(self) -> None:
        """Stop editing all streams; their messages wait for the replies."""
        for chat, turns in self._turns.items():
            for inbound in turns:
                self.close(chat, inbound)

    # Called while a reply is delivered, with the chat's lock

    async def claim(self, chat: str, inbound: str | None) -> AnswerStream | None:
        """Return the stream whose message becomes the reply. Raises ``StoreError``."""
        if inbound is None:
            return None
        await self.load()
        stream = self._turns.get(chat, {}).get(inbound)
        if stream is None and key_of(chat, inbound) in (self._recovered or {}):
            stream = self._turns.setdefault(chat, {})[inbound] = self._new_stream(chat, inbound)
        if stream is not None:
            stream.closed = True
        return stream

    async def finish(self, chat: str, inbound: str | None) -> None:
        """Delete the record after the reply was delivered."""
        if inbound is None:
            return
        stream = self._remove(chat, inbound)
        record = (self._recovered or {}).pop(key_of(chat, inbound), None)
        if record is not None or (stream is not None and (stream.message or stream.in_doubt)):
            await self._delete_record(key_of(chat, inbound))

    def delay(self, chat: str, inbound: str) -> None:
        """Make the answers of later turns wait for a reply that is delivered later.

        An unknown turn was run by a dead process, and precedes the current turns.
        """
        turns = self._turns.get(chat, {})
        if inbound and inbound not in turns:
            self._turns[chat] = {inbound: self._new_stream(chat, inbound), **turns}
        if inbound:
            self._turns[chat][inbound].delayed = True

    def give_up(self, chat: str, inbound: str) -> None:
        """Stop waiting for a reply that will never be delivered."""
        self._remove(chat, inbound)

    def settled(self, chat: str, inbound: str) -> None:
        """Stop waiting for a reply that will not come, because the message needs no more work."""
        stream = self._turns.get(chat, {}).get(inbound)
        if stream is not None and not (stream.message or stream.in_doubt or stream.delayed):
            self._remove(chat, inbound)

    async def look_up(self, stream: AnswerStream) -> str | Unknown | None:
        """Look up a message that is in doubt; see :meth:`PlatformClient.find_message`."""
        found = await self._client.find_message(stream.chat, stream.token, "", stream.sent_at)
        if found is not UNKNOWN:
            stream.message, stream.in_doubt = found, False
        return found

    def next_sequence(self, stream: AnswerStream) -> int:
        """Return the sequence of the next edit.

        It rises with the time since the message was sent, so that it is higher after a restart too.
        """
        stream.sequence = next_sequence(stream.sequence, self._host.now() - stream.sent_at)
        return stream.sequence

    async def discard_message(self, stream: AnswerStream) -> None:
        """Delete the message, which cannot become the reply.

        Raises the client's errors, but not if the message is gone or cannot be deleted.
        """
        if stream.message is not None:
            await self._rates.acquire(stream.chat, "edit")
            try:
                await self._client.delete_message(stream.chat, stream.message)
            except (MessageGone, ChatGone, NotModified, BadMarkup) as error:
                self._host.log.info("cannot delete a running answer: %s", error)
        stream.message, stream.in_doubt, stream.number = None, False, stream.number + 1
        (self._recovered or {}).pop(stream.key, None)
        await self._delete_record(stream.key)

    def _remove(self, chat: str, inbound: str) -> AnswerStream | None:
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

    # The task of a stream

    async def _follow(self, stream: AnswerStream) -> None:
        every = self._client.limits.edit_every
        await asyncio.sleep(min(FIRST_MESSAGE_DELAY, every))
        while not stream.closed:
            await stream.grown.wait()
            stream.grown.clear()
            now = asyncio.get_running_loop().time()
            await asyncio.sleep(max(0.0, stream.edited_at + every - now))
            lock = self._locks.of(stream.chat)
            if stream.closed or self._is_waiting(stream) or lock.locked():
                await self._retry_later(stream, max(MIN_EDIT_PAUSE, every))
                continue
            async with lock:
                kind: Kind = "text" if stream.message is None else "edit"
                if stream.closed or not await self._rates.try_acquire(stream.chat, kind):
                    await self._retry_later(stream, 0)
                else:
                    await self._show(stream)
            if stream.grown.is_set():
                await asyncio.sleep(max(MIN_EDIT_PAUSE, min(every, FIRST_MESSAGE_DELAY)))

    async def _retry_later(self, stream: AnswerStream, seconds: float) -> None:
        stream.grown.set()
        if not stream.closed:
            await asyncio.sleep(seconds)

    def _is_waiting(self, stream: AnswerStream) -> bool:
        """Whether the reply of an earlier turn of the chat is not delivered yet."""
        return next(iter(self._turns.get(stream.chat, {})), None) != stream.inbound

    def preview(self, stream: AnswerStream) -> str:
        """Return the text so far, cut to one message."""
        if not stream.text:
            return ""
        piece = next_piece(stream.text, self._client.limits, room=stream.limit, frame=CUT_MARK)
        return piece.text if piece.is_last else piece.text.rstrip() + CUT_MARK

    async def _show(self, stream: AnswerStream) -> None:
        text = self.preview(stream)
        if not text.strip() or text == stream.shown:
            return
        try:
            shown = self._client.render(text) if stream.rich else text
            rich = stream.rich and bool(shown.strip())
            shown = shown if rich else text
            await self._put(stream, shown, rich)
            stream.shown = text
        except RetryAfter as error:
            self._rates.pause(stream.chat, error)
            stream.grown.set()
        except BadMarkup:
            stream.rich = False
            stream.grown.set()
        except MessageTooLong:
            stream.limit = max(MIN_LIMIT, stream.limit * 3 // 4)
            stream.grown.set()
        except (ChatGone, PermissionDenied, DeliveryUnknown):
            stream.closed = True
        except Exception as error:
            self._host.log.info("cannot show the running answer: %s", error)

    async def _put(self, stream: AnswerStream, text: str, rich: bool) -> None:
        """Edit or send the message; replace one that cannot be edited much longer."""
        loop = asyncio.get_running_loop()
        if stream.message is not None and self._is_exhausted(stream):
            await self.discard_message(stream)
            await self._rates.acquire(stream.chat, "text")
        if stream.message is None:
            await self._send(stream, text, rich)
            stream.edited_at = loop.time()
            return
        stream.edits += 1
        if self._client.limits.edits is not None:  # a process that takes over must know
            await self._save_record(stream)
        options = SendOptions(
            stream.token, rich=rich, final=False, sequence=self.next_sequence(stream)
        )
        try:
            await self._client.edit_message(stream.chat, stream.message, text, options)
        except NotModified:
            pass
        except MessageGone:
            stream.closed = True
            await self.discard_message(stream)
        finally:
            stream.edited_at = loop.time()

    def _is_exhausted(self, stream: AnswerStream) -> bool:
        """Whether only the edits or the time that the reply needs are left."""
        limits, age = self._client.limits, self._host.now() - stream.sent_at
        if limits.edits is not None and stream.edits >= limits.edits - RESERVED_EDITS:
            return True
        return limits.edit_seconds is not None and age > limits.edit_seconds * STREAM_EDIT_SHARE

    async def _send(self, stream: AnswerStream, text: str, rich: bool) -> None:
        stream.sent_at, stream.edits, stream.sequence = self._host.now(), 0, 0
        await self._save_record(stream)
        stream.in_doubt = True
        options = SendOptions(stream.token, rich=rich, reply_to=stream.inbound, final=False)
        crash.point("before-stream")
        try:
            stream.message = await self._client.send_text(stream.chat, text, options)
        except DeliveryUnknown:
            raise
        except Exception:
            stream.in_doubt = False
            await self._delete_record(stream.key)
            raise
        crash.point("after-stream")
        self._sent.add(stream.chat, stream.message, stream.sent_at)
        stream.in_doubt = False
        await self._save_record(stream)

    async def _save_record(self, stream: AnswerStream) -> None:
        value = {"message": stream.message, "at": stream.sent_at, "number": stream.number}
        value["edits"] = stream.edits
        await self._host.storage.kv.set(stream.key, value)

    async def _delete_record(self, key: str) -> None:
        try:
            await self._host.storage.kv.delete(key)
        except Exception as error:
            self._host.log.warning("cannot delete the record of a running answer: %s", error)


def next_sequence(last: int, age: float) -> int:
    """Return the sequence of the next edit of a message that was sent ``age`` seconds ago."""
    return min(MAX_SEQUENCE, max(last + 1, int(age * SEQUENCE_PER_SECOND)))
