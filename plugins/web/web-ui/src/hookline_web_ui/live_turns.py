"""Follows running turns: publishes their events, and keeps their state for pages opened later.

Streamed text is sent at once, but at most every :data:`MIN_TEXT_INTERVAL` seconds; pieces in
between are joined.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from .event_hub import EventHub
from .session_owner import Chat

MIN_TEXT_INTERVAL = 0.015
"""Seconds between two events of one text."""
MAX_RESULT_CHARS = 20_000
"""Characters of a tool's result in an event."""
MAX_QUEUED_MESSAGES = 200
"""Queued messages of one session that are shown."""
MAX_FOLLOWED_TURNS = 1000
"""Turns whose end is not published yet although the next turn has begun."""


@dataclass(slots=True)
class Text:
    """The text of a running response: published pieces, and pieces to publish."""

    published: list[str] = field(default_factory=list)
    pending: list[str] = field(default_factory=list)


@dataclass(slots=True)
class LiveTurn:
    """A running turn; ``part`` counts its responses, ``attempt`` only increases."""

    id: str
    session: str
    chat: Chat
    attempt: int
    part: int
    message_id: str
    started: float
    text: Text = field(default_factory=Text)
    step: str = "model"
    about: str = ""
    """Why the provider delays the request."""
    retry_at: float | None = None
    """Unix time at which the provider sends the request again."""
    tools: dict[str, dict[str, Any]] = field(default_factory=dict)
    timer: asyncio.TimerHandle | None = None
    last: float = 0.0
    cost: float | None = 0.0
    seen_user: bool = False
    user: Mapping[str, Any] | None = None
    """The last event about its message, without the files."""

    def as_json(self) -> dict[str, Any]:
        """Return the turn in the form of a snapshot."""
        published = self.text.published
        part = {"part": self.part, "n": len(published), "text": "".join(published)}
        return {
            "id": self.id,
            "attempt": self.attempt,
            "message_id": self.message_id,
            "started": self.started,
            "part": self.part,
            "parts": [part] if published else [],
            "tools": list(self.tools.values()),
            "step": self.step,
            "about": self.about,
            "retry_at": self.retry_at,
        }


