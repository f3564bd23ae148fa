"""The channel ``terminal``: chooses how to talk, and hands replies and questions on."""

from __future__ import annotations

import asyncio
import os
import sys
from typing import TYPE_CHECKING, Any, Protocol

from hookline_hookspecs import Feature, Host, Question, Reply
from hookline_hookspecs.channels import Channel

from .activity import CHANNEL
from .config import TerminalConfig
from .conversation import Conversation

if TYPE_CHECKING:
    from .shell_escape import Ran


class Front(Protocol):
    """One way of talking: :class:`.interactive.Interactive` or :class:`.plain.Plain`."""

    @property
    def receivers(self) -> dict[str, Any]:
        """What it wants to hear, by signal."""

    async def run(self) -> None:
        """Talk until the input ends."""

    def show(self, reply: Reply) -> None:
        """Show a reply. Raises ``OSError`` if it could not be shown."""

    async def ask(self, question: Question) -> str | None:
        """The person's choice, or None if they cannot be asked."""


class TerminalChannel(Channel):
    """The person at this process's terminal."""

    name = CHANNEL
    edits = True
    network = False
    can: frozenset[Feature] = frozenset({"edits"})

    def __init__(self, host: Host, config: TerminalConfig) -> None:
        self._host = host
        self._config = config
        self._front: Front | None = None
        self.session: str | None = None
        """The session that the chat continues or begins."""
        self.resumed = False
        """Whether that is an earlier one, whose last messages are shown."""
        self._conversation: Conversation | None = None
        self._connected: list[tuple[str, Any]] = []
        self._task: asyncio.Task[None] | None = None
        self.spent = ""
        """What the chat cost, in words, once it has stopped; empty for nothing."""
        self._one_at_a_time = asyncio.Lock()

    async def start(self) -> None:
        """Begin to read."""
        self._conversation = conversation = Conversation(
            self._host, self.session, resumed=self.resumed
        )
        self._front = self._choose(conversation)
        for receivers in (conversation.receivers, self._front.receivers):
            for signal, receiver in receivers.items():
                self._host.signals.connect(signal, receiver)
                self._connected.append((signal, receiver))
        self._task = asyncio.create_task(self._front.run(), name="terminal input")

    def _choose(self, conversation: Conversation) -> Front:
        if is_terminal(sys.stdin) and is_terminal(sys.stdout) and not _dumb():
            from .interactive import Interactive

            return Interactive(self._host, self._config, conversation)
        from .plain import Plain

        return Plain(conversation, self._config)

    @property
    def open_session(self) -> str | None:
        """The session that is open or was at the end, if anything was said in it."""
        return self._conversation.opened if self._conversation is not None else None

    async def wait(self) -> None:
        """Return at the end of the input, when the last message is answered."""
        if self._task is not None:
            await self._task

    async def stop(self) -> None:
        """Stop reading."""
        self.spent = getattr(self._front, "spent", "")
        task, self._task, self._front = self._task, None, None
        for signal, receiver in self._connected:
            self._host.signals.disconnect(signal, receiver)
        self._connected.clear()
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    def ran_before(self, message_id: str) -> tuple[Ran, ...]:
        """The commands that the person ran with ``!`` before this message."""
        return self._conversation.ran_before(message_id) if self._conversation else ()

    async def send(self, reply: Reply) -> str | None:
        """Show a reply. Raises ``RuntimeError`` if nobody is there to read it."""
        if self._front is None:
            raise RuntimeError("no chat is open in this process; the next `hookline chat` shows it")
        self._front.show(reply)
        return None

    async def ask(self, question: Question) -> str | None:
        """The person's choice; None if there is no terminal to ask on."""
        if self._front is not None:
            return await self._front.ask(question)
        if not is_terminal(sys.stdin):
            return None
        from .asking import ask_beside_output

        async with self._one_at_a_time:
            return await ask_beside_output(question)

    async def answer_to(self, question: Question) -> str | None:
        """The person's answer to the question that a turn of ``hookline run`` has ended with and
        shown, in words of their own if no choice fits; None if they leave it."""
        if self._front is not None or not is_terminal(sys.stdin) or _dumb():
            return None
        from .asking import ask_beside_output
        from .question_text import with_other

        async with self._one_at_a_time:
            return await ask_beside_output(with_other(question), own_words=True)


def is_terminal(stream: Any) -> bool:
    """Whether a standard stream is there and is a terminal."""
    try:
        return bool(stream is not None and stream.isatty())
    except ValueError:  # closed
        return False


def _dumb() -> bool:
    return os.environ.get("TERM", "").lower() in ("dumb", "unknown")
