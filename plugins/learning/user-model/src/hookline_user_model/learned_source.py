"""Profiles in ``hookline memory list|log|undo`` (service ``LearnedSource``)."""

from __future__ import annotations

import asyncio
import builtins
from collections.abc import Mapping, Sequence
from typing import Any

from hookline_hookspecs import Host
from hookline_hookspecs.chat_files import Chat

from .profiles import ChangeSource, ProfileStore, ProfileVersion, StoredProfile
from .user_file import InvalidChange, all_files, file_name


class LearnedProfiles:
    """Profiles and their versions as rows; log entries are named ``user-model:NUMBER``."""

    name = "user-model"

    def __init__(self, host: Host, profiles: ProfileStore) -> None:
        self._host = host
        self._profiles = profiles

    async def list(self) -> builtins.list[dict[str, Any]]:
        """Return all profiles with the source of their newest stored version."""
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
        from hookline_hookspecs.web import t

        from .pages import change_label

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
                        "words": t("Profile, {change}", change=change_label(row["origin"])),
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
        """Restore the version before ``number``.

        Raises:
            InvalidChange: ``number`` is not the current version, or the one before is not stored.
        """
        version = await self._profiles.by_id(number)

        def make(present: StoredProfile, versions: Sequence[ProfileVersion]) -> str:
            if present.text != version.text or versions[0].id != number:
                raise InvalidChange(f"{file_name(version.chat)} was changed since version {number}")
            if version.version == 1:
                return ""
            if len(versions) < 2:
                raise InvalidChange(f"the version before {number} is no longer stored")
            return versions[1].text

        await self._profiles.change(version.chat, ChangeSource("undo"), make)
        return f"Undone; {file_name(version.chat)} was restored."


_BY_HAND: Mapping[str, Any] = {"at": None, "session": "", "turn": None, "turn_id": ""}


def _where(row: Mapping[str, Any]) -> dict[str, Any]:
    session = {"session": row["session_id"], "turn": row["turn"], "turn_id": row["turn_id"]}
    return {"at": row["created"], **session}
