"""The conversations whose commands a person has cut off from the network."""

from __future__ import annotations

import json
import re
from collections import OrderedDict

from hookline_hookspecs import Host, Session

MAX_PARENTS = 4096
"""Sub-agents' sessions whose parents are remembered."""
_SUCCESSOR = re.compile(r"~\d+$")
"""What the id of a session has that continues another one."""


class OfflineChats:
    """Stores the choice for each conversation; its sub-agents share it."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._parents: OrderedDict[str, str] = OrderedDict()

    async def contains(self, session_id: str) -> bool:
        """Return whether the commands of a session may reach no network."""
        while session_id in self._parents:
            session_id = self._parents[session_id]
        return bool(await self._host.storage.kv.get(_key(session_id)))

    async def set(self, session_id: str, *, offline: bool) -> None:
        """Store the choice for a session's conversation."""
        if offline:
            await self._host.storage.kv.set(_key(session_id), True)
        else:
            await self._host.storage.kv.delete(_key(session_id))

    async def begin(self, session: Session) -> None:
        """Know whose choice a session shares, or take the one that its chat made before it."""
        if session.parent_id is not None:
            self._parents[session.id] = session.parent_id
            while len(self._parents) > MAX_PARENTS:
                self._parents.popitem(last=False)
            return
        waiting = waiting_id(session.channel, session.chat_id)
        if session.kind == "chat" and not session.resumed and await self.contains(waiting):
            await self.set(waiting, offline=False)
            await self.set(session.id, offline=True)

    async def end(self, session: Session) -> None:
        """Let the chat's next session go on as this one was."""
        if session.parent_id is None and session.kind == "chat":
            waiting = waiting_id(session.channel, session.chat_id)
            await self.set(waiting, offline=await self.contains(session.id))

    def with_children(self, session_id: str) -> list[str]:
        """Return a session and those of its sub-agents."""
        found = [session_id]
        for child, parent in self._parents.items():  # parents begin before their children
            if parent in found:
                found.append(child)
        return found


def waiting_id(channel: str, chat_id: str) -> str:
    """Return what stands for the next session of a chat."""
    return f"next {channel} {chat_id}"


def _key(session_id: str) -> str:
    return "offline:" + json.dumps(_SUCCESSOR.sub("", session_id))
