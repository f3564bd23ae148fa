"""Speaking with the agent and waiting for the answer: the service :class:`Conversations`.

``host.services[Conversations]`` is always there once plugins are set up. A channel whose replies
core delivers uses ``host.receive`` instead.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Literal, Protocol

from .events import Inbound, Question, Turn


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
    """Runs messages through the one path of every turn, for callers that show the reply."""

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
