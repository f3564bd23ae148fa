"""Stores the recent events of sessions and distributes them to streams.

An event is encoded once. A stream has no queue: it remembers its position and reads from the rings
when it is woken, so that slow streams need no memory.
"""

from __future__ import annotations

import asyncio
import json
from collections import OrderedDict, deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from secrets import token_hex
from typing import Any

from hookline_hookspecs.web import ENGLISH, Identity, Language, language, speaking

from .page_language import NAMING_EVENTS, TRANSLATED_EVENTS, translated_event
from .session_owner import Chat, may_see

MAX_EVENTS_PER_SESSION, MAX_RING_BYTES = 4096, 4_000_000
"""Limits of the ring of one session."""
MAX_SESSIONS = 256
"""Sessions without a stream whose events are stored."""
MAX_WIDE_EVENTS = 1024
"""Stored events that are also for streams that do not follow the session."""
MAX_EVENTS_BEHIND = 256
"""A page whose stream is further behind must reload the session."""


@dataclass(frozen=True, slots=True)
class Event:
    """An encoded event.

    ``data`` is for the person ``to``, who may answer it, and if ``operators`` also for each of
    them; ``others`` is for all others. Without ``others``, ``data`` is for all. If ``translated``,
    each reads it in the language of their page; if ``naming``, also in English.
    """

    n: int
    session: str
    chat: Chat
    data: bytes
    others: bytes | None = None
    to: str = ""
    operators: bool = False
    translated: bool = False
    naming: bool = False

    def for_(self, who: Identity) -> bytes:
        """Return the bytes for this person."""
        is_asked = who.person == self.to or (self.operators and who.is_operator)
        return self.data if self.others is None or is_asked else self.others


UNFOLLOWED = b"followed: no\n"
"""A field before an event of a session that the stream does not follow."""


@dataclass(slots=True)
class Ring:
    """The newest events of one session. ``lost`` is the number of the last one dropped."""

    events: deque[Event] = field(default_factory=deque)
    size: int = 0
    lost: int = 0

    def add(self, event: Event) -> None:
        """Add an event, and drop the oldest if there are too many."""
        self.events.append(event)
        self.size += len(event.data)
        while len(self.events) > MAX_EVENTS_PER_SESSION or (
            self.size > MAX_RING_BYTES and len(self.events) > 1
        ):
            gone = self.events.popleft()
            self.size -= len(gone.data)
            self.lost = gone.n

    def after(self, n: int, most: int) -> list[Event] | None:
        """Return the events after ``n``; None if some are gone or there are more than ``most``."""
        if n < self.lost:
            return None
        found: list[Event] = []
        for event in reversed(self.events):
            if event.n <= n:
                break
            if len(found) == most:
                return None
            found.append(event)
        found.reverse()
        return found


@dataclass(slots=True, eq=False)
class Stream:
    """One reader. ``starts`` has the number of the last known event of each session, or None if
    the session must be reloaded."""

    who: Identity
    starts: dict[str, int | None]
    at: int
    ended: bool = False
    language: Language = ENGLISH
    _waiting: asyncio.Future[None] | None = None

    def wake(self) -> None:
        """Make it read again."""
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)

    async def wait(self, seconds: float) -> None:
        """Wait until there is something to read, at most ``seconds``."""
        loop = asyncio.get_running_loop()
        self._waiting = waiting = loop.create_future()
        timer = loop.call_later(seconds, self.wake)
        try:
            await waiting
        finally:
            timer.cancel()
            self._waiting = None


