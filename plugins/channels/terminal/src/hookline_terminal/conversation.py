"""The person's side of the chat: sends messages and tracks which are not answered yet."""

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
from .answer_keys import OTHER
from .past_sessions import CHAT_ID

if TYPE_CHECKING:
    from .shell_escape import ShellRun

EXIT_COMMANDS = frozenset({"/exit", "/quit"})
"""End the chat; core does not know them."""
RESUME = "/resume"
SWITCH_COMMANDS = frozenset({RESUME, "/fork"})
"""Switch to another session; messages sent after one wait until the switch is done."""
IMMEDIATE_COMMANDS = frozenset({"/stop"})
"""Sent even while a switch is under way."""


class TerminalConversation:
    """Sends messages, and follows by signals which of them are being processed.

    Args:
        host: the plugin's host.
        session: the session to send to; None for the one last used.
        resumed: whether that is an earlier session.
    """

    def __init__(self, host: Host, session: str | None = None, *, resumed: bool = False) -> None:
        self._host = host
        self.session = session
        """The session that messages are sent to; if it has ended, they go to its successor."""
        self.resumed = session if resumed else None
        """An earlier session whose last messages are not shown yet."""
        self.opened = self.resumed
        """The open session, if it has messages."""
        self._switch_message: str | None = None
        """The id of a ``/resume`` or ``/fork`` that is under way."""
        self._waiting: deque[Inbound] = deque()
        """Messages that wait for the end of the switch."""
        self._user = user_name()
        self._own: set[str] = set()
        self._failed: set[str] = set()
        self._shell_runs: list[ShellRun] = []
        """Commands run with ``!`` since the last message."""
        self._shell_runs_before: dict[str, tuple[ShellRun, ...]] = {}
        self.current = session
        """The session of the last turn."""
        self.open: set[str] = set()
        """Ids of messages without an answer."""
        self.turns: set[str] = set()
        """Ids of messages whose turn is running."""
        self.changed = asyncio.Event()
        """Set whenever ``open`` or ``turns`` changes."""

    @property
    def receivers(self) -> dict[str, Any]:
        """The receivers to connect, by signal."""
        return {
            "on_message": self._on_message,
            "start_of_turn": self._on_start_of_turn,
            "on_error": self._on_error,
            "settled": self._on_settled,
            "resumed": self._on_resumed,
            "end_of_session": self._on_end_of_session,
        }

    @property
    def is_behind(self) -> bool:
        """Whether a turn runs although the reply of an earlier one has not arrived."""
        return len(self.turns & self._own) > 1

    async def say(
        self, text: str, attachments: tuple[Attachment, ...] = (), message_id: str | None = None
    ) -> str:
        """Send a message and return its id, a new one if none is given."""
        message = Inbound(
            channel=CHANNEL,
            chat_id=CHAT_ID,
            user_id=self._user,
            message_id=message_id or uuid.uuid4().hex,
            text=text,
            attachments=attachments,
            received=self._host.now(),
            session_id=self.session,
            private=True,
            sender=self._user,
        )
        self.expect(message.message_id)
        if self._shell_runs and not text.startswith("/"):
            self._shell_runs_before[message.message_id] = tuple(self._shell_runs)
            self._shell_runs.clear()
        is_immediate = text.strip().casefold() in IMMEDIATE_COMMANDS
        if self._switch_message is not None and not is_immediate:
            self._waiting.append(message)
        else:
            await self._send(message)
        return message.message_id

    async def _send(self, message: Inbound) -> None:
        if _is_switch(message.text):
            self._switch_message = message.message_id
        await self._host.receive(replace(message, session_id=self.session))

    async def _send_waiting(self) -> None:
        while self._waiting and self._switch_message is None:
            await self._send(self._waiting.popleft())

    def go_on_in(self, session_id: str) -> None:
        """Send the next messages to another session, which has messages."""
        self.session = self.current = self.opened = session_id

    def add_shell_run(self, run: ShellRun) -> None:
        """Attach a command of the person and its output to the next message."""
        self._shell_runs.append(run)

    def shell_runs_before(self, message_id: str) -> tuple[ShellRun, ...]:
        """Return the commands that the person ran before this message."""
        return self._shell_runs_before.get(message_id, ())

    def is_own_reply(self, reply: Reply) -> bool:
        """Whether the reply answers a message of this chat."""
        return reply.in_reply_to in self._own

    def is_of_other_session(self, reply: Reply) -> bool:
        """Whether the reply comes from another session and answers no message of this chat."""
        sessions = (self.session, self.opened)
        return not self.is_own_reply(reply) and reply.session.id not in sessions

    def is_own_message(self, inbound: Inbound) -> bool:
        """Whether the message was sent here, or made from such a message by ``/queue``."""
        return inbound.channel == CHANNEL and inbound.message_id.partition(":")[0] in self._own

    def is_failure(self, reply: Reply) -> bool:
        """Whether the reply is an error message."""
        return reply.in_reply_to in self._failed

    def ends_turn(self, reply: Reply) -> bool:
        """Whether the reply ends a turn, and not only a command."""
        return reply.in_reply_to in self.turns

    def open_question(self, reply: Reply) -> Question | None:
        """Return the question with choices that a turn of this chat ended with.

        None if another message was sent since: that one is the answer.
        """
        if reply.kind != "question" or not (self.is_own_reply(reply) and self.ends_turn(reply)):
            return None
        choices = reply.labels
        if not choices or self.open - {reply.in_reply_to}:
            return None
        listed = [f"{number}. {choice}" for number, choice in enumerate((*choices, OTHER), 1)]
        text = reply.text.removesuffix("\n".join(["", *listed]))
        return Question(text, choices)

    def mark_answered(self, reply: Reply) -> None:
        """Record that the reply was shown."""
        if reply.in_reply_to is not None:
            self._close(reply.in_reply_to)

    def discard(self, message_id: str) -> None:
        """Forget a message that could not be stored."""
        self._own.discard(message_id)
        self._shell_runs = [*self._shell_runs_before.get(message_id, ()), *self._shell_runs]
        self._close(message_id)

    def expect(self, message_id: str) -> None:
        """Follow a message that is being sent."""
        self._own.add(message_id)
        self.open.add(message_id)

    def _close(self, message_id: str) -> None:
        self.open.discard(message_id)
        self.turns.discard(message_id)
        self._shell_runs_before.pop(message_id, None)
        self.changed.set()
        if message_id == self._switch_message:
            self._switch_message = None
            self._host.spawn(self._send_waiting(), "send messages that waited for a switch")

    def _on_resumed(self, session_id: str, ctx: Any = None) -> None:
        if self._switch_message is not None:
            self.go_on_in(session_id)
            self.resumed = session_id

    def _on_end_of_session(self, session: Session, ctx: Any = None) -> None:
        if session.id == self.opened:
            self.opened = None

    def _on_settled(self, inbound: Inbound, ctx: Any = None) -> None:
        self._close(inbound.message_id)

    def _on_message(self, inbound: Inbound, ctx: Any = None) -> None:
        if self.is_own_message(inbound):
            self.expect(inbound.message_id)

    def _on_start_of_turn(self, turn: Turn, ctx: Any = None) -> None:
        if turn.inbound.channel == CHANNEL and turn.session.kind == "chat":
            self.turns.add(turn.inbound.message_id)
            self.current = turn.session.id
            if turn.inbound.message_id in self._own:
                self.opened = turn.session.id
            self.changed.set()

    def _on_error(self, _failure: Failure, ctx: Any = None) -> None:
        view = plugin_view(ctx)
        if view is not None and is_chat(ctx):
            self._failed.add(view.turn.inbound.message_id)


def _is_switch(text: str) -> bool:
    return any(word.casefold() in SWITCH_COMMANDS for word in text.split(None, 1)[:1])


def user_name() -> str:
    """Return the name of the person who runs this process."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        # A container may run a user id without a name.
        return str(os.getuid()) if hasattr(os, "getuid") else "user"
