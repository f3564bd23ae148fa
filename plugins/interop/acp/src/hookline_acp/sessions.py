"""The sessions that an editor has open, and their prompts."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

from hookline_hookspecs import Failure, Inbound

from .prompts import EmbeddedFile

CHANNEL, CHAT = "terminal", "default"
"""An editor belongs to the operator, like the terminal: it shares the terminal's conversations."""


@dataclass(eq=False)
class ActivePrompt:
    """A prompt that is being answered.

    ``message_id`` and ``streamed`` are id and text of the message that is being streamed; after
    ``is_over`` the next text starts another message. ``calls`` are the ids of calls without a
    result.
    """

    inbound: Inbound
    embedded: tuple[EmbeddedFile, ...] = ()
    cancelled: bool = False
    begun: bool = False
    failure: Failure | None = None
    message_id: str = field(default_factory=lambda: str(uuid4()))
    streamed: str = ""
    is_over: bool = False
    calls: set[str] = field(default_factory=set)

    def begin_text(self) -> None:
        """Start another message."""
        self.message_id = str(uuid4())
        self.streamed = ""
        self.is_over = False

    def unsent_part(self, reply: str) -> str:
        """Return the part of the reply that was not streamed yet.

        That is all of it if it does not start with the streamed text, whitespace aside.
        """
        streamed = self.streamed.strip()
        whole = reply.strip()
        if not streamed or whole.startswith(streamed):
            return whole[len(streamed) :] if streamed else reply
        place = 0
        for word in streamed.split():
            for character in word:
                while place < len(whole) and whole[place].isspace():
                    place += 1
                if whole[place : place + 1] != character:
                    return reply
                place += 1
        return whole[place:]


@dataclass(eq=False)
class EditorSession:
    """A session that the editor has open.

    ``id`` is the editor's id. Messages are sent to core's session ``target``, which changes with
    ``/resume``; ``current`` is the session that answered last, which changes with ``/new`` or after
    a long pause. ``cost`` is in US dollars since this process started, None if unknown; ``used``
    are the tokens of the last request and response.
    """

    id: str
    workspace: Path
    target: str
    current: str
    prompt: ActivePrompt | None = None
    title: str | None = None
    mode: str = ""
    cost: float | None = 0.0
    used: int = 0
    models: dict[str, str] = field(default_factory=dict)
    """The models that the editor was offered, with descriptions."""
    options: dict[str, str] = field(default_factory=dict)
    """The values of the options that the editor was sent last."""
    servers: tuple[dict[str, Any], ...] = ()
    """The editor's MCP servers for this session."""
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    prompts: set[ActivePrompt] = field(default_factory=set)
    """The running prompt and those that wait."""


class OpenSessions:
    """The open sessions, by the editor's ids and by core's."""

    def __init__(self) -> None:
        self._known: dict[str, EditorSession] = {}
        self._by_core_id: dict[str, EditorSession] = {}
        """By id of core's session, including those of sub-agents."""

    def add(self, session: EditorSession) -> None:
        """Add a session that the editor opened."""
        self._known[session.id] = session
        self._by_core_id[session.current] = session

    def drop(self, session: EditorSession) -> None:
        """Remove a session that the editor closed."""
        self._known.pop(session.id, None)
        for core_id in [name for name, shown in self._by_core_id.items() if shown is session]:
            del self._by_core_id[core_id]

    def get(self, name: str | None) -> EditorSession | None:
        """Return the session with the editor's id ``name``."""
        return self._known.get(name) if name is not None else None

    def all(self) -> list[EditorSession]:
        """Return every open session."""
        return list(self._known.values())

    def show_in(self, core_id: str, session: EditorSession) -> None:
        """Show what happens in a session of core in ``session``."""
        self._by_core_id[core_id] = session

    def hide(self, core_id: str) -> None:
        """Stop showing a session of core, when its sub-agent has finished."""
        self._by_core_id.pop(core_id, None)

    def find(self, core_id: str | None) -> EditorSession | None:
        """Return the session in which a session of core is shown."""
        return self._by_core_id.get(core_id) if core_id is not None else None
