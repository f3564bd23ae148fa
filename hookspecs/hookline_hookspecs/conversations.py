"""The service :class:`Conversations`, for sending the agent a message and awaiting the answer.

``host.services[Conversations]`` is always available once plugins are set up. A channel whose
replies core delivers uses ``host.receive`` instead.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from .host import Context
from .inbound import Inbound
from .messages import Message
from .parts import Command
from .questions import Question
from .tools import Tool
from .turns import Session, Turn


@dataclass(frozen=True, slots=True)
class Submission:
    """The result of a message.

    ``turn`` is complete; ``question`` is the one it ended with, if any. ``undelivered`` are the
    answers of interrupted turns that have not been shown yet. Await ``mark_delivered()`` after
    showing these and the reply; otherwise they are shown again.
    """

    turn: Turn
    question: Question | None
    undelivered: tuple[str, ...]
    mark_delivered: Callable[[], Awaitable[None]]


class Conversations(Protocol):
    """Runs turns, for callers that show the reply themselves, and changes conversations, for
    commands.

    Methods that take a ``ctx`` change its session. Call them only in a slash command that is not
    ``immediate``, because no turn is running then.
    """

    async def submit(self, inbound: Inbound, mode: Literal["ask", "yes", "no"]) -> Submission:
        """Process a message, a command or a turn, after earlier messages of its chat.

        ``mode`` says how an ``Ask`` is answered: by asking a person, always ``yes``, or always
        ``no``. Raises ``HooklineError`` if the store fails.
        """

    async def resume(self, session_id: str, mode: Literal["ask", "no"]) -> Submission | None:
        """Finish the session's parked or interrupted turn and wait for its end.

        If the turn waits for an answer, that is awaited first; cancelling leaves the turn parked.
        With mode ``ask`` and a session of the terminal, the person at it is asked. Another process
        may run the turn. Return None if every turn of the session has ended.
        """

    async def stop(self, inbound: Inbound) -> bool:
        """Cancel the running turn in the session of ``inbound``; return False if there is none."""

    async def steer(self, inbound: Inbound, text: str) -> bool:
        """Add ``text`` to the running turn; return False if there is none."""

    async def check_outside_turn(self, tool: Tool, arguments: Mapping[str, Any]) -> None:
        """Ask the guards of ``pre_tool`` about a call by a program of the operator, outside of any
        turn. Raises ``Refused`` if one denies it or would ask a person.

        ``tool`` need not be registered: it may be one that only the program sees.
        """

    def detached(self, channel: str, chat_id: str) -> Context:
        """Return a context of a chat outside of any turn. Its session has no id and no history."""

    def queued(self, inbound: Inbound) -> int:
        """Return the number of messages of the chat that are queued."""

    def commands(self) -> Sequence[Command]:
        """Return every slash command once, sorted by name."""

    async def end(self, ctx: Context) -> None:
        """End the session; the next message of its chat starts a new one."""

    async def begin(self, record: Session, messages: Sequence[Message]) -> bool:
        """Store a new session that begins with imported ``messages``.

        The caller chooses the id. Return False if it already exists; that session is unchanged.
        """

    async def archive(
        self, record: Session, messages: Sequence[tuple[float, Message]], ended: float
    ) -> bool:
        """Store an imported session that has ended, with an id that the caller chooses.

        ``messages`` are pairs of Unix time in seconds and message; ``ended`` is a Unix time too.
        The session is listed, found and can be reopened, but is not its chat's current one. No
        hook is called: pass the texts through ``pre_learn`` first. Return False if the id already
        exists; that session is unchanged.
        """

    async def reopen(self, session_id: str) -> None:
        """Make a stored session the current one of its chat again."""

    async def set_model(self, ctx: Context, model: str) -> None:
        """Set the session's own ``provider/model``, permanently. Raises ``BadRequest`` if there is
        no such provider or it cannot be created."""

    async def undo(self, ctx: Context) -> str | None:
        """Remove the last turn from the history and return the text of the message that started
        it. Return None if the history does not end in a turn, because it is empty or its end was
        compacted."""

    def rerun(self, ctx: Context, text: str, model: str | None = None) -> None:
        """Run a turn with ``text`` as soon as the current command returns. Its reply replaces the
        command's answer. ``model`` is the ``provider/model`` of that turn; None for the
        session's."""


class SessionBranches(Protocol):
    """Copies sessions, so that a conversation can continue from an earlier message, or in two ways.

    The prompt of a copy starts with the same bytes as that of its session, so that the provider's
    cache still applies. Always available, as :class:`Conversations` is.
    """

    async def copy(
        self, session_id: str, new: str, chat: tuple[str, str], before: int | None = None
    ) -> bool:
        """Copy a session to the new id ``new`` in the chat ``(channel, chat id)``.

        Copies the messages before the sequence number ``before``, by default all but a turn that is
        running. The copy is a session like any that a person began, and each
        :class:`SessionCopyListener` gives it what belongs to it. Return False if the session is not
        stored. Raises ``HooklineError``.
        """


class SessionCopyListener(Protocol):
    """Copies what a plugin has stored about a session, such as its mode, to a copy of it.

    Offer it in ``setup`` with ``host.services.add(SessionCopyListener, self)``.
    """

    async def session_copied(self, session: Session, copy: Session) -> None:
        """Carry over what counts in ``copy`` as in ``session``, before anything runs in it.

        What was allowed in one chat is never allowed in another. Raises ``HooklineError`` if
        nothing may run in the copy.
        """
