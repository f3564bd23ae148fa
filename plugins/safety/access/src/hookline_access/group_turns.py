"""Whose turn runs in a group, and who may use the commands that act on it.

A group shares one session. A slash command declares with its ``audience`` who may use it there, and
:class:`GroupTurns` knows who started which turn.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any

from hookline_hookspecs import Command, Conversations, Host, Inbound, Turn

from .chats import Chat
from .people import Person

MAX_REMEMBERED = 4096
"""Chats, and waiting messages, that are remembered."""
NOT_YOUR_TURN = (
    "Only the person who started the turn, or an admin, can use {0} here. Nothing was changed."
)
ADMINS_ONLY = "Only an admin can use {0} here. Nothing was changed."
NOT_YOUR_SESSION = (
    "Only the person who began this session, while no one else's turn runs or waits, or an admin, "
    "can use {0} here. Nothing was changed."
)


@dataclass(frozen=True, slots=True)
class RunningTurn:
    """A running turn: its id, the message that started it, its session and its person."""

    turn: str
    message: str
    session: str
    person: Person


@dataclass(frozen=True, slots=True)
class SharedSession:
    """The session of a chat, who began it, and who started its last turn."""

    session: str
    began: Person
    last: Person


class GroupTurns:
    """The turns of groups, in memory and, for the next process, in the store."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._running: OrderedDict[Chat, RunningTurn] = OrderedDict()
        self._waiting: OrderedDict[tuple[Chat, str], Person] = OrderedDict()
        """Accepted messages that are not settled."""
        self._shared: OrderedDict[Chat, SharedSession | None] = OrderedDict()

    async def started(self, turn: Turn) -> None:
        """Record that a turn started."""
        inbound, session = turn.inbound, turn.session
        if session.kind != "chat" or not inbound.user_id:
            return
        chat, person = (session.channel, session.chat_id), Person.of(inbound)
        self._running[chat] = RunningTurn(turn.id, inbound.message_id, session.id, person)
        known = await self._shared_session(chat)
        began = known.began if known is not None and known.session == session.id else person
        new = SharedSession(session.id, began, person)
        if new != known:
            self._shared[chat] = new
            value = [new.session, *_pair(began), *_pair(person)]
            await self._host.storage.kv.set(_key(chat), value)
        _trim(self._running)
        _trim(self._shared)

    def ended(self, turn: Turn) -> None:
        """Record that a turn ended."""
        chat = (turn.session.channel, turn.session.chat_id)
        running = self._running.get(chat)
        if running is not None and running.turn == turn.id:
            del self._running[chat]

    def accepted(self, inbound: Inbound) -> None:
        """Record an accepted message that is not a command."""
        self._waiting[_chat(inbound), inbound.message_id] = Person.of(inbound)
        _trim(self._waiting)

    def settled(self, inbound: Inbound) -> None:
        """Record that a message needs no more work."""
        chat = _chat(inbound)
        self._waiting.pop((chat, inbound.message_id), None)
        running = self._running.get(chat)
        if running is not None and running.message == inbound.message_id:
            del self._running[chat]

    async def refusal(self, inbound: Inbound, known: Command) -> str | None:
        """Why a person (no admin) may not use a command in this group; None if they may."""
        person, chat = Person.of(inbound), _chat(inbound)
        match known.audience:
            case "everyone":
                return None
            case "turn":
                allowed, reason = await self._may_act_on_turn(person, chat, known), NOT_YOUR_TURN
            case "session":
                allowed, reason = await self._may_change_session(person, chat), NOT_YOUR_SESSION
            case _:
                allowed, reason = False, ADMINS_ONLY
        return None if allowed else reason.format(known.name)

    async def _may_change_session(self, person: Person, chat: Chat) -> bool:
        shared = await self._shared_session(chat)
        return (shared is None or shared.began == person) and self._is_free_for(person, chat)

    async def _may_act_on_turn(self, person: Person, chat: Chat, known: Command) -> bool:
        running = self._running.get(chat)
        if known.immediate and running is not None:
            return running.person == person
        if not self._is_free_for(person, chat):
            return False
        if known.immediate:
            return True
        shared = await self._shared_session(chat)
        return shared is None or shared.last == person

    def _is_free_for(self, person: Person, chat: Chat) -> bool:
        """Whether no one else's turn runs or waits."""
        running = self._running.get(chat)
        if running is not None and running.person != person:
            return False
        return all(who == person for (where, _), who in self._waiting.items() if where == chat)

    async def _shared_session(self, chat: Chat) -> SharedSession | None:
        if chat not in self._shared:
            stored = await self._host.storage.kv.get(_key(chat))
            found = None
            if stored is not None:
                session, *pairs = stored
                found = SharedSession(session, Person(*pairs[:2]), Person(*pairs[2:]))
            self._shared[chat] = found
        return self._shared[chat]


def command_in(host: Host, text: str) -> Command | None:
    """The command that a text calls, by its name or an alias, as core finds it."""
    first, *_ = text.split(None, 1) or [""]
    if not first.startswith("/"):
        return None
    name = first.casefold()
    for known in host.services[Conversations].commands():
        if name in map(_name, (known.name, *known.aliases)):
            return known
    return None


def _name(name: str) -> str:
    return "/" + name.strip("/").casefold()


def _chat(inbound: Inbound) -> Chat:
    return (inbound.channel, inbound.chat_id)


def _key(chat: Chat) -> str:
    return "turn:" + json.dumps(chat)


def _pair(person: Person) -> tuple[str, str]:
    return (person.channel, person.user_id)


def _trim(entries: OrderedDict[Any, Any]) -> None:
    while len(entries) > MAX_REMEMBERED:
        entries.popitem(last=False)