class LiveTurns:
    """The running turns of this process, and queued messages.

    Args:
        hub: publishes events.
        now: Unix time in seconds.
    """

    def __init__(self, hub: EventHub, now: Callable[[], float]) -> None:
        self.hub = hub
        self._now = now
        self.attempt = 0
        """The number of the first attempt; that of a later process is higher."""
        self._turns: dict[str, LiveTurn] = {}
        self._followed: OrderedDict[str, LiveTurn] = OrderedDict()
        self._waiting: dict[str, OrderedDict[str, dict[str, Any]]] = {}
        self._parked: set[str] = set()
        """Sessions whose turn waits for an answer without a process."""

    def begin_at(self, attempt: int) -> None:
        """Count attempts from ``attempt`` on, also those of turns that have begun."""
        for turn in self._turns.values():
            turn.attempt += attempt - self.attempt
        self.attempt = attempt

    # Events

    def tell(
        self,
        session: str,
        chat: Chat,
        kind: str,
        turn: str | None = None,
        *,
        fields: Mapping[str, Any],
        wide: bool = False,
    ) -> None:
        """Publish an event of a session, after its pending text."""
        running = self._turns.get(session)
        if running is not None:
            self._flush(running)
        head = {"type": kind, "session": session, "turn": turn, "ts": self._now()}
        self.hub.publish(session, chat, {**head, **fields}, wide=wide)

    def tell_question(
        self,
        session: str,
        chat: Chat,
        turn: str | None,
        question: Mapping[str, Any],
        to: str,
        *,
        operators: bool = True,
    ) -> None:
        """Publish a question; the person ``to``, and the operators, may answer it."""
        running = self._turns.get(session)
        if running is not None:
            self._flush(running)
        head = {"type": "question", "session": session, "turn": turn, "ts": self._now(), **question}
        mine, others = {**head, "may_answer": True}, {**head, "may_answer": False}
        self.hub.publish(session, chat, mine, wide=True, others=others, to=to, operators=operators)

    def _tell(self, turn: LiveTurn, kind: str, **fields: Any) -> None:
        self.tell(turn.session, turn.chat, kind, turn.id, fields=fields)

    # Queued messages

    def queued(self, session: str, chat: Chat, item: dict[str, Any]) -> None:
        """Add a stored message to the queue."""
        waiting = self._waiting.setdefault(session, OrderedDict())
        waiting[item["message_id"]] = item
        while len(waiting) > MAX_QUEUED_MESSAGES:
            waiting.popitem(last=False)
        self._tell_queue(session, chat)

    def unqueued(self, session: str, chat: Chat, message_id: str) -> None:
        """Remove a message from the queue."""
        waiting = self._waiting.get(session)
        if waiting is None or waiting.pop(message_id, None) is None:
            return
        if not waiting:
            del self._waiting[session]
        self._tell_queue(session, chat)

    def _tell_queue(self, session: str, chat: Chat) -> None:
        waiting = list(self._waiting.get(session, {}).values())
        self.tell(session, chat, "queue", fields={"queue": waiting})
        if session not in self._turns:
            self._tell_state(session, chat)

    def _tell_state(self, session: str, chat: Chat) -> None:
        running = self._turns.get(session)
        turn = running.id if running is not None else None
        self.tell(session, chat, "state", turn, fields={"state": self.state(session)}, wide=True)

    def state(self, session: str) -> str:
        """Return ``idle``, ``queued``, ``asking`` (its turn is parked) or ``running``."""
        if session in self._turns:
            return "running"
        if session in self._parked:
            return "asking"
        return "queued" if session in self._waiting else "idle"

    # Turns

    def turn(self, session: str) -> LiveTurn | None:
        """Return the running turn."""
        return self._turns.get(session)

    def under_way(self) -> list[LiveTurn]:
        """Return every running turn."""
        return [*self._turns.values()]

    def ended(self, session: str, turn: str) -> LiveTurn | None:
        """Return a turn whose end is to be published, even if the next one has begun."""
        running = self._turns.get(session)
        if running is not None and running.id == turn:
            return running
        return self._followed.pop(turn, None)

    def snapshot(self, session: str) -> dict[str, Any] | None:
        """Return the running turn for JSON, with everything published so far."""
        running = self._turns.get(session)
        if running is None:
            return None
        self._flush(running)
        return running.as_json()

    def begin(self, session: str, chat: Chat, turn: str, message_id: str, part: int) -> LiveTurn:
        """Start a turn, or resume it at response number ``part``."""
        before = self._turns.get(session)
        if before is not None:
            self._drop(before)
        attempt = self.attempt
        if before is not None and before.id == turn:
            attempt = before.attempt + 1
        elif before is not None:
            self._followed[before.id] = before
            if len(self._followed) > MAX_FOLLOWED_TURNS:
                self._followed.popitem(last=False)
        made = LiveTurn(turn, session, chat, attempt, part, message_id, self._now())
        self._turns[session] = made
        self._parked.discard(session)
        self._tell_state(session, chat)
        self._tell(made, "start", attempt=attempt, part=part)
        return made

    def end(self, turn: LiveTurn) -> None:
        """End a turn."""
        if self._turns.get(turn.session) is turn:
            self._drop(turn)
            del self._turns[turn.session]
            self._tell_state(turn.session, turn.chat)

    def park(self, turn: LiveTurn) -> None:
        """Forget a turn that waits for an answer; it begins again when there is one."""
        if self._turns.get(turn.session) is turn:
            self._drop(turn)
            del self._turns[turn.session]
            self._parked.add(turn.session)
            self._tell_state(turn.session, turn.chat)

    def set_parked(self, session: str, parked: bool) -> None:
        """Correct, from the store, whether a session's turn waits for an answer."""
        if parked:
            self._parked.add(session)
        else:
            self._parked.discard(session)

    def _drop(self, turn: LiveTurn) -> None:
        self._flush(turn)
        if turn.timer is not None:
            turn.timer.cancel()
            turn.timer = None

    def step(
        self, turn: LiveTurn, step: str, text: str = "", retry_at: float | None = None
    ) -> None:
        """Set what the turn is doing; ``text`` says why it waits, and ``retry_at`` until when."""
        if turn.step != step or text:
            turn.step, turn.about, turn.retry_at = step, text, retry_at
            place = {"attempt": turn.attempt, "part": turn.part}
            self._tell(turn, "step", **place, step=step, text=text, retry_at=retry_at)

    # Text

    def add(self, turn: LiveTurn, text: str) -> None:
        """Add streamed text of the response."""
        self.step(turn, "answering")
        turn.text.pending.append(text)
        if turn.timer is not None:
            return
        loop = asyncio.get_running_loop()
        wait = turn.last + MIN_TEXT_INTERVAL - loop.time()
        if wait <= 0:
            self._flush(turn)
        else:
            turn.timer = loop.call_later(wait, self._flush, turn)

    def _flush(self, turn: LiveTurn) -> None:
        if turn.timer is not None:
            turn.timer.cancel()
            turn.timer = None
        pending = turn.text.pending
        if not pending:
            return
        text = pending[0] if len(pending) == 1 else "".join(pending)
        pending.clear()
        turn.last = asyncio.get_running_loop().time()
        n = len(turn.text.published)
        turn.text.published.append(text)
        fields = {"attempt": turn.attempt, "part": turn.part, "n": n, "text": text}
        head = {"type": "delta", "session": turn.session, "turn": turn.id, "ts": self._now()}
        self.hub.publish(turn.session, turn.chat, {**head, **fields})

    def restart(self, turn: LiveTurn) -> None:
        """Start the response again; its published text is void."""
        turn.text.pending.clear()
        self._flush(turn)
        turn.text = Text()
        turn.attempt += 1
        turn.step = "model"
        self._tell(turn, "start", attempt=turn.attempt, part=turn.part)

    def whole(self, turn: LiveTurn, text: str) -> None:
        """Complete a stored response."""
        self._flush(turn)
        exact = "".join(turn.text.published) == text
        shown = None if exact else text
        self._tell(turn, "part", attempt=turn.attempt, part=turn.part, text=shown)
        turn.part += 1
        turn.text = Text()

    # Tools

    def called(self, turn: LiveTurn, call: Mapping[str, Any]) -> None:
        """Add a tool call."""
        turn.tools[call["id"]] = {**call, "ok": None, "text": "", "seconds": None, "diff": None}
        self._tell(turn, "tool_call", **call)

    def returned(self, turn: LiveTurn, result: dict[str, Any]) -> None:
        """Add the result of a call."""
        text = result["text"]
        if len(text) > MAX_RESULT_CHARS:
            result["text"] = (
                f"{text[:MAX_RESULT_CHARS]}\n[… {len(text) - MAX_RESULT_CHARS:,} characters more]"
            )
        if (known := turn.tools.get(result["id"])) is not None:
            known.update(result)
        self._tell(turn, "tool_result", **result)
