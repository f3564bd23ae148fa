"""Speaking with the agent and waiting for the answer: the service :class:`Conversations`.

``host.services[Conversations]`` is always there once plugins are set up. A channel whose replies
core delivers uses ``host.receive`` instead.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from .events import Inbound, Question, Turn
from .host import Context
from .parts import Command


@dataclass(frozen=True, slots=True)
class Submission:
    """What a message came to.

    ``turn`` has ended; ``question`` is the one it ended in, if any. ``unshown`` are answers of
    interrupted turns of the session that nobody has seen yet. Await ``confirm()`` once the reply
    and these were shown: without it they are shown again.
    """

    turn: Turn
    question: Question | None
    unshown: tuple[str, ...]
    confirm: Callable[[], Awaitable[None]]


class Conversations(Protocol):
    """Runs messages through the one path of every turn, for callers that show the reply, and
    changes the conversations themselves, for commands.

    A method that takes a ``ctx`` changes its session; call it in a slash command that is not
    ``immediate``: no turn is under way then.
    """

    async def submit(self, inbound: Inbound, mode: Literal["ask", "yes", "no"]) -> Submission:
        """Work on a message to its end: a command or a turn, after those before it in its chat.

        ``mode`` says who answers an ``Ask``: a person, nobody because it is granted, or nobody
        because there is none. Raises ``HooklineError`` kin if the store fails.
        """

    async def stop(self, inbound: Inbound) -> bool:
        """Cancel the turn under way in the session of ``inbound``; False if there is none."""

    async def steer(self, inbound: Inbound, text: str) -> bool:
        """Speak into the turn under way; False if there is none."""

    def queued(self, inbound: Inbound) -> int:
        """Messages of the chat that wait for their turn."""

    def commands(self) -> Sequence[Command]:
        """Every slash command once, by name."""

    async def end(self, ctx: Context) -> None:
        """End the session; the next message of its chat begins a new one."""

    async def reopen(self, session_id: str) -> None:
        """Make a stored session its chat's current one again."""

    async def set_model(self, ctx: Context, model: str) -> None:
        """Give the session a ``provider/model`` of its own, for good. Raises ``BadRequest``,
        with a sentence, if there is no such provider or it cannot be made."""

    async def undo(self, ctx: Context) -> str | None:
        """Remove the last turn from the history and return the text of the message that began it.
        None if the history does not end in a turn: it is empty, or its end was compacted."""

    def rerun(self, ctx: Context, text: str) -> None:
        """Run a turn with ``text`` as soon as the command at hand returns. Its reply takes the
        place of the command's answer."""
