"""The first argument of a turn's hooks."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar

if TYPE_CHECKING:
    from .history import Rewrite
    from .host import Host
    from .messages import Message, ToolCall
    from .origins import Effect, Origin
    from .paths import Paths
    from .questions import Question
    from .tools import Tool
    from .turns import Session, Turn

T = TypeVar("T")


class Stash(dict[str, Any]):
    """A plugin's own state for one turn; ``session`` is its state for as long as the session
    lives in this process."""

    __slots__ = ("session",)
    session: dict[str, Any]

    def of(self, kind: type[T]) -> T:
        """Return the turn's only instance of ``kind``, created on first use."""
        key = f"{kind.__module__}.{kind.__qualname__}"
        if key not in self:
            self[key] = kind()
        found: T = self[key]
        return found


class Context(Protocol):
    """The first argument of every hook of a turn."""

    session: Session
    """The session."""

    turn: Turn
    """The turn so far."""

    channel: str
    """The name of the channel the message arrived on."""

    stash: Stash
    """The plugin's own state for this turn."""

    host: Host
    """The plugin's host."""

    log: logging.Logger
    """The plugin's logger."""

    model: str
    """The turn's ``provider/model``, or the session's. Raises ``HooklineError`` if none is
    configured."""

    history: tuple[Message, ...]
    """The session's messages as they are sent, including the replayed context blocks."""

    async def rewrite(self, changes: Sequence[Rewrite]) -> tuple[Message, ...]:
        """Replace parts of :attr:`history` permanently and return the new history.

        The originals stay in the store for search and export. Runs ``pre_compact`` first, drops
        the context blocks of earlier turns and sends ``compacted``. Raises ``ValueError`` if parts
        overlap, if a part would grow in number of messages, or if the running turn's own user
        message would be replaced.
        """

    operator: bool
    """True in the terminal, and wherever the plugin that offers :class:`Access` says so."""

    origins: tuple[Origin, ...]
    """Where everything came from that the session's history and this turn hold so far."""

    interactive: bool
    """True if a person can be asked in this turn."""

    approval: Literal["ask", "yes", "no"]
    """How an ``Ask`` is answered in this turn: by a person, ``yes`` without asking (they said so
    beforehand, with ``--yes``), or ``no`` because nobody is there."""

    paths: Paths
    """Guarded access to files of this session's workspace."""

    tool: Tool | None
    """In the tool hooks, the tool that is being called."""

    def notify(self, text: str) -> None:
        """Show the person a sentence in addition to the answer."""

    def effects(self, call: ToolCall) -> tuple[Effect, ...]:
        """Return what a tool call may do; ``unknown`` for a tool that is not read-only and does not
        declare it, or cannot tell."""

    async def ask_model(
        self,
        prompt: str,
        *,
        system: str | None = None,
        schema: Mapping[str, Any] | None = None,
        max_tokens: int | None = None,
    ) -> str:
        """Ask the auxiliary model once and charge the session for it.

        Without an ``auxiliary_model`` in config.yaml, the session's own model answers, which
        ``/model`` may have changed. ``schema`` is a JSON schema the answer must follow. Guards see
        this context. Raises ``ProviderError``.
        """

    async def read(self, text: str, source: str, kind: str = "file") -> str:
        """Pass ``text`` through the gate ``pre_read``, before a model reads it; return the result.

        ``source`` says where it comes from, such as a path or a URL. Raises ``Refused`` with the
        reason.
        """

    async def learn(self, text: str, source: str, kind: str, *, origins: Sequence[Origin] | None = None) -> str:
        """Pass ``text`` through the gate ``pre_learn``, before it is remembered; return the result.

        ``origins`` are those of the texts it was made from; without them, :attr:`origins`. Raises
        ``Refused`` with the reason.
        """

    def window(self, model: str | None = None) -> int:
        """Return the context window of ``provider/model``, or of :attr:`model`, in tokens; 128,000
        if it is not known."""

    async def ask(self, question: Question) -> str | None:
        """Ask a person a question and return the answer, or None if nobody can answer."""
