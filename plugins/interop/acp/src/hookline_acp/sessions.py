"""The sessions that an editor has open, and the prompts that are under way in them."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

from hookline_hookspecs import Failure, Inbound

from .prompts import Embedded

CHANNEL, CHAT = "terminal", "default"
"""An editor is the operator's own, as the terminal is: it shares the terminal's conversations."""


@dataclass(eq=False)
class Prompt:
    """A prompt that is being answered.

    ``message_id`` is that of the text that is growing, ``said`` what the editor has of it; a new
    response begins anew once ``is_over`` says so. ``calls`` are those that have no result yet.
    """

    inbound: Inbound
    embedded: tuple[Embedded, ...] = ()
    cancelled: bool = False
    begun: bool = False
    failure: Failure | None = None
    message_id: str = field(default_factory=lambda: str(uuid4()))
    said: str = ""
    is_over: bool = False
    calls: set[str] = field(default_factory=set)

    def begin_text(self) -> None:
        """The next text belongs to another response."""
        self.message_id, self.said, self.is_over = str(uuid4()), "", False

    def left_of(self, reply: str) -> str:
        """What of the reply the editor does not have: all of it if it is another text. Spaces and
        line ends do not make it another."""
        said, whole = self.said.strip(), reply.strip()
        if not said or whole.startswith(said):
            return whole[len(said) :] if said else reply
        place = 0
        for word in said.split():
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

    ``id`` is the name that the editor knows, ``target`` the session that its messages are sent to,
    another one after ``/resume``. ``current`` is where they led to last, another one after ``/new``
    or long silence. ``cost`` is in US dollars since this process began, None where it is not known;
    ``used`` are the tokens of the last request and its answer.
    """

    id: str
    workspace: Path
    target: str
    current: str
    prompt: Prompt | None = None
    title: str | None = None
    mode: str = ""
    cost: float | None = 0.0
    used: int = 0
    servers: tuple[dict[str, Any], ...] = ()
    """The MCP servers that the editor passed with it."""
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    prompts: set[Prompt] = field(default_factory=set)
    """Those under way and those that wait."""


class Open:
    """Every session that is open, by the names that the editor and core know."""

    def __init__(self) -> None:
        self._known: dict[str, EditorSession] = {}
        self._leads: dict[str, EditorSession] = {}
        """Sessions of core, those of sub-agents too, to the one that the editor sees."""

    def add(self, session: EditorSession) -> None:
        """The editor has opened a session."""
        self._known[session.id] = session
        self._leads[session.current] = session

    def drop(self, session: EditorSession) -> None:
        """The editor has closed a session."""
        self._known.pop(session.id, None)
        for core_id in [name for name, led in self._leads.items() if led is session]:
            del self._leads[core_id]

    def get(self, name: str | None) -> EditorSession | None:
        """The session that the editor calls ``name``."""
        return self._known.get(name) if name is not None else None

    def all(self) -> list[EditorSession]:
        """Every session."""
        return list(self._known.values())

    def lead(self, core_id: str, session: EditorSession) -> None:
        """What happens in a session of core is shown in ``session`` from now on."""
        self._leads[core_id] = session

    def unlead(self, core_id: str) -> None:
        """A session of core, a sub-agent's, is over."""
        self._leads.pop(core_id, None)

    def shown_in(self, core_id: str | None) -> EditorSession | None:
        """The session in which is shown what happens in a session of core."""
        return self._leads.get(core_id) if core_id is not None else None