class EventHub:
    """The events of this process.

    Args:
        boot: the prefix of its cursors, different in each process.
    """

    def __init__(self, boot: str = "") -> None:
        self.boot = boot or token_hex(4)
        self.n = 0
        self._rings: OrderedDict[str, Ring] = OrderedDict()
        self._forgotten = 0
        """The number of the newest event in a dropped ring."""
        self._wide: deque[Event] = deque(maxlen=MAX_WIDE_EVENTS)
        self._streams: dict[str, set[Stream]] = {}
        self._all: set[Stream] = set()
        self.closed = False

    @property
    def cursor(self) -> str:
        """The cursor after the newest event."""
        return f"{self.boot}.{self.n}"

    def number(self, cursor: str) -> int | None:
        """Return the number of a cursor of this process, or None."""
        boot, _, number = cursor.rpartition(".")
        if boot != self.boot or not (number.isascii() and number.isdecimal()):
            return None
        return min(int(number[:18]), self.n)

    def open(self, boot: str) -> None:
        """Start with new cursors; earlier events are dropped."""
        self.boot, self.closed = boot, False
        self._rings.clear()
        self._wide.clear()
        self._forgotten = self.n

    def close(self) -> None:
        """End every stream, and accept no new ones."""
        self.closed = True
        self.end()

    # Publishing

    def publish(
        self,
        session: str,
        chat: Chat,
        fields: Mapping[str, Any],
        *,
        wide: bool = False,
        others: Mapping[str, Any] | None = None,
        to: str = "",
        operators: bool = False,
    ) -> None:
        """Publish an event.

        Args:
            session: the session of the event.
            chat: its chat, which decides who may see it.
            fields: the event.
            wide: also send it to streams that do not follow the session.
            others: if given, ``fields`` are only for the person ``to``, and these for all others.
            to: a person.
            operators: ``fields`` are also for operators.
        """
        self.n += 1
        own = self.encoded(fields)
        rest = self.encoded(others) if others is not None else None
        translated, naming = (
            fields["type"] in types for types in (TRANSLATED_EVENTS, NAMING_EVENTS)
        )
        event = Event(self.n, session, chat, own, rest, to, operators, translated, naming)
        ring = self._rings.get(session)
        if ring is None:
            ring = self._rings[session] = Ring(lost=self._forgotten)
            self._bound()
        else:
            self._rings.move_to_end(session)
        ring.add(event)
        if wide:
            self._wide.append(event)
        for stream in self._all if wide else self._streams.get(session, ()):
            stream.wake()

    def encoded(self, fields: Mapping[str, Any]) -> bytes:
        """Return an encoded event with the newest cursor."""
        text = json.dumps(fields, ensure_ascii=False, separators=(",", ":"), default=str)
        return f"id: {self.cursor}\ndata: {text}\n\n".encode("utf-8", "backslashreplace")

    def _bound(self) -> None:
        if len(self._rings) <= MAX_SESSIONS:
            return
        for session in list(self._rings):
            if session not in self._streams:
                ring = self._rings.pop(session)
                if ring.events:
                    self._forgotten = max(self._forgotten, ring.events[-1].n)
                if len(self._rings) <= MAX_SESSIONS:
                    return

    # Streams

    def listen(self, who: Identity, starts: dict[str, int | None], since: int) -> Stream:
        """Open a stream of sessions that the person may see, with the start of each.

        Wide events of other sessions are sent from ``since`` on.
        """
        stream = Stream(who, starts, since, language=language())
        self._all.add(stream)
        for session in starts:
            self._streams.setdefault(session, set()).add(stream)
        return stream

    def leave(self, stream: Stream) -> None:
        """End a stream."""
        self._all.discard(stream)
        for session in stream.starts:
            watching = self._streams.get(session)
            if watching is not None:
                watching.discard(stream)
                if not watching:
                    del self._streams[session]

    def end(self, device: str | None = None) -> None:
        """End the streams of a device, or all."""
        for stream in list(self._all):
            if device is None or stream.who.device == device:
                stream.ended = True
                stream.wake()

    def begin(self, stream: Stream) -> bytes:
        """Return the first data of a stream: missed events, or a ``resync`` if some are gone."""
        found: list[Event] = []
        again: list[str] = []
        for session, start in stream.starts.items():
            ring = self._rings.get(session)
            missed: list[Event] | None
            if start is None:
                missed = None
            elif ring is not None:
                missed = ring.after(start, MAX_EVENTS_PER_SESSION)
            else:
                missed = [] if start >= self._forgotten else None
            if missed is None:
                again.append(session)
            else:
                found += missed
        found += self._wide_events(stream)
        stream.at = self.n
        return self._joined(stream, found, again)

    def read(self, stream: Stream) -> bytes:
        """Return the events that are new to a stream; empty if there are none."""
        if stream.at == self.n:
            return b""
        found: list[Event] = []
        again: list[str] = []
        for session in stream.starts:
            ring = self._rings.get(session)
            if ring is None:
                continue
            new = ring.after(stream.at, MAX_EVENTS_BEHIND)
            if new is None:
                again.append(session)
            else:
                found += new
        found += self._wide_events(stream)
        stream.at = self.n
        return self._joined(stream, found, again)

    def _wide_events(self, stream: Stream) -> list[Event]:
        """Return new wide events of sessions that the stream does not follow."""
        found = []
        for event in reversed(self._wide):
            if event.n <= stream.at:
                break
            if event.session not in stream.starts and may_see(stream.who, event.chat):
                found.append(event)
        return found

    def _joined(self, stream: Stream, found: list[Event], again: list[str]) -> bytes:
        if len(found) > 1:
            found.sort(key=lambda event: event.n)
        parts = [_framed(stream, event) for event in found]
        parts += [self.resync(session) for session in again]
        return b"".join(parts)

    def resync(self, session: str | None) -> bytes:
        """Return the event that makes a page load a snapshot."""
        event = {"type": "resync", "session": session, "turn": None, "cursor": self.cursor}
        return self.encoded(event)


def _framed(stream: Stream, event: Event) -> bytes:
    """Return the bytes of an event for a stream.

    A page must not take an event of a session that it does not follow yet for the newest one that
    it has of it: those before would be lost when it follows the session.
    """
    data = event.for_(stream.who)
    if event.naming or (event.translated and stream.language is not ENGLISH):
        with speaking(stream.language):
            data = translated_event(data)
    return data if event.session in stream.starts else UNFOLLOWED + data
