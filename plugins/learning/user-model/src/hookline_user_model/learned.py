"""The portraits for ``hookline memory list|log|undo``, which the plugin ``memory`` brings.

It finds them as a service ``LearnedSource`` that this plugin adds.
"""

from __future__ import annotations

import asyncio
import builtins
from collections.abc import Mapping, Sequence
from typing import Any

from hookline_hookspecs import Host
from hookline_hookspecs.chat_files import Chat

from .userfile import Complaint, all_files, name_of
from .versions import Portraits, Present, Source, Version


class Learned:
    """What this plugin has learned, as rows; log entries are named ``user-model:NUMBER``."""

    name = "user-model"

    def __init__(self, host: Host, portraits: Portraits) -> None:
        self._host = host
        self._portraits = portraits

    async def list(self) -> builtins.list[dict[str, Any]]:
        """Return every portrait and the origin of its newest stored version."""
        known = {
            (row["channel"], row["chat_id"]): row
            for row in await self._host.storage.fetch("present")
        }
        rows = []
        for file in all_files(self._host.home):
            text = await asyncio.to_thread(file.read)
            row = known.get((file.chat.channel, file.chat.chat_id))
            where = _where(row) if row is not None and row["text"] == text else _BY_HAND
            rows.append({"kind": self.name, "chat": file.chat.label, "text": text, **where})
        return [row for row in rows if row["text"]]

    async def log(self, limit: int) -> builtins.list[dict[str, Any]]:
        """Return the newest versions of all chats, newest first."""
        return [
            {
                "number": f"{self.name}:{row['id']}",
                "chat": Chat(row["channel"], row["chat_id"]).label,
                **_where(row),
                "origin": row["origin"],
                "changes": [
                    {
                        "kind": self.name,
                        "op": row["origin"],
                        "before": row["before"] or None,
                        "after": row["text"] or None,
                    }
                ],
                "undoes": None,
                "undone_by": None,
            }
            for row in await self._host.storage.fetch("newest_versions", limit=limit)
        ]

    async def undo(self, number: int) -> str:
        """Restore the version before ``number``. Raises ``Complaint`` if ``number`` is not the
        current one."""
        version = await self._portraits.by_id(number)

        def make(present: Present, past: Sequence[Version]) -> str:
            if present.text != version.text or past[0].id != number:
                raise Complaint(f"{name_of(version.chat)} has changed since version {number}")
            if version.version == 1:
                return ""
            if len(past) < 2:
                raise Complaint(f"what was there before version {number} is not kept any more")
            return past[1].text

        await self._portraits.change(version.chat, Source("undo"), make)
        return f"Undone; {name_of(version.chat)} is as it was before."


_BY_HAND: Mapping[str, Any] = {"at": None, "session": "", "turn": None, "turn_id": ""}


def _where(row: Mapping[str, Any]) -> dict[str, Any]:
    session = {"session": row["session_id"], "turn": row["turn"], "turn_id": row["turn_id"]}
    return {"at": row["created"], **session}
