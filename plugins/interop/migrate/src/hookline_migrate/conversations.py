"""Imports conversations as ended sessions, which can be searched and resumed."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from hookline_hookspecs import Conversations, Host, Inspection, Message, Origin, Refused, Session
from hookline_hookspecs.importers import Item, Outcome, Receipt

from .documents import archive_text
from .sources import MigrationSource
from .transcript import KIND, TranscriptEntry, screen_transcript, to_messages

MAX_MESSAGE_CHARS = 200_000
"""Characters of one message; a longer one is stored as a file."""
MAX_TITLE_CHARS = 200
MAX_SESSIONS = 10**9


class ConversationImporter:
    """Stores conversations through core, under ids derived from the items' ids."""

    kinds = frozenset({"session"})

    def __init__(self, host: Host, source: MigrationSource | None) -> None:
        self._host = host
        self._source = source
        self._core = host.services[Conversations]
        self._titles: dict[str, str | None] | None = None

    async def look(self, item: Item) -> Outcome:
        """Return what :meth:`take` would do, without screening the texts."""
        return Outcome("planned", self._target(item))

    async def take(self, item: Item, *, again: bool = False) -> Outcome:
        """Store the conversation."""
        assert self._source is not None
        target = self._target(item)
        entries = await asyncio.to_thread(self._source.conversation, item.data)
        if not any(one.text.strip() or one.calls for one in entries):
            return Outcome("skipped", "", "it has no messages")
        entries = [self._archive_long_text(item, number, one) for number, one in enumerate(entries)]
        passed = await screen_transcript(self._host, entries, item.source)
        channel = item.data["channel"]
        chat = item.data["chat"]
        person = Origin("person", f"{self._source.name}, {channel}:{chat}")
        made = to_messages(passed.entries, person, item.source)
        title = await self._title(item)
        times = [one.at for one in passed.entries if one.at] or [self._host.now()]
        began = float(item.data.get("began") or 0) or min(times)
        made = [(max(at, began), message) for at, message in made]
        ended = max(float(item.data.get("ended") or 0), began, *times)
        record = Session(self._id(item), channel, chat, title, began)
        digest = _digest([message for _, message in made])
        receipt = {"id": record.id, "digest": digest, "title": title}
        if await self._core.archive(record, made, ended):
            return Outcome("migrated", target, passed.reason, receipt)
        if _digest(await self._host.messages(record.id)) == digest:
            return Outcome("migrated", target, passed.reason, receipt)
        return Outcome("conflict", target, "another conversation has that id")

    def _archive_long_text(self, item: Item, number: int, one: TranscriptEntry) -> TranscriptEntry:
        if len(one.text) <= MAX_MESSAGE_CHARS:
            return one
        name = f"{self._id(item)}-{number + 1}.txt"
        assert self._source is not None
        path = archive_text(self._host.home, self._source.name, name, one.text)
        return replace(one, text=f"[Text of {len(one.text):,} characters in {path}]")

    async def _title(self, item: Item) -> str | None:
        title = " ".join(str(item.data.get("title") or "").split())[:MAX_TITLE_CHARS]
        if not title:
            return None
        try:
            return (await self._host.learn(title, item.source, KIND, origins=()))[:MAX_TITLE_CHARS]
        except Refused:
            return None

    async def give_back(self, kind: str, receipt: Receipt) -> Outcome:
        """Delete the conversation unless it was continued or renamed here."""
        id_ = receipt["id"]
        if self._titles is None:
            every = await self._host.sessions(limit=MAX_SESSIONS)
            self._titles = {one.id: one.title for one in every}
        target = f"session {id_}"
        if id_ not in self._titles:
            return Outcome("planned", target)
        if self._titles[id_] != receipt["title"]:
            return Outcome("migrated", target, "it was renamed here")
        if _digest(await self._host.messages(id_)) != receipt["digest"]:
            return Outcome("migrated", target, "it was continued here")
        await self._host.services[Inspection].delete_session(id_)
        del self._titles[id_]
        return Outcome("planned", target)

    def _id(self, item: Item) -> str:
        assert self._source is not None
        return f"{self._source.name}-{item.id}"

    def _target(self, item: Item) -> str:
        return f"session {self._id(item)} of {item.data['channel']}:{item.data['chat']}"


def _digest(found: Sequence[Message]) -> str:
    data: list[Any] = [message.to_dict() for message in found]
    return hashlib.sha256(json.dumps(data, sort_keys=True).encode("utf-8", "replace")).hexdigest()
