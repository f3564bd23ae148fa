"""The modes of sessions, in the plugin's storage and in memory.

What a session was given is kept under ``session:ID``; what a chat's next session begins with, under
``chat:CHANNEL, CHAT``: the mode of the session before, or one that was chosen before there was a
session. In the terminal the latter ends with the process, because every `run` is of the same chat.
So does ``yolo``, which is never stored.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from dataclasses import asdict, dataclass, replace
from typing import Any

from hookline_hookspecs import Host, Mode

MAX_SESSIONS = 4096
"""Sessions, and parents of sessions, that are remembered in memory."""


@dataclass(frozen=True, slots=True)
class Record:
    """A session's own mode; None for the default one.

    ``before`` is the mode that an accepted plan goes back to; ``told`` is what the model was last
    told, ``plan`` or nothing.
    """

    mode: Mode | None = None
    before: Mode | None = None
    told: str = ""


class Records:
    """The records of sessions; what is stored is read once for each session and process."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._known: OrderedDict[str, Record] = OrderedDict()
        self._next: dict[str, Mode] = {}
        self._loaded = False
        self._yolo: set[str] = set()

    @property
    def _kv(self) -> Any:
        """The values; reached only when needed, so that the plugin is on without a store too."""
        return self._host.storage.kv

    async def of(self, session_id: str) -> Record:
        """The record of a session."""
        found = self._known.get(session_id)
        if found is None:
            found = await self.refreshed(session_id)
        return replace(found, mode="yolo") if session_id in self._yolo else found

    async def refreshed(self, session_id: str) -> Record:
        """The record as it is stored: another process may have changed it."""
        return self._remember(session_id, _record(await self._kv.get(f"session:{session_id}")))

    async def set(self, session_id: str, mode: Mode) -> None:
        """Give a session a mode."""
        record = await self.of(session_id)
        if mode == "yolo":
            self._yolo.add(session_id)
            return
        self._yolo.discard(session_id)
        before = record.before if record.mode == "plan" else record.mode
        await self._keep(session_id, replace(record, mode=mode, before=_stored(before)))

    async def note_told(self, session_id: str, told: str) -> None:
        """Note what the model was told."""
        record = replace(await self.of(session_id), told=told)
        await self._keep(session_id, replace(record, mode=_stored(record.mode)))

    async def choose_next(self, channel: str, chat_id: str, mode: Mode) -> None:
        """The chat's next session begins with ``mode``."""
        key = _chat(channel, chat_id)
        self._next[key] = mode
        if channel != "terminal":
            await self._kv.set(key, mode)

    async def next_of(self, channel: str, chat_id: str) -> Mode | None:
        """What the chat's next session begins with; None for the default."""
        if channel != "terminal" and not self._loaded:
            for key in await self._kv.keys("chat:"):
                self._next.setdefault(key, await self._kv.get(key))
            self._loaded = True
        return self._next.get(_chat(channel, chat_id))

    async def begin(self, session_id: str, channel: str, chat_id: str) -> None:
        """A chat's new session begins with what was chosen for it."""
        if session_id in self._known:  # it was given a mode before its first message
            return
        self.begin_anew(session_id)
        mode = await self.next_of(channel, chat_id)
        if mode is not None:
            await self.set(session_id, mode)
            key = _chat(channel, chat_id)
            del self._next[key]
            if channel != "terminal":
                await self._kv.delete(key)

    def begin_anew(self, session_id: str) -> None:
        """Nothing is stored of a session that is new."""
        self._remember(session_id, Record())

    async def _keep(self, session_id: str, record: Record) -> None:
        await self._kv.set(f"session:{session_id}", asdict(record))
        self._remember(session_id, record)

    def _remember(self, session_id: str, record: Record) -> Record:
        self._known[session_id] = record
        self._known.move_to_end(session_id)
        while len(self._known) > MAX_SESSIONS:
            self._known.popitem(last=False)
        return record


def _record(stored: Any) -> Record:
    return Record(**stored) if isinstance(stored, dict) else Record()


def _stored(mode: Mode | None) -> Mode | None:
    return None if mode == "yolo" else mode


def _chat(channel: str, chat_id: str) -> str:
    return "chat:" + json.dumps([channel, chat_id])
