"""The person's side of the chat: what was said here, and what is not answered yet."""

from __future__ import annotations

import asyncio
import getpass
import os
import uuid
from collections import deque
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from hookline_hookspecs import Attachment, Failure, Host, Inbound, Question, Reply, Session, Turn

from .activity import CHANNEL, is_chat, plugin_view
from .choosing import OTHER
from .past import CHAT

if TYPE_CHECKING:
    from .shell_escape import Ran

LEAVE = frozenset({"/exit", "/quit"})
"""What ends the chat; every other command is for core."""
RESUME = "/resume"
"""The command that goes to another session; what is sent after it belongs there."""
AT_ONCE = frozenset({"/stop"})
"""What does not wait for it."""


class Conversation:
    """Sends messages in and knows from the signals which of them are being worked on.

    ``session`` is the session they belong to; without it, the one that was last talked in.
    ``resumed`` says that it is an earlier one.
    """

    def __init__(self, host: Host, session: str | None = None, *, resumed: bool = False) -> None:
        self._host = host
        self.session = session
        """The session that messages are sent to; one that has ended leads to its successor."""
        self.resumed = session if resumed else None
        """An earlier session whose last messages are not shown yet."""
        self.opened = self.resumed
        """The session that is open and in which something was said, if there is one."""
        self._resuming: str | None = None
        self._after: deque[Inbound] = deque()
        """Messages that wait until it is known which session they belong to."""
        self._user = _user()
        self._own: set[str] = set()
        self._failed: set[str] = set()
        self._ran: list[Ran] = []
        self._ran_before: dict[str, tuple[Ran, ...]] = {}
        self.current = session
        """The session that was last worked in."""
        self.open: set[str] = set()
        """Messages without an answer yet."""
        self.turns: set[str] = set()
        """Messages whose turn is running."""
        self.changed = asyncio.Event()
        """Set whenever one of them changes."""

    @property
    def receivers(self) -> dict[str, Any]:
        """What is to be connected to signals."""
        return {
            "on_message": self._passed,
            "start_of_turn": self._started,
            "on_error": self._went_wrong,
            "settled": self._settled,
            "resumed": self._moved,
            "end_of_session": self._ended,
        }

    @property
    def is_behind(self) -> bool:
        """Whether a turn is running while the reply of one before it is still on its way."""
        return len(self.turns & self._own) > 1

    async def say(
        self, text: str, attachments: tuple[Attachment, ...] = (), message_id: str | None = None
    ) -> str:
        """Send a message of the person in; its id, a new one if none is given."""
        message = Inbound(
            channel=CHANNEL,
            chat_id=CHAT,
            user_id=self._user,
            message_id=message_id or uuid.uuid4().hex,
            text=text,
            attachments=attachments,
            received=self._host.now(),
            session_id=self.session,
            private=True,
            sender=self._user,
        )
        self._opened(message.message_id)
        if self._ran and not text.startswith("/"):
            self._ran_before[message.message_id] = tuple(self._ran)
            self._ran.clear()
        if self._resuming is not None and text.strip().casefold() not in AT_ONCE:
            self._after.append(message)
        else:
            await self._send(message)
        return message.message_id

    async def _send(self, message: Inbound) -> None:
        if _is_resume(message.text):
            self._resuming = message.message_id
        await self._host.receive(replace(message, session_id=self.session))

    async def _send_after(self) -> None:
        while self._after and self._resuming is None:
            await self._send(self._after.popleft())

    def keep(self, ran: Ran) -> None:
        """Have the next message tell what a command of the person came to."""
        self._ran.append(ran)

    def ran_before(self, message_id: str) -> tuple[Ran, ...]:
        """The commands that the person ran before this message."""
        return self._ran_before.get(message_id, ())

    def ours(self, reply: Reply) -> bool:
        """Whether the reply answers something that was said here."""
        return reply.in_reply_to in self._own

    def elsewhere(self, reply: Reply) -> bool:
        """Whether the reply is of another session: answers nothing said here, nor its own work."""
        return not self.ours(reply) and reply.session.id not in (self.session, self.opened)

    def made(self, inbound: Inbound) -> bool:
        """Whether the message was said here, or made of one by ``/queue``."""
        return inbound.channel == CHANNEL and inbound.message_id.partition(":")[0] in self._own

    def failed(self, reply: Reply) -> bool:
        """Whether the reply tells of an error in place of an answer."""
        return reply.in_reply_to in self._failed

    def ends_turn(self, reply: Reply) -> bool:
        """Whether the reply ends a turn, and not only a command."""
        return reply.in_reply_to in self.turns

    def asked(self, reply: Reply) -> Question | None:
        """The question with choices that a turn of this chat ends with, if nothing was sent since:
        that would be its answer."""
        if reply.kind != "question" or not (self.ours(reply) and self.ends_turn(reply)):
            return None
        choices = tuple(str(one) for one in reply.choices)
        if not choices or self.open - {reply.in_reply_to}:
            return None
        listed = [f"{number}. {one}" for number, one in enumerate((*choices, OTHER), 1)]
        text = reply.text.removesuffix("\n".join(["", *listed]))
        return Question(text, choices)

    def answered(self, reply: Reply) -> None:
        """The reply was shown."""
        if reply.in_reply_to is not None:
            self._closed(reply.in_reply_to)

    def unsent(self, message_id: str) -> None:
        """The message could not be stored, so nothing comes of it."""
        self._own.discard(message_id)
        self._ran = [*self._ran_before.get(message_id, ()), *self._ran]
        self._closed(message_id)

    def _opened(self, message_id: str) -> None:
        self._own.add(message_id)
        self.open.add(message_id)

    def _closed(self, message_id: str) -> None:
        self.open.discard(message_id)
        self.turns.discard(message_id)
        self._ran_before.pop(message_id, None)
        self.changed.set()
        if message_id == self._resuming:
            self._resuming = None
            self._host.spawn(self._send_after(), "send what was said meanwhile")

    def _moved(self, session_id: str, ctx: Any = None) -> None:
        """``/resume`` has gone back to a session."""
        if self._resuming is not None:
            self.session = self.current = self.opened = self.resumed = session_id

    def _ended(self, session: Session, ctx: Any = None) -> None:
        if session.id == self.opened:
            self.opened = None

    def _settled(self, inbound: Inbound, ctx: Any = None) -> None:
        """A message needs no further work, whether or not it had a reply."""
        self._closed(inbound.message_id)

    def _passed(self, inbound: Inbound, ctx: Any = None) -> None:
        """A message is on its way: ours, or one that ``/queue`` made of ours."""
        if self.made(inbound):
            self._opened(inbound.message_id)

    def _started(self, turn: Turn, ctx: Any = None) -> None:
        if turn.inbound.channel == CHANNEL and turn.session.kind == "chat":
            self.turns.add(turn.inbound.message_id)
            self.current = turn.session.id
            if turn.inbound.message_id in self._own:
                self.opened = turn.session.id
            self.changed.set()

    def _went_wrong(self, _failure: Failure, ctx: Any = None) -> None:
        view = plugin_view(ctx)
        if view is not None and is_chat(ctx):
            self._failed.add(view.turn.inbound.message_id)


def _is_resume(text: str) -> bool:
    return [word.casefold() for word in text.split(None, 1)[:1]] == [RESUME]


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        # A container may run a user id without a name.
        return str(os.getuid()) if hasattr(os, "getuid") else "user"
