"""The channel ``terminal``: picks the interactive or the piped chat and passes replies to it."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from hookline_hookspecs import Feature, Host, Question, QuestionAnswer, Questions, Reply
from hookline_hookspecs.channels import Channel

from .activity import CHANNEL
from .config import TerminalConfig
from .conversation import TerminalConversation, user_name
from .open_chat import OpenChatEntry

if TYPE_CHECKING:
    from .notifications import TerminalNotifications
    from .shell_escape import ShellRun


class ChatFrontend(Protocol):
    """Implemented by ``InteractiveChat`` and ``PipedChat``."""

    @property
    def receivers(self) -> dict[str, Any]:
        """The receivers to connect, by signal."""

    @property
    def spent(self) -> str:
        """What the chat cost, for people; empty for nothing."""

    async def run(self) -> None:
        """Read and send messages until the input ends."""

    async def leave(self) -> None:
        """Stop what runs."""

    def show(self, reply: Reply) -> None:
        """Show a reply. Raises ``OSError`` if it could not be shown."""

    async def ask(self, question: Question) -> str | QuestionAnswer | None:
        """Return the person's answer; None if they cannot be asked."""


class TerminalChannel(Channel):
    """The person at this process's terminal."""

    name = CHANNEL
    edits = True
    network = False
    can: frozenset[Feature] = frozenset({"edits"})

    def __init__(self, host: Host, config: TerminalConfig) -> None:
        self._host = host
        self.config = config
        self._frontend: ChatFrontend | None = None
        self.session: str | None = None
        """The session that the chat continues or starts."""
        self.resumed = False
        """Whether ``session`` is an earlier one; its last messages are shown then."""
        self._conversation: TerminalConversation | None = None
        self._entry: OpenChatEntry | None = None
        self._connected: list[tuple[str, Any]] = []
        self._task: asyncio.Task[None] | None = None
        self.spent = ""
        """What the chat cost, for people, once it has stopped; empty for nothing."""
        self._question_lock = asyncio.Lock()
        self.during_questions: Callable[[], AbstractAsyncContextManager[None]] = nullcontext
        """Entered while a question is asked beside the output of ``hookline run``."""

    async def start(self) -> None:
        """Start reading."""
        self._conversation = conversation = TerminalConversation(
            self._host, self.session, resumed=self.resumed
        )
        self._frontend = self._choose(conversation)
        self._entry = entry = OpenChatEntry(self._host, conversation)
        for receivers in (conversation.receivers, self._frontend.receivers, entry.receivers):
            for signal, receiver in receivers.items():
                self._host.signals.connect(signal, receiver)
                self._connected.append((signal, receiver))
        await entry.update()
        self._task = asyncio.create_task(self._frontend.run(), name="terminal input")

    def _choose(self, conversation: TerminalConversation) -> ChatFrontend:
        if _is_interactive():
            from .interactive_chat import InteractiveChat

            return InteractiveChat(self._host, self.config, conversation)
        from .piped_chat import PipedChat

        return PipedChat(conversation, self.config)

    @property
    def open_session(self) -> str | None:
        """The open session, or after the end the last one; None if it has no messages."""
        return self._conversation.opened if self._conversation is not None else None

    async def wait(self) -> None:
        """Wait for the end of the input and the answer to the last message."""
        if self._task is not None:
            await self._task

    async def stop(self) -> None:
        """Stop reading, and what runs: a signal or a closed terminal ends it as the person does."""
        if self._frontend is not None:
            await self._frontend.leave()
        self.spent = self._frontend.spent if self._frontend is not None else ""
        task, self._task, self._frontend = self._task, None, None
        for signal, receiver in self._connected:
            self._host.signals.disconnect(signal, receiver)
        self._connected.clear()
        entry, self._entry = self._entry, None
        if entry is not None:
            await entry.close()
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def go_on_in(self, session_id: str) -> None:
        """Send the next messages of an open chat to another session."""
        if self._conversation is not None:
            self._conversation.go_on_in(session_id)
        if self._entry is not None:
            await self._entry.update()

    def shell_runs_before(self, message_id: str) -> tuple[ShellRun, ...]:
        """Return the commands that the person ran with ``!`` before this message."""
        return self._conversation.shell_runs_before(message_id) if self._conversation else ()

    async def send(self, reply: Reply) -> str | None:
        """Show a reply. Raises ``RuntimeError`` if no chat is open."""
        if self._frontend is None:
            raise RuntimeError("no chat is open in this process; the next `hookline chat` shows it")
        self._frontend.show(reply)
        return None

    async def ask(self, question: Question) -> str | QuestionAnswer | None:
        """Return the person's answer; None if there is no terminal to ask on."""
        if self._frontend is not None:
            return await self._frontend.ask(question)
        if not is_terminal(sys.stdin):
            return None
        from .question_prompt import ask_beside_output

        closed = partial(self._host.services[Questions].get, question.id)
        async with self._question_lock, self.during_questions():
            return await ask_beside_output(
                question,
                plain=self.config.is_plain(self._host.env),
                closed=closed,
                notifications=self._notifications,
            )

    def _notifications(self, send: Callable[[str], None]) -> TerminalNotifications:
        from .notifications import TerminalNotifications

        config = self.config
        return TerminalNotifications(
            send, self._host.env, enabled=config.notify, long_turn_seconds=config.notify_seconds
        )

    async def ask_about_folder(self) -> bool | None:
        """Ask whether the workspace may be trusted, before a chat; True if it is from now on.

        None if nothing was asked.
        """
        if not _is_interactive():
            return None
        from .folder_question import ask_about_folder

        return await ask_about_folder(self._host, self.ask, user_name())

    async def answer_to(self, question: Question) -> str | None:
        """Ask the question that a turn of ``hookline run`` ended with and has shown.

        Returns a choice or a written answer; None if the person leaves it.
        """
        if self._frontend is not None or not is_terminal(sys.stdin) or _dumb():
            return None
        from .question_prompt import ask_beside_output
        from .question_text import with_other

        async with self._question_lock, self.during_questions():
            answer = await ask_beside_output(with_other(question), own_words=True)
        return answer.choice if isinstance(answer, QuestionAnswer) else answer


def is_terminal(stream: Any) -> bool:
    """Whether a standard stream exists and is a terminal."""
    try:
        return bool(stream is not None and stream.isatty())
    except ValueError:  # closed
        return False


def _is_interactive() -> bool:
    return is_terminal(sys.stdin) and is_terminal(sys.stdout) and not _dumb()


def _dumb() -> bool:
    return os.environ.get("TERM", "").lower() in ("dumb", "unknown")
